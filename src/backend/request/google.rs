//! Writes the body for Google's `streamGenerateContent`: roles `user` and `model`, parts, function declarations, signatures returned
//! with their calls.

use serde_json::{Map, Value, json};

use super::{Called, dropped, has_members, image, left_out, named, names, parameters_of};
use crate::{
    event::{Note, ToolChoice, Tools},
    openai::{self, ChatRequest, Content, Message},
};

/// OpenAI's name of a field, and its name in `generationConfig`.
const CONFIG: &[(&str, &str)] = &[
    ("max_completion_tokens", "maxOutputTokens"),
    ("max_tokens", "maxOutputTokens"),
    ("temperature", "temperature"),
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("seed", "seed"),
    ("frequency_penalty", "frequencyPenalty"),
    ("presence_penalty", "presencePenalty"),
];

/// The path after the base URL (`https://.../v1beta`).
pub(super) fn path(model: &str) -> String {
    let model = model.strip_prefix("models/").unwrap_or(model);
    // A name of dots alone would mean another folder.
    let dots = model.bytes().all(|byte| byte == b'.');
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~".contains(&byte) || byte == b'.' && !dots;
    let name = model.bytes().map(|byte| if safe(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    format!("/models/{}:streamGenerateContent?alt=sse", name.collect::<String>())
}

pub(super) fn body(chat: &ChatRequest, tools: Option<&Tools>, notes: &mut Vec<Note>) -> Value {
    let mut body = Map::new();
    let mut system = Vec::new();
    let mut contents: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut called = Called::default();
    for message in &chat.messages {
        called.extend(names(message));
        if message.role == "system" {
            system.extend(parts(message));
            continue;
        }
        let role = if message.role == "assistant" { "model" } else { "user" };
        let parts = if message.role == "tool" { result(message, &called) } else { parts(message) };
        // The results of parallel calls belong to one turn.
        match contents.last_mut() {
            Some((last, all)) if *last == role => all.extend(parts),
            _ => contents.push((role, parts)),
        }
    }
    // Models without a system role refuse an empty instruction too.
    if !system.is_empty() {
        body.insert("systemInstruction".into(), json!({"parts": system}));
    }
    let contents = contents.into_iter().filter(|(_, parts)| !parts.is_empty());
    body.insert("contents".into(), contents.map(|(role, parts)| json!({"role": role, "parts": parts})).collect());
    if let Some(tools) = tools {
        let declarations = tools.iter().map(|tool| {
            let mut declaration = json!({"name": tool.wire_name, "description": tool.description});
            let mut parameters = parameters_of(tool);
            if let Some(schema) = parameters.as_object_mut().filter(|schema| schema.get("properties").is_some_and(has_members)) {
                schema.shift_remove("$schema");
                declaration["parametersJsonSchema"] = parameters;
            }
            declaration
        });
        body.insert("tools".into(), json!([{"functionDeclarations": declarations.collect::<Vec<_>>()}]));
        let calling = match &tools.choice {
            ToolChoice::Auto => None,
            ToolChoice::None => Some(json!({"mode": "NONE"})),
            ToolChoice::Required => Some(json!({"mode": "ANY"})),
            ToolChoice::Named(_) => Some(json!({"mode": "ANY", "allowedFunctionNames": [named(tools)]})),
        };
        if let Some(calling) = calling {
            body.insert("toolConfig".into(), json!({"functionCallingConfig": calling}));
        }
    }
    let config = config(chat, notes);
    if !config.is_empty() {
        body.insert("generationConfig".into(), Value::Object(config));
    }
    Value::Object(body)
}

fn config(chat: &ChatRequest, notes: &mut Vec<Note>) -> Map<String, Value> {
    let mut config = Map::new();
    for (name, value) in chat.rest.iter().filter(|(_, value)| !value.is_null()) {
        if let Some((_, key)) = CONFIG.iter().find(|(openai, _)| openai == name) {
            config.entry(*key).or_insert_with(|| value.clone());
            continue;
        }
        match (name.as_str(), value) {
            ("stop", stop) => {
                let stop = if stop.is_string() { json!([stop]) } else { stop.clone() };
                config.insert("stopSequences".into(), stop);
            }
            ("response_format", form) => match form.get("type").and_then(Value::as_str) {
                Some("json_object") => drop(config.insert("responseMimeType".into(), json!("application/json"))),
                Some("json_schema") => {
                    config.insert("responseMimeType".into(), json!("application/json"));
                    if let Some(wanted) = form.get("json_schema").and_then(|form| form.get("schema")) {
                        config.insert("responseJsonSchema".into(), wanted.clone());
                    }
                }
                Some("text") => {}
                _ => dropped(notes, name, "Google"),
            },
            ("reasoning_effort", effort) => {
                let budget = match effort.as_str() {
                    Some("none") => json!(0),
                    Some("minimal" | "low") => json!(1024),
                    Some("medium") => json!(8192),
                    _ => json!(24576),
                };
                config.insert("thinkingConfig".into(), json!({"thinkingBudget": budget}));
            }
            _ => left_out(name, value, "Google", notes),
        }
    }
    config
}

fn parts(message: &Message) -> Vec<Value> {
    let mut parts = Vec::new();
    match &message.content {
        Content::Text(text) if !text.is_empty() => parts.push(json!({"text": text})),
        Content::None | Content::Text(_) => {}
        Content::Parts(list) => {
            for part in list {
                if let Some(text) = part.get("text").and_then(Value::as_str) {
                    parts.push(json!({"text": text}));
                } else if let Some((mime, data)) = image(part) {
                    parts.push(json!({"inlineData": {"mimeType": mime, "data": data}}));
                }
            }
        }
    }
    for call in &message.tool_calls {
        let arguments: Value = openai::parse(call.arguments.as_bytes()).unwrap_or_else(|_| json!({}));
        let mut part = json!({"functionCall": {"name": call.name, "args": arguments}});
        if let Some(signature) = call.extra.as_ref().and_then(|extra| extra.get("google")?.get("thought_signature")) {
            part["thoughtSignature"] = signature.clone();
        }
        parts.push(part);
    }
    parts
}

/// A result: Google wants an object, and the name of the function instead of an id.
fn result(message: &Message, called: &Called<'_>) -> Vec<Value> {
    let name = message.tool_call_id.as_ref().and_then(|id| called.get(id.as_str())).unwrap_or(&"tool");
    let text = message.content.to_text();
    let response = match serde_json::from_str(&text) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ => json!({"result": text}),
    };
    vec![json!({"functionResponse": {"name": name, "response": response}})]
}
