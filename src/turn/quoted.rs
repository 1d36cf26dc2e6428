//! The calls in the results that the model has just read. A model that repeats such a result does not make the call in it, so it
//! is asked whether it means the call.

use std::sync::Arc;

use super::{
    answer::{Answer, Setup},
    gate::{Made, made},
};
use crate::{
    adapter::{CLIENT_RESULT, scanner},
    event::{Assembly, Channel, Delta, Effect, Event, FinishReason, ToolChoice, Tools},
    fix::Schemas,
    plan::Plan,
};

/// How much of each result is read, in bytes.
const RESULT_BYTES: usize = 64 * 1024;

/// The calls with effects in the results at the end of the conversation.
pub(super) fn calls(plan: &Plan, schemas: &Arc<Schemas>) -> Vec<Made> {
    let is_result = |text: &str| plan.asking.verbatim && text.contains(CLIENT_RESULT);
    let messages = plan.chat.messages.iter().rev().map(|message| (message.role == "tool", message.content.text()));
    let results = messages.take_while(|(is_tool, text)| *is_tool || is_result(text)).map(|(_, text)| text);
    let named = |text: &str| plan.tools.iter().any(|tool| tool.effect != Effect::Reads && text.contains(tool.name.as_str()));
    results.filter(|text| named(text)).flat_map(|text| read(plan, schemas, &text)).collect()
}

/// The calls in one result. As if a call were required, nothing around them makes them examples.
fn read(plan: &Plan, schemas: &Arc<Schemas>, text: &str) -> Vec<Made> {
    let mut tools = Tools::clone(&plan.tools);
    tools.choice = ToolChoice::Required;
    let mut answer = Answer::new(Setup {
        scanner: scanner::Options { strays: false, ..plan.scanner() },
        ..Setup::new(Arc::clone(&plan.adapter), Arc::new(tools), Arc::clone(schemas))
    });
    let mut open = Assembly::default();
    let mut calls = Vec::new();
    let mut keep = |event: Event<'_>| {
        calls.extend(open.event(&event).map(|(_, call)| made(&call.name, &call.arguments)));
    };
    answer.delta(Delta::Text(Channel::Content, &text[..text.floor_char_boundary(RESULT_BYTES)]), &mut keep);
    answer.delta(Delta::Finish(FinishReason::Stop), &mut keep);
    answer.finish(&mut keep);
    calls
}
