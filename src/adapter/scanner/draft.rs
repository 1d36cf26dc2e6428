//! Calls that a model writes while it thinks. They are held: they count if the reasoning is never closed and nothing but calls
//! follows, because then the model forgot to close it. Once the reasoning closes or goes on, they were drafts, and reasoning.

use std::sync::Arc;

use super::{Options, Region, Scanner, candidate::Candidate};
use crate::{
    adapter::{Inside, syntax::Parsed},
    event::{Channel, Event, FinishReason, Sink},
};

/// Calls inside reasoning, and their text.
#[derive(Debug, Default)]
pub(super) struct Draft {
    calls: Vec<Parsed>,
    /// All that was written since the reasoning before the first of them.
    text: String,
}

// === impl Draft ===

impl Draft {
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
    open: Option<Parsed>,
}

impl Sink for LastCalls {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::CallStart { id, name, .. } => {
                self.open = Some(Parsed { name: name.to_owned(), id: id.map(str::to_owned), arguments: String::new() });
            }
            Event::CallArguments { json, .. } => {
                if let Some(open) = &mut self.open {
                    open.arguments.push_str(json);
                }
            }
            Event::CallEnd { .. } => self.calls.extend(self.open.take()),
            Event::Text(text) if !text.trim().is_empty() => self.calls.clear(),
            _ => {}
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
        let between = &self.buf[self.from..candidate.at];
        let separators = between.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).is_empty();
        if self.draft.is_empty() || !separators {
            let text_end = self.from + between.trim_end().len();
            self.emit(text_end, out);
        }
        self.draft.hold(calls, &self.buf[self.from..to]);
        (self.from, self.pos) = (to, to);
    }

    /// The reasoning closes or goes on.
    pub(super) fn give_up_draft(&mut self, out: &mut dyn Sink) {
        if !self.draft.is_empty() {
            let text = self.draft.give_up();
            if let Some(believed) = &mut self.believed {
                believed.push_str(&text);
            }
            out.event(Event::Reasoning(&text));
        }
    }

    /// The answer ended inside reasoning, or all of it was in the backend's own reasoning field: the calls that it ends with
    /// count, if their tools are offered. If the region was only believed to be open, its text was the answer.
    pub(super) fn accept_draft(&mut self, reason: FinishReason, out: &mut dyn Sink) {
        // A model that was cut off while it thought has not decided anything.
        let limited = matches!(reason, FinishReason::Length | FinishReason::ContentFilter);
        let silent = !self.said && self.calls == 0;
        if !limited && (silent || !self.draft.is_empty()) {
            let calls = if self.draft.is_empty() { self.last_calls_of_field(reason) } else { self.draft.calls.clone() };
            let offered: Vec<Parsed> = calls.into_iter().filter(|call| self.is_known(&call.name)).collect();
            if !offered.is_empty() {
                self.draft.accept();
                offered.iter().for_each(|call| self.send(call, true, out));
            }
        }
        self.give_up_draft(out);
        if let Some(text) = self.believed.take().filter(|_| self.calls == 0 && self.region == Region::Reasoning)
            && !self.said
            && !text.trim().is_empty()
        {
            self.said = true;
            self.began = Some(false);
            out.event(Event::Text(&text));
        }
    }

    /// The calls that the backend's reasoning field ends with.
    fn last_calls_of_field(&mut self, reason: FinishReason) -> Vec<Parsed> {
        let field = std::mem::take(&mut self.field);
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
