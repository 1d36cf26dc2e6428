//! Calls that wait for what follows them. An unmarked call is one only if nothing follows it, so it is held until the answer ends,
//! a call that needs no waiting begins, or too much text has followed. Then the table decides ([`super::verdict`]), and they are
//! emitted as calls, refused, or text.

use super::{
    Before, Region, Scanner,
    candidate::{Candidate, Read},
    verdict::{MayAsk, Rules, Verdict, verdict},
};
use crate::{
    adapter::syntax::{Parsed, is_blank, value::is_json},
    event::{Call, Cell, Effect, Event, FinishReason, Form, Note, Place, Proof, Sink, Why},
    fix::name::{known_tool, means_none},
};

impl Scanner {
    /// What modifies the table for these calls.
    fn rules(&self, calls: &[Parsed], after: usize) -> Rules {
        let reads = |call: &Parsed| known_tool(&self.tools, &call.name).is_some_and(|tool| tool.effect == Effect::Reads);
        Rules {
            demanded: self.tools.must_call(),
            reads: calls.iter().all(reads),
            after,
            limited: self.buf.is_cut(),
            may_ask: if self.emitted.calls > 0 { MayAsk::Never } else { self.options.may_ask },
        }
    }

    /// Says in which cell these calls are, for whoever wants to know why.
    pub(super) fn note(&self, calls: &[Parsed], cell: Cell, out: &mut dyn Sink) {
        let name = calls.first().map(|call| call.name.clone()).unwrap_or_default();
        out.event(Event::Note(&Note::Candidate { name, cell }));
    }

    /// Handles calls that were read. Those that count whatever follows are emitted, the others wait.
    pub(super) fn accept(&mut self, read: Read, out: &mut dyn Sink) {
        if read.calls.is_empty() || (!self.is_drafting() && self.counts_anywhere(&read)) {
            return self.deliver(read, out);
        }
        (self.before.call, self.before.tried) = (Some(read.form), false);
        self.draft.is_prose |= self.is_drafting();
        self.buf.scan_to(read.to);
        self.code.take_if(|_| read.closes_code);
        self.waiting.push(read);
    }

    /// Whether calls count whatever follows them.
    pub(super) fn counts_anywhere(&self, read: &Read) -> bool {
        let rules = self.rules(&read.calls, 0);
        (read.marked || rules.demanded) && verdict(read.cell(Place::Inside), rules) != Verdict::Text
    }

    /// Emits calls that count, and decides about those that wait before them.
    fn deliver(&mut self, read: Read, out: &mut dyn Sink) {
        let Read { at, to, form, .. } = read;
        self.leave_region(at, out);
        if !read.calls.is_empty() {
            self.note(&read.calls, read.cell(before_the_end(read.fresh)), out);
        }
        self.send_meant(read.calls, out);
        self.emitted.swallow_blank |= self.emitted.calls == 0 && !self.emitted.said;
        self.emitted.begin_line();
        self.buf.skip_to(to);
        self.before = Before::text(Some(form));
        // After a call of a transcript that the marker of a result ends, the model invents the result, and what depends on it.
        let transcript = self.adapter.calls.get(form).filter(|call| !call.transcript.is_empty());
        if transcript.is_some_and(|call| call.close.iter().any(|close| self.buf[at..to].ends_with(close.as_str()))) {
            self.region = Region::Lost;
        }
    }

    /// Decides about the waiting calls, emits the text before a call at `at`, and drops the whitespace around the call.
    fn leave_region(&mut self, at: usize, out: &mut dyn Sink) {
        self.resolve(at, false, out);
        // Only whitespace and separators are between calls.
        let between_calls = self.before.fresh && self.emitted.calls > 0 && self.region != Region::Reasoning;
        if !between_calls {
            self.emit(self.buf.trimmed(at), out);
        }
        self.code = None;
    }

    /// What is before `to` belongs to the last waiting call: a closing marker, a separator.
    pub(super) fn extend_waiting(&mut self, to: usize) {
        if let Some(last) = self.waiting.last_mut() {
            last.to = to;
        }
    }

    /// Decides about the waiting calls, because the answer ends at `to`, or what begins there needs no waiting. `may_ask`: nothing
    /// else is delivered.
    pub(super) fn resolve(&mut self, to: usize, may_ask: bool, out: &mut dyn Sink) {
        self.settle_until(to, 0, may_ask, out);
    }

    /// Decides about the waiting calls, with the text up to `to` after them, unless `remark` bytes of it are still waited for. Calls
    /// between which is only white space have the same text after them.
    pub(super) fn settle_until(&mut self, to: usize, remark: usize, may_ask: bool, out: &mut dyn Sink) {
        // Something follows them in reasoning: they were drafts.
        if self.region == Region::Reasoning {
            self.waiting.clear();
        }
        let text_end = self.buf.trimmed(to);
        while let Some(first) = self.waiting.first() {
            let (mut count, mut end, mut in_code) = (1, first.to, first.in_code);
            while let Some(next) = self.waiting.get(count).filter(|next| is_blank(&self.buf[end..next.at])) {
                (count, end, in_code) = (count + 1, next.to, in_code && next.in_code);
            }
            let after = text_end.saturating_sub(end);
            if remark > 0 && after <= remark && !in_code {
                return;
            }
            let decided: Vec<Read> = self.waiting.drain(..count).collect();
            decided.into_iter().for_each(|read| self.settle(read, after, may_ask, out));
            if let Some(next) = self.waiting.first().map(|next| next.at) {
                self.emit(self.buf.trimmed(next), out);
            }
        }
        self.code = None;
    }

    /// Decides about calls that waited. `after`: the bytes of text after them.
    fn settle(&mut self, read: Read, after: usize, may_ask: bool, out: &mut dyn Sink) {
        // A limit may have cut off the text after it.
        let place = match after {
            0 if read.fresh => Place::Alone,
            0 if !self.buf.is_cut() => Place::Last,
            _ if read.in_code => Place::Code,
            _ => Place::Inside,
        };
        let cell = read.cell(place);
        let mut rules = self.rules(&read.calls, after);
        if !may_ask || (self.buf.is_cut() && place != Place::Alone) {
            rules.may_ask = MayAsk::Never;
        }
        self.note(&read.calls, cell, out);
        let verdict = verdict(cell, rules);
        if verdict == Verdict::Text {
            return;
        }
        let (at, to) = (read.at, read.to);
        // Only white space and separators are between calls.
        if read.fresh && self.emitted.calls > 0 {
            self.buf.discard_to(at);
        } else {
            self.emit(self.buf.trimmed(at), out);
        }
        let text = || self.buf[at..to].trim_end().to_owned();
        let why = match (verdict, read.proof) {
            (Verdict::Ask, Proof::Fits) => Some(Why::Unannounced(text())),
            (Verdict::Ask, Proof::Unknown) => Some(Why::Unmarked(text())),
            _ => None,
        };
        match (why, read.calls.first()) {
            (Some(why), Some(call)) => self.refuse(call, &why, out),
            // The fixer says what is wrong with a call that does not fit.
            _ => self.send_meant(read.calls, out),
        }
        self.buf.discard_to(to);
    }

    /// Handles a marked call truncated by the end of the answer, after others that are complete.
    pub(super) fn cut(&mut self, whole: Vec<Parsed>, cut: Parsed, candidate: &Candidate, out: &mut dyn Sink) {
        self.leave_region(self.begin_of(candidate), out);
        self.send_meant(whole, out);
        let cell = Cell { form: Form::Marked, place: before_the_end(candidate.fresh), proof: Proof::Fits, whole: false };
        self.note(std::slice::from_ref(&cut), cell, out);
        match self.buf.ended {
            // The arguments are complete, but the call itself may not be.
            Some(reason) if is_json(&cut.arguments) => self.refuse(&cut, &Why::Truncated(reason), out),
            reason => self.send(&cut, reason.or(Some(FinishReason::Stop)), out),
        }
        self.buf.skip_to(self.buf.len());
    }

    /// Refuses a call whose arguments exceed the limit, and discards the rest of the answer, because nobody knows where the call
    /// ends.
    pub(super) fn overrun(&mut self, name: &str, candidate: &Candidate, out: &mut dyn Sink) {
        self.leave_region(self.begin_of(candidate), out);
        self.refuse(&Parsed::new(name, ""), &Why::TooLarge(self.options.argument_bytes), out);
        self.region = Region::Lost;
        self.buf.skip_to(self.buf.len());
    }

    /// Emits the calls, without those whose names mean "no tool".
    fn send_meant(&mut self, mut calls: Vec<Parsed>, out: &mut dyn Sink) {
        calls.retain(|call| !means_none(&self.tools, &call.name));
        calls.iter().for_each(|call| self.send(call, None, out));
    }

    /// Refuses a call that cannot be read. The fixer does not see it.
    pub(super) fn refuse(&mut self, torn: &Parsed, why: &Why, out: &mut dyn Sink) {
        self.emitted.call();
        out.event(Event::Refused { name: &torn.name, why, raw: &torn.arguments, written: &torn.arguments });
    }

    /// Emits a call. `cut`: why the answer ended before it did.
    pub(super) fn send(&mut self, call: &Parsed, cut: Option<FinishReason>, out: &mut dyn Sink) {
        let index = self.emitted.call();
        out.event(Event::Call(Call { id: call.id.as_deref(), cut, ..Call::new(index, &call.name, &call.arguments) }));
    }
}

/// The place of a call for which it does not matter whether text follows.
fn before_the_end(fresh: bool) -> Place {
    if fresh { Place::Alone } else { Place::Last }
}
