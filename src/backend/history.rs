//! The history as backends can read it: what one client, or one accident, left in it must not make every later request
//! fail. Pure and stable: what is done to a message depends on that message and those before it only.

use std::borrow::Cow;

use serde_json::{Value, value::RawValue};
use sha2::{Digest, Sha256};

use crate::{
    event::Note,
    openai::{ChatRequest, Content, Message, ToolCall},
};

#[cfg(test)]
mod tests;

/// Void writes this for an empty text; models imitate it.
const PLACEHOLDER: &str = "(empty message)";
/// A field of Void's own, which strict backends refuse.
const FOREIGN: &str = "anthropicReasoning";

/// The request with a clean history.
pub(super) fn clean(chat: &ChatRequest, notes: &mut Vec<Note>) -> ChatRequest {
    let mut messages = Vec::with_capacity(chat.messages.len());
    // Ids of calls that no result has answered yet.
    let mut open: Vec<String> = Vec::new();
    for (at, message) in chat.messages.iter().enumerate() {
        let mut message = message.clone();
        message.rest.retain(|name, value| name != FOREIGN && !value.is_null());
        match message.role.as_str() {
            "developer" => message.role = "system".to_owned(),
            "assistant" => {
                if is_placeholder(&message.content) {
                    message.content = Content::None;
                }
                if message.content.is_empty() && message.tool_calls.is_empty() && !message.rest.contains_key("function_call") {
                    continue;
                }
                for (position, call) in message.tool_calls.iter_mut().enumerate() {
                    mend(call, at, position, notes);
                }
                open.extend(message.tool_calls.iter().map(|call| call.id.clone()));
            }
            "tool" => answer(&mut message, &mut open),
            _ => {}
        }
        messages.push(message);
    }
    ChatRequest { messages, ..chat.clone() }
}

/// The first complete object of an argument text: the text itself where it is one; `None` if there is none.
pub(super) fn object(arguments: &str) -> Option<Cow<'_, str>> {
    let first = serde_json::Deserializer::from_str(arguments).into_iter::<&RawValue>().next()?.ok()?.get();
    if first.starts_with('{') {
        return Some(Cow::Borrowed(if first.len() == arguments.trim().len() { arguments } else { first }));
    }
    // Encoded twice.
    let inner: String = serde_json::from_str(first).ok()?;
    object(&inner).map(|found| Cow::Owned(found.into_owned()))
}

fn is_placeholder(content: &Content) -> bool {
    content.to_text().trim() == PLACEHOLDER && !matches!(content, Content::Parts(parts) if parts.len() > 1)
}

/// Gives the call arguments that are one object, and an id.
fn mend(call: &mut ToolCall, at: usize, position: usize, notes: &mut Vec<Note>) {
    let mended = match object(&call.arguments) {
        Some(Cow::Borrowed(text)) if text.len() == call.arguments.len() => None,
        Some(text) => Some(text.into_owned()),
        None => Some("{}".to_owned()),
    };
    if let Some(mended) = mended {
        if !call.arguments.trim().is_empty() {
            let text = format!(
                "`messages[{at}]`: the arguments of the call of `{}` are not one JSON object; backends get {mended}",
                call.name
            );
            notes.push(Note::Warning { code: "history_mended", text });
        }
        call.arguments = mended;
    }
    if call.id.is_empty() {
        let hash = Sha256::digest(format!("{at} {position} {} {}", call.name, call.arguments));
        call.id = hash.iter().take(12).fold("call_".to_owned(), |id, byte| id + &format!("{byte:02x}"));
    }
}

/// Ties a result to its call. One without an id answers the first call that is open; one that answers nothing becomes
/// user text, because backends refuse it.
fn answer(message: &mut Message, open: &mut Vec<String>) {
    let id = message.tool_call_id.take().unwrap_or_default();
    let at = if id.is_empty() { (!open.is_empty()).then_some(0) } else { open.iter().position(|waiting| *waiting == id) };
    match at {
        Some(at) => message.tool_call_id = Some(open.remove(at)),
        None => {
            message.role = "user".to_owned();
            let name = message.rest.shift_remove("name");
            let name = name.as_ref().and_then(Value::as_str).unwrap_or("an earlier tool call");
            let text = format!("Result of {name}:\n{}", message.content.to_text());
            match &mut message.content {
                Content::Parts(parts) => {
                    parts.retain(|part| part.get("text").is_none());
                    parts.insert(0, serde_json::json!({"type": "text", "text": text}));
                }
                content => *content = Content::Text(text),
            }
        }
    }
}
