//! The calls in what the model has just read: the results at the end of the conversation, or the user's message there. A model
//! that repeats such a text does not make the call in it, so it is asked whether it means the call.

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

/// How much of each text is read, in bytes.
const TEXT_BYTES: usize = 64 * 1024;
/// How many pieces of a text are read by themselves.
const PIECES: usize = 8;

/// The calls with effects in the results or in the user's message at the end of the conversation.
pub(super) fn calls(plan: &Plan, schemas: &Arc<Schemas>) -> Vec<Made> {
    let is_result = |text: &str| plan.asking.verbatim && text.contains(CLIENT_RESULT);
    let named = |text: &str| plan.tools.iter().any(|tool| tool.effect != Effect::Reads && text.contains(tool.name.as_str()));
    let mut calls = Vec::new();
    for message in plan.chat.messages.iter().rev() {
        let text = message.content.text();
        let is_result = message.role == "tool" || is_result(&text);
        if (is_result || message.role == "user") && named(&text) {
            // As if a call were required, nothing around the calls makes them examples.
            let mut tools = Arc::clone(&plan.tools);
            Arc::make_mut(&mut tools).choice = ToolChoice::Required;
            calls.extend(pieces(&text).flat_map(|piece| read(plan, &tools, schemas, piece)));
        }
        if !is_result {
            break;
        }
    }
    calls
}

/// The text, and what it introduces: the words before a call may say that it is not to be run (`Repeat this: {..}`).
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let introduced = text.match_indices(':').filter_map(|(at, _)| {
        let piece = text[at + 1..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\''));
        // The colon after a key introduces nothing.
        (piece.starts_with(['{', '[', '<']) && !text[..at].ends_with('"')).then_some(piece)
    });
    std::iter::once(text).chain(introduced.take(PIECES))
}

/// The calls of these tools in one text.
fn read(plan: &Plan, tools: &Arc<Tools>, schemas: &Arc<Schemas>, text: &str) -> Vec<Made> {
    let mut answer = Answer::new(Setup {
        scanner: scanner::Options { may_ask: scanner::MayAsk::Never, ..plan.scanner() },
        ..Setup::new(Arc::clone(&plan.adapter), Arc::clone(tools), Arc::clone(schemas))
    });
    let mut open = Assembly::default();
    let mut calls = Vec::new();
    let mut keep = |event: Event<'_>| {
        calls.extend(open.event(&event).map(|(_, call)| made(&call.name, &call.arguments)));
    };
    answer.delta(Delta::Text(Channel::Content, &text[..text.floor_char_boundary(TEXT_BYTES)]), &mut keep);
    answer.delta(Delta::Finish(FinishReason::Stop), &mut keep);
    answer.finish(&mut keep);
    calls
}
