//! Marked calls that are decided together, because they are right after each other or only labels are between them, and what
//! directly follows something that is only mentioned.

use super::{GAP_BYTES, Region, Scanner, candidate::Candidate};
use crate::adapter::syntax::{Parsed, blank};

impl Scanner {
    /// Whether calls of this form may be held until it is known what follows the last of the calls right after them.
    pub(super) fn may_chain(&self, calls: &[Parsed], candidate: &Candidate, form: usize, marked: bool) -> bool {
        let is_line = self.adapter.calls.get(form).is_none_or(|form| !form.transcript.is_empty());
        let start = self.buf.place(self.first_at(candidate));
        let waits_for_nothing_else = self.tentative.is_empty() || self.tentative.chain().is_some();
        marked
            && !is_line
            && waits_for_nothing_else
            && self.region == Region::Text
            && !self.is_wrapped()
            && self.buf.len() - start <= self.options.argument_bytes
            && calls.iter().all(|call| self.is_known(&call.name))
    }

    /// Whether calls that count wait for the calls that directly follow them.
    pub(super) fn chains(&self, calls: &[Parsed], candidate: &Candidate, form: usize, marked: bool, to: usize) -> bool {
        !calls.is_empty()
            && self.may_chain(calls, candidate, form, marked)
            && self.is_followed_by_call(candidate, to, self.buf.ended().is_some()) == Some(true)
    }

    /// Holds calls until it is known what follows the last of the calls right after them.
    pub(super) fn chain(&mut self, calls: Vec<Parsed>, candidate: &Candidate, form: usize, to: usize) {
        let start = self.first_at(candidate);
        if !(candidate.fresh && self.repeats(&calls, (form, true))) {
            self.emitted.set_last(calls.clone(), (form, true));
            self.tentative.hold_chained(calls, start);
        }
        self.buf.scan_to(to);
        self.before.after_call(form);
    }

    /// Where the chain of calls that ends with this one begins, in the answer.
    pub(super) fn first_at(&self, candidate: &Candidate) -> usize {
        self.tentative.chain().unwrap_or_else(|| self.buf.in_answer(candidate.at))
    }

    /// Whether another marked call directly follows a call that ends at `to`. `None`: more text is needed.
    pub(super) fn is_followed_by_call(&self, candidate: &Candidate, to: usize, end: bool) -> Option<bool> {
        let past = self.after_closers(candidate, to, end)?;
        let window = &self.buf[..self.buf.floor_char_boundary(past + GAP_BYTES)];
        Some(self.call_after(window, past, end)?.is_some())
    }

    /// Where the marked call begins that only whitespace separates from `past`, within a window of the text. `None`: more text
    /// is needed.
    fn call_after(&self, window: &str, past: usize, end: bool) -> Option<Option<usize>> {
        let next = past + blank(&window[past..]);
        if next == window.len() {
            return (end || window.len() < self.buf.len()).then_some(None);
        }
        if !end && self.adapter.triggers.may_become(&self.buf[next..]) {
            return None;
        }
        let found = self.adapter.triggers.next(window, next, true);
        Some(found.is_ok_and(|found| found.at == next && !found.mark.calls.is_empty()).then_some(next))
    }

    /// Passes the label of another marked call, if nothing else is between doubtful calls: `Test:`. What follows the last of them
    /// decides about all. Returns whether a label was passed; `None`: more text is needed.
    pub(super) fn step_label(&mut self, end: bool) -> Option<bool> {
        if !self.tentative.is_only_unannounced() {
            return Some(false);
        }
        let from = self.buf.pos();
        let window = &self.buf[..self.buf.floor_char_boundary(from + GAP_BYTES)];
        let Some(newline) = window[from..].trim_start().find('\n') else {
            return (end || window.len() < self.buf.len()).then_some(false);
        };
        let stop = window.len() - window[from..].trim_start().len() + newline;
        if !is_label(window[from..stop].trim()) {
            return Some(false);
        }
        let Some(next) = self.call_after(window, stop, end)? else { return Some(false) };
        if self.is_supposed(next) || self.is_introduced(next) || !self.is_announced(next) {
            return Some(false);
        }
        self.tentative.say(&window[from..stop]);
        self.buf.scan_to(next);
        Some(true)
    }

    /// Whether what begins at `at` directly follows something that was only mentioned.
    pub(super) fn follows_mentioned(&self, at: usize) -> bool {
        let Some(mentioned) = self.before.mentioned() else { return false };
        let from = self.buf.in_answer(self.buf.from());
        if mentioned.end < from || mentioned.end > self.buf.in_answer(at) {
            return false;
        }
        let between = &self.buf[self.buf.place(mentioned.end)..at];
        between.trim().is_empty() && between.matches('\n').count() <= usize::from(mentioned.across_lines)
    }
}

/// Whether a line is a label, a heading, or an item of a list, and no sentence: `Test:`, `2. Run the tests`, `## Tests`.
fn is_label(line: &str) -> bool {
    let plain = line.trim_matches(['*', '_', ' ']);
    let item = plain.split_once(['.', ')']).filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
    let text = item.map_or(plain, |(_, text)| text);
    let is_label = text.ends_with([':', '：']) || item.is_some() || line.starts_with(['#', '-', '*']) || is_step(plain);
    is_label && !text.ends_with(['.', '!', '?']) && ![". ", "! ", "? ", "。", "！", "？"].iter().any(|end| text.contains(end))
}

/// Whether a line begins with the word for a step: `Step 2: run the tests`.
fn is_step(line: &str) -> bool {
    line.split_once(' ')
        .is_some_and(|(word, rest)| word.eq_ignore_ascii_case("step") && rest.starts_with(|c: char| c.is_ascii_digit()))
}
