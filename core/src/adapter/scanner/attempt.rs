//! Reads a candidate with one form after the other, and decides about what was read.

use std::sync::Arc;

use super::{
    Region, Scanner,
    candidate::{Candidate, Read},
    entry::Entry,
};
use crate::{
    adapter::{
        Call,
        syntax::{self, Attempts, Context, Parsed, Step, is_blank},
    },
    event::{Cell, Form, Place, Proof, Sink, Why},
};

/// One form that is tried at a candidate.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    call: &'a Call,
    entry: Entry,
    /// Whether its marker was read, so that the calls count as marked.
    marked: bool,
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
        let decision = match candidate.read.take() {
            Some(read) => self.decide_read(read, &mut candidate, end, out),
            None => self.try_form(&mut candidate, end, out),
        };
        match decision {
            Decision::Over => return true,
            Decision::Form => {
                candidate.entries.pop_front();
                (candidate.attempts, candidate.confirmed) = (Attempts::default(), false);
            }
            Decision::Waits | Decision::Again => {}
        }
        self.candidate = Some(candidate);
        !matches!(decision, Decision::Waits)
    }

    /// Reads a candidate with its current form.
    fn try_form(&mut self, candidate: &mut Candidate, end: bool, out: &mut dyn Sink) -> Decision {
        let Some(&entry) = candidate.entries.front() else {
            self.reject(candidate, out);
            return Decision::Over;
        };
        let adapter = Arc::clone(&self.adapter);
        let Entry { body, marked, .. } = entry;
        let (Some(call), Some(closing)) = (adapter.calls.get(entry.form), adapter.calls.get(entry.closed_by)) else {
            return Decision::Form;
        };
        let around = self.code_close().filter(|_| !marked || call.element);
        let close = around.as_ref().map_or(closing.close.as_slice(), std::slice::from_ref);
        let text_end = if marked || self.code.is_some() { self.buf.len() } else { self.text_end(end).max(body) };
        let window = self.window(candidate, body).min(text_end);
        let read_all = window == text_end;
        let is_marked = marked || self.is_dedicated(call);
        let (lenient, cut) = (self.options.elements, self.buf.is_cut());
        let context = Context { call, close, tools: &self.tools, marked: is_marked, lenient, end: end && read_all, cut };
        let text = &self.buf[body..window];
        let is_due = candidate.attempts.is_due(text, end || !read_all);
        let step = if is_due { syntax::read(text, context) } else { Step::More };
        let name = match &step {
            Step::More | Step::Reject if end || !read_all => syntax::name(text, context),
            _ => None,
        };
        let step = if entry.is_fallback() { self.only_sure(step) } else { step };
        let marked = marked && !self.is_code(call) && !self.message.aside;
        self.decide(step, name, candidate, Attempt { call, entry, marked, window, read_all, end }, out)
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
        let Attempt { entry, marked, window, read_all, end, .. } = attempt;
        let (body, counts, named) = (entry.body, marked && !entry.is_fallback(), name.is_some());
        match step {
            Step::More if read_all && !end => return Decision::Waits,
            Step::More if candidate.confirmed && !self.is_drafting() => {
                self.overrun(&name.unwrap_or_default(), candidate, out);
                return Decision::Over;
            }
            // Beyond the limit, only a candidate that names an offered tool is held.
            Step::More
                if !candidate.confirmed
                    && !self.buf.is_spent(candidate.at, self.options.held_bytes)
                    && name.is_some_and(|name| self.is_known(&name)) =>
            {
                candidate.confirmed = true;
                return Decision::Again;
            }
            Step::More => self.buf.waste(window - body),
            Step::Done { calls, end: stop } => {
                // What ends here only at the end of the answer was searched to that end.
                if end {
                    self.buf.waste((window - body).saturating_sub(stop));
                }
                return self.decide_whole(calls, body + stop, candidate, attempt, out);
            }
            // At the end of the answer, the whole rest may have been searched for the end of the value.
            Step::Passed(stop) => self.buf.waste(if end { window - body } else { stop }),
            Step::Torn { .. } | Step::Cut { .. } if candidate.quoted => {}
            Step::Torn { whole, torn, why, end: stop } => {
                if marked && !self.is_drafting() {
                    let cell = Cell { form: Form::Marked, place: Place::Inside, proof: Proof::Damaged, whole: true };
                    self.note(std::slice::from_ref(&torn), cell, out);
                    self.accept(self.read(whole, Proof::Fits, candidate, attempt, body + stop), out);
                    self.refuse(&torn, &Why::Malformed(why.to_owned()), out);
                    return Decision::Over;
                }
                // What it contains is not a call of its own.
                candidate.content_to = body + stop;
            }
            Step::Cut { whole, cut, closed: false } if whole.is_empty() && cut.name.is_empty() => {
                self.end_nameless(candidate, counts, body);
                self.buf.waste(window - body);
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

    /// The answer ended before the end of a name. A call may begin there on a line of its own, or if a limit cut it after a further
    /// marker, which nobody writes who only mentions the first.
    fn end_nameless(&self, candidate: &mut Candidate, counts: bool, body: usize) {
        let opened = self.buf.is_cut() && body > candidate.at + candidate.marker;
        candidate.nameless |= counts && (opened || self.at_line_start(candidate.at));
    }

    /// The calls that were read in an attempt and end at `to`.
    fn read(&self, calls: Vec<Parsed>, proof: Proof, candidate: &Candidate, attempt: Attempt<'_>, to: usize) -> Read {
        let in_code = self.code.is_some() || self.is_indented(candidate.at);
        let at = self.begin_of(candidate);
        let closes_code = !attempt.entry.marked && self.ends_code(to);
        let (form, marked) = (attempt.entry.closed_by, attempt.marked);
        Read { calls, proof, form, marked, in_code, fresh: candidate.fresh, closes_code, at, to }
    }

    /// Decides about calls that are complete and end at `to`.
    fn decide_whole(
        &mut self,
        calls: Vec<Parsed>,
        to: usize,
        candidate: &mut Candidate,
        mut attempt: Attempt<'_>,
        out: &mut dyn Sink,
    ) -> Decision {
        let Attempt { call, entry, end, .. } = attempt;
        let proof = self.proof_of(&calls);
        let goes_on = self.code.is_some() && !self.ends_code(to) && !(end && is_blank(&self.buf[to..]));
        attempt.marked |= proof < Proof::Unknown && !goes_on && self.is_marked(entry, call);
        let can_be_meant = match attempt.marked {
            // Markers around nothing are dropped as framing.
            true if calls.is_empty() => self.options.framing,
            true => !self.is_word(candidate, &calls, to),
            false => {
                let text = &self.buf[entry.body..to];
                !calls.is_empty() && !self.is_wanted_answer(text) && self.can_be_meant(text, call, &calls, proof)
            }
        };
        if !can_be_meant {
            return Decision::Form;
        }
        let read = self.read(calls, proof, candidate, attempt, to);
        self.decide_read(read, candidate, end, out)
    }

    /// Whether the language of the fence around a candidate, or the line that it is on, exists only to mark calls.
    fn is_marked(&self, entry: Entry, call: &Call) -> bool {
        match self.code {
            Some(_) => self.is_dedicated(call) && !entry.marked,
            None => self.message.transcript && !call.transcript.is_empty(),
        }
    }

    /// Decides about calls that were read.
    fn decide_read(&mut self, read: Read, candidate: &mut Candidate, end: bool, out: &mut dyn Sink) -> Decision {
        let to = read.to;
        match self.is_spoken_of(&read, candidate, end) {
            Some(false) => self.accept(read, out),
            Some(true) if let Some(past) = self.after_closers(candidate, to, end) => {
                self.note(&read.calls, read.cell(Place::Code), out);
                self.advance(past, out);
            }
            _ => {
                candidate.read = Some(read);
                return Decision::Waits;
            }
        }
        Decision::Over
    }

    /// Whether calls are quoted, or in reasoning that nothing opened. `None`: more text is needed.
    fn is_spoken_of(&mut self, read: &Read, candidate: &Candidate, end: bool) -> Option<bool> {
        if candidate.quoted {
            return Some(true);
        }
        if read.calls.is_empty() || self.region != Region::Text {
            return Some(false);
        }
        // Those that wait are dropped when the reasoning closes.
        if self.counts_anywhere(read) { self.closes_thoughts(read.to, end) } else { Some(false) }
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
        let Attempt { call, entry, marked, window, .. } = attempt;
        if closed && !self.buf.is_cut() {
            whole.push(cut.clone());
            let proof = self.proof_of(&whole);
            if marked || matches!(proof, Proof::Fits | Proof::Guess) {
                self.accept(self.read(whole, proof, candidate, attempt, self.buf.len()), out);
                return Decision::Over;
            }
            whole.pop();
        }
        let marked = marked || (self.is_known(&cut.name) && self.is_marked(entry, call));
        if marked && (!whole.is_empty() || !self.is_word(candidate, std::slice::from_ref(&cut), self.buf.len())) {
            self.cut(whole, cut, candidate, out);
            return Decision::Over;
        }
        // Whatever its last value contains is not a call.
        if !marked && !self.tools.must_call() && self.is_known(&cut.name) && !cut.arguments.is_empty() {
            self.note(&[cut], Cell { form: Form::Unmarked, place: Place::Last, proof: Proof::Fits, whole: false }, out);
            candidate.content_to = self.buf.len();
        }
        self.buf.waste(window - entry.body);
        Decision::Form
    }

    /// Handles a candidate that no form fits: it is text, or a control token to drop.
    fn reject(&mut self, candidate: &Candidate, out: &mut dyn Sink) {
        if self.code.is_some() {
            return self.show_code(out);
        }
        if candidate.content_to > 0 {
            return self.advance(candidate.content_to, out);
        }
        let lone = candidate.marker > 1 && self.is_lone(candidate.at, candidate.marker);
        if candidate.nameless && !candidate.quoted && !lone && !self.is_drafting() {
            return self.cut(Vec::new(), Parsed::default(), candidate, out);
        }
        if candidate.marker > 0 {
            self.message.opened |= candidate.marker > 1;
            self.not_a_call(candidate.at, candidate.marker, (candidate.is_token || lone) && !candidate.quoted, out);
        }
    }
}
