//! Prevention by fields of a chat request: a schema for a call that must be made, `strict`, kept markers. `backend::prevent`
//! is the other kind, for llama.cpp while the model may still answer in text.

use serde_json::{Value, json};

use super::parameters_of;
use crate::{
    adapter::render::Style,
    backend::{Kind, Profile, Round, ToolMode, traits::Form},
    event::{ToolChoice, Tools},
    openai::ChatRequest,
};

/// How this round asks for calls. Ollama's API cannot say that a call must be made, but it holds an answer to a schema: there
/// such a round is asked in its prompt, whatever the model can do natively.
pub(super) fn mode(round: &Round<'_>) -> ToolMode {
    let must = matches!(round.tools.choice, ToolChoice::Required | ToolChoice::Named(_)) && !round.tools.is_empty();
    match round.mode {
        ToolMode::Native if round.backend.kind == Kind::Ollama && must && describable(round) => ToolMode::Prompt,
        mode => mode,
    }
}

/// Whether a call is written in the bare JSON form, which a schema can describe; a family with a form of its own is left to its
/// prompt. A form that the client wants itself comes first.
fn describable(round: &Round<'_>) -> bool {
    let wanted = ["response_format", "format"].iter().any(|field| round.chat.rest.contains_key(*field));
    round.adapter.prompt.style() == Style::Json && !wanted
}

/// In prompt mode a call that must be made is the whole answer, so its form can be given as a schema.
pub(super) fn required(round: &Round<'_>, chat: &mut ChatRequest) {
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
            // References would point into the wrong schema.
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
        Some(Form::Format) => drop(chat.rest.insert("format".into(), form)),
        Some(Form::ResponseFormat) => {
            let schema = json!({"type": "json_schema", "json_schema": {"name": "call", "schema": form}});
            chat.rest.insert("response_format".into(), schema);
        }
        None => {}
    }
}

/// Servers of Python's world remove special tokens from text, and with them what a family's calls are marked by, unless they
/// parse calls themselves.
pub(super) fn keep_markers(round: &Round<'_>, chat: &mut ChatRequest) {
    if round.backend.traits().removes_markers && round.tools.wanted() && !round.adapter.preserve.is_empty() {
        chat.rest.entry("skip_special_tokens").or_insert(json!(false));
    }
}

/// llama.cpp and LM Studio know that a call must be made, but not of which tool: they get that tool alone.
pub(super) fn only_named(tools: &Tools, profile: Profile) -> Option<&str> {
    match &tools.choice {
        ToolChoice::Named(name) if matches!(profile, Profile::LlamaCpp | Profile::LmStudio) => Some(name),
        _ => None,
    }
}

/// vLLM holds the model to the schema of a tool that says `strict`, also where it may answer in text.
pub(super) fn strict(tool: &mut Value) {
    if let Some(function) = tool.get_mut("function").and_then(Value::as_object_mut) {
        function.entry("strict").or_insert(json!(true));
    }
}
