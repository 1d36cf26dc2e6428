//! Turns a conversation into a backend's request: cleans the history, adds the tools natively or in the prompt, maps the fields.
//! A pure function of the [`Round`]: the same conversation always gives the same bytes, and turn N's messages are a prefix of
//! turn N+1's.

use std::{borrow::Cow, collections::HashMap};

use http::Method;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Dialect, Kind, Prepared, Round, ToolMode, conversation, history, spelling};
use crate::{
    adapter::render,
    error::Error,
    event::{Note, Tool, ToolChoice, Tools},
    openai::{ChatRequest, Message},
    upstream::{HttpRequest, Outgoing},
};

mod constrain;
mod google;
mod ollama;
mod openai;
#[cfg(test)]
mod tests;

/// Fields that can be dropped without a warning, because the answer is the same without them.
const QUIET: &[&str] = &[
    "stream_options", "user", "store", "metadata", "service_tier", "parallel_tool_calls", "safety_identifier", "prompt_cache_key",
];

/// The body of a request in the form of OpenAI or Ollama. The definitions of tools are the client's own, not copies.
#[derive(Serialize)]
struct Body<'a, M> {
    model: String,
    messages: Vec<M>,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Cow<'a, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Initial capacity of a body, in bytes.
const BODY_BYTES: usize = 4 * 1024;

/// The names of the calls so far, by id. If an id repeats, the last message counts.
type Called<'a> = HashMap<&'a str, &'a str>;

/// The names of a message's calls. If an id repeats, the first call counts.
fn names(message: &Message) -> impl Iterator<Item = (&str, &str)> {
    message.tool_calls.iter().rev().map(|call| (call.id.as_str(), call.name.as_str()))
}

/// The request for this round. It always asks the backend for a stream.
///
/// # Errors
/// The backend's API cannot express the conversation (an image that would have to be fetched), a template of the adapter fails,
/// or a replay backend has no recording of the model.
pub fn request(round: &Round<'_>) -> Result<Prepared, Error> {
    if round.backend.kind == Kind::Replay {
        return round.backend.replay.answer(round.chat);
    }
    let round = &Round { mode: constrain::mode(round), ..*round };
    let mut notes = Vec::new();
    check_parts(round, &mut notes)?;
    let chat = fitted(round, &mut notes)?;
    let offered = (round.mode == ToolMode::Native && round.offer).then_some(&**round.tools).filter(|tools| !tools.is_empty());
    let (path, body, dialect) = match round.backend.kind {
        Kind::Ollama => ("/api/chat".into(), written(&ollama::body(chat, offered, round, &mut notes)), Dialect::Ollama),
        Kind::Google => (google::path(&chat.model), written(&google::body(&chat, offered, &mut notes)), Dialect::Google),
        Kind::OpenAi | Kind::Replay => {
            ("/chat/completions".into(), written(&openai::body(chat, offered, round, &mut notes)), Dialect::OpenAi)
        }
    };
    let request = HttpRequest {
        method: Method::POST,
        url: format!("{}{path}", round.backend.url),
        headers: round.backend.headers(round.authorization),
        body: body?.into(),
    };
    Ok(Prepared { outgoing: Outgoing::Http(request), dialect, notes })
}

/// The body as JSON text.
fn written(body: &impl Serialize) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(BODY_BYTES);
    serde_json::to_writer(&mut out, body).map_err(|error| Error::proxy(format!("the request cannot be written: {error}")))?;
    Ok(out)
}

/// The conversation in the form that the backend's model accepts.
fn fitted(round: &Round<'_>, notes: &mut Vec<Note>) -> Result<ChatRequest, Error> {
    // The tools are written separately for the backend.
    let mut chat = ChatRequest {
        model: round.chat.model.clone(),
        messages: round.chat.messages.clone(),
        stream: round.chat.stream,
        tools: Vec::new(),
        tool_choice: round.chat.tool_choice.clone(),
        rest: round.chat.rest.clone(),
    };
    history::clean(&mut chat.messages, round.adapter.turns(), notes);
    if !round.tools.is_empty() {
        without_logprobs(&mut chat.rest, notes);
    }
    if round.mode == ToolMode::Client {
        return Ok(addressed(round, chat));
    }
    history::leaked::clean(&mut chat.messages, round.adapter, round.tools);
    chat.messages.iter_mut().for_each(|message| with_wire_names(message, round));
    if let Some(words) = constrain::answer(round, &mut chat.rest) {
        render::instruct(&mut chat.messages, words);
    }
    if round.mode != ToolMode::Native {
        let mut tools = Cow::Borrowed(&**round.tools);
        if !round.offer {
            tools.to_mut().choice = ToolChoice::None;
        }
        chat = render::render(round.adapter, round.mode == ToolMode::Raw, &chat, &tools)?;
        if round.mode == ToolMode::Prompt && round.offer {
            constrain::required(round, &mut chat.rest);
        }
        constrain::keep_markers(round, &mut chat.rest);
    }
    Ok(addressed(round, chat))
}

/// Writes the names of a message's calls as the backend knows them, also of tools that are not offered any more.
fn with_wire_names(message: &mut Message, round: &Round<'_>) {
    for call in &mut message.tool_calls {
        call.name = match round.tools.get(&call.name) {
            Some(tool) => tool.wire_name.clone(),
            None => spelling::spelt_apart(round.backend, round.adapter.names, &call.name, round.tools),
        };
    }
}

/// Adapts images and the form of the conversation to what the model and its backend support.
fn addressed(round: &Round<'_>, mut chat: ChatRequest) -> ChatRequest {
    history::show_images(&mut chat.messages, round.vision, round.backend.kind == Kind::OpenAi);
    conversation::fit(round, &mut chat);
    chat
}

/// Removes `logprobs`: servers refuse them together with tools.
fn without_logprobs(fields: &mut Map<String, Value>, notes: &mut Vec<Note>) {
    let wanted = fields.shift_remove("logprobs") == Some(json!(true));
    fields.shift_remove("top_logprobs");
    if wanted {
        let text = "`logprobs` does not go together with tools and was left out".into();
        notes.push(Note::Warning { code: "logprobs_dropped", text });
    }
}

/// The tools in OpenAI's form, under their wire names. Further fields that the client wrote (`strict`) stay.
fn functions<'a>(round: &Round<'a>, tools: impl Iterator<Item = &'a Tool>) -> Vec<Cow<'a, Value>> {
    let name_of = |value: &'a Value| value.get("function")?.get("name")?.as_str();
    // If a name repeats, the first tool counts.
    let written: HashMap<&str, &Value> =
        round.chat.tools.iter().rev().filter_map(|value| Some((name_of(value)?, value))).collect();
    tools.map(|tool| function(round, written.get(tool.name.as_str()).copied(), tool)).collect()
}

/// One tool in OpenAI's form; `written` is the client's own definition.
fn function<'a>(round: &Round<'_>, written: Option<&'a Value>, tool: &Tool) -> Cow<'a, Value> {
    let mut value = match written {
        Some(value) if stays(value, tool) && !conversation::fits_schemas(round) => return Cow::Borrowed(value),
        Some(value) => value.clone(),
        None => json!({"type": "function", "function": {"name": tool.name, "description": tool.description}}),
    };
    if let Some(function) = value.get_mut("function").and_then(Value::as_object_mut) {
        function.insert("name".into(), json!(tool.wire_name));
        if !function.get("parameters").is_some_and(has_members) {
            function.insert("parameters".into(), parameters_of(tool));
        }
        if let Some(parameters) = function.get_mut("parameters") {
            without_booleans(parameters);
            conversation::fit_schema(round, parameters);
        }
    }
    Cow::Owned(value)
}

/// Whether the client's definition of a tool is sent as it is.
fn stays(written: &Value, tool: &Tool) -> bool {
    let parameters = written.get("function").and_then(|function| function.get("parameters"));
    tool.wire_name == tool.name && parameters.is_some_and(|parameters| has_members(parameters) && !has_booleans(parameters))
}

fn has_members(value: &Value) -> bool {
    value.as_object().is_some_and(|members| !members.is_empty())
}

/// A tool's schema. A tool without parameters gets an object without properties.
pub(super) fn parameters_of(tool: &Tool) -> Value {
    match serde_json::from_str(&tool.schema) {
        Ok(Value::Object(schema)) if !schema.is_empty() => {
            let mut schema = Value::Object(schema);
            without_booleans(&mut schema);
            schema
        }
        _ => json!({"type": "object", "properties": {}}),
    }
}

/// Replaces `true` as the schema of a property (anything goes), because backends with typed schemas fail on it.
fn without_booleans(schema: &mut Value) {
    conversation::each_schema(schema, &mut |object| {
        let properties = object.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut);
        properties.filter(|property| property.is_boolean()).for_each(|property| *property = json!({}));
    });
}

/// Whether [`without_booleans`] would change the schema.
fn has_booleans(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => {
            let properties = object.get("properties").and_then(Value::as_object);
            properties.into_iter().flat_map(Map::values).any(Value::is_boolean) || object.values().any(has_booleans)
        }
        Value::Array(list) => list.iter().any(has_booleans),
        _ => false,
    }
}

/// The wire name of the one tool that must be called.
pub(super) fn named(tools: &Tools) -> Option<&str> {
    match &tools.choice {
        ToolChoice::Named(name) => Some(tools.get(name).map_or(name, |tool| &tool.wire_name)),
        _ => None,
    }
}

/// Warns that a field has no place in the backend's API.
fn dropped(notes: &mut Vec<Note>, field: &str, backend: &str) {
    notes.push(Note::Warning {
        code: "field_dropped",
        text: format!("`{field}` cannot be said in {backend}'s API and was left out"),
    });
}

/// Notes the loss of a field that has no place in the backend's API, unless the answer is the same without it.
fn left_out(field: &str, value: &Value, backend: &str, notes: &mut Vec<Note>) {
    let is_usual = match field {
        "n" => *value == json!(1),
        "logprobs" => *value == json!(false),
        _ => QUIET.contains(&field),
    };
    if !is_usual {
        dropped(notes, field, backend);
    }
}

/// Looks for parts of messages that the backend's API cannot express. They are found in the client's own messages, because the
/// backend gets others: the client would not know what `messages[1]` is.
fn check_parts(round: &Round<'_>, notes: &mut Vec<Note>) -> Result<(), Error> {
    let backend = match round.backend.kind {
        Kind::Ollama => "Ollama",
        Kind::Google => "Google",
        Kind::OpenAi | Kind::Replay => return Ok(()),
    };
    for (at, message) in round.chat.messages.iter().enumerate() {
        // Of a result, only the images are shown, and only to a model that sees ([`history::show_images`]).
        let is_result = message.role == "tool";
        for part in message.content.parts().iter().filter(|part| part.get("text").is_none()) {
            match image_url(part) {
                None if !is_result || part.get("file").is_some() => dropped(notes, &history::in_message(at, part), backend),
                Some(url) if (round.vision || !is_result) && inline(url).is_none() => {
                    return Err(Error::client(format!(
                        "`messages[{at}]` holds an image by URL; this backend takes images only as `data:` URLs with base64, and nothing \
                         is fetched here"
                    )));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// An image of a message as (MIME type, base64).
fn image(part: &Value) -> Option<(&str, &str)> {
    inline(image_url(part)?)
}

pub(super) fn image_url(part: &Value) -> Option<&str> {
    let url = part.get("image_url")?;
    url.as_str().or_else(|| url.get("url")?.as_str())
}

fn inline(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}
