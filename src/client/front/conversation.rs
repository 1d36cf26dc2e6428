//! Assembles a conversation for protocols whose history is a list of blocks or items. System text that comes before everything
//! else is one message. Later system text is a message in its place (`backend::join_system` joins it to its neighbours).

use serde_json::{Map, Value, json};

use crate::{
    adapter::render,
    error::Error,
    openai::{ChatRequest, Content, Message, ToolCall, Unanswered, answer::call_id},
};

#[cfg(test)]
mod tests;

/// The field of a message that holds reasoning.
const REASONING: &str = "reasoning_content";

/// Fields of a chat request apart from the conversation. `null` counts as absent.
#[derive(Debug, Default)]
pub(super) struct Settings(Map<String, Value>);

/// A conversation so far.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// System text that leads the conversation.
    system: Vec<String>,
    messages: Vec<Message>,
    /// Reasoning that belongs to the assistant's next message.
    reasoning: String,
}

impl Settings {
    /// The fields of `body` that the chat API has too: (name there, name in the chat API).
    pub(super) fn of(body: &Map<String, Value>, names: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        for (own, chat) in names {
            settings.set(chat, body.get(*own).cloned());
        }
        settings
    }

    pub(super) fn set(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            self.0.insert(name.to_owned(), value);
        }
    }
}

impl Conversation {
    /// System text at this place.
    pub(super) fn system(&mut self, text: String) {
        if text.trim().is_empty() {
            return;
        }
        match self.messages.is_empty() {
            true => self.system.push(text),
            false => self.messages.push(Message::text("system", text)),
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

    /// The chat request of this conversation, with these tools and settings.
    pub(super) fn request(
        self,
        body: &Map<String, Value>,
        model: &str,
        tools: Vec<Value>,
        mut settings: Settings,
    ) -> Result<ChatRequest, Error> {
        settings.set("model", Some(model.into()));
        settings.set("messages", Some(json!([])));
        settings.set("stream", body.get("stream").cloned());
        settings.set("tools", Some(Value::Array(tools)).filter(|tools| *tools != json!([])));
        let chat = ChatRequest::from_value(Value::Object(settings.0))?;
        Ok(ChatRequest { messages: self.finish(), ..chat })
    }

    pub(super) fn finish(self) -> Vec<Message> {
        let system = self.system.join("\n\n");
        let system = (!system.is_empty()).then(|| Message::text("system", system));
        system.into_iter().chain(self.messages).collect()
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
