//! Remembers what was sent to the client in a turn, over all answers of the model.

use crate::event::Usage;

/// The client's part of this turn.
#[derive(Debug, Default)]
pub(super) struct Sent {
    spoken: bool,
    said: String,
    /// The last line of prose is not ended, and what comes next is not its continuation.
    gap: bool,
    /// Token counts of the earlier answers.
    spent: Usage,
}

/// Approximate maximum length of the prose that is shown to a model that is asked again, in bytes.
const SAID_BYTES: usize = 64 * 1024;

// === impl Sent ===

impl Sent {
    /// Whether the client has something of this turn. A fault is part of the answer from then on.
    pub(super) fn has_any(&self) -> bool {
        self.spoken
    }

    /// The prose of the current answer.
    pub(super) fn said(&self) -> &str {
        &self.said
    }

    /// Another answer of the model begins.
    pub(super) fn begin(&mut self) {
        self.said.clear();
    }

    /// The client gets something that is not prose.
    pub(super) fn something(&mut self) {
        self.spoken = true;
    }

    /// The client gets this prose; whether the line before must be ended first.
    pub(super) fn prose(&mut self, text: &str) -> bool {
        if self.said.len() < SAID_BYTES {
            self.said.push_str(text);
        }
        self.spoken = true;
        std::mem::take(&mut self.gap)
    }

    /// What comes next begins a line of its own.
    pub(super) fn break_line(&mut self) {
        self.gap |= !self.said.is_empty() && !self.said.ends_with('\n');
    }

    /// Another answer follows one with these token counts.
    pub(super) fn spend(&mut self, usage: Option<Usage>) {
        self.break_line();
        self.spent = self.with_spent(usage.unwrap_or_default());
    }

    /// The token counts of the whole turn, whose last answer has these.
    pub(super) fn with_spent(&self, last: Usage) -> Usage {
        Usage {
            prompt_tokens: self.spent.prompt_tokens + last.prompt_tokens,
            completion_tokens: self.spent.completion_tokens + last.completion_tokens,
        }
    }
}
