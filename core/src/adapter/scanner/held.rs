//! Calls that wait for what follows them. An unmarked call is one only if nothing follows it, so it is held until the answer ends,
//! a call that needs no waiting begins, or too much text has followed. Then the table decides ([`super::verdict`]), and they are
//! emitted as calls, refused, or text.

use super::{Before, MayAsk, Read, Region, Rules, Scanner, Spot, Verdict, verdict};
use crate::{
    adapter::{
        asides::ASIDES,
        syntax::{Parsed, Start, blank, is_blank, starts_with_any_tag, value::is_json},
    },
    event::{Call, Cell, Effect, Event, FinishReason, Note, Place, Proof, Sink, Why},
    fix::name::{known_tool, means_none},
};

impl Scanner {
    /// What modifies the table for these calls.
    pub(super) fn rules(&self, calls: &[Parsed], after: usize) -> Rules {
        let reads = |call: &Parsed| known_tool(&self.tools, &call.name).is_some_and(|tool| tool.effect == Effect::Reads);
        Rules {
            demanded: self.tools.must_call(),
            reads: calls.iter().all(reads),
            after,
            limited: self.buf.is_cut(),
            may_ask: if self.emitted.calls > 0 && !self.emitted.asked { MayAsk::Never } else { self.options.may_ask },
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
        self.end_code();
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
        self.before = Before { call: Some(form), fresh: true, tried: false };
    }

    /// Decides about the waiting calls, emits the text before a call at `at`, and drops the whitespace around the call.
    fn leave_region(&mut self, at: usize, out: &mut dyn Sink) {
        self.resolve(at, false, out);
        self.emit_before(at, self.before.fresh, out);
        self.code = None;
    }

    /// Emits the text before a call at `at`. Only whitespace and separators are between calls.
    fn emit_before(&mut self, at: usize, fresh: bool, out: &mut dyn Sink) {
        match fresh && self.emitted.calls > 0 && self.region != Region::Reasoning {
            true => self.buf.discard_to(at),
            false => self.emit(self.buf.trimmed(at), out),
        }
    }

    /// Skips closing markers and separators after a call, which are not content. Markers of other forms count too, because models
    /// mix them. `None`: other text follows.
    pub(super) fn swallow_closers(&mut self, end: bool) -> Option<bool> {
        let call = self.adapter.calls.get(self.before.call?)?;
        let at = self.buf.pos + blank(&self.buf[self.buf.pos..]);
        let rest = &self.buf[at..];
        if rest.is_empty() {
            self.buf.scan_to(at);
            return (!end).then_some(false);
        }
        // Markers of results are handled in `marker`.
        let is_result = |closer: &&String| ASIDES.results.iter().any(|[open, _]| open == *closer);
        let (own, ticks) = (call.close.iter().chain(&call.section_close), self.code_close());
        let closers = own.chain(self.adapter.triggers.closers()).filter(|closer| !is_result(closer)).chain(&ticks);
        let marker = match starts_with_any_tag(rest, closers.clone(), end) {
            Start::Maybe => return Some(false),
            Start::Yes(length) => length,
            // The answer may end inside a closing marker.
            Start::No if end && rest.len() > 1 && closers.clone().any(|closer| closer.starts_with(rest)) => rest.len(),
            Start::No => 0,
        };
        // White space after separators may come with the next piece: it never belongs to them.
        let separators = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ','));
        let length = if marker > 0 { marker } else { rest[..rest.len() - separators.len()].trim_end().len() };
        if length == 0 {
            self.before.call = None;
            return None;
        }
        self.buf.scan_to(at + length);
        match self.waiting.last_mut() {
            // They stay, because the calls may become text again.
            Some(last) => last.to = self.buf.pos,
            None if marker > 0 => self.buf.discard_to(self.buf.pos),
            None => {}
        }
        self.end_code();
        Some(true)
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
            self.drop_drafts(out);
        }
        let text_end = self.buf.trimmed(to);
        while let Some(first) = self.waiting.first() {
            let (mut count, mut end, mut may_count) = (1, first.to, first.inside == Place::Inside);
            while let Some(next) = self.waiting.get(count).filter(|next| is_blank(&self.buf[end..next.at])) {
                (count, end, may_count) = (count + 1, next.to, may_count || next.inside == Place::Inside);
            }
            let after = text_end.saturating_sub(end);
            if remark > 0 && after <= remark && may_count {
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
        let (place, after) = match after {
            0 if read.fresh => (Place::Alone, 0),
            0 if !self.buf.is_cut() => (Place::Last, 0),
            // Nobody knows how much text a limit has cut off.
            _ if self.buf.is_cut() => (read.inside, usize::MAX),
            _ => (read.inside, after),
        };
        let cell = read.cell(place);
        let rules = self.rules(&read.calls, after);
        let rules = if may_ask { rules } else { Rules { may_ask: MayAsk::Never, ..rules } };
        self.note(&read.calls, cell, out);
        let verdict = verdict(cell, rules);
        // The answer to a question is about what follows too.
        if verdict == Verdict::Text || (verdict == Verdict::Ask && self.emitted.asked) {
            return;
        }
        self.emitted.asked |= verdict == Verdict::Ask;
        let (at, to) = (read.at, read.to);
        self.emit_before(at, read.fresh, out);
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

    /// Handles a call truncated by the end of the answer, after others that are complete.
    pub(super) fn cut(&mut self, whole: Vec<Parsed>, cut: Parsed, cell: Cell, spot: Spot, out: &mut dyn Sink) {
        self.leave_region(self.begin_of(spot), out);
        self.send_meant(whole, out);
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
    pub(super) fn overrun(&mut self, name: &str, spot: Spot, out: &mut dyn Sink) {
        self.leave_region(self.begin_of(spot), out);
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
        self.emitted.calls += 1;
        out.event(Event::Refused { name: &torn.name, why, raw: &torn.arguments, written: &torn.arguments });
    }

    /// Emits a call. `cut`: why the answer ended before it did.
    pub(super) fn send(&mut self, call: &Parsed, cut: Option<FinishReason>, out: &mut dyn Sink) {
        let index = self.emitted.calls;
        self.emitted.calls += 1;
        out.event(Event::Call(Call { id: call.id.as_deref(), cut, ..Call::new(index, &call.name, &call.arguments) }));
    }
}

/// The place of a call for which it does not matter whether text follows.
pub(super) fn before_the_end(fresh: bool) -> Place {
    if fresh { Place::Alone } else { Place::Last }
}
