//! Calls that a model drafted while it thought: they count where its reasoning never closed and nothing else came.

use std::sync::Arc;

use super::{Options, Region, Scanner};
use crate::{
    adapter::Inside,
    event::{Channel, Event, FinishReason, Sink, Tools},
    fix::name::{Resolved, resolve},
};

/// Lets only calls of offered tools through.
struct Promoted<'a> {
    tools: &'a Tools,
    calls: u32,
    open: bool,
    out: &'a mut dyn Sink,
}

impl Sink for Promoted<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Event::CallStart { name, .. } = event {
            self.open = matches!(resolve(self.tools, name), Resolved::Known { .. });
            self.calls += u32::from(self.open);
        }
        match event {
            Event::CallStart { id, name, .. } if self.open => {
                self.out.event(Event::CallStart { index: self.calls - 1, id, name })
            }
            Event::CallArguments { json, .. } if self.open => {
                self.out.event(Event::CallArguments { index: self.calls - 1, json })
            }
            Event::CallEnd { extra, .. } if self.open => self.out.event(Event::CallEnd { index: self.calls - 1, extra }),
            _ => {}
        }
    }
}

impl Scanner {
    /// Nothing came but reasoning: calls that were drafted in it count now; else, if the region was only believed to be
    /// open, its text was the answer.
    pub(super) fn promote(&mut self, reason: FinishReason, out: &mut dyn Sink) {
        if self.said || self.calls > 0 {
            return;
        }
        // A model that was cut off while it thought has not decided anything.
        let wanted = self.tools.wanted() && self.inside() == Inside::PromoteAtEnd && reason != FinishReason::Length;
        let draft = match self.draft.take().filter(|_| self.region == Region::Reasoning) {
            Some(draft) => draft,
            None => std::mem::take(&mut self.field),
        };
        if wanted && !draft.trim().is_empty() {
            let options = Options { reasoning_open: false, ..self.options.clone() };
            let mut inner = Scanner::new(Arc::clone(&self.adapter), Arc::clone(&self.tools), Arc::clone(&self.schemas), options);
            let mut promoted = Promoted { tools: &self.tools, calls: 0, open: false, out };
            inner.push(Channel::Content, &draft, &mut promoted);
            inner.finish(reason, &mut promoted);
            self.calls = promoted.calls;
        }
        if let Some(text) = self.believed.take().filter(|_| self.calls == 0 && self.region == Region::Reasoning)
            && !text.trim().is_empty()
        {
            self.said = true;
            out.event(Event::Text(&text));
        }
    }
}
