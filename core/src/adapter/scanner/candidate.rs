//! Candidates: positions in the text that may be a call, and the forms that are tried there (`attempt`).

use std::collections::VecDeque;

use super::{Scanner, entry::Entry};
use crate::{
    adapter::syntax::{self, Attempts, Context, Parsed},
    event::{Cell, Form, Place, Proof},
    fix::name::known_tool,
};

/// A position that may be a call.
#[derive(Default)]
pub(super) struct Candidate {
    pub(super) at: usize,
    /// The length of the marker there; 0 if one may still be found.
    pub(super) marker: usize,
    /// Whether it is a control token, which is dropped if this is not a call.
    pub(super) is_token: bool,
    /// The forms still to be tried, and where their bodies begin.
    pub(super) entries: VecDeque<Entry>,
    /// When the current form is read again.
    pub(super) attempts: Attempts,
    /// Whether the name of an offered tool was read, so that up to `argument_bytes` may be held.
    pub(super) confirmed: bool,
    /// Whether it is in a block quote, or a quote directly precedes it. If so, it stays text, whatever it is.
    pub(super) quoted: bool,
    /// Whether only whitespace and calls precede it.
    pub(super) fresh: bool,
    /// Up to where the text is the content of a call that is damaged or truncated, and is not searched for calls; 0 if there is none.
    pub(super) content_to: usize,
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
    /// Whether the closing ticks of the code around them were read too.
    pub(super) closes_code: bool,
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
