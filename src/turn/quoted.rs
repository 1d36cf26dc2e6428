//! The calls in the results that the model has read. A model that repeats a text which a file or a page told it to repeat does not
//! make the call in it, so it is asked whether it means the call.
//!
//! A result is read like an answer of the model, and only when a call depends on it, because most answers have none.

use std::sync::{Arc, OnceLock};

use super::answer::{self, Setup};
use crate::{
    adapter::{CLIENT_RESULT, scanner::MayAsk},
    event::{Effect, ToolChoice},
    fix::Schemas,
    plan::Plan,
    redact, same,
};

/// How much of each result is read, in bytes.
const TEXT_BYTES: usize = 64 * 1024;
/// How much of all results is read, the last ones first, in bytes.
const TEXTS_BYTES: usize = 512 * 1024;

/// The results that the model has read, and the calls in them.
#[derive(Debug, Default)]
pub(super) struct Quoted {
    /// The last one first.
    results: Vec<String>,
    /// How a result is read; `None`: no tool has effects.
    setup: Option<Setup>,
    calls: OnceLock<Vec<same::Call>>,
    /// The calls of the conversation: the model was asked about them, or has meant them.
    meant: Vec<same::Call>,
}

impl Quoted {
    /// What the model has read before its next answer.
    pub(super) fn of(plan: &Plan, schemas: &Arc<Schemas>) -> Quoted {
        if !plan.tools.iter().any(|tool| tool.effect != Effect::Reads) {
            return Quoted::default();
        }
        let mut setup = Setup::of(plan, schemas);
        setup.scanner.may_ask = MayAsk::Never;
        // As if a call were required, so that the text around a call makes no difference.
        Arc::make_mut(&mut setup.tools).choice = ToolChoice::Required;
        let mut quoted = Quoted { setup: Some(setup), ..Quoted::default() };
        let mut room = TEXTS_BYTES;
        for message in plan.chat.messages.iter().rev() {
            quoted.meant.extend(message.tool_calls.iter().map(|call| same::Call::new(&call.name, &call.arguments)));
            let text = message.content.text();
            if message.role == "tool" || (plan.asking.verbatim && message.role == "user" && text.contains(CLIENT_RESULT)) {
                let text = redact::head(&text, TEXT_BYTES.min(room));
                room -= text.len();
                quoted.results.push(text.to_owned());
            }
        }
        quoted
    }

    /// Whether the model has read this call in a result, so that it is to be asked about it.
    pub(super) fn has(&self, call: &same::Call) -> bool {
        let Some(setup) = &self.setup else { return false };
        let read = || self.results.iter().flat_map(|text| read(setup, text)).collect();
        !self.meant.contains(call) && self.calls.get_or_init(read).contains(call)
    }
}

/// The calls in a result, if it names a tool with effects.
fn read(setup: &Setup, text: &str) -> Vec<same::Call> {
    if !setup.tools.iter().any(|tool| tool.effect != Effect::Reads && text.contains(tool.name.as_str())) {
        return Vec::new();
    }
    answer::calls(setup.clone(), text).iter().map(|call| same::Call::new(&call.name, &call.arguments)).collect()
}
