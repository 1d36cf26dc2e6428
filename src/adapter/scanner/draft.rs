//! Calls that a model writes while it thinks. They are held: they count if the reasoning is never closed and nothing but calls
//! follows, because then the model forgot to close it. Once the reasoning closes or goes on, they were drafts, and reasoning.

use std::sync::Arc;

use super::{Options, Region, Scanner, candidate::Candidate};
use crate::{
    adapter::{Inside, syntax::Parsed},
    event::{Assembly, Channel, Event, FinishReason, Sink, ToolCall},
};

/// Calls inside reasoning, and what else of the reasoning may still be the answer.
#[derive(Debug, Default)]
pub(super) struct Draft {
    calls: Vec<Parsed>,
    /// All that was written since the reasoning before the first of them.
    text: String,
    /// All reasoning of a region that was believed open: sent again as content if it never closed and nothing else came.
    believed: Option<String>,
    /// Whether the answer began inside reasoning, as far as it has shown.
    began: Option<bool>,
    /// The backend's own reasoning field.
    field: String,
}

// === impl Draft ===

impl Draft {
    /// Of an answer that may begin inside reasoning.
    pub(super) fn new(open: bool) -> Draft {
        Draft { believed: open.then(String::new), ..Draft::default() }
    }

    /// Whether the answer began inside reasoning, where it has shown that.
    pub(super) fn began(&self) -> Option<bool> {
        self.began
    }

    /// Reasoning begins of which only a word is left that may be the answer's.
    pub(super) fn believe(&mut self, word: &str) {
        self.believed = Some(word.to_owned());
    }

    /// The first sign of whether the answer began inside reasoning; later ones prove nothing.
    pub(super) fn note_beginning(&mut self, inside: bool) {
        self.began = self.began.or(Some(inside));
    }

    /// A piece of the backend's reasoning field.
    pub(super) fn push_field(&mut self, text: &str) {
        self.field.push_str(text);
    }

    pub(super) fn field_bytes(&self) -> usize {
        self.field.len()
    }

    /// This reasoning has left.
    pub(super) fn reasoned(&mut self, text: &str) {
        if let Some(believed) = &mut self.believed {
            believed.push_str(text);
        }
    }

    /// The reasoning was closed, so it was reasoning.
    pub(super) fn close(&mut self) {
        self.believed = None;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Markup that belongs to the calls.
    pub(super) fn push_markup(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn hold(&mut self, calls: Vec<Parsed>, text: &str) {
        self.calls.extend(calls);
        self.text.push_str(text);
    }

    /// The calls were drafts: their text is reasoning.
    fn give_up(&mut self) -> String {
        self.calls.clear();
        std::mem::take(&mut self.text)
    }

    fn accept(&mut self) -> Vec<Parsed> {
        self.text.clear();
        std::mem::take(&mut self.calls)
    }
}

/// Collects the calls that an answer ends with.
#[derive(Default)]
struct LastCalls {
    calls: Vec<Parsed>,
    open: Assembly,
}

impl Sink for LastCalls {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) if !text.trim().is_empty() => self.calls.clear(),
            event => {
                let whole = self.open.event(&event);
                self.calls.extend(whole.map(|(_, ToolCall { id, name, arguments, .. })| Parsed { id, name, arguments }));
            }
        }
    }
}

// === impl Scanner ===

impl Scanner {
    /// Whether calls at this place are drafts unless nothing else follows.
    pub(super) fn is_drafting(&self) -> bool {
        self.region == Region::Reasoning && self.inside() == Inside::AtEnd
    }

    /// Calls were read inside reasoning, up to `to`.
    pub(super) fn hold_draft(&mut self, calls: Vec<Parsed>, candidate: &Candidate, to: usize, out: &mut dyn Sink) {
        let between = &self.buf[self.buf.from()..candidate.at];
        let separators = between.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).is_empty();
        if self.draft.is_empty() || !separators {
            let text_end = self.buf.from() + between.trim_end().len();
            self.emit(text_end, out);
        }
        self.draft.hold(calls, &self.buf[self.buf.from()..to]);
        self.buf.skip_to(to);
    }

    /// The reasoning closes or goes on.
    pub(super) fn give_up_draft(&mut self, out: &mut dyn Sink) {
        if !self.draft.is_empty() {
            let text = self.draft.give_up();
            self.draft.reasoned(&text);
            out.event(Event::Reasoning(&text));
        }
    }

    /// The answer ended inside reasoning, or all of it was in the backend's own reasoning field: the calls that it ends with
    /// count, if their tools are offered. If the region was only believed to be open, its text was the answer.
    pub(super) fn accept_draft(&mut self, reason: FinishReason, out: &mut dyn Sink) {
        // A model that was cut off while it thought has not decided anything.
        let limited = matches!(reason, FinishReason::Length | FinishReason::ContentFilter);
        let silent = !self.left.has_said() && self.left.calls() == 0;
        if !limited && (silent || !self.draft.is_empty()) {
            let calls = if self.draft.is_empty() { self.last_calls_of_field(reason) } else { self.draft.calls.clone() };
            let offered: Vec<Parsed> = calls.into_iter().filter(|call| self.is_known(&call.name)).collect();
            if !offered.is_empty() {
                self.draft.accept();
                offered.iter().for_each(|call| self.send(call, true, out));
            }
        }
        self.give_up_draft(out);
        if let Some(text) = self.draft.believed.take().filter(|_| self.left.calls() == 0 && self.region == Region::Reasoning)
            && !self.left.has_said()
            && !text.trim().is_empty()
        {
            self.left.say();
            self.draft.began = Some(false);
            out.event(Event::Text(&text));
        }
    }

    /// The calls that the backend's reasoning field ends with.
    fn last_calls_of_field(&mut self, reason: FinishReason) -> Vec<Parsed> {
        let field = std::mem::take(&mut self.draft.field);
        if !self.tools.wanted() || self.inside() != Inside::AtEnd || field.trim().is_empty() {
            return Vec::new();
        }
        let options = Options { reasoning_open: false, ..self.options.clone() };
        let (adapter, tools, schemas) = (Arc::clone(&self.adapter), Arc::clone(&self.tools), Arc::clone(&self.schemas));
        let mut inner = Scanner::new(adapter, tools, schemas, options);
        let mut last = LastCalls::default();
        inner.push(Channel::Content, &field, &mut last);
        inner.finish(reason, &mut last);
        last.calls
    }
}
