//! What may follow a call and is not content: closing markers and separators.

use super::Scanner;
use crate::adapter::{
    asides::ASIDES,
    syntax::{Start, blank, starts_with_any_tag},
};

/// What may be left over after the last call of an answer: a fence that was closed already, a rule.
const LEFT_OVER: [&str; 3] = ["```", "---", "***"];

impl Scanner {
    /// Skips closing markers and separators after a call, which are not content. Markers of other forms count too, because models
    /// mix them. `None`: other text follows.
    pub(super) fn swallow_closers(&mut self, end: bool) -> Option<bool> {
        let call = self.adapter.calls.get(self.before.call?)?;
        let at = self.buf.pos + blank(&self.buf[self.buf.pos..]);
        if at == self.buf.len() {
            self.buf.scan_to(at);
            return (!end).then_some(false);
        }
        // Markers of results are handled in `marker`. `Observation:` of a transcript never gets here: its call ends the answer
        // (`held`).
        let is_result = |closer: &&String| ASIDES.results.iter().any(|[open, _]| open == *closer);
        let closed = {
            let closers = self.closers(Some(call)).filter(|closer| !is_result(closer));
            // The answer may end inside a closing marker.
            let last = self.buf[at..].trim_end();
            let is_cut = end && last.len() > 1 && closers.clone().any(|closer| closer.starts_with(last));
            match LEFT_OVER.iter().any(|left| left.starts_with(last)) {
                true if !end => Start::Maybe,
                _ if is_cut || LEFT_OVER.contains(&last) => Start::Yes(last.len()),
                _ => closer(&self.buf[at..], closers, end),
            }
        };
        match closed {
            Start::Yes(length) => {
                self.buf.scan_to(at + length);
                if !self.draft.is_empty() {
                    self.draft.text.push_str(self.buf.pending(self.buf.pos));
                }
                // Markers after calls that wait stay, because the calls may become text again.
                match self.waiting.is_empty() {
                    true => self.buf.discard_scanned(),
                    false => self.extend_waiting(self.buf.pos),
                }
                Some(true)
            }
            Start::Maybe => Some(false),
            Start::No if at == self.buf.len() && !end => Some(false),
            Start::No => {
                let rest = &self.buf[at..];
                let after = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ','));
                // White space after them may come with the next piece: it never belongs to them.
                let glue = rest[..rest.len() - after.len()].trim_end().len();
                if glue > 0 && self.buf.pos < at + glue {
                    self.buf.scan_to(at + glue);
                    self.extend_waiting(at + glue);
                    return if self.buf.pos == self.buf.len() && !end { Some(false) } else { Some(true) };
                }
                self.before.call = None;
                None
            }
        }
    }
}

/// Whether `text` begins with a closing marker after a call.
pub(super) fn closer<'m>(text: &str, closers: impl Iterator<Item = &'m String> + Clone, end: bool) -> Start {
    starts_with_any_tag(text, closers, end)
}
