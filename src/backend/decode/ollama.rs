//! Decodes a line of Ollama's answer. `/api/chat`: `{"message": {content, thinking, tool_calls}, "done", "done_reason",
//! counters}`. `/api/generate`: the same with `response` and `thinking` instead of `message`. Or `{"error"}`. A call is always
//! whole, and its arguments are an object.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Answer, Out,
    loose::{Number, Text},
    openai::{self, Message},
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

/// Decodes a line.
pub(super) fn frame(frame: &[u8], answer: &mut Answer, out: &mut Out<'_>) -> Result<(), Error> {
    let line: Line<'_> = serde_json::from_slice(frame).map_err(|error| unreadable(&error, frame))?;
    reported(line.error)?;
    for (channel, text) in [(Channel::Reasoning, line.thinking), (Channel::Content, line.response)] {
        if let Some(text) = text.some() {
            out(Delta::Text(channel, text));
        }
    }
    if let Some(mut message) = line.message {
        let functions = message.tool_calls.iter_mut().flatten().filter_map(|call| call.function.as_mut());
        functions.for_each(|function| _ = function.arguments.0.get_or_insert("{}".into()));
        openai::take(message, answer, out);
        answer.calls.flush(out);
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
