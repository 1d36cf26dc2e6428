//! What the client was told of one answer: its calls and its text. `turn::sent` is about the whole turn.

use std::collections::HashMap;

use crate::same;

/// The delivered calls of this answer.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    pub(super) count: u32,
    /// How often each was delivered.
    calls: HashMap<same::Call, usize>,
    /// Whether calls are dropped because the answer repeats them.
    pub(super) drops: bool,
}

/// The calls of this answer, delivered or not.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// How often the text has each, and how often the backend itself had read it.
    times: HashMap<same::Call, (usize, usize)>,
    /// Those of the text: the tool, and the arguments without whitespace.
    text: Vec<(String, String)>,
}

/// The text of this answer so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Whether the client has got text.
    pub(super) text: bool,
    /// Whether the client has got reasoning.
    pub(super) reasoning: bool,
    /// Whether the client is within a line.
    pub(super) in_line: bool,
    /// The prose to search for an announcement or a patch, whether the client got it or not.
    pub(super) prose: String,
    /// How much of it is kept, in bytes.
    pub(super) prose_bytes: usize,
    /// The last characters of the text that are not blank.
    pub(super) end: String,
}

/// How much of the end of a text is kept, in bytes.
const END_BYTES: usize = 16;
/// What ends a text that announces what follows, in the punctuation of all languages.
const OPEN_ENDS: [&str; 4] = [":", "\u{ff1a}", "...", "\u{2026}"];

impl Delivered {
    pub(super) fn times(&self, call: &same::Call) -> usize {
        self.calls.get(call).copied().unwrap_or_default()
    }

    /// Counts a call, and returns its index.
    pub(super) fn add(&mut self, call: same::Call) -> u32 {
        *self.calls.entry(call).or_default() += 1;
        self.count += 1;
        self.count - 1
    }
}

impl Written {
    /// Adds a call. Returns whether it was there before, once in the text and once as a native call: a backend's parser may leave
    /// in the text what it has read. Each native call repeats one call of the text at most.
    pub(super) fn repeats(&mut self, name: &str, arguments: &str, native: bool) -> bool {
        // The parser may reorder the arguments, and trim whitespace around strings.
        let (in_text, read) = self.times.entry(same::Call::returned(name, arguments)).or_default();
        if native {
            *read += 1;
            return *in_text >= *read;
        }
        *in_text += 1;
        self.text.push((name.to_owned(), letters(arguments)));
        *read > 0
    }

    /// Whether the backend itself has read a call of this tool.
    pub(super) fn has_native(&self, name: &str) -> bool {
        self.times.iter().any(|(call, (_, read))| *read > 0 && call.name() == name)
    }

    /// Whether the text has a call of this tool of which these arguments are only the beginning.
    pub(super) fn has_in_text(&self, name: &str, arguments: &str) -> bool {
        self.text.iter().any(|(own, letters)| own == name && begins(arguments, letters))
    }
}

/// Whether these arguments are only the beginning of `whole`.
pub(super) fn is_beginning(arguments: &str, whole: &str) -> bool {
    begins(arguments, &letters(whole))
}

/// The same, if `whole` is without whitespace.
fn begins(arguments: &str, whole: &str) -> bool {
    let begun = letters(arguments);
    begun.len() < whole.len() && (begun == "{}" || whole.starts_with(&begun))
}

/// A text without whitespace.
fn letters(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

impl Said {
    /// Records text that the client gets.
    pub(super) fn left(&mut self, text: &str) {
        self.in_line = !text.ends_with('\n');
        let text = text.trim_end();
        if !text.is_empty() {
            self.text = true;
            self.end.push_str(text.get(text.ceil_char_boundary(text.len().saturating_sub(END_BYTES))..).unwrap_or_default());
            let surplus = self.end.ceil_char_boundary(self.end.len().saturating_sub(END_BYTES));
            self.end.drain(..surplus);
        }
    }

    /// Whether the text so far announces something and then stops (`Now I write the file:`). Emphasis around its end does not
    /// count.
    pub(super) fn stops_short(&self) -> bool {
        let end = self.end.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_'));
        OPEN_ENDS.iter().any(|open| end.ends_with(open))
    }
}
