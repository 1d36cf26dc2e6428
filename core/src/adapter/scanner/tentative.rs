//! Calls whose fate depends on what follows, and the delimiters around the whole answer. There are three kinds of such calls:
//! unmarked calls after prose; calls with markers of tools that are not offered ([`Doubt`]); and calls that are refused if they
//! count.

use std::collections::HashSet;

use super::wrap::Wrap;
use crate::{adapter::syntax::Parsed, event::Why};

/// Calls whose fate depends on what follows.
#[derive(Default)]
pub(super) struct Tentative {
    calls: Vec<Parsed>,
    /// Calls that are refused if they count: of unknown tools, or without what is required.
    strays: Vec<(Parsed, Why)>,
    /// What speaks for and against these calls.
    doubt: Doubt,
    /// Whether earlier calls with markers were text. If so, those that follow in this answer are doubtful too.
    shown: bool,
    /// Earlier calls that text followed: steps of a plan that do not run.
    skipped: Vec<Parsed>,
    /// The delimiters around the whole answer.
    pub(super) wrap: Option<Wrap>,
}

/// Calls that are decided.
pub(super) struct Taken {
    pub(super) calls: Vec<Parsed>,
    /// Calls that are refused, and why.
    pub(super) strays: Vec<(Parsed, Why)>,
}

/// What speaks for and against the held calls.
enum Doubt {
    /// They are unmarked and count if nothing follows.
    Unmarked,
    /// They are unmarked, and text follows that ends the answer.
    Followed,
    /// They have markers, but their tools are not offered: they count unless text follows.
    Marked,
}

impl Default for Doubt {
    fn default() -> Doubt {
        Doubt::Unmarked
    }
}

impl Tentative {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.strays.is_empty()
    }

    /// Whether there is nothing to decide: no held call, no wrap.
    pub(super) fn is_idle(&self) -> bool {
        self.is_empty() && self.wrap.is_none() && matches!(self.doubt, Doubt::Unmarked)
    }

    /// Holds unmarked calls.
    pub(super) fn hold(&mut self, calls: Vec<Parsed>) {
        self.calls.extend(calls);
    }

    /// Holds calls that have markers.
    pub(super) fn hold_doubted(&mut self, calls: Vec<Parsed>) {
        self.doubt = Doubt::Marked;
        self.calls.extend(calls);
    }

    /// Whether unmarked calls are held.
    pub(super) fn holds_unmarked(&self) -> bool {
        !self.calls.is_empty() && matches!(self.doubt, Doubt::Unmarked)
    }

    /// Records that text follows the unmarked calls.
    pub(super) fn leave_open(&mut self) {
        self.doubt = Doubt::Followed;
    }

    /// Holds a call that is refused if it counts.
    pub(super) fn hold_stray(&mut self, call: Parsed, why: Why) {
        self.strays.push((call, why));
    }

    /// Drops such calls, which were text, unless others are held with them.
    pub(super) fn drop_strays(&mut self) {
        if self.calls.is_empty() {
            self.strays.clear();
        }
    }

    /// Whether a call that is refused if it counts can be held with these calls.
    pub(super) fn takes_strays(&self) -> bool {
        !self.is_doubted()
    }

    /// Drops the calls, none of which counts because text follows.
    pub(super) fn clear(&mut self) {
        self.shown |= self.is_doubted();
        // Only steps of a plan are kept. A call in a wrap is an example.
        let wrap = self.wrap.take();
        let Taken { calls, .. } = self.take();
        if wrap.is_none() {
            self.skipped.extend(calls);
        }
    }

    /// Drops the calls, which were examples.
    pub(super) fn forget(&mut self) {
        self.take();
    }

    /// Whether an earlier call was text, and these calls do not repeat it.
    pub(super) fn lacks_a_step(&self) -> bool {
        let calls: HashSet<_> = self.calls.iter().map(Parsed::compared).collect();
        self.skipped.iter().any(|skipped| !calls.contains(&skipped.compared()))
    }

    /// Takes the calls, which are decided now.
    pub(super) fn take(&mut self) -> Taken {
        self.doubt = Doubt::default();
        Taken { calls: std::mem::take(&mut self.calls), strays: std::mem::take(&mut self.strays) }
    }

    pub(super) fn calls(&self) -> &[Parsed] {
        &self.calls
    }

    /// The calls that are refused if they count, and why.
    pub(super) fn strays(&self) -> &[(Parsed, Why)] {
        &self.strays
    }

    /// Whether these calls have markers.
    pub(super) fn is_doubted(&self) -> bool {
        matches!(self.doubt, Doubt::Marked)
    }

    /// Whether earlier calls that have markers were text.
    pub(super) fn has_shown(&self) -> bool {
        self.shown
    }

    /// Whether text follows these unmarked calls.
    pub(super) fn is_followed(&self) -> bool {
        matches!(self.doubt, Doubt::Followed)
    }
}
