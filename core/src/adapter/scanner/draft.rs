//! Calls inside reasoning. They wait, and count if the reasoning is never closed and only calls follow, because then the model
//! forgot to close it. Otherwise they are drafts and remain reasoning: `framing` (the region closes) and `text` (text follows)
//! give them up.
//!
//! Reasoning may also close after a call although nothing opened it: then the call was a draft, and is held until that is decided.

use std::sync::Arc;

use super::{Read, Region, Scanner};
use crate::{
    adapter::{Inside, syntax::Parsed, triggers::Aside},
    event::{Channel, Event, FinishReason, Place, Sink},
};

/// Reasoning that may turn out to be the answer.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// The reasoning of a region that was only believed to be open. It is emitted again as content if the region never closes and
    /// nothing else follows.
    pub(super) believed: Option<String>,
    /// Whether no calls are read in that text, because marked ones were drafts.
    pub(super) is_prose: bool,
    /// Whether the answer began inside reasoning, once it has shown that.
    pub(super) began: Option<bool>,
    /// Position in the answer up to which the text after calls was searched for the end of reasoning.
    pub(super) searched: usize,
    /// The text of the backend's reasoning field.
    pub(super) field: String,
}

impl Scanner {
    /// Whether calls at this position are drafts unless nothing but calls follows.
    pub(super) fn is_drafting(&self) -> bool {
        self.region == Region::Reasoning && self.inside() == Inside::AtEnd
    }

    /// Gives up the calls that wait: they were drafts, and stay reasoning.
    pub(super) fn drop_drafts(&mut self, out: &mut dyn Sink) {
        for read in std::mem::take(&mut self.waiting) {
            self.note(&read.calls, read.cell(Place::Reasoning), out);
        }
    }

    /// Decides about the drafts at the end of the answer. If the answer ended inside reasoning, or all of it was in the backend's
    /// reasoning field, the calls at its end count if their tools are offered. If the region was only believed to be open, its
    /// text was the answer and is read as one.
    pub(super) fn accept_draft(&mut self, reason: FinishReason, out: &mut dyn Sink) {
        // A model truncated inside reasoning has decided nothing.
        let limited = matches!(reason, FinishReason::Length | FinishReason::ContentFilter);
        let silent = !self.emitted.said && self.emitted.calls == 0;
        let mut calls = drafts(std::mem::take(&mut self.waiting));
        if silent && calls.is_empty() {
            calls = self.drafts_of_field(reason);
        }
        calls.retain(|call| !limited && self.is_known(&call.name));
        if !calls.is_empty() {
            self.buf.skip_to(self.buf.len());
        }
        calls.iter().for_each(|call| self.send(call, None, out));
        if self.region == Region::Reasoning {
            self.emit(self.buf.trimmed(self.buf.len()), out);
        }
        if let Some(text) = self.draft.believed.take().filter(|_| self.emitted.calls == 0 && self.region == Region::Reasoning)
            && !limited
            && !self.emitted.said
            && !text.trim().is_empty()
        {
            self.draft.began = Some(false);
            if self.draft.is_prose {
                self.emitted.said = true;
                return out.event(Event::Text(&text));
            }
            let mut answer = self.like(false);
            answer.push(Channel::Content, &text, out);
            answer.finish(reason, out);
            self.emitted = answer.emitted;
        }
    }

    /// The calls at the end of the backend's reasoning field.
    fn drafts_of_field(&mut self, reason: FinishReason) -> Vec<Parsed> {
        let field = std::mem::take(&mut self.draft.field);
        // Read like a region that never closes.
        let mut inner = self.like(true);
        let mut ignored = |_: Event<'_>| {};
        inner.push(Channel::Content, &field, &mut ignored);
        inner.run_out(reason, &mut ignored);
        drafts(inner.waiting)
    }

    /// Whether this closing marker of reasoning closes nothing else.
    pub(super) fn proves_thoughts(&self, marker: &str) -> bool {
        !self.adapter.framing.drop.iter().any(|known| known == marker)
    }

    /// Whether reasoning that nothing opened closes after `to`. If so, the prompt opened it, and everything before its end is
    /// reasoning. `None`: more text is needed.
    pub(super) fn closes_thoughts(&mut self, to: usize, end: bool) -> Option<bool> {
        if self.inside() == Inside::Parse || self.draft.began.is_some() || !self.options.framing {
            return Some(false);
        }
        let adapter = Arc::clone(&self.adapter);
        let mut from = to.max(self.buf.in_text(self.draft.searched));
        loop {
            let found = adapter.triggers.next_sure(&self.buf, from, end);
            let at = found.map_or_else(|held| held, |found| found.at);
            self.draft.searched = self.buf.in_answer(at);
            let Ok(found) = found else { return end.then_some(false) };
            from = at + found.len;
            let framing = found.mark.framing;
            // A model that invents another speaker's turn also writes the reasoning of the next answer.
            if framing.reasoning_open || found.mark.aside == Some(Aside::EndedTurn) {
                return Some(false);
            }
            if framing.reasoning_close && self.proves_thoughts(&self.buf[at..from]) && self.closes_here(at, from, end)? {
                return Some(true);
            }
        }
    }
}

/// The calls that wait at the end of reasoning.
fn drafts(waiting: Vec<Read>) -> Vec<Parsed> {
    waiting.into_iter().flat_map(|read| read.calls).collect()
}
