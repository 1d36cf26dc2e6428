//! Anthropic's `/v1/messages`, which Claude Code and Anthropic's SDKs use: its request becomes the internal form, and events
//! become content blocks.

use serde_json::{Value, json};

use super::{Collected, Head, Request, collected::Part, exact::Path, pieces::Piece};
use crate::{
    error::Error,
    event::{FinishReason, ToolCall, Usage},
    openai::answer::{arguments_or_empty, error_type},
};

mod read;
mod stream;
#[cfg(test)]
mod tests;

pub use read::read;
pub(super) use stream::Stream;

/// The prefix of a model's name in the list for clients that show only names with `claude`.
pub const ALIAS: &str = "claude-toolglot/";

/// The model's own name.
pub fn without_alias(name: &str) -> &str {
    name.strip_prefix(ALIAS).unwrap_or(name)
}

/// The body of an error. The words `prompt is too long: N tokens > M maximum` tell clients to shorten the conversation.
pub(super) fn error_body(error: &Error) -> Value {
    let kind = match (error.status, error_type(error)) {
        (413, _) => "request_too_large",
        (503 | 529, _) => "overloaded_error",
        (504, _) => "timeout_error",
        (_, "server_error") => "api_error",
        (_, kind) => kind,
    };
    let message = match error.code.as_deref() {
        Some("context_length_exceeded") => too_long(&error.message),
        _ => error.message.clone(),
    };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

/// Finds the number of tokens and the maximum in an error about the context, which every backend words differently.
fn too_long(message: &str) -> String {
    let numbers = message.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse::<u64>().ok());
    let numbers: Vec<u64> = numbers.filter(|number| *number >= 100).collect();
    match (numbers.iter().max(), numbers.iter().min()) {
        (Some(has), Some(may)) if has > may => format!("prompt is too long: {has} tokens > {may} maximum ({message})"),
        _ => format!("prompt is too long: {message}"),
    }
}

/// Where a message has the arguments of calls.
pub(super) const ARGUMENTS: Path = &["content", "input"];

/// A message without content.
fn message(head: &Head, usage: Usage) -> Value {
    json!({
        "id": head.envelope.id,
        "type": "message",
        "role": "assistant",
        "model": head.envelope.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage_value(usage),
    })
}

/// A whole answer.
pub(super) fn whole(answer: &mut Collected) -> Value {
    let block = |part: Part| match part {
        Part::Piece(Piece::Reasoning, text) => json!({"type": "thinking", "thinking": text, "signature": SIGNATURE}),
        Part::Piece(Piece::Text, text) => json!({"type": "text", "text": text}),
        Part::Call(ToolCall { id, name, arguments, .. }) => {
            json!({"type": "tool_use", "id": id, "name": name, "input": arguments_or_empty(&arguments)})
        }
    };
    let mut message = message(&answer.head, counted(answer.usage, &answer.head));
    message["content"] = answer.take_blocks().into_iter().map(block).collect();
    message["stop_reason"] = json!(stop_reason(answer.reason, answer.stop_sequence.as_deref()));
    message["stop_sequence"] = json!(answer.stop_sequence);
    message
}

/// Only vLLM and SGLang tell whether a stop sequence was met, and which one.
fn stop_reason(reason: FinishReason, stop_sequence: Option<&str>) -> &'static str {
    match reason {
        FinishReason::ToolCalls => "tool_use",
        FinishReason::Length => "max_tokens",
        FinishReason::Stop if stop_sequence.is_some() => "stop_sequence",
        FinishReason::Stop => "end_turn",
        FinishReason::ContentFilter => "refusal",
    }
}

/// The counts of an answer. A backend that counts nothing leaves the estimate with which the answer began.
fn counted(usage: Usage, head: &Head) -> Usage {
    let prompt_tokens = if usage.prompt_tokens == 0 { head.prompt_tokens } else { usage.prompt_tokens };
    Usage { prompt_tokens, ..usage }
}

fn usage_value(usage: Usage) -> Value {
    // The input does not contain what was read from the cache.
    json!({
        "input_tokens": usage.prompt_tokens.saturating_sub(usage.cached_tokens),
        "output_tokens": usage.completion_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
    })
}

/// Stands in for the signature that Anthropic's API has on reasoning: clients expect one, and send it back.
const SIGNATURE: &str = "toolglot";
