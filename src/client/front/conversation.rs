//! Assembles a conversation for protocols whose history is a list of blocks or items. System text that comes before everything
//! else is one message. Later system text is a message in its place (`backend::join_system` joins it to its neighbours).

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::{
    adapter::render,
    error::Error,
    openai::{self, ChatRequest, Content, Message, ToolCall, Unanswered, answer::call_id},
};

#[cfg(test)]
mod tests;

/// The field of a message that holds reasoning.
const REASONING: &str = "reasoning_content";

/// A conversation so far.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    messages: Vec<Message>,
    /// Reasoning that belongs to the assistant's next message.
    reasoning: String,
}

impl Conversation {
    /// System text at this place. What leads the conversation is one message.
    pub(super) fn system(&mut self, text: &str) {
        match self.messages.as_mut_slice() {
            _ if text.trim().is_empty() => {}
            [Message { role, content: Content::Text(before), .. }] if role == "system" => {
                before.push_str("\n\n");
                before.push_str(text);
            }
            _ => self.messages.push(Message::text("system", text)),
        }
    }

    pub(super) fn user(&mut self, content: Content) {
        if content.is_empty() {
            return;
        }
        self.reasoning.clear();
        self.messages.push(Message { role: "user".into(), content, ..Message::default() });
    }

    /// Reasoning of the assistant, before its text or its calls.
    pub(super) fn reasoning(&mut self, text: &str) {
        self.reasoning.push_str(text);
    }

    pub(super) fn assistant(&mut self, text: &str) {
        if !text.is_empty() {
            self.speak(|message| {
                let before = std::mem::take(&mut message.content);
                message.content = render::concat(before, Content::Text(text.to_owned()));
            });
        }
    }

    pub(super) fn call(&mut self, call: ToolCall) {
        self.speak(|message| message.tool_calls.push(call));
    }

    pub(super) fn result(&mut self, id: &str, content: Content) {
        self.messages.push(Message::result(id, content));
    }

    /// The chat request of this conversation. `settings`: its other fields; `null` counts as absent.
    pub(super) fn request(
        self,
        body: &Map<String, Value>,
        model: &str,
        tools: Vec<Value>,
        settings: Value,
    ) -> Result<ChatRequest, Error> {
        let mut fields = Map::from_iter([
            ("model".to_owned(), model.into()),
            ("messages".to_owned(), json!([])),
            ("stream".to_owned(), json!(body.get("stream"))),
            ("tools".to_owned(), tools.into()),
        ]);
        fields.extend(if let Value::Object(settings) = settings { settings } else { Map::new() });
        fields.retain(|_, value| !value.is_null());
        Ok(ChatRequest { messages: self.messages, ..ChatRequest::from_value(fields.into())? })
    }

    /// Changes the assistant's message: the last message if it is the assistant's, else a new one.
    fn speak(&mut self, add: impl FnOnce(&mut Message)) {
        if self.messages.last().is_none_or(|last| last.role != "assistant") {
            self.messages.push(Message { role: "assistant".into(), ..Message::default() });
        }
        let reasoning = std::mem::take(&mut self.reasoning);
        let Some(message) = self.messages.last_mut() else { return };
        if !reasoning.is_empty() {
            let before = message.rest.get(REASONING).and_then(Value::as_str).unwrap_or_default();
            let whole = format!("{before}{reasoning}");
            message.rest.insert(REASONING.into(), whole.into());
        }
        add(message);
    }
}

/// The parts of what stands at this place of a request, each with its own place; a string is one text.
///
/// # Errors
/// 400 if it is something else, or a part has no type.
pub(super) fn parts<'c>(place: &str, content: &'c Value) -> Result<Vec<(String, Cow<'c, Value>)>, Error> {
    let list = match content {
        Value::String(said) => return Ok(vec![(place.to_owned(), Cow::Owned(text(said)))]),
        Value::Array(list) => list,
        other => {
            let what = openai::kind(other);
            return Err(Error::client(format!("`{place}` must be a string or an array of parts, but it is {what}")));
        }
    };
    let part = |(at, part): (usize, &'c Value)| match (format!("{place}[{at}]"), &part["type"]) {
        (place, Value::String(_)) => Ok((place, Cow::Borrowed(part))),
        (place, _) => Err(Error::client(format!("`{place}` must be an object with a `type`"))),
    };
    list.iter().enumerate().map(part).collect()
}

/// The text in this field of the part at this place.
///
/// # Errors
/// 400 if there is none.
pub(super) fn said<'p>(place: &str, part: &'p Value, field: &str) -> Result<&'p str, Error> {
    part[field].as_str().ok_or_else(|| Error::client(format!("`{place}.{field}` must be a string")))
}

/// Texts and images as content: one text where there is nothing else.
pub(super) fn content(parts: Vec<Value>) -> Content {
    let text = |part: &Value| part.get("text").and_then(Value::as_str).map(str::to_owned);
    let texts: Option<Vec<String>> = parts.iter().map(text).collect();
    match texts {
        Some(texts) if texts.iter().all(String::is_empty) => Content::None,
        Some(texts) => Content::Text(texts.join("\n\n")),
        None => Content::Parts(parts),
    }
}

/// Arguments as text; some clients send an object.
pub(super) fn arguments(written: &Value) -> String {
    match written {
        Value::Null => "{}".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn text(text: impl Into<String>) -> Value {
    json!({"type": "text", "text": text.into()})
}

/// A part with an image, by URL or `data:` URL.
pub(super) fn image(url: impl Into<String>) -> Value {
    json!({"type": "image_url", "image_url": {"url": url.into()}})
}

/// Gives ids to calls without one, and connects results without an id to their calls by name and order. Ids depend only on
/// position and content.
pub(super) fn name_calls(request: &mut ChatRequest) {
    let mut open = Unanswered::default();
    for (at, message) in request.messages.iter_mut().enumerate() {
        for (nth, call) in message.tool_calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty()) {
            let position = [(at as u64).to_le_bytes(), (nth as u64).to_le_bytes()];
            call.id = call_id(&[b"ollama", &position[0], &position[1], call.name.as_bytes(), call.arguments.as_bytes()]);
        }
        open.add(message);
        if message.role != "tool" {
            continue;
        }
        let named = message.rest.shift_remove("tool_name").or_else(|| message.rest.shift_remove("name"));
        let named = named.as_ref().and_then(Value::as_str);
        match open.take(message.tool_call_id.as_deref().unwrap_or_default(), named) {
            Some((_, id)) => message.tool_call_id = Some(id),
            // A result of a call that the history has lost.
            None if message.tool_call_id.is_none() => {
                message.role = "user".into();
                if let (Some(name), Content::Text(text)) = (named, &mut message.content) {
                    *text = format!("Result of {name}: {text}");
                }
            }
            None => {}
        }
    }
}
