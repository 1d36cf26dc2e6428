//! Writes the body for `/v1/chat/completions`: the client's own body, streamed, with usage. Unknown fields stay unchanged.

use serde_json::{Value, json};

use super::{Body, QUIET, constrain, functions, named};
use crate::{
    backend::{Learned, Profile, Round, conversation},
    event::{Note, ToolChoice, Tools},
    openai::{ChatRequest, Message},
};

/// Fields that are recent, or that only OpenAI itself has.
const LATE: &[&str] = &[
    "store", "metadata", "service_tier", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
    "parallel_tool_calls", "stream_options", "verbosity", "skip_special_tokens",
];

pub(super) fn body<'a>(
    mut chat: ChatRequest,
    tools: Option<&'a Tools>,
    round: &Round<'a>,
    notes: &mut Vec<Note>,
) -> Body<'a, Message> {
    let profile = round.backend.profile;
    if profile != Profile::Generic
        && let Some(limit) = chat.rest.shift_remove("max_completion_tokens")
    {
        // All local servers know the older name.
        chat.rest.entry("max_tokens").or_insert(limit);
    }
    let functions = match tools {
        Some(tools) => {
            let only = constrain::only_named(tools, profile);
            chat.tool_choice = match &tools.choice {
                ToolChoice::Auto => chat.tool_choice.filter(Value::is_string),
                ToolChoice::None => Some(json!("none")),
                ToolChoice::Required => Some(json!("required")),
                ToolChoice::Named(_) if only.is_some() => Some(json!("required")),
                ToolChoice::Named(_) => Some(json!({"type": "function", "function": {"name": named(tools)}})),
            };
            conversation::choice_in_words(round, tools, &mut chat);
            functions(round, tools.iter().filter(|tool| only.is_none_or(|only| only == tool.name)))
        }
        None => {
            // Servers refuse a `tool_choice` without tools.
            chat.tool_choice = None;
            chat.rest.shift_remove("parallel_tool_calls");
            Vec::new()
        }
    };
    if !chat.rest.get("stream_options").is_some_and(Value::is_object) {
        chat.rest.insert("stream_options".into(), json!({}));
    }
    chat.rest["stream_options"]["include_usage"] = json!(true);
    let ChatRequest { model, messages, tool_choice, rest, .. } = chat;
    let mut body = Body { model, messages, stream: true, tools: functions, tool_choice, rest };
    without_unknown(&mut body, round, notes);
    body
}

/// Removes the fields of the request, of messages and of tools that the backend has refused by name, or all that not every server of
/// this API knows.
fn without_unknown(body: &mut Body<'_, Message>, round: &Round<'_>, notes: &mut Vec<Note>) {
    let Learned { refused, plain, .. } = round.learned;
    if refused.is_empty() && !plain {
        return;
    }
    let was_sent = |name: &&String| body.rest.contains_key(*name) && round.chat.rest.contains_key(*name);
    for name in refused.iter().filter(was_sent).filter(|name| !QUIET.contains(&name.as_str())) {
        let text = format!("the backend refuses `{name}`, so it was left out");
        notes.push(Note::Warning { code: "field_dropped", text });
    }
    let stays = |name: &str, is_known: bool| !round.learned.refuses(name) && (is_known || !plain);
    body.rest.retain(|name, _| stays(name, !LATE.contains(&name.as_str())));
    for message in &mut body.messages {
        message.rest.retain(|name, _| stays(name, name == "name"));
    }
    let of_tool = |name: &str| matches!(name, "name" | "description" | "parameters") || stays(name, name != "strict");
    for tool in &mut body.tools {
        tool.to_mut()["function"].as_object_mut().into_iter().for_each(|function| function.retain(|name, _| of_tool(name)));
    }
}
