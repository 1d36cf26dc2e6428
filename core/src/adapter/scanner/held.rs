//! Calls that wait for what follows them. An unmarked call is one only if nothing follows it, so it is held until the answer ends,
//! a call that needs no waiting begins, or too much text has followed. Then the table decides ([`super::verdict`]).

use super::{
    Region, Scanner,
    candidate::Candidate,
    emitted::Writing,
    verdict::{MayAsk, REMARK_BYTES, Rules, Verdict, verdict},
    wrap::Wrap,
};
use crate::{
    adapter::syntax::{Parsed, value::is_json},
    event::{Cell, Effect, Event, Form, Note, Place, Proof, Sink, Why},
    fix::name::{known_tool, unknown},
};

/// The calls of one candidate that waits.
pub(super) struct Waiting {
    pub(super) calls: Vec<Parsed>,
    pub(super) writing: Writing,
    pub(super) proof: Proof,
    /// Whether it is in code, unless the code ends the answer.
    pub(super) in_code: bool,
    /// Whether only white space, reasoning and calls precede it.
    pub(super) fresh: bool,
    /// Where it begins and ends, in the answer.
    pub(super) at: usize,
    pub(super) to: usize,
}

/// The waiting calls, and the delimiters around the whole answer.
#[derive(Default)]
pub(super) struct Held {
    waiting: Vec<Waiting>,
    pub(super) wrap: Option<Wrap>,
}

impl Held {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether there is nothing to decide: no call waits, and no wrap is open.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.wrap.is_none()
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        self.waiting.push(waiting);
    }

    /// What is before the position `to` in the answer belongs to the last call: a closing marker, a separator.
    pub(super) fn extend(&mut self, to: usize) {
        if let Some(last) = self.waiting.last_mut() {
            last.to = to;
        }
    }

    /// Where the last call ends, in the answer.
    pub(super) fn end(&self) -> Option<usize> {
        self.waiting.last().map(|last| last.to)
    }

    /// Drops the calls, which are text.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
    }
}

impl Scanner {
    /// What modifies the table for these calls.
    fn rules(&self, calls: &[Parsed], after: usize) -> Rules {
        let reads = |call: &Parsed| known_tool(&self.tools, &call.name).is_some_and(|tool| tool.effect == Effect::Reads);
        Rules {
            demanded: self.tools.must_call(),
            reads: calls.iter().all(reads),
            after,
            limited: self.buf.is_cut(),
            may_ask: if self.emitted.calls() > 0 { MayAsk::Never } else { self.options.may_ask },
        }
    }

    /// Says in which cell these calls are, for whoever wants to know why.
    pub(super) fn note(&self, calls: &[Parsed], cell: Cell, out: &mut dyn Sink) {
        let name = calls.first().map(|call| call.name.clone()).unwrap_or_default();
        out.event(Event::Note(&Note::Candidate { name, cell }));
    }

    /// Handles calls that were read in `candidate.at..to`. Those that count whatever follows are emitted, the others wait.
    pub(super) fn accept(
        &mut self,
        calls: Vec<Parsed>,
        candidate: &Candidate,
        writing: Writing,
        proof: Proof,
        to: usize,
        out: &mut dyn Sink,
    ) {
        self.buf.leave_strings();
        let (form, marked) = writing;
        if self.is_drafting() && !calls.is_empty() {
            self.hold_draft(calls, candidate, to, out);
            self.before.after_held_call(form);
            return;
        }
        if calls.is_empty() || self.counts_anywhere(&calls, proof, marked) {
            return self.deliver(calls, candidate, writing, proof, to, out);
        }
        let in_code = candidate.fence.is_some() || self.is_wrapped() || self.is_indented(candidate.at);
        let (at, end) = (self.buf.in_answer(candidate.at), self.buf.in_answer(to));
        self.held.push(Waiting { calls, writing, proof, in_code, fresh: candidate.fresh, at, to: end });
        self.buf.scan_to(to);
        self.before.after_held_call(form);
        self.close_wrap_before(to);
    }

    /// Whether calls count whatever follows them.
    pub(super) fn counts_anywhere(&self, calls: &[Parsed], proof: Proof, marked: bool) -> bool {
        let cell = Cell { form: form_of(marked), place: Place::Inside, proof, whole: true };
        let rules = self.rules(calls, 0);
        (marked || (rules.demanded && !self.is_wrapped())) && verdict(cell, rules) != Verdict::Text
    }

    /// Emits calls that count, and decides about those that wait before them.
    fn deliver(
        &mut self,
        calls: Vec<Parsed>,
        candidate: &Candidate,
        writing: Writing,
        proof: Proof,
        to: usize,
        out: &mut dyn Sink,
    ) {
        let (form, marked) = writing;
        self.resolve(candidate.at, false, out);
        self.leave_region(candidate.at, out);
        if !calls.is_empty() {
            self.note(&calls, cell_of(candidate, marked, proof, true), out);
        }
        self.send_once(calls, candidate.fresh, writing, out);
        if self.emitted.calls() == 0 && !self.emitted.has_said() {
            self.emitted.swallow_blank(true);
        }
        self.emitted.begin_line();
        self.buf.skip_to(to);
        self.before.after_call(form);
        self.end_after_transcript(form, candidate.at, to);
    }

    /// Emits calls, unless they repeat those right before them in another form. The last calls stay, so that a third copy is
    /// recognised too.
    fn send_once(&mut self, calls: Vec<Parsed>, fresh: bool, writing: Writing, out: &mut dyn Sink) {
        if !(fresh && self.repeats(&calls, writing)) {
            let meant = self.send_meant(calls, out);
            self.emitted.set_last(meant, writing);
        }
    }

    /// Whether the calls right before this position are the same. Models may repeat their calls in another form.
    fn repeats(&self, calls: &[Parsed], writing: Writing) -> bool {
        let last = self.emitted.last_in_another_form(writing);
        !calls.is_empty()
            && calls.len() == last.len()
            && calls.iter().zip(last).all(|(one, other)| one.compared() == other.compared())
    }

    /// Ends the answer if the form is a transcript's, and the marker of a result ends the text read in `at..to`: the model invents
    /// the result, and calls that depend on it.
    fn end_after_transcript(&mut self, form: usize, at: usize, to: usize) {
        let read = &self.buf[at..to];
        let call = self.adapter.calls.get(form);
        if call.is_some_and(|call| !call.transcript.is_empty() && call.close.iter().any(|close| read.ends_with(close.as_str()))) {
            self.region = Region::Lost;
        }
    }

    /// Emits the text before a call at `at` and drops the whitespace around the call.
    pub(super) fn leave_region(&mut self, at: usize, out: &mut dyn Sink) {
        // Only whitespace and separators are between calls.
        let between_calls = self.before.is_fresh() && self.emitted.calls() > 0 && self.region != Region::Reasoning;
        if self.is_wrapped() {
            self.buf.discard_to(at);
        } else if !between_calls {
            let text_end = self.buf.trimmed(at);
            self.emit(text_end, out);
        }
        self.held.wrap = None;
    }

    /// Text up to `to` follows the waiting calls. Returns whether any still wait: the text may be a remark about them. Those that
    /// more text follows, and those in code, are text, and so is what precedes the others.
    pub(super) fn remark(&mut self, to: usize, out: &mut dyn Sink) -> bool {
        if self.held.is_empty() {
            self.held.wrap = None;
            return false;
        }
        let text_end = self.buf.in_answer(self.buf.trimmed(to));
        while let Some(first) = self.held.waiting.first() {
            let (mut count, mut end, mut in_code) = (1, first.to, first.in_code);
            while let Some(next) = self.held.waiting.get(count).filter(|next| self.is_blank_between(end, next.at)) {
                (count, end, in_code) = (count + 1, next.to, in_code && next.in_code);
            }
            let after = text_end.saturating_sub(end);
            if after <= REMARK_BYTES && !in_code {
                break;
            }
            let decided: Vec<Waiting> = self.held.waiting.drain(..count).collect();
            decided.into_iter().for_each(|held| self.settle(held, after, to, false, out));
            if let Some(next) = self.held.waiting.first().map(|next| self.buf.place(next.at)) {
                self.emit(self.buf.trimmed(next), out);
            }
        }
        if self.held.is_empty() {
            self.held.wrap = None;
        }
        !self.held.is_empty()
    }

    /// Whether only white space is between two positions of the answer.
    fn is_blank_between(&self, from: usize, to: usize) -> bool {
        self.buf[self.buf.place(from)..self.buf.place(to)].trim().is_empty()
    }

    /// Decides about the waiting calls, because the answer ends at `to`, or what begins there needs no waiting. `may_ask`: nothing
    /// else is delivered.
    pub(super) fn resolve(&mut self, to: usize, may_ask: bool, out: &mut dyn Sink) {
        if self.held.is_empty() {
            return;
        }
        let mut waiting = std::mem::take(&mut self.held.waiting);
        // A leaked marker at the end may have been dropped.
        let length = self.buf.in_answer(self.buf.len());
        waiting.iter_mut().for_each(|held| held.to = held.to.min(length));
        let text_end = self.buf.in_answer(self.buf.trimmed(to));
        let mut following: Option<(usize, usize)> = None;
        let mut after = Vec::with_capacity(waiting.len());
        for held in waiting.iter().rev() {
            let bytes = match following {
                Some((next, bytes)) if self.is_blank_between(held.to, next) => bytes,
                _ => text_end.saturating_sub(held.to),
            };
            after.push(bytes);
            following = Some((held.at, bytes));
        }
        let is_last = waiting.len();
        for (number, held) in waiting.drain(..).enumerate() {
            let after = after.pop().unwrap_or_default();
            let end = if after == 0 && number + 1 == is_last { to } else { self.buf.place(held.to) };
            self.settle(held, after, end, may_ask, out);
        }
        self.held.wrap = None;
    }

    /// Decides about one of them, which ends at `end` with what belongs to it. `after`: the bytes of text after it.
    fn settle(&mut self, held: Waiting, after: usize, end: usize, may_ask: bool, out: &mut dyn Sink) {
        // A limit may have cut off the text after it.
        let place = match after {
            0 if held.fresh => Place::Alone,
            0 if !self.buf.is_cut() => Place::Last,
            _ if held.in_code => Place::Code,
            _ => Place::Inside,
        };
        let cell = Cell { form: form_of(held.writing.1), place, proof: held.proof, whole: true };
        let mut rules = self.rules(&held.calls, after);
        if !may_ask || (self.buf.is_cut() && place != Place::Alone) {
            rules.may_ask = MayAsk::Never;
        }
        self.note(&held.calls, cell, out);
        let verdict = verdict(cell, rules);
        if verdict == Verdict::Text {
            return;
        }
        let at = self.buf.place(held.at);
        // Only white space and separators are between calls.
        if self.held.wrap.is_some() || (held.fresh && self.emitted.calls() > 0) {
            self.buf.discard_to(at);
        } else {
            self.emit(self.buf.trimmed(at), out);
        }
        let text = || self.buf[at..self.buf.place(held.to)].to_owned();
        let why = match (verdict, held.proof) {
            (Verdict::Ask, Proof::Fits) => Some(Why::Unannounced(text())),
            (Verdict::Ask, Proof::Unknown) => match held.calls.first().and_then(|call| unknown(&self.tools, &call.name)) {
                Some(why) if self.tools.is_limited => Some(why),
                _ => Some(Why::Unmarked(text())),
            },
            _ => None,
        };
        match (why, held.calls.first().cloned()) {
            (Some(why), Some(call)) => self.refuse(&call, &why, out),
            // The fixer says what is wrong with a call that does not fit.
            _ => self.send_once(held.calls, held.fresh, held.writing, out),
        }
        self.buf.discard_to(end);
    }

    /// Handles a marked call truncated by the end of the answer, after others that are complete.
    pub(super) fn cut(&mut self, whole: Vec<Parsed>, cut: Parsed, candidate: &Candidate, out: &mut dyn Sink) {
        self.resolve(candidate.at, false, out);
        self.leave_region(candidate.at, out);
        self.send_meant(whole, out);
        self.note(std::slice::from_ref(&cut), cell_of(candidate, true, Proof::Fits, false), out);
        match self.buf.ended() {
            // The arguments are complete, but the call itself may not be.
            Some(reason) if is_json(&cut.arguments) => {
                self.refuse(&cut, &Why::Truncated(reason), out);
            }
            _ => self.send(&cut, false, out),
        }
        self.buf.skip_to(self.buf.len());
    }

    /// Refuses a call whose arguments exceed the limit, and discards the rest of the answer, because nobody knows where the call
    /// ends.
    pub(super) fn overrun(&mut self, name: &str, candidate: &Candidate, out: &mut dyn Sink) {
        self.resolve(candidate.at, false, out);
        self.leave_region(candidate.at, out);
        let why = Why::TooLarge(self.options.argument_bytes);
        self.refuse(&Parsed::new(name, ""), &why, out);
        self.region = Region::Lost;
        self.buf.skip_to(self.buf.len());
    }
}

/// Whether calls were written with a marker, as a property of their cell.
pub(super) fn form_of(marked: bool) -> Form {
    if marked { Form::Marked } else { Form::Unmarked }
}

/// The cell of a candidate for which it does not matter whether text follows.
fn cell_of(candidate: &Candidate, marked: bool, proof: Proof, whole: bool) -> Cell {
    let place = if candidate.fresh { Place::Alone } else { Place::Last };
    Cell { form: form_of(marked), place, proof, whole }
}
