//! Reads a candidate with one form after the other, and decides about what was read.

use std::sync::Arc;

use super::{
    Region, Scanner,
    candidate::{Candidate, Read},
    held::form_of,
};
use crate::{
    adapter::{
        Call, Syntax,
        syntax::{self, Attempts, Context, Parsed, Step},
    },
    event::{Cell, Form, Place, Proof, Sink, Why},
};

/// One form that is tried at a candidate.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    call: &'a Call,
    /// The index of the form whose markers close the call.
    form: usize,
    /// Whether its marker was read, so that the calls count as marked.
    marked: bool,
    /// Whether the marker announces another form.
    is_fallback: bool,
    /// Where its body begins.
    body: usize,
    /// Where reading stopped.
    window: usize,
    /// Whether that is the end of the text so far.
    read_all: bool,
    /// Whether the answer has ended.
    end: bool,
}

/// The outcome of reading with one form.
enum Decision {
    /// The candidate was decided.
    Over,
    /// More text is needed.
    Waits,
    /// The same form reads on, with a higher limit.
    Again,
    /// The next form is tried.
    Form,
}

impl Scanner {
    /// Reads on with the current form. Returns whether progress is possible without more text.
    pub(super) fn step_candidate(&mut self, end: bool, out: &mut dyn Sink) -> bool {
        let Some(mut candidate) = self.candidate.take() else { return true };
        let Some(entry) = candidate.entries.front() else {
            self.reject(&candidate, out);
            return true;
        };
        let adapter = Arc::clone(&self.adapter);
        let (form, marked, body, is_fallback) = (entry.closed_by, entry.marked, entry.body, entry.is_fallback());
        let (Some(call), Some(closing)) = (adapter.calls.get(entry.form), adapter.calls.get(form)) else { return true };
        let around = if marked { None } else { self.wrap_close() };
        let close: &[String] = candidate.fence.as_ref().map_or(around.unwrap_or(&closing.close), |fence| &fence.close);
        let text_end = if !marked && candidate.fence.is_none() { self.text_end(end).max(body) } else { self.buf.len() };
        let window = self.window(&candidate, body).min(text_end);
        let read_all = window == text_end;
        let lenient = self.options.elements;
        let cut = self.buf.is_cut();
        // A fence of a dedicated language marks what it holds.
        let is_marked = marked || candidate.fence.as_ref().is_some_and(|fence| fence.is_dedicated && !call.whole_answer);
        let context = Context { call, close, tools: &self.tools, marked: is_marked, lenient, end: end && read_all, cut };
        if let Some(read) = candidate.read.take() {
            let decision = self.decide_read(read, &mut candidate, body, end, out);
            if matches!(decision, Decision::Waits) {
                self.candidate = Some(candidate);
            }
            return matches!(decision, Decision::Over);
        }
        let text = &self.buf[body..window];
        let is_due = candidate.attempts.is_due(text, end || !read_all);
        let step = if is_due { syntax::read(text, context) } else { Step::More };
        let name = match &step {
            Step::More | Step::Reject if end || !read_all => syntax::name(text, context),
            _ => None,
        };
        let step = if is_fallback { self.only_sure(step) } else { step };
        // An element with an unknown name is not a call. At most the model is told about it.
        let foreign = |calls: &[Parsed]| call.element && calls.iter().any(|call| !self.is_known(&call.name));
        let in_code = self.is_wrapped() || self.message.aside;
        let counts = marked && !in_code && !matches!(&step, Step::Done { calls, .. } if foreign(calls));
        let attempt = Attempt { call, form, marked: counts, is_fallback, body, window, read_all, end };
        match self.decide(step, name, &mut candidate, attempt, out) {
            Decision::Over => return true,
            Decision::Waits => {
                self.candidate = Some(candidate);
                return false;
            }
            Decision::Again => {}
            Decision::Form => {
                candidate.entries.pop_front();
                (candidate.attempts, candidate.confirmed) = (Attempts::default(), false);
            }
        }
        self.candidate = Some(candidate);
        true
    }

    /// Decides about what was read. `name`: the name that was read before the limit.
    fn decide(
        &mut self,
        step: Step,
        name: Option<String>,
        candidate: &mut Candidate,
        attempt: Attempt<'_>,
        out: &mut dyn Sink,
    ) -> Decision {
        let Attempt { form, marked, is_fallback, body, window, read_all, end, .. } = attempt;
        let named = name.is_some();
        match step {
            Step::More if read_all && !end => return Decision::Waits,
            // The answer ended before the name did.
            Step::More if read_all => candidate.end_nameless(marked && !is_fallback, body),
            Step::More if candidate.confirmed && !self.is_drafting() => {
                self.overrun(&name.unwrap_or_default(), candidate, out);
                return Decision::Over;
            }
            // Beyond the limit, only a candidate that names an offered tool is held.
            Step::More if self.may_go_on(candidate) && name.is_some_and(|name| self.is_known(&name)) => {
                candidate.confirmed = true;
                return Decision::Again;
            }
            Step::More => self.buf.waste(window - body),
            Step::Done { calls, end: stop } => {
                // What ends here only at the end of the answer was searched to that end.
                if end {
                    self.buf.waste((window - body).saturating_sub(stop));
                }
                return self.decide_whole(calls, stop, candidate, attempt, out);
            }
            // No unmarked call begins inside it either: more of the value may follow.
            Step::Passed { end: stop, is_json: true } if !marked && !self.tools.must_call() => {
                self.buf.pass_value(body + stop);
            }
            // At the end of the answer, the whole rest may have been searched for the end of the value.
            Step::Passed { end: stop, .. } => self.buf.waste(if end { window - body } else { stop }),
            Step::Torn { .. } | Step::Cut { .. } if candidate.mentions => {}
            Step::Torn { whole, torn, why, end: stop } => {
                if marked && !self.is_drafting() {
                    let cell = Cell { form: Form::Marked, place: Place::Inside, proof: Proof::Damaged, whole: true };
                    self.note(std::slice::from_ref(&torn), cell, out);
                    self.accept(whole, candidate, (form, marked), Proof::Fits, body + stop, out);
                    self.refuse(&torn, &Why::Malformed(why.to_owned()), out);
                    return Decision::Over;
                }
                // What it contains is not a call of its own.
                if self.is_known(&torn.name) {
                    self.buf.pass_content(body + stop);
                }
            }
            Step::Cut { whole, cut, closed: false } if whole.is_empty() && cut.name.is_empty() => {
                candidate.end_nameless(marked && !is_fallback, body);
                self.buf.waste(window - body);
            }
            Step::Cut { .. } if self.closes_quotes(candidate) => {
                self.buf.pass_content(self.buf.len());
                self.reject(candidate, out);
                return Decision::Over;
            }
            // A model that stopped while it wrote a draft did not make the call.
            Step::Cut { closed, .. } if self.is_drafting() && !closed => self.buf.waste(window - body),
            Step::Cut { whole, cut, closed } => return self.decide_cut(whole, cut, closed, candidate, attempt, out),
            // The whole rest of the answer was read in vain.
            Step::Reject if end && named => self.buf.waste(window - body),
            Step::Reject => {}
        }
        Decision::Form
    }

    /// Whether a candidate may be read beyond the limit.
    fn may_go_on(&self, candidate: &Candidate) -> bool {
        !candidate.confirmed && !self.buf.is_spent(candidate.at, self.options.held_bytes)
    }

    /// Decides about calls that are complete and end at `stop` in the body.
    fn decide_whole(
        &mut self,
        calls: Vec<Parsed>,
        stop: usize,
        candidate: &mut Candidate,
        attempt: Attempt<'_>,
        out: &mut dyn Sink,
    ) -> Decision {
        let Attempt { call, body, end, .. } = attempt;
        let to = body + stop;
        let proof = self.proof_of(&calls);
        let marked = attempt.marked || (proof < Proof::Unknown && self.is_marked(candidate, call));
        let can_be_meant = match marked {
            // Markers around nothing are dropped as framing.
            true if calls.is_empty() => self.options.framing,
            true => !self.is_word(candidate, &calls, to),
            false => {
                let text = &self.buf[body..to];
                !calls.is_empty() && !self.is_wanted_answer(text) && self.can_be_meant(text, call, &calls, proof)
            }
        };
        let Some(whole) = self.end_in_fence(candidate, to, end).filter(|_| can_be_meant) else { return Decision::Form };
        let read = Read { calls, proof, writing: (attempt.form, marked), stop, whole: whole - body };
        self.decide_read(read, candidate, body, end, out)
    }

    /// Whether the language of the fence around a candidate, or the line that it is on, exists only to mark calls.
    fn is_marked(&self, candidate: &Candidate, call: &Call) -> bool {
        let dedicated = candidate.fence.as_ref().is_some_and(|fence| fence.is_dedicated && !call.whole_answer);
        !self.is_wrapped() && (dedicated || (self.message.transcript && !call.transcript.is_empty()))
    }

    /// Decides about calls that were read in the body at `body`.
    fn decide_read(&mut self, read: Read, candidate: &mut Candidate, body: usize, end: bool, out: &mut dyn Sink) -> Decision {
        let to = body + read.whole;
        match self.is_spoken_of(&read, candidate, to, end) {
            Some(false) => self.accept(read.calls, candidate, read.writing, read.proof, to, out),
            Some(true) if let Some(past) = self.after_closers(candidate, to, end) => {
                let cell = Cell { form: form_of(read.writing.1), place: Place::Code, proof: read.proof, whole: true };
                self.note(&read.calls, cell, out);
                candidate.marker.is_token = false;
                self.before.after_mentioned(self.buf.in_answer(past));
                self.buf.pass_content(body + read.stop);
                self.reject(candidate, out);
            }
            _ => {
                candidate.read = Some(read);
                return Decision::Waits;
            }
        }
        Decision::Over
    }

    /// Whether calls that end at `to` are quoted, or in reasoning that nothing opened. `None`: more text is needed.
    fn is_spoken_of(&mut self, read: &Read, candidate: &Candidate, to: usize, end: bool) -> Option<bool> {
        if candidate.mentions {
            return Some(true);
        }
        let marked = read.writing.1;
        if read.calls.is_empty() || self.region != Region::Text || self.is_wrapped() {
            return Some(false);
        }
        if (marked || !self.tools.must_call()) && self.is_between_quotes(candidate, to, end)? {
            return Some(true);
        }
        // Those that wait are dropped when the reasoning closes.
        if self.counts_anywhere(&read.calls, read.proof, marked) { self.closes_thoughts(to, end) } else { Some(false) }
    }

    /// Decides about calls at the end of the answer, the last of which is not complete. `closed`: its arguments are complete.
    fn decide_cut(
        &mut self,
        mut whole: Vec<Parsed>,
        cut: Parsed,
        closed: bool,
        candidate: &mut Candidate,
        attempt: Attempt<'_>,
        out: &mut dyn Sink,
    ) -> Decision {
        let Attempt { call, form, marked, body, window, .. } = attempt;
        if closed && !self.buf.is_cut() {
            whole.push(cut.clone());
            let proof = self.proof_of(&whole);
            if marked || matches!(proof, Proof::Fits | Proof::Guess) {
                self.accept(whole, candidate, (form, marked), proof, self.buf.len(), out);
                return Decision::Over;
            }
            whole.pop();
        }
        let marked = marked || (self.is_known(&cut.name) && self.is_marked(candidate, call));
        if marked && (!whole.is_empty() || !self.is_word(candidate, std::slice::from_ref(&cut), self.buf.len())) {
            self.cut(whole, cut, candidate, out);
            return Decision::Over;
        }
        // Whatever its last value contains is not a call.
        let has_values = matches!(call.syntax, Syntax::Python) || cut.arguments.contains(':');
        if !marked && !self.tools.must_call() && has_values && self.is_known(&cut.name) {
            self.note(&[cut], Cell { form: Form::Unmarked, place: Place::Last, proof: Proof::Fits, whole: false }, out);
            self.buf.pass_value(self.buf.len());
            match &call.syntax {
                Syntax::Json(_) | Syntax::Python => self.buf.pass_strings(candidate.at, true),
                _ => self.buf.pass_content(self.buf.len()),
            }
        }
        self.buf.waste(window - body);
        Decision::Form
    }
}
