//! The form of OpenAI's chat completions, which is also the internal form of a request. Only this module knows OpenAI's field
//! names. Fields that toolglot acts on have types. All others are kept unchanged, for backends that speak the same API.

use std::borrow::Cow;

use serde::{Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::error::Error;

pub mod answer;
#[cfg(test)]
mod tests;
pub mod tokens;
mod unanswered;
mod users_voice;

pub use unanswered::Unanswered;
pub use users_voice::{added, asked, is_spoken, own_words};

/// A chat request. `rest` holds every field that has no member of its own, in the client's order. Its JSON has the fields in a
/// fixed order, so that equal requests give equal bytes.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ChatRequest {
    /// The model's name as the client wrote it.
    pub model: String,
    /// The conversation.
    pub messages: Vec<Message>,
    /// Whether the client wants a stream.
    pub stream: bool,
    /// The `tools`, unchanged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
    /// `tool_choice`, unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    /// All other fields, as the client sent them, in its order.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// One message of the conversation. `rest` holds every field that has no member of its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Message {
    /// `system`, `developer`, `user`, `assistant`, `tool`.
    pub role: String,
    /// Text or parts.
    pub content: Content,
    /// The assistant's calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// For role `tool`: the id of the call that this message answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// `null` or absent.
    #[default]
    None,
    /// A string.
    Text(String),
    /// A list of parts (`{type: "text"|"image_url"|..., ...}`), unchanged.
    Parts(Vec<Value>),
}

/// A call in the history of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// The call's id; `""` if the client lost it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments: normally the JSON text of an object, but that is not checked.
    pub arguments: String,
    /// Opaque data of the backend (`extra_content`), which goes back to it.
    pub extra: Option<Value>,
}

/// What Void writes instead of an empty text. Models imitate it.
pub const VOID_EMPTY: &str = "(empty message)";
/// A field of Void's own in a message. Strict backends refuse it.
pub const VOID_FIELD: &str = "anthropicReasoning";

/// The fields of a message that hold its reasoning; clients and servers differ in the name.
pub const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

/// The longest name of a function, in bytes.
pub const NAME_BYTES: usize = 64;

/// Fields of a chat request that are numbers.
const NUMBERS: &[&str] = &["max_tokens", "max_completion_tokens", "temperature", "top_p"];

/// A name of at most [`NAME_BYTES`]: `name`, or its beginning, and a hash of `whole`, which tells it from others that begin so.
pub fn distinct(name: &str, whole: &str) -> String {
    let hash = format!("{:x}", Sha256::digest(whole));
    let (hash, room) = (&hash[..8], name.floor_char_boundary(NAME_BYTES - "_".len() - 8));
    format!("{}_{hash}", &name[..room])
}

/// Parses the JSON of a request body.
///
/// # Errors
/// 400, with the place that is not valid.
pub fn json(body: &[u8]) -> Result<Value, Error> {
    json_with(body, |body| serde_json::from_slice(body))
}

/// The same, read in another way than a [`Value`] is.
///
/// # Errors
/// 400, with the place that is not valid.
pub fn json_with<T>(body: &[u8], read: impl Fn(&[u8]) -> serde_json::Result<T>) -> Result<T, Error> {
    parse_with(body, read).map_err(|error| Error::client(format!("the request body is not valid JSON: {error}")))
}

/// Checks that these fields of a request are numbers, where they are there.
///
/// # Errors
/// 400, with the field that is none.
pub fn numbers(body: &Map<String, Value>, names: &[&str]) -> Result<(), Error> {
    for name in names {
        if let Some(value) = body.get(*name).filter(|value| !value.is_number() && !value.is_null()) {
            return Err(Error::client(format!("`{name}` must be a number, but it is {}", kind(value))));
        }
    }
    Ok(())
}

/// The list in a field of a request; a field that is absent or `null` is an empty list.
///
/// # Errors
/// 400 if it is something else.
pub fn list<'b>(body: &'b Map<String, Value>, name: &str) -> Result<&'b [Value], Error> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(other) => Err(Error::client(format!("`{name}` must be an array, but it is {}", kind(other)))),
    }
}

/// What a JSON value is, in words.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Parses JSON as clients write it. Half of a surrogate pair (`\ud83d`, where a text was cut within an emoji) is U+FFFD: JSON's
/// grammar permits it, but it is no character.
///
/// # Errors
/// Where the JSON is not valid.
pub fn parse<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    parse_with(json, |json| serde_json::from_slice(json))
}

/// The members of a body that is a JSON object.
///
/// # Errors
/// 400: it is none.
pub fn object(body: &[u8]) -> Result<Map<String, Value>, Error> {
    parse(body).map_err(|error| Error::client(format!("the body must be a JSON object: {error}")))
}

fn parse_with<T>(json: &[u8], read: impl Fn(&[u8]) -> serde_json::Result<T>) -> serde_json::Result<T> {
    read(json).or_else(|error| match without_halves(json) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(whole) => read(&whole),
    })
}

/// JSON with U+FFFD in the place of each half of a surrogate pair. Its length is the same.
pub fn without_halves(json: &[u8]) -> Cow<'_, [u8]> {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let (mut whole, mut at) = (Cow::Borrowed(json), 0);
    while let Some(found) = memchr::memchr(b'\\', json.get(at..).unwrap_or_default()) {
        at += found;
        match unit(at) {
            Some(0xd800..0xdc00) if matches!(unit(at + 6), Some(0xdc00..0xe000)) => at += 12,
            Some(0xd800..0xe000) => {
                whole.to_mut()[at + 2..at + 6].copy_from_slice(b"fffd");
                at += 6;
            }
            _ => at += 2,
        }
    }
    whole
}

impl ChatRequest {
    /// Reads a request body.
    ///
    /// # Errors
    /// 400, with the field that is wrong.
    pub fn parse(body: &[u8]) -> Result<ChatRequest, Error> {
        let request = ChatRequest::from_value(json(body)?)?;
        numbers(&request.rest, NUMBERS)?;
        Ok(request)
    }

    /// Reads a request from parsed JSON. Unlike [`ChatRequest::parse`], it does not check that numeric fields are numbers.
    ///
    /// # Errors
    /// 400, with the field that is wrong.
    pub fn from_value(value: Value) -> Result<ChatRequest, Error> {
        let Value::Object(mut rest) = value else { return Err(Error::client("the request body must be a JSON object")) };
        let model = match rest.shift_remove("model") {
            Some(Value::String(model)) if !model.is_empty() => model,
            _ => return Err(Error::client("`model` must be a non-empty string")),
        };
        let messages = match rest.shift_remove("messages") {
            Some(Value::Array(list)) => {
                list.into_iter().enumerate().map(|(at, message)| Message::from_value(at, message)).collect::<Result<_, _>>()?
            }
            _ => return Err(Error::client("`messages` must be an array of messages")),
        };
        let stream = match rest.shift_remove("stream") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(stream)) => stream,
            Some(_) => return Err(Error::client("`stream` must be true or false")),
        };
        let tools = match rest.shift_remove("tools") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(tools)) => tools,
            Some(_) => return Err(Error::client("`tools` must be an array")),
        };
        let tool_choice = rest.shift_remove("tool_choice").filter(|choice| !choice.is_null());
        Ok(ChatRequest { model, messages, stream, tools, tool_choice, rest })
    }

    /// Whether a streaming client asked for the usage chunk (`stream_options.include_usage`).
    pub fn include_usage(&self) -> bool {
        self.rest.get("stream_options").and_then(|options| options.get("include_usage")).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Whether the client sets an option of Ollama's, as a field of its own or in `options`.
    pub fn has_option(&self, name: &str) -> bool {
        let options = self.rest.get("options").and_then(Value::as_object);
        self.rest.contains_key(name) || options.is_some_and(|options| options.contains_key(name))
    }
}

impl Message {
    /// A message of plain text.
    pub fn text(role: impl Into<String>, text: impl Into<String>) -> Message {
        Message { role: role.into(), content: Content::Text(text.into()), ..Message::default() }
    }

    /// The result of the call with this id.
    pub fn result(call: impl Into<String>, content: Content) -> Message {
        Message { role: "tool".into(), content, tool_call_id: Some(call.into()), ..Message::default() }
    }

    fn from_value(at: usize, value: Value) -> Result<Message, Error> {
        let Value::Object(mut rest) = value else {
            return Err(Error::client(format!("`messages[{at}]` must be an object")));
        };
        let role = match rest.shift_remove("role") {
            Some(Value::String(role)) => role,
            _ => return Err(Error::client(format!("`messages[{at}].role` must be a string"))),
        };
        let content = match rest.shift_remove("content") {
            None | Some(Value::Null) => Content::None,
            Some(Value::String(text)) => Content::Text(text),
            Some(Value::Array(parts)) => Content::Parts(read_parts(at, parts)?),
            Some(_) => {
                return Err(Error::client(format!("`messages[{at}].content` must be a string, an array of parts or null")));
            }
        };
        let tool_calls = match rest.shift_remove("tool_calls") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(calls)) => calls.iter().map(ToolCall::from_value).collect(),
            Some(_) => return Err(Error::client(format!("`messages[{at}].tool_calls` must be an array"))),
        };
        let tool_call_id = match rest.shift_remove("tool_call_id") {
            Some(Value::String(id)) => Some(id),
            _ => None,
        };
        Ok(Message { role, content, tool_calls, tool_call_id, rest })
    }
}

/// The parts of a message. A part that is a string is a text.
fn read_parts(at: usize, parts: Vec<Value>) -> Result<Vec<Value>, Error> {
    let read = |(nth, part): (usize, Value)| match part {
        Value::String(text) => Ok(json!({"type": "text", "text": text})),
        Value::Object(part) if part.get("text").is_none_or(|text| text.is_string() || text.is_null()) => Ok(part.into()),
        Value::Object(_) => Err(Error::client(format!("`messages[{at}].content[{nth}].text` must be a string"))),
        other => {
            let what = kind(&other);
            Err(Error::client(format!("`messages[{at}].content[{nth}]` must be an object with a `type`, but it is {what}")))
        }
    };
    parts.into_iter().enumerate().map(read).collect()
}

impl Content {
    /// The text: the string, or the text parts joined by newlines, without images and other parts.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Content::None => "".into(),
            Content::Text(text) => text.into(),
            Content::Parts(_) => self.texts().join("\n").into(),
        }
    }

    /// The string, or the texts of the parts.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Content::None => Vec::new(),
            Content::Text(text) => vec![text],
            Content::Parts(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        }
    }

    /// The parts, if it is made of parts.
    pub fn parts(&self) -> &[Value] {
        if let Content::Parts(parts) = self { parts } else { &[] }
    }

    /// A copy of [`Content::text`].
    pub fn to_text(&self) -> String {
        self.text().into_owned()
    }

    /// The content with other texts, where `change` gives one; `None` if it gives none.
    pub fn with_texts(&self, mut change: impl FnMut(&str) -> Option<String>) -> Option<Content> {
        let parts = match self {
            Content::None => return None,
            Content::Text(text) => return change(text).map(Content::Text),
            Content::Parts(parts) => parts,
        };
        let texts = parts.iter().map(|part| part.get("text").and_then(Value::as_str).unwrap_or_default());
        let changed: Vec<Option<String>> = texts.map(change).collect();
        changed.iter().any(Option::is_some).then(|| {
            let mut parts = parts.clone();
            for (part, changed) in parts.iter_mut().zip(changed) {
                if let (Some(text), Some(changed)) = (part.get_mut("text"), changed) {
                    *text = Value::String(changed);
                }
            }
            Content::Parts(parts)
        })
    }

    /// Whether there is no content.
    pub fn is_empty(&self) -> bool {
        match self {
            Content::None => true,
            Content::Text(text) => text.is_empty(),
            Content::Parts(parts) => parts.is_empty(),
        }
    }
}

impl ToolCall {
    /// Reads a call: `{id, function: {name, arguments}}`, or `{id, custom: {name, input}}`, whose text becomes the argument
    /// `input`.
    pub fn from_value(value: &Value) -> ToolCall {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let custom = value.get("custom").filter(|custom| custom.is_object());
        let function = value.get("function").or(custom);
        let arguments = match (function.and_then(|function| function.get("arguments")), custom) {
            (Some(Value::String(text)), _) => text.clone(),
            (None, Some(custom)) => json!({"input": custom.get("input")}).to_string(),
            (None | Some(Value::Null), _) => String::new(),
            (Some(other), _) => other.to_string(), // clients that replay Ollama's object form
        };
        ToolCall {
            id: text(value.get("id")),
            name: text(function.and_then(|function| function.get("name"))),
            arguments,
            extra: value.get("extra_content").cloned(),
        }
    }
}

impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let function = json!({"name": self.name, "arguments": self.arguments});
        let mut call = json!({"id": self.id, "type": "function", "function": function});
        if let Some(extra) = &self.extra {
            call["extra_content"] = extra.clone();
        }
        call.serialize(serializer)
    }
}
