//! Calls whose fate depends on what follows, and the delimiters around the whole answer. There are four kinds of such calls:
//! unmarked calls after prose; doubtful calls with markers; calls that count, but may be taken back together with the next one
//! ([`Doubt`]); and calls that are refused if they count.

use std::collections::HashSet;

use super::wrap::Wrap;
use crate::{adapter::syntax::Parsed, event::Why};

/// Calls whose fate depends on what follows.
#[derive(Default)]
pub(super) struct Tentative {
    calls: Vec<Parsed>,
    /// Calls that are refused if they count: of unknown tools, or without what is required.
    strays: Vec<(Parsed, Why)>,
    /// The labels between these calls.
    labels: String,
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
    /// The labels between them.
    pub(super) labels: String,
    /// Calls that are refused, and why.
    pub(super) strays: Vec<(Parsed, Why)>,
}

/// What speaks for and against the held calls.
enum Doubt {
    /// The text before them announces them. `reads`: it says that the model acts, and the names of their tools say that they only
    /// read.
    Announced { reads: bool },
    /// The text before them does not announce them, or the words after them leave open whether they are meant.
    Unannounced,
    /// They have markers, but the text before them does not announce them: they count unless text follows. `supposed`: the text
    /// before them is hypothetical. `taken_back`: the text after them takes them back.
    Marked { supposed: bool, taken_back: bool },
    /// They count, but another call follows, and the text after that one may take back all of them. They begin at this position
    /// in the answer.
    Chained { at: usize },
}

impl Default for Doubt {
    fn default() -> Doubt {
        Doubt::Announced { reads: false }
    }
}

impl Tentative {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.strays.is_empty()
    }

    /// Whether there is nothing to decide: no held call, no label, no wrap.
    pub(super) fn is_idle(&self) -> bool {
        self.is_empty() && self.labels.is_empty() && self.wrap.is_none() && matches!(self.doubt, Doubt::Announced { .. })
    }

    /// Holds calls. `announced`: the text before them announces them. `reads`: it says that the model acts, and they only read.
    pub(super) fn hold(&mut self, calls: Vec<Parsed>, announced: bool, reads: bool) {
        match &mut self.doubt {
            Doubt::Announced { reads: all } if !self.calls.is_empty() => *all &= reads,
            _ if !self.calls.is_empty() => {}
            doubt => *doubt = if announced { Doubt::Announced { reads } } else { Doubt::Unannounced },
        }
        self.calls.extend(calls);
    }

    /// Holds calls that have markers. `supposed`: the text before them is hypothetical. `taken_back`: the text after them takes
    /// them back.
    pub(super) fn hold_doubted(&mut self, calls: Vec<Parsed>, supposed: bool, taken_back: bool) {
        let supposed = if self.calls.is_empty() { supposed } else { self.is_unannounced() };
        self.doubt = Doubt::Marked { supposed, taken_back };
        self.calls.extend(calls);
    }

    /// Adds the label of the next call, which follows these calls.
    pub(super) fn say(&mut self, label: &str) {
        self.labels.push_str(label);
    }

    /// Whether these calls have no markers and the text before them announces them.
    pub(super) fn is_announced(&self) -> bool {
        !self.calls.is_empty() && matches!(self.doubt, Doubt::Announced { .. })
    }

    /// Whether they are such calls, the model says that it makes them, and they only read.
    pub(super) fn are_own_reads(&self) -> bool {
        !self.calls.is_empty() && matches!(self.doubt, Doubt::Announced { reads: true })
    }

    /// Holds calls that count and begin at this position in the answer, until it is known what follows the last of them.
    pub(super) fn hold_chained(&mut self, calls: Vec<Parsed>, at: usize) {
        if self.calls.is_empty() {
            self.doubt = Doubt::Chained { at };
        }
        self.calls.extend(calls);
    }

    /// Where the chain of calls begins that waits for what follows the last of them, in the answer.
    pub(super) fn chain(&self) -> Option<usize> {
        match self.doubt {
            Doubt::Chained { at } => Some(at),
            _ => None,
        }
    }

    /// Drops the calls of the chain, which are only mentioned.
    pub(super) fn drop_chain(&mut self) {
        if self.chain().is_some() {
            self.forget();
        }
    }

    /// Records that the words after announced calls leave open whether they are meant.
    pub(super) fn leave_open(&mut self) {
        self.doubt = Doubt::Unannounced;
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
        matches!(self.doubt, Doubt::Announced { .. } | Doubt::Unannounced)
    }

    /// Drops the calls, none of which counts because text follows.
    pub(super) fn clear(&mut self) {
        self.shown |= self.is_doubted();
        // Only steps of a plan are kept. A call in a wrap is an example, and one that was taken back no longer is a step.
        let taken_back = matches!(self.doubt, Doubt::Marked { taken_back: true, .. });
        let wrap = self.wrap.take();
        let Taken { calls, .. } = self.take();
        if wrap.is_none() && !taken_back {
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
        Taken {
            calls: std::mem::take(&mut self.calls),
            labels: std::mem::take(&mut self.labels),
            strays: std::mem::take(&mut self.strays),
        }
    }

    pub(super) fn calls(&self) -> &[Parsed] {
        &self.calls
    }

    /// The calls that are refused if they count, and why.
    pub(super) fn strays(&self) -> &[(Parsed, Why)] {
        &self.strays
    }

    /// Whether these calls have markers and are not announced.
    pub(super) fn is_doubted(&self) -> bool {
        matches!(self.doubt, Doubt::Marked { .. })
    }

    /// Whether the only thing against these marked calls is that the text before them does not announce them.
    pub(super) fn is_only_unannounced(&self) -> bool {
        matches!(self.doubt, Doubt::Marked { supposed: false, taken_back: false })
    }

    /// Whether earlier calls that have markers were text.
    pub(super) fn has_shown(&self) -> bool {
        self.shown
    }

    /// Whether the words around these calls leave open whether they are meant.
    pub(super) fn is_unannounced(&self) -> bool {
        matches!(self.doubt, Doubt::Unannounced | Doubt::Marked { supposed: true, .. })
    }
}
