//! Messages in the turns that a model's template takes: system text folded, neighbours joined, contents appended.

use serde_json::{Value, json};

use crate::openai::{Content, Message};

/// Moves system text to the front of the first user turn; later system messages become user text where they are.
pub fn fold_system(messages: &mut Vec<Message>) {
    let leading = messages.iter().take_while(|message| message.role == "system").count();
    let head: Vec<Message> = messages.drain(..leading).collect();
    for message in messages.iter_mut().filter(|message| message.role == "system") {
        message.role = "user".to_owned();
    }
    let Some(mut folded) = head.into_iter().reduce(|mut all, next| {
        join(&mut all, next);
        all
    }) else {
        return;
    };
    folded.role = "user".to_owned();
    if messages.first().is_some_and(|message| message.role == "user") {
        join(&mut folded, messages.remove(0));
    }
    messages.insert(0, folded);
}

/// Joins neighbours of one role, so that the turns of user and assistant alternate. Templates that demand this do not count
/// results (Mistral's), so what the user says right after one becomes a part of it.
pub fn alternate(messages: &mut Vec<Message>) {
    let mut joined: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages.drain(..) {
        let mergeable = matches!(message.role.as_str(), "user" | "assistant") && message.tool_calls.is_empty();
        match joined.last_mut() {
            Some(last) if mergeable && last.role == message.role && last.tool_calls.is_empty() => join(last, message),
            Some(last) if last.role == "tool" && message.role == "user" => join(last, message),
            _ => joined.push(message),
        }
    }
    *messages = joined;
}

/// Puts the instruction after the system text, or in front where there is none.
pub(super) fn instruct(messages: &mut Vec<Message>, instruction: String) {
    let instruction = Message::text("system", instruction);
    match messages.first_mut() {
        Some(first) if first.role == "system" => join(first, instruction),
        _ => messages.insert(0, instruction),
    }
}

/// Appends the content of another message, an empty line between.
pub(super) fn join(message: &mut Message, next: Message) {
    message.content = concat(std::mem::take(&mut message.content), next.content);
}

pub(super) fn concat(first: Content, second: Content) -> Content {
    match (first, second) {
        (first, second) if second.is_empty() => first,
        (first, second) if first.is_empty() => second,
        (Content::Text(first), Content::Text(second)) => Content::Text(format!("{first}\n\n{second}")),
        (first, second) => Content::Parts([parts(first), parts(second)].concat()),
    }
}

fn parts(content: Content) -> Vec<Value> {
    match content {
        Content::None => Vec::new(),
        Content::Text(text) => vec![json!({"type": "text", "text": text})],
        Content::Parts(parts) => parts,
    }
}
