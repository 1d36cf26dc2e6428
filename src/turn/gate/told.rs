//! What the client was told of one answer: its calls and its text. `turn::sent` is about the whole turn.

use crate::same;

/// The delivered calls of this answer.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    pub(super) count: u32,
    pub(super) calls: Vec<same::Call>,
    /// How many of them were in the text, once native calls begin.
    pub(super) in_text: Option<usize>,
}

/// The text of this answer so far.
#[derive(Debug)]
pub(super) struct Said {
    /// The client has got text.
    pub(super) text: bool,
    /// The client has got reasoning.
    pub(super) reasoning: bool,
    /// The client is at the start of a line.
    pub(super) line_start: bool,
    /// The prose to search for an announcement or a patch, whether the client got it or not.
    pub(super) prose: String,
    /// How much of it is kept, in bytes.
    pub(super) prose_bytes: usize,
}

impl Delivered {
    /// Whether this native call was already delivered from the text.
    pub(super) fn had_in_text(&self, call: &same::Call) -> bool {
        self.in_text.is_some_and(|count| self.calls[..count].contains(call))
    }

    pub(super) fn has(&self, call: &same::Call) -> bool {
        self.calls.contains(call)
    }

    /// Counts a call; its index.
    pub(super) fn add(&mut self, call: same::Call) -> u32 {
        self.calls.push(call);
        self.count += 1;
        self.count - 1
    }
}

impl Said {
    /// The client gets this text.
    pub(super) fn left(&mut self, text: &str) {
        self.text |= !text.trim().is_empty();
        self.line_start = text.ends_with('\n');
    }
}
