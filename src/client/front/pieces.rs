//! What is text and what is reasoning, for protocols whose answer is a list of blocks or items. Nothing but whitespace never
//! makes a block: clients show it as an empty one, and Anthropic's API refuses a history with it.

use std::borrow::Cow;

/// What a block holds that is written piece by piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Reasoning,
    Text,
}

/// Whitespace that waits for what it belongs to.
#[derive(Debug, Default)]
pub(super) struct Blank {
    text: String,
    of: Option<Piece>,
}

impl Blank {
    /// What is to be written of this text; `None`: nothing yet. `open`: the block that is being written.
    pub(super) fn pass<'t>(&mut self, open: Option<Piece>, piece: Piece, text: &'t str) -> Option<Cow<'t, str>> {
        if self.of != Some(piece) || open == Some(piece) {
            self.text.clear();
        }
        self.of = Some(piece);
        if open == Some(piece) {
            return Some(Cow::Borrowed(text));
        }
        if text.trim().is_empty() {
            self.text.push_str(text);
            return None;
        }
        let before = std::mem::take(&mut self.text);
        Some(if before.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(before + text) })
    }

    /// A block of another kind begins.
    pub(super) fn forget(&mut self) {
        self.text.clear();
    }
}
