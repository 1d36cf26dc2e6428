//! OpenAI's `/v1/responses`, the only protocol of Codex: items become the internal form, and events become items.

use serde_json::{Value, json};

use super::{Collected, Head, OURS, Request, Special, collected::Part, pieces::Piece};
use crate::{
    client::input,
    error::Error,
    event::{Call, FinishReason, Input, Tools, Usage},
    openai::answer::arguments_or_empty,
};

mod offered;
mod read;
mod stream;

pub use read::{items, read, referred};
pub(super) use stream::Stream;
pub use stream::finished;

/// The object of an answer.
#[derive(Debug)]
struct Answer {
    head: Head,
    output: Vec<Value>,
}

impl Answer {
    fn new(head: Head) -> Answer {
        Answer { head, output: Vec::new() }
    }

    /// The id of the item that comes next.
    fn id(&self, kind: &str) -> String {
        let answer = self.head.envelope.id.trim_start_matches("resp_");
        format!("{kind}_{answer}_{}", self.output.len())
    }

    /// The object in this state.
    fn to_value(&self, status: &str, usage: Option<Usage>) -> Value {
        let envelope = &self.head.envelope;
        let mut out = json!({
            "id": envelope.id, "object": "response", "created_at": envelope.created, "status": status, "model": envelope.model,
            "output": self.output, "usage": usage.map(usage_value), "error": null, "instructions": null,
            "tools": [], "incomplete_details": null,
        });
        for (name, value) in &self.head.echo {
            out[name] = value.clone();
        }
        out
    }

    /// The object of a sign of life, without the fields of the request that are as large as the prompt.
    fn alive(&self) -> Value {
        let mut out = self.to_value("in_progress", None);
        (out["instructions"], out["tools"]) = (Value::Null, json!([]));
        out
    }

    /// The object of an answer that ended for this reason. An answer with a call is always complete, because a client would
    /// otherwise discard the call. So is an answer whose call was cut: the notice in its text lets the model continue.
    fn ended(&self, reason: FinishReason, usage: Usage) -> (&'static str, Value) {
        let usage = Some(usage);
        let why = match reason {
            FinishReason::Length if !self.output.iter().any(is_notice) => "max_output_tokens",
            FinishReason::ContentFilter => "content_filter",
            _ => return ("response.completed", self.to_value("completed", usage)),
        };
        let mut value = self.to_value("incomplete", usage);
        value["incomplete_details"] = json!({"reason": why});
        ("response.incomplete", value)
    }

    fn failed(&self, error: &Error) -> Value {
        let mut value = self.to_value("failed", None);
        value["error"] = json!({"code": error.code.as_deref().unwrap_or("server_error"), "message": error.message});
        value
    }
}

/// A whole answer.
pub(super) fn whole(collected: &mut Collected) -> Value {
    let parts = collected.take_blocks();
    let mut answer = Answer::new(collected.head.clone());
    for part in &parts {
        answer.output.push(match part {
            Part::Piece(kind, text) => item(*kind, &answer.id(prefix(*kind)), Some(text)),
            Part::Call(call) => call_item(&answer.id("fc"), call.at(0), &answer.head.tools),
        });
    }
    answer.ended(collected.reason, collected.usage).1
}

/// The id of the answer that has the item with this id (`Answer::id`).
pub fn answer_of(item: &str) -> Option<String> {
    let (_, rest) = item.split_once('_')?;
    let (answer, _) = rest.rsplit_once('_')?;
    Some(format!("resp_{answer}"))
}

fn usage_value(usage: Usage) -> Value {
    let Usage { prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens } = usage;
    json!({
        "input_tokens": prompt_tokens,
        "input_tokens_details": {"cached_tokens": cached_tokens},
        "output_tokens": completion_tokens,
        "output_tokens_details": {"reasoning_tokens": reasoning_tokens},
        "total_tokens": prompt_tokens.saturating_add(completion_tokens),
    })
}

/// The prefix of an item's id.
fn prefix(kind: Piece) -> &'static str {
    match kind {
        Piece::Reasoning => "rs",
        Piece::Text => "msg",
    }
}

/// An item with this text; `None`: it is still being written. Reasoning is its own summary: clients show that.
fn item(kind: Piece, id: &str, text: Option<&str>) -> Value {
    let status = if text.is_some() { "completed" } else { "in_progress" };
    let parts: Vec<Value> = text.map(|text| part(kind, text)).into_iter().collect();
    match kind {
        Piece::Reasoning => json!({"id": id, "type": "reasoning", "summary": parts}),
        Piece::Text => json!({"id": id, "type": "message", "role": "assistant", "status": status, "content": parts}),
    }
}

/// The only part of an item.
fn part(kind: Piece, text: &str) -> Value {
    match kind {
        Piece::Reasoning => json!({"type": "summary_text", "text": text}),
        Piece::Text => json!({"type": "output_text", "text": text, "annotations": []}),
    }
}

/// Whether an item reports that a call was not run.
fn is_notice(item: &Value) -> bool {
    let text = item.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
    text.lines().any(|line| line.starts_with(OURS))
}

/// A call in the form in which the client takes it. Arguments are a string: an object is lost there.
fn call_item(id: &str, call: Call<'_>, tools: &Tools) -> Value {
    let tool = tools.get(call.name);
    let text = || input::text(call.arguments).unwrap_or_default();
    let (namespace, name) = match tool.and_then(|tool| tool.namespace.as_ref()) {
        Some((namespace, name)) => (Some(namespace), name.as_str()),
        None => (None, call.name),
    };
    let mut item = match tool.map(|tool| &tool.input).unwrap_or(&Input::Arguments) {
        Input::Arguments => function(id, name, arguments_or_empty(call.arguments)),
        Input::Text | Input::Patch => json!({"id": id, "type": "custom_tool_call", "name": name, "input": text()}),
        Input::PatchCommand { tool, parameter } => {
            function(id, tool, &json!({parameter: offered::patch_command(&text())}).to_string())
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

#[cfg(test)]
mod tests;
