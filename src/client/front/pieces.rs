//! What is text and what is reasoning, for protocols whose answer is a list of blocks or items. Nothing but whitespace never
//! makes a block: clients show it as an empty one, and Anthropic's API refuses a history with it.

use std::borrow::Cow;

use crate::event::ToolCall;

/// What a block holds that is written piece by piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Reasoning,
    Text,
}

/// A whole block of an answer.
#[derive(Debug)]
pub(super) enum Block {
    Said(Piece, String),
    Call(ToolCall),
}

/// Whitespace that waits for what it belongs to.
#[derive(Debug, Default)]
pub(super) struct Blank {
    text: String,
    of: Option<Piece>,
}

/// The blocks of an answer that is collected.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    blank: Blank,
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

impl Blocks {
    pub(super) fn piece(&mut self, piece: Piece, text: &str) {
        let open = match self.blocks.last() {
            Some(Block::Said(open, _)) => Some(*open),
            _ => None,
        };
        let Some(text) = self.blank.pass(open, piece, text) else { return };
        match self.blocks.last_mut() {
            Some(Block::Said(open, whole)) if *open == piece => whole.push_str(&text),
            _ => self.blocks.push(Block::Said(piece, text.into_owned())),
        }
    }

    pub(super) fn call(&mut self, call: ToolCall) {
        self.blank.forget();
        self.blocks.push(Block::Call(call));
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Block> {
        self.blocks.iter()
    }

    /// Their bytes.
    pub(super) fn size(&self) -> usize {
        let size = |block: &Block| match block {
            Block::Said(_, text) => text.len(),
            Block::Call(call) => call.arguments.len(),
        };
        self.iter().map(size).sum()
    }
}
