//! The rewrites of messages and fields. Each changes only what its refusal is about.

use serde_json::{Map, Value};

use crate::{
    adapter::render::concat,
    openai::{Message, answer::call_id, parse},
};

/// What the assistant has said between a result and the next turn, as opencode says it for these models (its
/// `provider/transform.ts`).
const BRIDGE: &str = "Done.";
/// What the user says after a beginning of the answer.
const GO_ON: &str = "Go on with your last message from where it ends, without repeating it.";
/// What the user says in a conversation without the user.
const BEGIN: &str = "Go on.";
/// Where a message has its reasoning.
const REASONING: &str = "reasoning_content";
/// Other fields for it, of other servers.
const THOUGHTS: [&str; 2] = ["reasoning", "thinking"];
/// Reasoning that nobody has kept. An empty text counts as none.
const FORGOTTEN: &str = " ";
/// Length of an id in Mistral's alphabet.
const ID_CHARS: usize = 9;

pub(super) fn user_turn(messages: &mut Vec<Message>) {
    if messages.iter().all(|message| message.role != "user") {
        let leading = messages.iter().take_while(|message| message.role == "system").count();
        messages.insert(leading, Message::text("user", BEGIN));
    }
}

pub(super) fn one_answer(messages: &mut Vec<Message>) {
    while let [.., before, last] = messages.as_mut_slice()
        && (before.role.as_str(), last.role.as_str()) == ("assistant", "assistant")
    {
        before.content = concat(std::mem::take(&mut before.content), std::mem::take(&mut last.content));
        before.tool_calls.append(&mut last.tool_calls);
        messages.pop();
    }
}

pub(super) fn go_on(messages: &mut Vec<Message>) {
    if messages.last().is_some_and(|last| last.role == "assistant" && last.tool_calls.is_empty()) {
        messages.push(Message::text("user", GO_ON));
    }
}

pub(super) fn apart(messages: &mut Vec<Message>) {
    each(messages, |_, mut message, out| {
        if !message.tool_calls.is_empty() && !message.content.is_empty() && thought(&message).is_some() {
            let content = std::mem::take(&mut message.content);
            out.push(Message { role: message.role.clone(), content, ..Message::default() });
        }
        out.push(message);
    });
}

pub(super) fn bridge(messages: &mut Vec<Message>) {
    each(messages, |before, message, out| {
        if before == "tool" && message.role == "user" {
            out.push(Message::text("assistant", BRIDGE));
        }
        out.push(message);
    });
}

/// The answer brings ids of the backend's own. Those of the client only come with its history, so nothing is mapped back.
pub(super) fn short_ids(message: &mut Message) {
    let short = |id: &mut String| {
        if id.len() != ID_CHARS || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            let hashed = call_id(&[id.as_bytes()]);
            *id = hashed[hashed.len() - ID_CHARS..].to_owned();
        }
    };
    message.tool_calls.iter_mut().for_each(|call| short(&mut call.id));
    message.tool_call_id.iter_mut().for_each(short);
}

pub(super) fn reasoning(message: &mut Message) {
    if message.role == "assistant" {
        let thought = thought(message).unwrap_or(FORGOTTEN).to_owned();
        THOUGHTS.iter().for_each(|field| drop(message.rest.shift_remove(*field)));
        message.rest.insert(REASONING.into(), thought.into());
    }
}

pub(super) fn objects(message: &mut Message) {
    if message.tool_calls.is_empty() {
        return;
    }
    let calls = message.tool_calls.drain(..).map(|call| {
        let mut written = serde_json::to_value(&call).unwrap_or_default();
        if let Some(arguments) = written.pointer_mut("/function/arguments") {
            *arguments = parse(call.arguments.as_bytes()).unwrap_or_else(|_| Map::new().into());
        }
        written
    });
    let calls: Value = calls.collect();
    message.rest.insert("tool_calls".into(), calls);
}

pub(super) fn no_thinking(fields: &mut Map<String, Value>) {
    for field in ["think", "reasoning_effort"] {
        fields.shift_remove(field);
    }
}

/// A model without levels then reasons as it does by default; a switch stays.
pub(super) fn no_effort(fields: &mut Map<String, Value>) {
    for field in ["think", "reasoning_effort"] {
        if fields.get(field).and_then(Value::as_str).is_some_and(|level| level != "none") {
            fields.shift_remove(field);
        }
    }
}

/// The reasoning of a message, whatever its field is called.
fn thought(message: &Message) -> Option<&str> {
    let fields = std::iter::once(REASONING).chain(THOUGHTS);
    fields.filter_map(|field| message.rest.get(field)?.as_str()).find(|text| !text.is_empty())
}

/// Puts what `put` makes of each message, and of the role before it, in its place.
fn each(messages: &mut Vec<Message>, put: impl Fn(&str, Message, &mut Vec<Message>)) {
    let mut out = Vec::with_capacity(messages.len());
    let mut before = String::new();
    for message in messages.drain(..) {
        let role = message.role.clone();
        put(&before, message, &mut out);
        before = role;
    }
    *messages = out;
}
