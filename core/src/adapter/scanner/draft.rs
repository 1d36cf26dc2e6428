//! Holds calls inside reasoning. They count if the reasoning is never closed and only calls follow, because then the model forgot
//! to close it. Otherwise they are drafts and remain reasoning: `framing` (the region closes) and `text` (text follows) give them
//! up.

use super::{Region, Scanner, candidate::Read};
use crate::{
    adapter::{Inside, syntax::Parsed},
    event::{Channel, Event, FinishReason, Sink},
};

/// Calls inside reasoning, and reasoning that may turn out to be the answer.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) calls: Vec<Parsed>,
    /// All text since the first of the calls.
    pub(super) text: String,
    /// The reasoning of a region that was only believed to be open. It is emitted again as content if the region never closes and
    /// nothing else follows.
    pub(super) believed: Option<String>,
    /// Whether no calls are read in that text: marked ones were drafts, or the word of a header began it.
    pub(super) is_prose: bool,
    /// Whether the answer began inside reasoning, once it has shown that.
    pub(super) began: Option<bool>,
    /// The text of the backend's reasoning field.
    pub(super) field: String,
}

impl Draft {
    /// Notes reasoning that was emitted.
    pub(super) fn reasoned(&mut self, text: &str) {
        if let Some(believed) = &mut self.believed {
            believed.push_str(text);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Drops the calls and returns their text.
    fn take_text(&mut self) -> String {
        self.calls.clear();
        std::mem::take(&mut self.text)
    }
}

/// Collects the calls at the end of a text.
#[derive(Default)]
struct LastCalls {
    calls: Vec<Parsed>,
}

impl Sink for LastCalls {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) if !text.trim().is_empty() => self.calls.clear(),
            Event::Call(call) if call.cut.is_none() => {
                self.calls.push(Parsed { id: call.id.map(str::to_owned), ..Parsed::new(call.name, call.arguments) });
            }
            _ => {}
        }
    }
}

impl Scanner {
    /// Whether calls at this position are drafts unless nothing but calls follows.
    pub(super) fn is_drafting(&self) -> bool {
        self.region == Region::Reasoning && self.inside() == Inside::AtEnd
    }

    /// Holds calls that were read inside reasoning.
    pub(super) fn hold_draft(&mut self, read: Read, out: &mut dyn Sink) {
        let (at, to) = (self.buf.place(read.at), self.buf.place(read.to));
        self.draft.is_prose = true;
        let between = self.buf.pending(at);
        let separators = between.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).is_empty();
        if self.draft.is_empty() || !separators {
            self.emit(self.buf.trimmed(at), out);
        }
        self.draft.calls.extend(read.calls);
        self.draft.text.push_str(self.buf.pending(to));
        self.buf.skip_to(to);
    }

    /// The reasoning closes or continues: emits the text of the drafts as reasoning.
    pub(super) fn give_up_draft(&mut self, out: &mut dyn Sink) {
        if !self.draft.is_empty() {
            let text = self.draft.take_text();
            self.draft.reasoned(&text);
            out.event(Event::Reasoning(&text));
        }
    }

    /// Decides about the drafts at the end of the answer. If the answer ended inside reasoning, or all of it was in the backend's
    /// reasoning field, the calls at its end count if their tools are offered. If the region was only believed to be open, its
    /// text was the answer and is read as one.
    pub(super) fn accept_draft(&mut self, reason: FinishReason, out: &mut dyn Sink) {
        // A model truncated inside reasoning has decided nothing.
        let limited = matches!(reason, FinishReason::Length | FinishReason::ContentFilter);
        let silent = !self.emitted.said && self.emitted.calls == 0;
        if !limited && (silent || !self.draft.is_empty()) {
            let calls = if self.draft.is_empty() { self.last_calls_of_field(reason) } else { self.draft.calls.clone() };
            let offered: Vec<Parsed> = calls.into_iter().filter(|call| self.is_known(&call.name)).collect();
            if !offered.is_empty() {
                self.draft.take_text();
                offered.iter().for_each(|call| self.send(call, None, out));
            }
        }
        self.give_up_draft(out);
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
    fn last_calls_of_field(&mut self, reason: FinishReason) -> Vec<Parsed> {
        let field = std::mem::take(&mut self.draft.field);
        if !self.tools.wanted() || self.inside() != Inside::AtEnd || field.trim().is_empty() {
            return Vec::new();
        }
        // Read like a region that never closes.
        let mut inner = self.like(true);
        let mut last = LastCalls::default();
        inner.push(Channel::Content, &field, &mut last);
        inner.finish(reason, &mut last);
        last.calls
    }
}
