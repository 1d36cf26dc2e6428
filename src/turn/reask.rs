//! A refused call -> the two messages that tell the model what was wrong with it: what it wrote, and one line of error with
//! the part of the schema that it needs.

use serde_json::Value;

use super::answer::Reask;
use crate::{
    event::{Tools, Why},
    openai::{Content, Message, ToolCall, answer::call_id},
};

#[cfg(test)]
mod tests;

/// A schema is quoted up to this length.
const SCHEMA_BYTES: usize = 2000;

/// What is appended to the conversation; `said` is the prose of the answer that the client already has.
pub(super) fn messages(reask: &Reask, said: &str, tools: &Tools, at: usize) -> [Message; 2] {
    let complaint = complaint(&reask.name, &reask.why, tools);
    let whole = serde_json::from_str::<Value>(&reask.raw).is_ok_and(|value| value.is_object());
    if !whole || reask.name.is_empty() {
        // What is no object cannot stand in a call; the model sees its own text instead.
        let gap = if said.is_empty() || said.ends_with('\n') { "" } else { "\n" };
        return [Message::text("assistant", format!("{said}{gap}{}", reask.raw)), Message::text("user", complaint)];
    }
    let id = call_id(&[b"again", &at.to_le_bytes(), reask.raw.as_bytes()]);
    let call = ToolCall { id: id.clone(), name: reask.name.clone(), arguments: reask.raw.clone(), extra: None };
    let content = if said.is_empty() { Content::None } else { Content::Text(said.to_owned()) };
    [
        Message { role: "assistant".into(), content, tool_calls: vec![call], ..Message::default() },
        Message { tool_call_id: Some(id), ..Message::text("tool", complaint) },
    ]
}

/// One line of error for the model, with what it needs to do better.
pub(super) fn complaint(name: &str, why: &Why, tools: &Tools) -> String {
    let schema = tools.get(name).map(|tool| tool.schema.as_ref()).filter(|schema| schema.len() <= SCHEMA_BYTES);
    let needed = match (why, schema) {
        (Why::UnknownTool(_), _) => {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            format!(" The tools are: {}.", names.join(", "))
        }
        (_, Some(schema)) => format!(" Its parameters are: {schema}."),
        (_, None) => String::new(),
    };
    let name = if name.is_empty() { "a tool" } else { name };
    format!("Error: the call of {name} was not run: {why}.{needed} Write the whole call again, corrected.")
}
