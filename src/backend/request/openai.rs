//! The body for `/v1/chat/completions`: the client's own, streamed, with usage; unknown fields stay as they came.

use serde_json::{Value, json};

use super::{constrain, functions, named};
use crate::{
    backend::Profile,
    event::{ToolChoice, Tools},
    openai::ChatRequest,
};

pub(super) fn body(mut chat: ChatRequest, tools: Option<&Tools>, profile: Profile) -> Value {
    chat.stream = true;
    if profile != Profile::Generic
        && let Some(limit) = chat.rest.shift_remove("max_completion_tokens")
    {
        // Local servers know the older name, all of them.
        chat.rest.entry("max_tokens").or_insert(limit);
    }
    match tools {
        Some(tools) => {
            let only = constrain::only_named(tools, profile);
            chat.tools = functions(&chat, tools.iter().filter(|tool| only.is_none_or(|only| only == tool.name)));
            if profile == Profile::Vllm {
                chat.tools.iter_mut().for_each(constrain::strict);
            }
            chat.tool_choice = match &tools.choice {
                ToolChoice::Auto => chat.tool_choice.filter(Value::is_string),
                ToolChoice::None => Some(json!("none")),
                ToolChoice::Required => Some(json!("required")),
                ToolChoice::Named(_) if only.is_some() => Some(json!("required")),
                ToolChoice::Named(_) => Some(json!({"type": "function", "function": {"name": named(tools)}})),
            };
        }
        None => {
            // Servers refuse a choice where nothing is offered.
            chat.tools.clear();
            chat.tool_choice = None;
            chat.rest.shift_remove("parallel_tool_calls");
        }
    }
    let options = chat.rest.entry("stream_options").or_insert_with(|| json!({}));
    if !options.is_object() {
        *options = json!({});
    }
    if let Some(options) = options.as_object_mut() {
        options.insert("include_usage".into(), json!(true));
    }
    chat.to_value()
}
