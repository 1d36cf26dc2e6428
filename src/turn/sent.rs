//! Remembers what was sent to the client in a turn, across all answers of the model. `gate::told` remembers it for one answer.

use std::borrow::Cow;

use crate::event::Usage;

/// The client's part of this turn.
#[derive(Debug, Default)]
pub(super) struct Sent {
    any: bool,
    said: String,
    /// The prose of the current answer as the model wrote it, with what the client had before.
    written: String,
    /// Whether the last line of prose has no line break, and what comes next does not continue it.
    gap: bool,
    /// Whether the last reasoning has no line break at its end.
    thinks: bool,
    /// Whether that was in an earlier answer.
    thought: bool,
    /// Token counts of the earlier answers.
    spent: Usage,
    echo: Echo,
}

/// The prose of the earlier answers, which the client has. A model that is asked again often begins with the same words.
#[derive(Debug, Default)]
struct Echo {
    /// The prose of each of them.
    said: Vec<String>,
    /// Whether the current answer has only repeated one of them so far.
    repeats: bool,
    /// The beginning of the current answer, as long as it repeats one of them.
    held: String,
}

/// Approximate maximum length of the prose that is shown to a model that is asked again, in bytes.
const SAID_BYTES: usize = 64 * 1024;

impl Sent {
    /// Whether the client has received anything of this turn. From then on, a fault is part of the answer.
    pub(super) fn has_any(&self) -> bool {
        self.any
    }

    /// The prose of the current answer.
    pub(super) fn said(&self) -> &str {
        &self.said
    }

    /// Begins another answer of the model.
    pub(super) fn begin(&mut self) {
        self.said.clear();
        self.written.clear();
        self.thought |= self.thinks;
    }

    /// Prepares for the model being asked again: it may repeat what it has said.
    pub(super) fn again(&mut self) {
        let written = self.written.trim_start();
        if !written.is_empty() {
            self.echo.said.push(written.to_owned());
        }
        (self.echo.repeats, self.echo.held) = (!self.echo.said.is_empty(), String::new());
    }

    /// The part of this prose that the client does not have yet.
    pub(super) fn fresh<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        if self.written.len() < SAID_BYTES {
            self.written.push_str(text);
        }
        if !self.echo.repeats {
            return Cow::Borrowed(text);
        }
        let (fresh, goes_on) = self.echo.pass(text);
        self.gap &= !goes_on;
        Cow::Owned(fresh)
    }

    /// Records that the client gets something that is not prose.
    pub(super) fn something(&mut self) {
        self.any = true;
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

impl Echo {
    /// The part of this text that was not said before, and whether it continues what was said. A repetition ends with a line or
    /// with a sentence.
    fn pass(&mut self, text: &str) -> (String, bool) {
        self.held.push_str(text);
        let held = self.held.trim_start();
        let only_repeats = |said: &String| {
            let said = said.trim_end();
            said.starts_with(held) || held.strip_prefix(said).is_some_and(|rest| rest.trim().is_empty())
        };
        if self.said.iter().any(only_repeats) {
            return (String::new(), false);
        }
        self.repeats = false;
        // The longest repetition leaves the shortest rest.
        match self.said.iter().filter_map(|said| rest_after(said, held)).min_by_key(|rest| rest.len()) {
            Some(rest) => (rest.to_owned(), true),
            None => (std::mem::take(&mut self.held), false),
        }
    }
}

/// What follows `said` in a text that repeats it.
fn rest_after<'t>(said: &str, text: &'t str) -> Option<&'t str> {
    let (said, blank) = said.split_at(said.trim_end().len());
    let is_sentence = said.ends_with(['.', '!', '?', ':', '…', '。', '！', '？', '：']);
    let rest = text.strip_prefix(said)?;
    let repeats = rest.starts_with('\n') || (is_sentence && rest.starts_with(char::is_whitespace));
    repeats.then(|| rest.strip_prefix(blank).unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What of the last answer the client does not have, after these.
    fn fresh_after(said: &[&str], answer: &str) -> String {
        let whole = |size: usize| {
            let mut sent = Sent::default();
            for said in said {
                sent.begin();
                let said = sent.fresh(said);
                sent.prose(&said);
                sent.again();
            }
            let mut fresh = String::new();
            let mut rest = answer;
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
                fresh += &sent.fresh(piece);
                rest = after;
            }
            fresh
        };
        assert_eq!(whole(1), whole(1000), "{answer}");
        whole(1)
    }

    fn fresh(said: &str, answer: &str) -> String {
        fresh_after(&[said], answer)
    }

    #[test]
    fn what_the_client_has_from_any_earlier_answer_does_not_come_again() {
        const LOOK: &str = "Let me look.";
        assert_eq!(fresh_after(&[LOOK, LOOK, LOOK], LOOK), "");
        assert_eq!(fresh_after(&[LOOK, LOOK], "Let me look. Then I write."), " Then I write.");
        assert_eq!(fresh_after(&[LOOK, "Let me look. Then I write."], "Let me look. Then I write."), "");
        assert_eq!(fresh_after(&[LOOK, "Let me look. Then I write."], "Let me look. Then I read."), " Then I read.");
        assert_eq!(fresh_after(&[LOOK, "I read.", ""], LOOK), "");
        assert_eq!(fresh_after(&[LOOK, "I read."], "I read. Done."), " Done.");
        assert_eq!(fresh_after(&[LOOK, LOOK], "I write."), "I write.");
    }

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

    #[test]
    fn what_the_client_has_does_not_come_again() {
        assert_eq!(fresh("Let me look.\n", "Let me look."), "");
        assert_eq!(fresh("Let me look.\n", "\nLet me look.\n\nDone."), "\nDone.");
        assert_eq!(fresh("Let me look.", "Let me look. Then I write."), " Then I write.");
        assert_eq!(fresh("Let me look.", "Let me"), "");
        assert_eq!(fresh("Let me look", "Let me look at it."), "Let me look at it.");
        assert_eq!(fresh("Let me look.", "Let us look."), "Let us look.");
        assert_eq!(fresh("", "Let us look."), "Let us look.");
    }
}
