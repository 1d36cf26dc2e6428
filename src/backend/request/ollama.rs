//! Writes the body for Ollama's `/api/chat`: arguments of past calls as objects, results with the tool's name, images separate
//! from the text, sampling under `options`.

use serde_json::{Map, Value, json};

use super::{Body, Called, dropped, functions, image, left_out, names};
use crate::{
    backend::Round,
    event::{Note, Tools},
    openai::{self, ChatRequest, Message},
};

/// OpenAI's name of a field, and the name of Ollama's option.
const OPTIONS: &[(&str, &str)] = &[
    ("max_completion_tokens", "num_predict"),
    ("max_tokens", "num_predict"),
    ("stop", "stop"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("seed", "seed"),
    ("frequency_penalty", "frequency_penalty"),
    ("presence_penalty", "presence_penalty"),
    // Not OpenAI's, but clients of local servers send them.
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("repeat_penalty", "repeat_penalty"),
    ("num_ctx", "num_ctx"),
];
/// Ollama's own fields, passed on unchanged.
const OWN: &[&str] = &["keep_alive", "format", "think", "truncate"];

pub(super) fn body<'a>(chat: ChatRequest, tools: Option<&'a Tools>, round: &Round<'a>, notes: &mut Vec<Note>) -> Body<'a, Value> {
    let mut called = Called::default();
    let messages = chat.messages.iter().map(|turn| {
        called.extend(names(turn));
        message(turn, &called)
    });
    let messages = messages.collect();
    // Ollama has no `tool_choice`: if no call is wanted, no tool is offered.
    let tools = tools.filter(|tools| tools.wanted()).map(|tools| functions(round, tools.iter()));
    let (mut rest, mut options) = (Map::new(), Map::new());
    for (name, value) in chat.rest.into_iter().filter(|(_, value)| !value.is_null()) {
        if let Some((_, option)) = OPTIONS.iter().find(|(openai, _)| *openai == name) {
            let value = if name == "stop" && value.is_string() { json!([value]) } else { value };
            options.entry(*option).or_insert(value);
        } else if OWN.contains(&name.as_str()) {
            rest.insert(name, value);
        } else {
            match (name.as_str(), value) {
                ("options", Value::Object(own)) => options.extend(own),
                ("reasoning_effort", effort) => drop(rest.entry("think").or_insert(think(effort))),
                ("response_format", form) => match format(&form) {
                    Some(format) => drop(rest.insert("format".into(), format)),
                    None if form.get("type").and_then(Value::as_str) == Some("text") => {}
                    None => dropped(notes, &name, "Ollama"),
                },
                (_, value) => left_out(&name, &value, "Ollama", notes),
            }
        }
    }
    if let Some(num_ctx) = round.num_ctx {
        options.insert("num_ctx".into(), json!(num_ctx));
    }
    if !options.is_empty() {
        rest.insert("options".into(), Value::Object(options));
    }
    Body { model: chat.model, messages, stream: true, tools: tools.unwrap_or_default(), tool_choice: None, rest }
}

fn message(message: &Message, called: &Called<'_>) -> Value {
    let mut out = json!({"role": message.role, "content": message.content.text()});
    let images = message.content.parts().iter().filter(|part| part.get("text").is_none()).filter_map(image);
    let images: Vec<Value> = images.map(|(_, data)| json!(data)).collect();
    if !images.is_empty() {
        out["images"] = Value::Array(images);
    }
    let thinking = openai::REASONING_FIELDS.iter().find_map(|key| message.rest.get(*key)?.as_str());
    if let Some(thinking) = thinking.filter(|text| message.role == "assistant" && !text.is_empty()) {
        out["thinking"] = json!(thinking);
    }
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| {
            let arguments: Value = openai::parse(call.arguments.as_bytes()).unwrap_or_else(|_| json!({}));
            json!({"id": call.id, "function": {"name": call.name, "arguments": arguments}})
        });
        out["tool_calls"] = calls.collect();
    }
    if let Some(id) = &message.tool_call_id {
        if let Some(name) = called.get(id.as_str()) {
            out["tool_name"] = json!(name);
        }
        out["tool_call_id"] = json!(id);
    }
    out
}

/// Ollama's `think` for a `reasoning_effort`; Ollama has fewer levels.
fn think(effort: Value) -> Value {
    match effort.as_str() {
        Some("none") => json!(false),
        Some("minimal") => json!("low"),
        Some("xhigh") => json!("high"),
        _ => effort,
    }
}

/// Ollama's `format` for a `response_format`.
fn format(form: &Value) -> Option<Value> {
    match form.get("type")?.as_str()? {
        "json_object" => Some(json!("json")),
        "json_schema" => form.get("json_schema")?.get("schema").cloned(),
        _ => None,
    }
}
