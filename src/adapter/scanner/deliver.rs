//! What becomes of a candidate: its calls leave, wait, are refused, or it was text.

use super::{Region, Scanner, candidate::Candidate, relaxed};
use crate::{
    adapter::syntax::{Parsed, Start, blank, starts_with_any, value::sound},
    event::{Event, Sink, Why},
    fix::name::means_none,
};

impl Scanner {
    /// Calls were read in `candidate.at..to`.
    pub(super) fn accept(
        &mut self,
        calls: Vec<Parsed>,
        candidate: &Candidate,
        form: usize,
        marked: bool,
        to: usize,
        out: &mut dyn Sink,
    ) {
        if self.is_drafting() && !calls.is_empty() {
            self.hold_draft(calls, candidate, to, out);
            self.behind = Some(form);
            return;
        }
        if self.stray.take().is_some() {
            self.tentative.clear();
        }
        let adapter = std::sync::Arc::clone(&self.adapter);
        let call = adapter.calls.get(form);
        let in_place = match call {
            Some(call) if call.whole_answer => false,
            Some(call) if self.transcript && !call.transcript.is_empty() => true,
            _ => candidate.fresh,
        };
        let at_once = marked || in_place || relaxed(&self.tools.choice);
        if !at_once || (self.is_wrapped() && !marked) {
            self.tentative.extend(calls);
            (self.pos, self.behind) = (to, Some(form));
            self.close_wrap_before(to);
            return;
        }
        self.leave_region(candidate.at, out);
        self.accept_tentative(out);
        let echoed = !marked && candidate.fresh && self.repeats(&calls);
        let meant = if echoed { Vec::new() } else { self.send_meant(calls, out) };
        self.swallow_blank |= meant.is_empty() && !self.said;
        self.last_marked = if marked { meant } else { Vec::new() };
        (self.from, self.pos) = (to, to);
        (self.behind, self.fresh, self.tried, self.inline, self.line_blank) = (Some(form), true, false, 0, true);
        // After the marker of a result there is what the model made up, and calls that follow from it.
        let read = &self.buf[candidate.at..to];
        if call.is_some_and(|call| !call.transcript.is_empty() && call.close.iter().any(|close| read.ends_with(close.as_str()))) {
            self.region = Region::Lost;
        }
    }

    /// Whether the marked calls right before this place are the same: a model may write them once more without markers.
    pub(super) fn repeats(&self, calls: &[Parsed]) -> bool {
        let value = |call: &Parsed| serde_json::from_str::<serde_json::Value>(&call.arguments).ok();
        let same = |(one, other): (&Parsed, &Parsed)| {
            one.name == other.name
                && (one.arguments == other.arguments || value(one).is_some_and(|one| value(other) == Some(one)))
        };
        !calls.is_empty() && calls.len() == self.last_marked.len() && calls.iter().zip(&self.last_marked).all(same)
    }

    /// The text before a call has left; whitespace beside the call goes.
    pub(super) fn leave_region(&mut self, at: usize, out: &mut dyn Sink) {
        // Between calls there are only whitespace and separators, between tentative ones their own text.
        let between_calls = self.fresh && self.calls > 0 && self.region != Region::Reasoning;
        if self.is_wrapped() && self.tentative.is_empty() {
            self.from = at;
        } else if self.tentative.is_empty() && !between_calls {
            let text_end = self.from + self.buf[self.from..at].trim_end().len();
            self.emit(text_end, out);
        }
        self.wrap = None;
    }

    /// The answer ended after the arguments of the last of these calls.
    pub(super) fn accept_at_end(&mut self, calls: Vec<Parsed>, candidate: &Candidate, out: &mut dyn Sink) {
        if self.is_drafting() {
            return self.hold_draft(calls, candidate, self.buf.len(), out);
        }
        self.leave_region(candidate.at, out);
        self.accept_tentative(out);
        self.send_meant(calls, out);
        (self.from, self.pos) = (self.buf.len(), self.buf.len());
    }

    /// Sends the calls whose names do not say that nothing is called, and answers with them.
    pub(super) fn send_meant(&mut self, mut calls: Vec<Parsed>, out: &mut dyn Sink) -> Vec<Parsed> {
        calls.retain(|call| !means_none(&self.tools, &call.name));
        calls.iter().for_each(|call| self.send(call, true, out));
        calls
    }

    /// The answer ended inside of a call.
    pub(super) fn cut(&mut self, whole: Vec<Parsed>, cut: Parsed, candidate: &Candidate, out: &mut dyn Sink) {
        if self.stray.take().is_some() {
            self.tentative.clear();
        }
        self.accept_at_end(whole, candidate, out);
        match self.ended {
            // Its arguments are whole, and still it is not known that the call is.
            Some(reason) if sound(&cut.arguments) => self.refuse(&cut, &Why::Truncated(reason), out),
            _ => self.send(&cut, false, out),
        }
    }

    /// Unmarked calls after prose count now: nothing but calls followed them.
    pub(super) fn accept_tentative(&mut self, out: &mut dyn Sink) {
        if self.tentative.is_empty() {
            return;
        }
        let stray = self.stray.take();
        for call in std::mem::take(&mut self.tentative) {
            match &stray {
                Some(why) => self.refuse(&call, why, out),
                None => self.send(&call, true, out),
            }
        }
        self.from = self.pos;
    }

    /// A call whose arguments are longer than they may be: it is refused, and nothing after its beginning is more than the
    /// rest of it.
    pub(super) fn overrun(&mut self, name: &str, candidate: &Candidate, out: &mut dyn Sink) {
        self.leave_region(candidate.at, out);
        self.accept_tentative(out);
        let why = Why::TooLarge(self.options.argument_bytes);
        self.refuse(&Parsed { name: name.to_owned(), ..Parsed::default() }, &why, out);
        (self.region, self.from, self.pos) = (Region::Lost, self.buf.len(), self.buf.len());
    }

    /// A call that cannot be read is refused here: no fixer sees it.
    pub(super) fn refuse(&mut self, torn: &Parsed, why: &Why, out: &mut dyn Sink) {
        self.calls += 1;
        out.event(Event::Refused { name: &torn.name, why, raw: &torn.arguments });
    }

    pub(super) fn send(&mut self, call: &Parsed, complete: bool, out: &mut dyn Sink) {
        let index = self.calls;
        self.calls += 1;
        out.event(Event::CallStart { index, id: call.id.as_deref(), name: &call.name });
        if !call.arguments.is_empty() {
            out.event(Event::CallArguments { index, json: &call.arguments });
        }
        if complete {
            out.event(Event::CallEnd { index, extra: None });
        }
    }

    /// None of the forms fits: it is text (a code fence, a control token, anything).
    pub(super) fn reject(&mut self, candidate: &Candidate, out: &mut dyn Sink) {
        if self.is_wrapped() {
            return self.unwrap(out);
        }
        let lone = candidate.marker.0 > 1 && self.is_lone(candidate.at, candidate.marker.0);
        if candidate.nameless && !lone && !self.is_drafting() && self.at_line_start(candidate.at) {
            return self.cut(Vec::new(), Parsed::default(), candidate, out);
        }
        match &candidate.fence {
            Some(fence) if fence.one_line => {
                self.inline = fence.length;
                self.advance(candidate.at + fence.length, out);
            }
            Some(fence) => {
                self.advance(fence.content, out);
                self.region = Region::Fence(fence.tick, fence.length);
            }
            None if candidate.marker.0 == 0 => {}
            None => self.not_a_call(candidate.at, candidate.marker.0, candidate.marker.1 || lone, out),
        }
    }

    /// After a call: closing markers and separators are not content, also those of another form: a model that forgot the marker
    /// before a call may write the one after it. `None`: other text follows.
    pub(super) fn swallow_closers(&mut self, form: usize, end: bool) -> Option<bool> {
        let call = self.adapter.calls.get(form)?;
        let at = self.pos + blank(&self.buf[self.pos..]);
        if at == self.buf.len() {
            self.pos = at;
            return (!end).then_some(false);
        }
        let closers = call.close.iter().chain(&call.section_close).chain(self.adapter.triggers.closers());
        match starts_with_any(&self.buf[at..], closers, end) {
            Start::Yes(length) => {
                self.pos = at + length;
                if !self.draft.is_empty() {
                    self.draft.push_markup(&self.buf[self.from..self.pos]);
                }
                // What is tentative may still be text.
                if self.tentative.is_empty() {
                    self.from = self.pos;
                }
                Some(true)
            }
            Start::Maybe => Some(false),
            Start::No if at == self.buf.len() && !end => Some(false),
            Start::No => {
                let glue = self.buf[at..].len()
                    - self.buf[at..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ',')).len();
                if glue > 0 && self.pos < at + glue {
                    self.pos = at + glue;
                    return if self.pos == self.buf.len() && !end { Some(false) } else { Some(true) };
                }
                None
            }
        }
    }
}
