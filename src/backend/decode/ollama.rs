//! Decodes a line of Ollama's answer. `/api/chat`: `{"message": {content, thinking, tool_calls}, "done", "done_reason",
//! counters}`. `/api/generate`: the same with `response` and `thinking` instead of `message`. Or `{"error"}`. A call is always
//! whole, and its arguments are an object.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Answer, Out,
    calls::Fragment,
    loose::{Function, Number, Text},
    reported, unreadable,
};
use crate::{
    error::Error,
    event::{Channel, Delta, FinishReason, Usage},
};

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    message: Option<Message<'a>>,
    response: Text<'a>,
    thinking: Text<'a>,
    done: Option<bool>,
    done_reason: Text<'a>,
    prompt_eval_count: Number,
    eval_count: Number,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Message<'a> {
    content: Text<'a>,
    thinking: Text<'a>,
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Call<'a> {
    id: Text<'a>,
    function: Option<Function<'a>>,
}

/// Decodes a line.
pub(super) fn frame(frame: &[u8], answer: &mut Answer, out: &mut Out<'_>) -> Result<(), Error> {
    let line: Line<'_> = serde_json::from_slice(frame).map_err(|error| unreadable(&error, frame))?;
    if let Some(error) = line.error {
        reported(error)?;
    }
    let mut text = |thinking: Text<'_>, content: Text<'_>| {
        if let Some(text) = thinking.some() {
            out(Delta::Text(Channel::Reasoning, text));
        }
        if let Some(text) = content.some() {
            out(Delta::Text(Channel::Content, text));
        }
    };
    text(line.thinking, line.response);
    if let Some(message) = line.message {
        text(message.thinking, message.content);
        for call in message.tool_calls.unwrap_or_default() {
            let Some(function) = call.function else { continue };
            let arguments = function.arguments.0.as_deref().unwrap_or_default();
            let call = Fragment { index: None, id: &call.id.0, name: &function.name.0, arguments, extra: None };
            answer.calls.take_whole(call, out);
        }
    }
    if line.done == Some(true) {
        answer.finish = Some(if line.done_reason.0 == "length" { FinishReason::Length } else { FinishReason::Stop });
        // The prompt's count is absent if the whole prompt was in the cache.
        if let (prompt, Some(completion_tokens)) = (line.prompt_eval_count.0, line.eval_count.0) {
            answer.usage = Some(Usage { prompt_tokens: prompt.unwrap_or_default(), completion_tokens, ..Usage::default() });
        }
        answer.closed = true;
    }
    Ok(())
}
