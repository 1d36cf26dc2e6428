//! Whether quotes are directly around a call.

use std::sync::Arc;

use super::{GAP_BYTES, Scanner, candidate::Candidate, closers::closer};
use crate::adapter::{Call, syntax::Start};

/// Quotes, which come in runs of any length in code.
const QUOTES: [[&str; 2]; 7] = [["\"", "\""], ["'", "'"], ["`", "`"], ["“", "”"], ["„", "“"], ["‘", "’"], ["«", "»"]];

impl Scanner {
    /// Whether a quote before an unterminated call closes right after one of its brackets.
    pub(super) fn closes_quotes(&self, candidate: &Candidate) -> bool {
        let before = self.line_head(candidate.at);
        let quote = before.chars().next_back().filter(|quote| matches!(quote, '"' | '\'' | '`'));
        let text = &self.buf[candidate.at..];
        quote.is_some_and(|quote| text.match_indices(['}', ')']).any(|(at, _)| text[at + 1..].starts_with(quote)))
    }

    /// The markers that may close a call of this form: models mix those of other forms in.
    pub(super) fn closers<'s>(&'s self, call: Option<&'s Call>) -> impl Iterator<Item = &'s String> + Clone {
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
            let inner = if candidate.fence.is_some() { inner.trim_start_matches(['`', '~']).trim_start() } else { inner };
            match closer(inner, closers.clone(), open) {
                Start::Maybe => return None,
                Start::Yes(length) => at = self.buf.len() - inner.len() + length,
                Start::No if candidate.fence.is_some() => return Some(self.buf.len() - inner.len()),
                Start::No => return Some(at),
            }
        }
    }

    /// Whether the call that ends at `to` is directly between quotes. Quotes around the whole answer are a slip. `None`: more text
    /// is needed.
    pub(super) fn is_between_quotes(&self, candidate: &Candidate, to: usize, end: bool) -> Option<bool> {
        let at = candidate.at;
        let before = self.line_head(at);
        let quotes = QUOTES.into_iter().find(|[quote, _]| before.ends_with(quote));
        let Some([quote, close]) = quotes.filter(|_| candidate.fence.is_none() && !self.at_line_start(at)) else {
            return Some(false);
        };
        let open = end || self.buf.len() - to > GAP_BYTES;
        let past = self.after_closers(candidate, to, open)?;
        let rest = &self.buf[past..self.buf.floor_char_boundary(past + GAP_BYTES)];
        if !open && close.starts_with(rest) {
            return None;
        }
        // The closing quote may have been read as a slip at the end of the call.
        if !rest.starts_with(close) && !self.buf[at..to].ends_with(close) {
            return Some(false);
        }
        let is_first = self.buf.in_answer(at) == before.len() && before.trim_end_matches(quote).is_empty();
        if !is_first || !rest.trim_start_matches(close).trim_start().is_empty() {
            return Some(true);
        }
        open.then_some(false)
    }
}
