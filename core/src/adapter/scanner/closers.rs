//! What stands around a call: closing markers and separators after it, which are not content, and quotes.

use std::sync::Arc;

use super::{Scanner, candidate::Candidate};
use crate::adapter::{
    Call,
    asides::ASIDES,
    syntax::{Start, blank, starts_with_any_tag},
};

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
            let last = &self.buf[at..];
            let is_cut = end && last.len() > 1 && closers.clone().any(|closer| closer.starts_with(last));
            if is_cut { Start::Yes(last.len()) } else { starts_with_any_tag(last, closers, end) }
        };
        match closed {
            Start::Yes(length) => {
                self.buf.scan_to(at + length);
                // Markers after calls that wait stay, because the calls may become text again.
                match self.waiting.is_empty() {
                    true => self.buf.discard_to(self.buf.pos),
                    false => self.extend_waiting(self.buf.pos),
                }
                Some(true)
            }
            Start::Maybe => Some(false),
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

    /// The markers that may close a call of this form: models mix those of other forms in.
    fn closers<'s>(&'s self, call: Option<&'s Call>) -> impl Iterator<Item = &'s String> + Clone {
        let own = call.into_iter().flat_map(|call| call.close.iter().chain(&call.section_close));
        own.chain(self.adapter.triggers.closers())
    }

    /// The end of the closing markers after a call that ends at `to`. `None`: more text is needed.
    pub(super) fn after_closers(&self, candidate: &Candidate, to: usize, open: bool) -> Option<usize> {
        let call = candidate.entries.front().and_then(|entry| self.adapter.calls.get(entry.form));
        let closers = self.closers(call.map(Arc::as_ref));
        let mut at = to;
        loop {
            let rest = &self.buf[at..];
            let inner = rest.trim_start_matches("\\n").trim_start();
            match starts_with_any_tag(inner, closers.clone(), open) {
                Start::Maybe => return None,
                Start::Yes(length) => at = self.buf.len() - inner.len() + length,
                Start::No => return Some(at),
            }
        }
    }

    /// Whether a quote directly precedes `at`, other than one at the beginning of its line, which is a slip.
    pub(super) fn follows_quote(&self, at: usize) -> bool {
        let before = self.line_head(at);
        before.len() > 1 && before.ends_with(['"', '\'', '\u{201c}', '\u{201e}', '\u{2018}', '\u{ab}'])
    }
}
