//! Remembers what was sent to the client in a turn, across all answers of the model. `gate::told` remembers it for one answer.

use crate::event::Usage;

/// The client's part of this turn.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Whether the client has received anything of this turn. From then on, a fault is part of the answer.
    pub(super) any: bool,
    said: String,
    /// Whether the last line of prose has no line break, and what comes next does not continue it.
    gap: bool,
    /// Whether the last reasoning has no line break at its end.
    thinks: bool,
    /// Whether that was in an earlier answer.
    thought: bool,
    /// Token counts of the earlier answers.
    spent: Usage,
}

/// Approximate maximum length of the prose that is shown to a model that is asked again, in bytes.
const SAID_BYTES: usize = 64 * 1024;

impl Sent {
    /// The prose of the current answer.
    pub(super) fn said(&self) -> &str {
        &self.said
    }

    /// Begins another answer of the model.
    pub(super) fn begin(&mut self) {
        self.said.clear();
        self.thought |= self.thinks;
    }

    /// Records prose that the client gets. Returns whether the line before it must be ended first.
    pub(super) fn prose(&mut self, text: &str) -> bool {
        if self.said.len() < SAID_BYTES {
            self.said.push_str(text);
        }
        self.any = true;
        std::mem::take(&mut self.gap) && !text.starts_with('\n')
    }

    /// Records reasoning that the client gets. Returns whether the reasoning of the answer before must be ended first.
    pub(super) fn reasoning(&mut self, text: &str) -> bool {
        self.any = true;
        self.thinks = !text.ends_with('\n');
        std::mem::take(&mut self.thought)
    }

    /// Makes what comes next begin on a line of its own.
    pub(super) fn break_line(&mut self) {
        self.gap |= !self.said.is_empty() && !self.said.ends_with('\n');
    }

    /// Adds the token counts of an answer that another one follows.
    pub(super) fn spend(&mut self, usage: Option<Usage>) {
        self.break_line();
        self.spent = self.with_spent(usage.unwrap_or_default());
    }

    /// The token counts of the whole turn, whose last answer has these.
    pub(super) fn with_spent(&self, last: Usage) -> Usage {
        let mut usage = self.spent;
        usage += last;
        usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reasoning_of_each_answer_begins_on_a_line_of_its_own() {
        let mut sent = Sent::default();
        sent.begin();
        assert!(!sent.reasoning("I ") && !sent.reasoning("look."));
        sent.begin();
        assert!(sent.reasoning("So ") && !sent.reasoning("that is it.\n"));
        sent.begin();
        assert!(!sent.reasoning("Done."));
    }
}
