//! Candidates: positions in the text that may be a call, and the forms that are tried there (`attempt`).

use std::collections::VecDeque;

use super::{Scanner, entry::Entry, fence::Ticks};
use crate::{
    adapter::syntax::{self, Attempts, Context, Parsed},
    event::{Cell, Form, Place, Proof},
    fix::name::known_tool,
};

/// What begins a candidate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marker {
    /// Its length in bytes; 0 if a marker may still be found here.
    pub(super) length: usize,
    /// Whether it is a control token, which is dropped if this is not a call.
    pub(super) is_token: bool,
}

impl Marker {
    /// Text of this length, which stays if this is not a call.
    pub(super) fn text(length: usize) -> Marker {
        Marker { length, is_token: false }
    }
}

/// A position that may be a call.
pub(super) struct Candidate {
    pub(super) at: usize,
    pub(super) marker: Marker,
    /// The forms still to be tried, and where their bodies begin.
    pub(super) entries: VecDeque<Entry>,
    /// When the current form is read again.
    pub(super) attempts: Attempts,
    /// Whether the name of an offered tool was read, so that up to `argument_bytes` may be held.
    pub(super) confirmed: bool,
    /// Whether the text before it only mentions it. If so, it stays text, whatever it is.
    pub(super) mentions: bool,
    /// Whether only whitespace and calls precede it.
    pub(super) fresh: bool,
    pub(super) fence: Option<Fence>,
    /// Whether the answer ended before the end of a name where a call may begin.
    pub(super) nameless: bool,
    /// What was read. Set while more text is needed to decide whether it is meant.
    pub(super) read: Option<Read>,
}

/// Calls that were read.
pub(super) struct Read {
    pub(super) calls: Vec<Parsed>,
    pub(super) proof: Proof,
    /// How they are written.
    pub(super) form: usize,
    pub(super) marked: bool,
    /// Whether they are in code, unless the code ends the answer.
    pub(super) in_code: bool,
    /// Whether only white space, reasoning and calls precede them.
    pub(super) fresh: bool,
    /// Where they begin and end in the answer, with the fence around them.
    pub(super) at: usize,
    pub(super) to: usize,
}

impl Read {
    /// The cell of calls in this place.
    pub(super) fn cell(&self, place: Place) -> Cell {
        Cell { form: if self.marked { Form::Marked } else { Form::Unmarked }, place, proof: self.proof, whole: true }
    }
}

/// The code fence around a candidate.
pub(super) struct Fence {
    pub(super) ticks: Ticks,
    /// Whether it opens and closes on one line. If it holds no call, it is inline code.
    pub(super) one_line: bool,
    /// Whether its language says that it holds calls.
    pub(super) is_dedicated: bool,
    pub(super) content: usize,
}

impl Candidate {
    /// Adjusts the positions after the buffer dropped `by` bytes.
    pub(super) fn shift(&mut self, by: usize) {
        self.at -= by;
        self.entries.iter_mut().for_each(|entry| entry.body -= by);
        if let Some(fence) = &mut self.fence {
            fence.content -= by;
        }
    }
}

impl Scanner {
    /// Where scanning of a candidate stops: at a limit, so that the decision does not depend on how the text was cut.
    pub(super) fn window(&self, candidate: &Candidate, body: usize) -> usize {
        let longest = body.saturating_add(self.options.argument_bytes);
        let limit = if candidate.confirmed {
            longest
        } else {
            candidate.at.saturating_add(self.buf.patience(candidate.at, self.options.held_bytes)).clamp(body, longest)
        };
        self.buf.floor_char_boundary(limit)
    }

    /// Whether text is held because it may be a call.
    pub fn holds(&self) -> bool {
        self.candidate.is_some()
    }

    /// Bytes that are not yet emitted and are scanned with the next piece or at the end.
    pub fn held_bytes(&self) -> usize {
        self.buf.len() + self.draft.field.len()
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

    /// Whether the current form is an element that counts anywhere.
    fn is_element(&self, candidate: &Candidate) -> bool {
        let call = candidate.entries.front().and_then(|entry| self.adapter.calls.get(entry.form));
        self.options.elements && call.is_some_and(|call| call.element)
    }

    /// Where calls that were read up to `to` end, with the closing fence that the end of the answer truncated. `None`: they are
    /// not the whole content of the fence around them.
    pub(super) fn end_in_fence(&self, candidate: &Candidate, to: usize, end: bool) -> Option<usize> {
        let Some(fence) = candidate.fence.as_ref().filter(|_| !self.is_element(candidate)) else { return Some(to) };
        let close = fence.ticks.text();
        if self.buf[fence.content..to].trim_end().ends_with(&close) {
            return Some(to);
        }
        let rest = self.buf[to..].trim();
        (end && close.starts_with(rest)).then_some(if rest.is_empty() { to } else { self.buf.len() })
    }
}
