//! What is held until the end of the answer: unmarked calls after prose, and the delimiters around the whole answer.

use super::wrap::Wrap;
use crate::{adapter::syntax::Parsed, event::Why};

/// Whether two calls have the same name and the same arguments, however they are written.
pub(super) fn same(one: &Parsed, other: &Parsed) -> bool {
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    // The last brace may be left to the fixer.
    let value = |call: &Parsed| json(&call.arguments).or_else(|| json(&format!("{}}}", call.arguments)));
    one.name == other.name && (one.arguments == other.arguments || value(one).is_some_and(|one| value(other) == Some(one)))
}

/// Calls that count if nothing but calls follows.
#[derive(Default)]
pub(super) struct Tentative {
    calls: Vec<Parsed>,
    /// Why the only call is refused if it counts.
    stray: Option<Why>,
    /// The text before these calls does not announce them.
    unannounced: bool,
    /// The calls have markers, but the text before them does not announce them: they count unless text follows.
    doubted: bool,
    /// Earlier calls with markers were text: those that follow in this answer are doubtful too.
    shown: bool,
    /// Earlier calls that were followed by text: steps of a plan that do not run.
    skipped: Vec<Parsed>,
    /// The delimiters around the whole answer.
    pub(super) wrap: Option<Wrap>,
}

impl Tentative {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Holds calls. `announced`: the text before them announces them.
    pub(super) fn hold(&mut self, calls: Vec<Parsed>, announced: bool) {
        if self.calls.is_empty() {
            self.unannounced = !announced;
        }
        self.calls.extend(calls);
    }

    /// Holds calls that have markers. `supposed`: the text before them says what would be done.
    pub(super) fn hold_doubted(&mut self, calls: Vec<Parsed>, supposed: bool) {
        self.doubted = true;
        self.hold(calls, !supposed);
    }

    /// Whether these calls have no markers and the text before them announces them.
    pub(super) fn is_announced(&self) -> bool {
        !self.calls.is_empty() && self.stray.is_none() && !self.doubted && !self.unannounced
    }

    /// Records the words after the calls. `doubts`: they leave open whether the calls are meant.
    pub(super) fn doubt(&mut self, doubts: bool) {
        self.unannounced |= doubts;
    }

    /// Holds a call that is refused if it counts.
    pub(super) fn hold_stray(&mut self, calls: Vec<Parsed>, why: Why) {
        (self.calls, self.stray, self.unannounced) = (calls, Some(why), false);
    }

    /// Another call follows, so a stray one before it was text.
    pub(super) fn drop_stray(&mut self) {
        if self.stray.take().is_some() {
            self.calls.clear();
        }
    }

    /// Text follows, so none of the calls counts.
    pub(super) fn clear(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        self.shown |= std::mem::take(&mut self.doubted);
        // A call in a wrap is an example, and a stray one is no step.
        let (stray, wrap) = (self.stray.take(), self.wrap.take());
        if stray.is_none() && wrap.is_none() {
            self.skipped.extend(calls);
        }
    }

    /// Drops the calls, which were examples.
    pub(super) fn forget(&mut self) {
        self.calls.clear();
        (self.stray, self.doubted) = (None, false);
    }

    /// Whether an earlier call was text, and these calls do not repeat it.
    pub(super) fn lacks_a_step(&self) -> bool {
        self.skipped.iter().any(|skipped| !self.calls.iter().any(|call| same(skipped, call)))
    }

    /// Takes the calls, which count now, and the reason if they are refused.
    pub(super) fn take(&mut self) -> (Vec<Parsed>, Option<Why>) {
        self.doubted = false;
        (std::mem::take(&mut self.calls), self.stray.take())
    }

    pub(super) fn calls(&self) -> &[Parsed] {
        &self.calls
    }

    /// Whether these calls have markers and are not announced.
    pub(super) fn is_doubted(&self) -> bool {
        self.doubted
    }

    /// Whether earlier calls that have markers were text.
    pub(super) fn has_shown(&self) -> bool {
        self.shown
    }

    /// Whether the text before these calls does not announce them.
    pub(super) fn is_unannounced(&self) -> bool {
        self.unannounced
    }
}
