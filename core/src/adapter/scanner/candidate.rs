//! Candidates: positions in the text that may be a call. A candidate is read with one form after the other, and what was read is
//! decided about.

use std::{collections::VecDeque, sync::Arc};

use super::{Region, Scanner, Verdict, entry::Entry, held::before_the_end, verdict};
use crate::{
    adapter::{
        Call,
        syntax::{self, Attempts, Context, Parsed, Step, is_blank},
    },
    event::{Cell, Form, Place, Proof, Sink, Why},
    fix::name::known_tool,
};

/// Where a candidate is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    pub(super) at: usize,
    /// The length of the marker there; 0 if one may still be found.
    pub(super) marker: usize,
    /// Whether it is a control token, which is dropped if this is not a call.
    pub(super) is_token: bool,
    /// Whether it is in a block quote, or a quote directly precedes it. If so, it stays text, whatever it is.
    pub(super) quoted: bool,
    /// Whether only whitespace and calls precede it.
    pub(super) fresh: bool,
}

/// A position that may be a call.
pub(super) struct Candidate {
    pub(super) spot: Spot,
    /// The forms still to be tried, and where their bodies begin.
    pub(super) entries: VecDeque<Entry>,
    /// When the current form is read again.
    pub(super) attempts: Attempts,
    /// Whether the name of an offered tool was read, so that up to `argument_bytes` may be held.
    pub(super) confirmed: bool,
    pub(super) rest: Rest,
    /// What was read. Set while more text is needed to decide whether it is meant.
    pub(super) read: Option<Read>,
}

/// What is left of a candidate that no form reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// Text, which is searched for calls.
    Text,
    /// The content of a call that is damaged or truncated, up to here. It is not searched for calls.
    Content(usize),
    /// A call: the answer ended before the end of its name.
    Nameless,
}

/// Calls that were read.
pub(super) struct Read {
    pub(super) calls: Vec<Parsed>,
    pub(super) proof: Proof,
    /// How they are written.
    pub(super) form: usize,
    pub(super) marked: bool,
    /// Where they are if text follows: inside, in code, or in reasoning.
    pub(super) inside: Place,
    /// Whether only white space, reasoning and calls precede them.
    pub(super) fresh: bool,
    /// Where they begin and end, with the code around them.
    pub(super) at: usize,
    pub(super) to: usize,
}

impl Read {
    /// The cell of calls in this place.
    pub(super) fn cell(&self, place: Place) -> Cell {
        Cell { form: if self.marked { Form::Marked } else { Form::Unmarked }, place, proof: self.proof, whole: true }
    }
}

/// One form that is tried at a candidate.
#[derive(Clone, Copy)]
struct Trial<'a> {
    spot: Spot,
    call: &'a Call,
    entry: Entry,
    /// Whether its marker was read, so that the calls count as marked.
    marked: bool,
    /// Whether up to `argument_bytes` may be held.
    confirmed: bool,
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
    /// Calls were read, and more text decides whether they are meant.
    Holds(Read),
    /// The same form reads on, with a higher limit.
    Again,
    /// The next form is tried. If none fits, this is left.
    Form(Rest),
}

impl Candidate {
    pub(super) fn new(spot: Spot, entries: Vec<Entry>) -> Candidate {
        let (entries, attempts) = (entries.into(), Attempts::default());
        Candidate { spot, entries, attempts, confirmed: false, rest: Rest::Text, read: None }
    }

    /// Turns to the next form. `rest`: what the last one has left.
    fn next_form(&mut self, rest: Rest) {
        self.entries.pop_front();
        (self.attempts, self.confirmed) = (Attempts::default(), false);
        if rest != Rest::Text {
            self.rest = rest;
        }
    }
}

impl Scanner {
    /// Reads on with the current form. Returns whether progress is possible without more text.
    pub(super) fn step_candidate(&mut self, end: bool, out: &mut dyn Sink) -> bool {
        let Some(mut candidate) = self.candidate.take() else { return true };
        let decision = match candidate.read.take() {
            Some(read) => self.decide_read(read, candidate.spot, end, out),
            None => self.try_form(&mut candidate, end, out),
        };
        let waits = matches!(decision, Decision::Waits | Decision::Holds(_));
        match decision {
            Decision::Over => return true,
            Decision::Waits => {}
            Decision::Holds(read) => candidate.read = Some(read),
            Decision::Again => candidate.confirmed = true,
            Decision::Form(rest) => candidate.next_form(rest),
        }
        self.candidate = Some(candidate);
        !waits
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
            return Decision::Form(Rest::Text);
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
        let marked = marked && !self.is_code(call) && self.message.aside.is_none();
        let Candidate { spot, confirmed, .. } = *candidate;
        self.decide(step, name, Trial { spot, call, entry, marked, confirmed, window, read_all, end }, out)
    }

    /// Decides about what was read. `name`: the name that was read before the limit.
    fn decide(&mut self, step: Step, name: Option<String>, trial: Trial<'_>, out: &mut dyn Sink) -> Decision {
        let Trial { spot, entry, marked, confirmed, window, read_all, end, .. } = trial;
        let (body, named) = (entry.body, name.is_some());
        match step {
            Step::More if read_all && !end => return Decision::Waits,
            Step::More if confirmed && !self.is_drafting() => {
                self.overrun(&name.unwrap_or_default(), spot, out);
                return Decision::Over;
            }
            // Beyond the limit, only a candidate that names an offered tool is held.
            Step::More
                if !confirmed
                    && !self.buf.is_spent(spot.at, self.options.held_bytes)
                    && name.is_some_and(|name| self.is_known(&name)) =>
            {
                return Decision::Again;
            }
            Step::More => self.buf.waste(window - body),
            Step::Done { calls, end: stop } => {
                // What ends here only at the end of the answer was searched to that end.
                if end {
                    self.buf.waste((window - body).saturating_sub(stop));
                }
                return self.decide_whole(calls, body + stop, trial, out);
            }
            // At the end of the answer, the whole rest may have been searched for the end of the value.
            Step::Passed(stop) => self.buf.waste(if end { window - body } else { stop }),
            Step::Torn { .. } | Step::Cut { .. } if spot.quoted => {}
            Step::Torn { whole, torn, why, end: stop } => {
                // What it contains is not a call of its own.
                if !marked || self.is_drafting() {
                    return Decision::Form(Rest::Content(body + stop));
                }
                let cell = Cell { form: Form::Marked, place: Place::Inside, proof: Proof::Damaged, whole: true };
                self.note(std::slice::from_ref(&torn), cell, out);
                self.accept(self.read(whole, Proof::Fits, trial, body + stop), out);
                self.refuse(&torn, &Why::Malformed(why.to_owned()), out);
                return Decision::Over;
            }
            Step::Cut { whole, cut, closed: false } if whole.is_empty() && cut.name.is_empty() => {
                self.buf.waste(window - body);
                // A call may begin on a line of its own, or if a limit cut it after a further marker, which nobody writes who
                // only mentions the first.
                let opened = self.buf.is_cut() && body > spot.at + spot.marker;
                if marked && !entry.is_fallback() && (opened || self.at_line_start(spot.at)) {
                    return Decision::Form(Rest::Nameless);
                }
            }
            // A model that stopped while it wrote a draft did not make the call.
            Step::Cut { closed, .. } if self.is_drafting() && !closed => self.buf.waste(window - body),
            Step::Cut { whole, cut, closed } => return self.decide_cut(whole, cut, closed, trial, out),
            // The whole rest of the answer was read in vain.
            Step::Reject if end && named => self.buf.waste(window - body),
            Step::Reject => {}
        }
        Decision::Form(Rest::Text)
    }

    /// The calls that were read in a trial and end at `to`.
    fn read(&self, calls: Vec<Parsed>, proof: Proof, trial: Trial<'_>, to: usize) -> Read {
        let Trial { spot, entry, marked, .. } = trial;
        let is_code = self.code.is_some() || self.is_indented(spot.at);
        let inside = if is_code { Place::Code } else { self.message.aside.unwrap_or(Place::Inside) };
        Read { calls, proof, form: entry.closed_by, marked, inside, fresh: spot.fresh, at: self.begin_of(spot), to }
    }

    /// Decides about calls that are complete and end at `to`.
    fn decide_whole(&mut self, calls: Vec<Parsed>, to: usize, mut trial: Trial<'_>, out: &mut dyn Sink) -> Decision {
        let Trial { spot, call, entry, end, .. } = trial;
        let proof = self.proof_of(&calls);
        let goes_on = self.code.is_some() && !self.ends_code(to) && !(end && is_blank(&self.buf[to..]));
        trial.marked |= proof < Proof::Unknown && !goes_on && !entry.marked && self.is_dedicated(call);
        let can_be_meant = match trial.marked {
            // Markers around nothing are dropped as framing.
            true if calls.is_empty() => self.options.framing,
            true => !self.is_word(spot, &calls, to),
            false => {
                let text = &self.buf[entry.body..to];
                !calls.is_empty() && !self.is_wanted_answer(text) && self.can_be_meant(text, call, &calls, proof)
            }
        };
        match can_be_meant {
            true => self.decide_read(self.read(calls, proof, trial, to), spot, end, out),
            false => Decision::Form(Rest::Text),
        }
    }

    /// Decides about calls that were read: those that are quoted, or in reasoning that nothing opened, are text.
    fn decide_read(&mut self, read: Read, spot: Spot, end: bool, out: &mut dyn Sink) -> Decision {
        let is_text = match self.region {
            _ if spot.quoted => Some(true),
            // Those that wait are dropped when the reasoning closes.
            Region::Text if !read.calls.is_empty() && self.counts_anywhere(&read) => self.closes_thoughts(read.to, end),
            _ => Some(false),
        };
        match is_text {
            None => return Decision::Holds(read),
            Some(false) => self.accept(read, out),
            Some(true) => {
                let place = if spot.quoted { Place::Code } else { Place::Reasoning };
                self.note(&read.calls, read.cell(place), out);
                self.advance(read.to, out);
            }
        }
        Decision::Over
    }

    /// Decides about calls at the end of the answer, the last of which is not complete. `closed`: its arguments are complete.
    fn decide_cut(&mut self, whole: Vec<Parsed>, cut: Parsed, closed: bool, trial: Trial<'_>, out: &mut dyn Sink) -> Decision {
        let Trial { spot, call, entry, marked, window, .. } = trial;
        if closed && !self.buf.is_cut() {
            let calls = [whole.as_slice(), std::slice::from_ref(&cut)].concat();
            let proof = self.proof_of(&calls);
            if marked || matches!(proof, Proof::Fits | Proof::Guess) {
                self.accept(self.read(calls, proof, trial, self.buf.len()), out);
                return Decision::Over;
            }
        }
        let marked = marked || (!entry.marked && self.is_known(&cut.name) && self.is_dedicated(call));
        let (cell, calls) = (self.cut_cell(marked, &cut.name, spot), std::slice::from_ref(&cut));
        let counts = verdict(cell, self.rules(calls, 0)) != Verdict::Text;
        if counts && (!whole.is_empty() || !self.is_word(spot, calls, self.buf.len())) {
            self.cut(whole, cut, cell, spot, out);
            return Decision::Over;
        }
        self.buf.waste(window - entry.body);
        if counts || self.tools.must_call() || !self.is_known(&cut.name) || cut.arguments.is_empty() {
            return Decision::Form(Rest::Text);
        }
        // Whatever its last value contains is not a call.
        self.note(&[cut], cell, out);
        Decision::Form(Rest::Content(self.buf.len()))
    }

    /// The cell of a call of this tool that the end of the answer has cut.
    fn cut_cell(&self, marked: bool, name: &str, spot: Spot) -> Cell {
        let form = if marked { Form::Marked } else { Form::Unmarked };
        let place = if !marked && self.code.is_some() { Place::Code } else { before_the_end(spot.fresh) };
        let proof = if self.is_known(name) { Proof::Fits } else { Proof::Unknown };
        Cell { form, place, proof, whole: false }
    }

    /// Handles a candidate that no form fits: it is text, or a control token to drop.
    fn reject(&mut self, candidate: &Candidate, out: &mut dyn Sink) {
        let Spot { at, marker, is_token, quoted, .. } = candidate.spot;
        let lone = marker > 1 && self.is_lone(at, marker);
        match candidate.rest {
            _ if self.code.is_some() => self.show_code(out),
            Rest::Content(to) => self.advance(to, out),
            Rest::Nameless if !quoted && !lone && !self.is_drafting() => {
                self.cut(Vec::new(), Parsed::default(), self.cut_cell(true, "", candidate.spot), candidate.spot, out);
            }
            _ if marker > 0 => {
                self.message.opened |= marker > 1;
                self.not_a_call(at, marker, (is_token || lone) && !quoted, out);
            }
            _ => {}
        }
    }

    /// Where scanning of a candidate stops: at a limit, so that the decision does not depend on how the text was cut.
    fn window(&self, candidate: &Candidate, body: usize) -> usize {
        let longest = body.saturating_add(self.options.argument_bytes);
        let at = candidate.spot.at;
        let limit = if candidate.confirmed {
            longest
        } else {
            at.saturating_add(self.buf.patience(at, self.options.held_bytes)).clamp(body, longest)
        };
        self.buf.floor_char_boundary(limit)
    }

    /// Whether text is held because it may be a call.
    pub fn holds(&self) -> bool {
        self.candidate.is_some()
    }

    /// Bytes that are not yet emitted and are scanned with the next piece or at the end.
    pub fn held_bytes(&self) -> usize {
        self.buf.pending(self.buf.len()).len() + self.draft.field.len()
    }

    /// The offered tool whose call is being read, and the bytes of the body so far. `None`: no call is being read, or its name is
    /// not known yet.
    pub fn writing(&self) -> Option<(String, usize)> {
        let candidate = self.candidate.as_ref()?;
        let entry = candidate.entries.front()?;
        let call = self.adapter.calls.get(entry.form)?;
        let text = self.buf.get(entry.body..)?;
        let (marked, lenient) = (entry.marked, self.options.elements);
        let context = Context { call, close: &call.close, tools: &self.tools, marked, lenient, end: false, cut: false };
        let tool = known_tool(&self.tools, &syntax::name(text, context)?)?;
        Some((tool.name.clone(), text.len()))
    }
}
