//! Calls inside reasoning. They wait, and count if the reasoning is never closed and only calls follow, because then the model
//! forgot to close it. Otherwise they are drafts and remain reasoning: `framing` (the region closes) and `text` (text follows)
//! give them up.
//!
//! Reasoning may also close after a call although nothing opened it: then the call was a draft, and is held until that is decided.

use std::sync::Arc;

use super::{Region, Scanner, candidate::Read};
use crate::{
    adapter::{Call, Inside, asides::THINK, syntax::Parsed, triggers::Aside},
    event::{Channel, Event, FinishReason, Sink},
};

/// Reasoning that may turn out to be the answer.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// The reasoning of a region that was only believed to be open. It is emitted again as content if the region never closes and
    /// nothing else follows.
    pub(super) believed: Option<String>,
    /// Whether no calls are read in that text: marked ones were drafts, or the word of a header began it.
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

    /// Decides about the drafts at the end of the answer. If the answer ended inside reasoning, or all of it was in the backend's
    /// reasoning field, the calls at its end count if their tools are offered. If the region was only believed to be open, its
    /// text was the answer and is read as one.
    pub(super) fn accept_draft(&mut self, reason: FinishReason, out: &mut dyn Sink) {
        // A model truncated inside reasoning has decided nothing.
        let limited = matches!(reason, FinishReason::Length | FinishReason::ContentFilter);
        let silent = !self.emitted.said && self.emitted.calls == 0;
        let mut calls = drafts(std::mem::take(&mut self.waiting));
        if !limited && (silent || !calls.is_empty()) {
            if calls.is_empty() {
                calls = self.drafts_of_field(reason);
            }
            calls.retain(|call| self.is_known(&call.name));
            if !calls.is_empty() {
                self.buf.skip_to(self.buf.len());
                calls.iter().for_each(|call| self.send(call, None, out));
            }
        }
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
        if !self.tools.wanted() || self.inside() != Inside::AtEnd || field.trim().is_empty() {
            return Vec::new();
        }
        // Read like a region that never closes.
        let mut inner = self.like(true);
        let mut ignored = |_: Event<'_>| {};
        inner.push(Channel::Content, &field, &mut ignored);
        inner.run_out(reason, &mut ignored);
        drafts(inner.waiting)
    }

    /// Whether this closing marker of reasoning closes nothing else.
    pub(super) fn proves_thoughts(&self, marker: &str) -> bool {
        let is_marker = |known: &String| known == marker;
        let ends = |call: &Arc<Call>| call.close.iter().chain(&call.section_close).any(is_marker);
        !self.adapter.framing.drop.iter().any(is_marker) && !self.adapter.calls.iter().any(ends)
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
            let past = at + found.len;
            let (marker, framing) = (&self.buf[at..past], found.mark.framing);
            // A fine-tuned model may think in the usual tags, whatever its family. A model that invents another speaker's turn also
            // writes the reasoning of the next answer.
            if framing.reasoning_open || marker == THINK[0] || found.mark.aside == Some(Aside::EndedTurn) {
                return Some(false);
            }
            if marker == THINK[1] || (framing.reasoning_close && self.proves_thoughts(marker)) {
                let ends_line = self.ends_line(past, end)?;
                let anywhere = adapter.framing.reasoning.as_ref().is_some_and(|own| own.anywhere);
                if anywhere || ends_line || at == to || self.at_line_start(at) || self.ends_words(at, past) {
                    return Some(true);
                }
            }
            from = past;
        }
    }

    /// Whether a marker ends the words before it: one side has no space, or only its family has this token. A tag that is only
    /// mentioned has spaces on both sides.
    fn ends_words(&self, at: usize, past: usize) -> bool {
        let before = self.buf[..at].chars().next_back();
        let after = self.buf[past..].chars().next();
        let is_spoken_of = before.is_some_and(|c| "`'\"".contains(c));
        let glued = before.is_some_and(|c| c.is_alphanumeric() || ".!?".contains(c)) || after.is_some_and(char::is_alphanumeric);
        !is_spoken_of && (glued || self.buf[at..past] != *THINK[1])
    }
}

/// The calls that wait at the end of reasoning.
fn drafts(waiting: Vec<Read>) -> Vec<Parsed> {
    waiting.into_iter().flat_map(|read| read.calls).collect()
}
