//! Prevention: where a backend can hold the model to a form while it writes, it is asked to.

use serde_json::{Value, json};

use super::parameters_of;
use crate::{
    adapter::render::Style,
    backend::{Kind, Profile, Round},
    event::ToolChoice,
    openai::ChatRequest,
};

/// In prompt mode a call that must be made is the whole answer, so its form can be given as a schema.
pub(super) fn required(round: &Round<'_>, chat: &mut ChatRequest) {
    let only = match &round.tools.choice {
        ToolChoice::Required => None,
        ToolChoice::Named(name) => Some(name),
        ToolChoice::Auto | ToolChoice::None => return,
    };
    // The schema describes the bare JSON form; a family with a form of its own is left to its prompt.
    if round.adapter.prompt.style() != Style::Json
        || chat.rest.contains_key("response_format")
        || chat.rest.contains_key("format")
    {
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
    match (round.backend.kind, round.backend.profile) {
        (Kind::Ollama, _) => drop(chat.rest.insert("format".into(), form)),
        (Kind::OpenAi, Profile::LlamaCpp | Profile::Vllm | Profile::Sglang | Profile::LmStudio) => {
            let schema = json!({"type": "json_schema", "json_schema": {"name": "call", "schema": form}});
            chat.rest.insert("response_format".into(), schema);
        }
        _ => {}
    }
}

/// vLLM holds the model to the schema of a tool that says `strict`, also where it may answer in text.
pub(super) fn strict(tool: &mut Value) {
    if let Some(function) = tool.get_mut("function").and_then(Value::as_object_mut) {
        function.entry("strict").or_insert(json!(true));
    }
}
