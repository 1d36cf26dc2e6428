//! OpenAI's `/v1/responses`, the only protocol of Codex: items become the internal form, and events become items.

use serde_json::{Map, Value, json};

use super::{Head, Request, Special};
use crate::{
    error::Error,
    event::{FinishReason, Usage},
    openai::answer::Completion,
};

mod items;
mod offered;
mod read;
mod stream;
#[cfg(test)]
mod tests;

pub use read::{items, read};
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
        let mut out = Map::new();
        let head = &self.head;
        out.insert("id".into(), json!(head.envelope.id));
        out.insert("object".into(), json!("response"));
        out.insert("created_at".into(), json!(head.envelope.created));
        out.insert("status".into(), json!(status));
        out.insert("model".into(), json!(head.envelope.model));
        out.insert("output".into(), json!(self.output));
        out.insert("usage".into(), usage.map_or(Value::Null, usage_value));
        out.insert("error".into(), Value::Null);
        out.insert("incomplete_details".into(), Value::Null);
        out.extend(head.echo.iter().map(|(name, value)| (name.clone(), value.clone())));
        Value::Object(out)
    }

    /// The object of an answer that ended for this reason. An answer with a call is always complete, because a client would
    /// otherwise discard the call. So is an answer whose call was cut: the notice in its text lets the model continue.
    fn ended(&self, reason: FinishReason, usage: Option<Usage>) -> (&'static str, Value) {
        let cut = reason == FinishReason::Length && !self.output.iter().any(items::is_notice);
        let usage = Some(usage.unwrap_or_default());
        if !cut {
            return ("response.completed", self.to_value("completed", usage));
        }
        let mut value = self.to_value("incomplete", usage);
        value["incomplete_details"] = json!({"reason": "max_output_tokens"});
        ("response.incomplete", value)
    }

    fn failed(&self, error: &Error) -> Value {
        let mut value = self.to_value("failed", None);
        value["error"] = json!({"code": error.code.as_deref().unwrap_or("server_error"), "message": error.message});
        value
    }
}

/// A whole answer.
pub(super) fn completion(completion: &Completion, head: Head) -> Value {
    let reasons = head.reasoning_field.is_some() && !completion.reasoning.is_empty();
    let mut answer = Answer::new(head);
    if reasons {
        answer.output.push(items::reasoning(&answer.id("rs"), &completion.reasoning));
    }
    if !completion.content.is_empty() {
        answer.output.push(items::message(&answer.id("msg"), &completion.content));
    }
    for call in &completion.calls {
        let item = items::call(&answer.id("fc"), call, &answer.head.tools);
        answer.output.push(item);
    }
    answer.ended(completion.reason.unwrap_or(FinishReason::Stop), Some(completion.usage)).1
}

fn usage_value(usage: Usage) -> Value {
    let Usage { prompt_tokens, completion_tokens, .. } = usage;
    json!({
        "input_tokens": prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt_tokens.saturating_add(completion_tokens),
    })
}
