//! What waits for the end of the answer: unmarked calls after prose, and what is around the whole answer.

use super::wrap::Wrap;
use crate::{adapter::syntax::Parsed, event::Why};

/// Calls that count if nothing but calls follows.
#[derive(Default)]
pub(super) struct Tentative {
    calls: Vec<Parsed>,
    /// Why the one call is refused when it counts.
    stray: Option<Why>,
    /// What is around the whole of the answer.
    pub(super) wrap: Option<Wrap>,
}

// === impl Tentative ===

impl Tentative {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn hold(&mut self, calls: Vec<Parsed>) {
        self.calls.extend(calls);
    }

    /// Holds a call that is refused if it counts.
    pub(super) fn hold_stray(&mut self, calls: Vec<Parsed>, why: Why) {
        (self.calls, self.stray) = (calls, Some(why));
    }

    /// Another call follows: a stray one before it was text.
    pub(super) fn drop_stray(&mut self) {
        if self.stray.take().is_some() {
            self.calls.clear();
        }
    }

    /// Text follows: none of it counts.
    pub(super) fn clear(&mut self) {
        self.calls.clear();
        (self.stray, self.wrap) = (None, None);
    }

    /// The calls, which count now, and why they are refused if they are.
    pub(super) fn take(&mut self) -> (Vec<Parsed>, Option<Why>) {
        (std::mem::take(&mut self.calls), self.stray.take())
    }
}
