//! Reads a candidate with one form after the other, and decides about what was read.

use std::sync::Arc;

use super::{Region, Scanner, candidate::Candidate, preceding::Mentioned};
use crate::{
    adapter::{
        Call, Syntax,
        syntax::{Context, Parsed, Reader, Step},
    },
    event::{Sink, Why},
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
        let around = candidate.tag.as_ref().map(std::slice::from_ref).or(around);
        let close: &[String] = candidate.fence.as_ref().map_or(around.unwrap_or(&closing.close), |fence| &fence.close);
        let text_end = if !marked && candidate.fence.is_none() { self.text_end(end).max(body) } else { self.buf.len() };
        let window = self.window(&candidate, body).min(text_end);
        let read_all = window == text_end;
        let lenient = self.options.elements;
        let cut = self.buf.is_cut();
        let context = Context { call, close, tools: &self.tools, marked, lenient, end: end && read_all, cut };
        let reader = candidate.reader.get_or_insert_with(|| Reader::new(&call.syntax));
        let step = match candidate.read.take() {
            Some((calls, end)) => Step::Done { calls, end },
            None => reader.read(&self.buf[body..window], context),
        };
        let name = match &step {
            Step::More if !read_all => reader.name(&self.buf[body..window], context),
            _ => None,
        };
        let step = if is_fallback { self.only_sure(step) } else { step };
        // An element with an unknown name is not a call. At most the model is told about it.
        let foreign = |calls: &[Parsed]| call.element && calls.iter().any(|call| !self.is_known(&call.name));
        let in_code = self.is_wrapped_in_code() || self.message.aside;
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
                (candidate.reader, candidate.confirmed) = (None, false);
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
        match step {
            Step::More if read_all && !end => return Decision::Waits,
            // The answer ended before the name did.
            Step::More if read_all => candidate.end_nameless(marked && !is_fallback, body),
            Step::More if candidate.confirmed && !self.is_drafting() => {
                self.overrun(&name.unwrap_or_default(), candidate, out);
                return Decision::Over;
            }
            // Beyond the limit, only a candidate that names an offered tool is held.
            Step::More if !candidate.confirmed && name.is_some_and(|name| self.is_known(&name)) => {
                candidate.confirmed = true;
                return Decision::Again;
            }
            Step::More => self.buf.waste(window - body),
            Step::Done { calls, end: stop } => return self.decide_whole(calls, stop, candidate, attempt, out),
            // No unmarked call begins inside it either: more of the value may follow.
            Step::Passed { end: stop, is_json: true } if !marked && !self.tools.must_call() => {
                self.buf.pass_value(body + stop);
            }
            Step::Passed { end: stop, .. } => self.buf.waste(stop),
            Step::Torn { .. } | Step::Cut { .. } if candidate.mentions => {}
            Step::Torn { whole, torn, why, end: stop } => {
                if marked && !self.is_drafting() {
                    self.accept(whole, candidate, form, marked, body + stop, out);
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
            Step::Reject => {}
        }
        Decision::Form
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
        let Attempt { call, form, marked, body, end, .. } = attempt;
        let to = body + stop;
        // Markers around nothing are dropped as framing.
        let is_answer = !marked && self.is_wanted_answer(&self.buf[body..to]);
        let count = (self.are_proven(&calls, marked) && !is_answer) || (marked && calls.is_empty() && self.options.framing);
        if candidate.mentions {
            return self.pass_mentioned((calls, stop), candidate, attempt, out);
        }
        let known = count || marked || (call.element && !self.at_line_start(candidate.at));
        let stray = if known { None } else { self.stray(&self.buf[body..to], call, &calls) };
        let whole = self.end_in_fence(candidate, to, end);
        if let Some((call, why)) = stray.filter(|_| self.tentative.takes_strays() && whole.is_some()) {
            self.tentative.hold_stray(call.clone(), why);
            self.buf.scan_to(to);
            self.before.after_held_call(form);
            return Decision::Over;
        }
        let Some(to) = whole.filter(|_| count && !(marked && self.is_mentioned(candidate, &calls, to))) else {
            return Decision::Form;
        };
        match self.is_meant(&calls, candidate, to, attempt) {
            Some(true) => {
                self.accept(calls, candidate, form, marked, to, out);
                Decision::Over
            }
            Some(false) => self.pass_mentioned((calls, stop), candidate, attempt, out),
            None => {
                candidate.read = Some((calls, stop));
                Decision::Waits
            }
        }
    }

    /// Handles calls that end at `stop` in the body and are only mentioned: they are text.
    fn pass_mentioned(
        &mut self,
        (calls, stop): (Vec<Parsed>, usize),
        candidate: &mut Candidate,
        attempt: Attempt<'_>,
        out: &mut dyn Sink,
    ) -> Decision {
        let to = attempt.body + stop;
        let Some(past) = self.after_closers(candidate, to, attempt.end) else {
            candidate.read = Some((calls, stop));
            return Decision::Waits;
        };
        candidate.marker.is_token = false;
        self.before.after_mentioned(Mentioned { end: self.buf.in_answer(past) });
        self.buf.pass_content(to);
        self.reject(candidate, out);
        Decision::Over
    }

    /// Whether calls that end at `to` are neither between quotes nor in reasoning that nothing opened. `None`: more text is needed.
    fn is_meant(&mut self, calls: &[Parsed], candidate: &Candidate, to: usize, attempt: Attempt<'_>) -> Option<bool> {
        if calls.is_empty() || self.region != Region::Text || self.is_wrapped() {
            return Some(true);
        }
        let Attempt { marked, end, .. } = attempt;
        let is_quoted = (marked || !self.tools.must_call()) && self.is_between_quotes(candidate, to, end)?;
        Some(!is_quoted && !self.closes_thoughts(to, end)?)
    }

    /// Decides about calls at the end of the answer, the last of which is not complete. `closed`: its arguments are complete.
    fn decide_cut(
        &mut self,
        mut whole: Vec<Parsed>,
        cut: Parsed,
        closed: bool,
        candidate: &Candidate,
        attempt: Attempt<'_>,
        out: &mut dyn Sink,
    ) -> Decision {
        let Attempt { call, marked, body, window, .. } = attempt;
        let limited = self.buf.is_cut();
        if closed && !limited {
            whole.push(cut.clone());
            if self.are_proven(&whole, marked) {
                self.accept_at_end(whole, candidate, out);
                return Decision::Over;
            }
            whole.pop();
        }
        if !self.are_proven(&whole, marked) {
            whole.clear();
        }
        let counts = match marked {
            true => !whole.is_empty() || !self.is_mentioned(candidate, std::slice::from_ref(&cut), self.buf.len()),
            false if call.whole_answer => false,
            // A line of text that only the end of the answer closes. The model can write it in another way.
            false if !call.transcript.is_empty() && !limited => self.refuses_strays() && self.is_known(&cut.name),
            false => (candidate.fresh && !whole.is_empty()) || (limited && self.is_known(&cut.name)),
        };
        if counts {
            self.cut(whole, cut, candidate, out);
            return Decision::Over;
        }
        // Whatever its last value contains is not a call.
        let has_values = matches!(call.syntax, Syntax::Python) || cut.arguments.contains(':');
        if !marked && !self.tools.must_call() && has_values && self.is_known(&cut.name) {
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
