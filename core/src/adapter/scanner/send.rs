//! Emits calls after the decision about them: as calls, refused calls, or text.

use serde_json::Value;

use super::Scanner;
use crate::{
    adapter::syntax::Parsed,
    event::{Call, Event, FinishReason, Sink, Why},
    fix::name::{means_answer, means_none},
};

impl Scanner {
    /// Emits the calls and returns them, without those whose names mean "no tool" or "the answer".
    pub(super) fn send_meant(&mut self, mut calls: Vec<Parsed>, out: &mut dyn Sink) -> Vec<Parsed> {
        calls.retain(|call| !means_none(&self.tools, &call.name) && !self.send_as_text(call, out));
        calls.iter().for_each(|call| self.send(call, None, out));
        calls
    }

    /// Emits the text of an answer that was written as a call. Returns `false` if this is a call of a tool.
    pub(super) fn send_as_text(&mut self, call: &Parsed, out: &mut dyn Sink) -> bool {
        let Some(text) = self.answer_text(call) else { return false };
        self.say(&text, out);
        true
    }

    /// Emits text, and records it as said.
    pub(super) fn say(&mut self, text: &str, out: &mut dyn Sink) {
        self.emitted.text(text, false);
        out.event(Event::Text(text));
    }

    /// The text of a call that a model uses for its answer (`answer`, `respond` or the like), if its only content is one string.
    pub(super) fn answer_text(&self, call: &Parsed) -> Option<String> {
        if !means_answer(&self.tools, &call.name) {
            return None;
        }
        match serde_json::from_str(&call.arguments).ok()? {
            Value::String(text) => Some(text),
            Value::Object(members) => match members.into_iter().collect::<Vec<_>>().as_slice() {
                [(_, Value::String(text))] => Some(text.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Refuses a call that cannot be read. The fixer does not see it.
    pub(super) fn refuse(&mut self, torn: &Parsed, why: &Why, out: &mut dyn Sink) {
        self.emitted.call();
        out.event(Event::Refused { name: &torn.name, why, raw: &torn.arguments, written: &torn.arguments });
    }

    /// Emits a call. `cut`: why the answer ended before it did.
    pub(super) fn send(&mut self, call: &Parsed, cut: Option<FinishReason>, out: &mut dyn Sink) {
        let index = self.emitted.call();
        out.event(Event::Call(Call { id: call.id.as_deref(), cut, ..Call::new(index, &call.name, &call.arguments) }));
    }
}
