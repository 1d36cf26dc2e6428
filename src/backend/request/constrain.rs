//! Prevents wrong calls by fields of a chat request: a schema for a required call, `strict`, markers that the server must keep.
//! `backend::prevent` does the same at llama.cpp while the model may still answer in text.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::parameters_of;
use crate::{
    adapter::render::Style,
    backend::{Kind, Profile, Round, ToolMode, traits::Form},
    event::{ToolChoice, Tools},
};

/// How this round asks for calls. Ollama's API cannot require a call, but it can hold an answer to a schema. So a required call is
/// requested in the prompt there, even if the model has native tools.
pub(super) fn mode(round: &Round<'_>) -> ToolMode {
    match round.mode {
        ToolMode::Native if round.backend.kind == Kind::Ollama && round.tools.must_call() && describable(round) => {
            ToolMode::Prompt
        }
        mode => mode,
    }
}

/// Whether a schema can describe the call: the prompt asks for bare JSON, and the client does not request a form of its own.
fn describable(round: &Round<'_>) -> bool {
    let wanted = ["response_format", "format"].iter().any(|field| round.chat.rest.contains_key(*field));
    round.adapter.prompt.style() == Style::Json && !wanted
}

/// Adds a schema for a required call in prompt mode, where the call is the whole answer.
pub(super) fn required(round: &Round<'_>, fields: &mut Map<String, Value>) {
    let only = match &round.tools.choice {
        ToolChoice::Required => None,
        ToolChoice::Named(name) => Some(name),
        ToolChoice::Auto | ToolChoice::None => return,
    };
    if !describable(round) {
        return;
    }
    let forms: Vec<Value> = round
        .tools
        .iter()
        .filter(|tool| only.is_none_or(|only| *only == tool.name))
        .map(|tool| {
            let parameters = parameters_of(tool);
            // A reference would point into the surrounding schema.
            let parameters = if tool.schema.contains("\"$ref\"") { json!({"type": "object"}) } else { parameters };
            json!({
                "type": "object",
                "properties": {"name": {"type": "string", "enum": [tool.wire_name]}, "arguments": parameters},
                "required": ["name", "arguments"],
            })
        })
        .collect();
    let form = match forms.as_slice() {
        [] => return,
        [one] => one.clone(),
        _ => json!({"anyOf": forms}),
    };
    match round.backend.traits().form {
        Some(Form::Format) => drop(fields.insert("format".into(), form)),
        Some(Form::ResponseFormat) => {
            let schema = json!({"type": "json_schema", "json_schema": {"name": "call", "schema": form}});
            fields.insert("response_format".into(), schema);
        }
        None => {}
    }
}

/// Tells vLLM and SGLang to keep special tokens. Otherwise they remove them, and with them the markers of calls, unless they parse
/// calls themselves.
pub(super) fn keep_markers(round: &Round<'_>, fields: &mut Map<String, Value>) {
    if round.backend.traits().removes_markers && round.tools.wanted() && !round.adapter.preserve.is_empty() {
        fields.entry("skip_special_tokens").or_insert(json!(false));
    }
}

/// The only tool to offer, if one tool is required: llama.cpp and LM Studio can require a call, but not of a certain tool.
pub(super) fn only_named(tools: &Tools, profile: Profile) -> Option<&str> {
    match &tools.choice {
        ToolChoice::Named(name) if matches!(profile, Profile::LlamaCpp | Profile::LmStudio) => Some(name),
        _ => None,
    }
}

/// Adds `strict`: vLLM then holds calls of the tool to its schema, even if the model may answer in text.
pub(super) fn strict(tool: &mut Cow<'_, Value>) {
    if tool.pointer("/function/strict").is_none()
        && let Some(function) = tool.to_mut().get_mut("function").and_then(Value::as_object_mut)
    {
        function.insert("strict".into(), json!(true));
    }
}
