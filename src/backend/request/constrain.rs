//! Prevents wrong calls by fields of a chat request: a schema for a required call, markers that the server must keep. No
//! field is added that a chat template may print.
//! `backend::prevent` does the same at llama.cpp while the model may still answer in text.

use serde_json::{Map, Value, json};

use super::parameters_of;
use crate::{
    adapter::render::Style,
    backend::{
        Kind, Profile, Round, ToolMode, conversation,
        traits::{FORMAT, RESPONSE_FORMAT},
    },
    event::{Tool, ToolChoice, Tools},
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
    let is_wanted = FORMS.iter().any(|field| round.chat.rest.contains_key(*field));
    round.adapter.prompt.style() == Style::Json && !is_wanted
}

/// Adds a schema for a required call in prompt mode, where the call is the whole answer.
pub(super) fn required(round: &Round<'_>, fields: &mut Map<String, Value>) {
    let only = match &round.tools.choice {
        ToolChoice::Required => None,
        ToolChoice::Named(name) => Some(name),
        ToolChoice::Auto | ToolChoice::None => return,
    };
    let Some(field) = round.backend.traits().form.filter(|_| describable(round)) else { return };
    let tools = round.tools.iter().filter(|tool| only.is_none_or(|only| *only == tool.name));
    let form = match tools.map(|tool| call(round, tool)).collect::<Vec<_>>().as_mut_slice() {
        [] => return,
        [one] => one.take(),
        many => json!({"anyOf": many}),
    };
    let form =
        if field == FORMAT { form } else { json!({"type": "json_schema", "json_schema": {"name": "call", "schema": form}}) };
    fields.insert(field.into(), form);
}

/// The schema of a call that prompt mode asks for.
fn call(round: &Round<'_>, tool: &Tool) -> Value {
    let mut parameters = parameters_of(tool);
    conversation::fit_schema(round, &mut parameters);
    // A reference would point into the surrounding schema.
    let parameters = if tool.schema.contains("\"$ref\"") { json!({"type": "object"}) } else { parameters };
    json!({
        "type": "object",
        "properties": {"name": {"type": "string", "enum": [tool.wire_name]}, "arguments": parameters},
        "required": ["name", "arguments"],
    })
}

/// Fields in which a client asks for an answer in its own form.
const FORMS: [&str; 2] = [RESPONSE_FORMAT, FORMAT];

/// Where the model may call tools and a call is text to the backend, the client's form of the answer would forbid every call. So
/// it is not enforced: the returned words for the prompt ask for it. The words also ask a backend that refuses `response_format`.
/// `None`: the fields stay as they are.
pub(super) fn answer(round: &Round<'_>, fields: &mut Map<String, Value>) -> Option<String> {
    let is_text = round.mode != ToolMode::Native || round.backend.kind == Kind::Ollama;
    let may_call = round.offer && !round.tools.is_empty() && round.tools.choice == ToolChoice::Auto;
    let by_words = round.learned.refuses(RESPONSE_FORMAT) || (is_text && may_call);
    if !by_words {
        return None;
    }
    let schema = FORMS.iter().find_map(|field| wanted(fields.get(*field)?))?;
    FORMS.iter().for_each(|field| drop(fields.shift_remove(*field)));
    let form = if schema == json!({"type": "object"}) {
        "one JSON object".into()
    } else {
        format!("JSON that fits this schema: {schema}")
    };
    let whole = if may_call { "If you do not call a tool, your" } else { "Your" };
    Some(format!("{whole} whole answer must be {form}"))
}

/// The schema that a client wants its answer to have; `None`: any text.
fn wanted(form: &Value) -> Option<Value> {
    let any = || json!({"type": "object"});
    match (form, form.get("type").and_then(Value::as_str)) {
        (Value::String(name), _) => (name == "json").then(any),
        (_, Some("json_object")) => Some(any()),
        (_, Some("json_schema")) => Some(form.pointer("/json_schema/schema").cloned().unwrap_or_else(any)),
        (_, Some("text")) | (Value::Null, _) => None,
        // Ollama's `format`.
        (Value::Object(_), _) => Some(form.clone()),
        _ => None,
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
