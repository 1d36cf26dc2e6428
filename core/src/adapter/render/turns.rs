//! Fits messages to a chat template: folds system text, joins neighbours, appends contents.

use serde_json::{Value, json};

use crate::openai::{Content, Message};

/// Moves leading system text to the front of the first user message.
pub fn fold_system(messages: &mut Vec<Message>) {
    let leading = messages.iter().take_while(|message| message.role == "system").count();
    let head: Vec<Message> = messages.drain(..leading).collect();
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

/// Joins adjacent messages of one role, so that user and assistant alternate. Templates that require this (Mistral's) do not
/// count results, so user text right after a result is appended to it.
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

/// Adds the instruction to the system message, or as a new one at the front.
pub fn instruct(messages: &mut Vec<Message>, instruction: String) {
    let instruction = Message::text("system", instruction);
    match messages.first_mut() {
        Some(first) if matches!(first.role.as_str(), "system" | "developer") => join(first, instruction),
        _ => messages.insert(0, instruction),
    }
}

/// Appends the content of another message after an empty line.
fn join(message: &mut Message, next: Message) {
    message.content = concat(std::mem::take(&mut message.content), next.content);
}

/// Both contents, the second after an empty line.
pub fn concat(first: Content, second: Content) -> Content {
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
