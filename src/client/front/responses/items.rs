//! The items of an answer, whole.

use serde_json::{Value, json};

use crate::{
    client::front::OURS,
    event::{Input, ToolCall, Tools},
};

/// Reasoning, as its own summary: clients show that.
pub(super) fn reasoning(id: &str, text: &str) -> Value {
    json!({"id": id, "type": "reasoning", "summary": [summary(text)]})
}

/// The part of reasoning.
pub(super) fn summary(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

pub(super) fn message(id: &str, text: &str) -> Value {
    json!({"id": id, "type": "message", "role": "assistant", "status": "completed", "content": [output_text(text)]})
}

/// The part of text.
pub(super) fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

/// Whether an item reports that a call was not run.
pub(super) fn is_notice(item: &Value) -> bool {
    let text = item.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
    text.lines().any(|line| line.starts_with(OURS))
}

/// A call in the form in which the client takes it. Arguments are a string: an object is lost there.
pub(super) fn call(id: &str, call: &ToolCall, tools: &Tools) -> Value {
    let tool = tools.get(&call.name);
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
    let text = arguments.get(Input::TEXT).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name) = match tool.and_then(|tool| tool.namespace.as_ref()) {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, &call.name),
    };
    let plain = if call.arguments.is_empty() { "{}" } else { &call.arguments };
    let mut item = match tool.map(|tool| &tool.input).unwrap_or(&Input::Arguments) {
        Input::Arguments => function(id, name, plain),
        Input::Text | Input::Patch => json!({"id": id, "type": "custom_tool_call", "name": name, "input": text}),
        Input::PatchCommand { tool, parameter } => {
            function(id, tool, &json!({parameter: super::offered::patch_command(text)}).to_string())
        }
        Input::LocalShell => {
            let mut action = arguments;
            action["type"] = json!("exec");
            json!({"id": id, "type": "local_shell_call", "action": action})
        }
    };
    item["status"] = json!("completed");
    item["call_id"] = json!(call.id);
    if let Some(namespace) = namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

fn function(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function_call", "name": name, "arguments": arguments})
}
