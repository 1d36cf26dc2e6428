//! What the client was told of one answer: its calls and its text. `turn::sent` is about the whole turn.

use crate::same;

/// The delivered calls of this answer.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    pub(super) count: u32,
    calls: Vec<same::Call>,
}

/// The calls of this answer, delivered or not, each with whether the backend itself had read it.
#[derive(Debug, Default)]
pub(super) struct Written(Vec<(same::Call, bool)>);

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
    /// in the text what it has read.
    pub(super) fn repeats(&mut self, name: &str, arguments: &str, native: bool) -> bool {
        // The parser may reorder the arguments, and trim whitespace around strings.
        let call = same::Call::returned(name, arguments);
        let repeats = self.0.iter().any(|(known, by_backend)| *by_backend != native && *known == call);
        self.0.push((call, native));
        repeats
    }

    /// Whether the backend itself has read a call of this tool.
    pub(super) fn has_native(&self, name: &str) -> bool {
        self.0.iter().any(|(known, native)| *native && known.name() == name)
    }
}

impl Said {
    /// Records text that the client gets.
    pub(super) fn left(&mut self, text: &str) {
        self.text |= !text.trim().is_empty();
        self.line_start = text.ends_with('\n');
    }
}
