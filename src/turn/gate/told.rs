//! What the client was told of one answer: its calls and its text. `turn::sent` is about the whole turn.

use crate::same;

/// The delivered calls of this answer.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    pub(super) count: u32,
    calls: Vec<same::Call>,
}

/// The calls of this answer, delivered or not.
#[derive(Debug, Default)]
pub(super) struct Written(Vec<Call>);

#[derive(Debug)]
struct Call {
    call: same::Call,
    /// Whether the backend itself had read it.
    native: bool,
    /// Its arguments without whitespace, if it is from the text.
    letters: String,
}

/// The text of this answer so far.
#[derive(Debug)]
pub(super) struct Said {
    /// Whether the client has got text.
    pub(super) text: bool,
    /// Whether the client has got reasoning.
    pub(super) reasoning: bool,
    /// Whether the client is at the start of a line.
    pub(super) line_start: bool,
    /// The prose to search for an announcement or a patch, whether the client got it or not.
    pub(super) prose: String,
    /// How much of it is kept, in bytes.
    pub(super) prose_bytes: usize,
}

impl Delivered {
    pub(super) fn has(&self, call: &same::Call) -> bool {
        self.calls.contains(call)
    }

    /// Counts a call, and returns its index.
    pub(super) fn add(&mut self, call: same::Call) -> u32 {
        self.calls.push(call);
        self.count += 1;
        self.count - 1
    }
}

impl Written {
    /// Adds a call. Returns whether it was there before, once in the text and once as a native call: a backend's parser may leave
    /// in the text what it has read. Each native call repeats one call of the text at most.
    pub(super) fn repeats(&mut self, name: &str, arguments: &str, native: bool) -> bool {
        // The parser may reorder the arguments, and trim whitespace around strings.
        let call = same::Call::returned(name, arguments);
        let count = |native: bool| self.0.iter().filter(|known| known.native == native && known.call == call).count();
        let repeats = if native { count(false) > count(true) } else { count(true) > 0 };
        let letters = if native { String::new() } else { letters(arguments) };
        self.0.push(Call { call, native, letters });
        repeats
    }

    /// Whether the backend itself has read a call of this tool.
    pub(super) fn has_native(&self, name: &str) -> bool {
        self.0.iter().any(|known| known.native && known.call.name() == name)
    }

    /// Whether the text has a call of this tool of which these arguments are only the beginning.
    pub(super) fn has_in_text(&self, name: &str, arguments: &str) -> bool {
        self.0.iter().any(|known| !known.native && known.call.name() == name && begins(arguments, &known.letters))
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
        self.text = self.text || !text.trim().is_empty();
        self.line_start = text.ends_with('\n');
    }
}
