//! Decodes a chunk of `/v1/chat/completions` (or the whole completion of a server that ignored `stream: true`): text, reasoning
//! under any of its names, calls in fragments, usage, errors inside the stream. Also chunks of `/v1/completions`, which contain
//! only text.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Answer, Out,
    calls::Fragment,
    loose::{Content, Function, Number, Text},
    reported, unreadable,
};
use crate::{
    backend::errors,
    error::Error,
    event::{Channel, Delta, FinishReason, Usage},
};

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Chunk<'a> {
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Counts>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    object: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Choice<'a> {
    index: Number,
    delta: Option<Message<'a>>,
    message: Option<Message<'a>>,
    /// The text of a text completion.
    text: Text<'a>,
    finish_reason: Text<'a>,
    /// vLLM: what ended the answer, a stop sequence of the request or the number of a token.
    #[serde(borrow)]
    stop_reason: Option<&'a RawValue>,
    /// SGLang: the same.
    #[serde(borrow)]
    matched_stop: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    content: Content<'a>,
    refusal: Text<'a>,
    reasoning_content: Text<'a>,
    reasoning: Text<'a>,
    thinking: Text<'a>,
    pub(super) tool_calls: Option<Vec<Call<'a>>>,
    function_call: Option<Function<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Call<'a> {
    index: Number,
    id: Text<'a>,
    pub(super) function: Option<Function<'a>>,
    #[serde(borrow)]
    extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Counts {
    prompt_tokens: Number,
    completion_tokens: Number,
    prompt_tokens_details: Option<Details>,
    completion_tokens_details: Option<Details>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Details {
    cached_tokens: Number,
    reasoning_tokens: Number,
}

/// Decodes a frame.
pub(super) fn frame(frame: &[u8], answer: &mut Answer, out: &mut Out<'_>) -> Result<(), Error> {
    let chunk: Chunk<'_> = serde_json::from_slice(frame).map_err(|error| unreadable(&error, frame))?;
    reported(chunk.error)?;
    // vLLM marks its errors; others send nothing but what is wrong (`{"detail": ..}`).
    if chunk.object.0 == "error" || (chunk.choices.is_none() && chunk.usage.is_none()) {
        let value = serde_json::from_slice(frame).map_err(|error| unreadable(&error, frame))?;
        match errors::said(&value) {
            Some(error) => return Err(error),
            None if chunk.object.0 == "error" => return Err(errors::in_stream(&value)),
            None => {}
        }
    }
    if let Some(counts) = chunk.usage {
        answer.usage = Some(Usage {
            prompt_tokens: counts.prompt_tokens.0.unwrap_or_default(),
            completion_tokens: counts.completion_tokens.0.unwrap_or_default(),
            cached_tokens: counts.prompt_tokens_details.and_then(|details| details.cached_tokens.0).unwrap_or_default(),
            reasoning_tokens: counts.completion_tokens_details.and_then(|details| details.reasoning_tokens.0).unwrap_or_default(),
        });
    }
    let mut choices = chunk.choices.unwrap_or_default();
    let first = choices.iter().position(|choice| choice.index.0.unwrap_or(0) == 0);
    if let Some(choice) = first.map(|first| choices.remove(first)) {
        let whole = choice.message.is_some();
        if let Some(text) = choice.text.some() {
            out(Delta::Text(Channel::Content, text));
        }
        if let Some(message) = choice.delta.or(choice.message) {
            take(message, answer, out);
        }
        if let Some(reason) = choice.finish_reason.some() {
            answer.finish = Some(reason_of(reason));
            let sequence = |stop: &RawValue| serde_json::from_str::<String>(stop.get()).ok();
            answer.stop_sequence = choice.stop_reason.or(choice.matched_stop).and_then(sequence);
        } else if whole {
            answer.finish.get_or_insert(FinishReason::Stop);
        }
    }
    // Gateways write one answer as two choices, its text and its calls (goose#2177). Everything else in other choices is ignored:
    // toolglot never asks for several answers.
    let messages = choices.into_iter().filter_map(|choice| choice.delta.or(choice.message));
    let others = messages.filter_map(|message| message.tool_calls).find(|calls| !calls.is_empty());
    if let Some(calls) = others.filter(|_| !answer.called) {
        take_calls(calls, answer, out);
    }
    Ok(())
}

/// Yields the content of a message or delta.
pub(super) fn take(message: Message<'_>, answer: &mut Answer, out: &mut Out<'_>) {
    // Some servers write the same reasoning under two names.
    let reasoning = [&message.reasoning_content, &message.reasoning, &message.thinking, &message.content.thinking];
    if let Some(text) = reasoning.into_iter().find_map(Text::some) {
        out(Delta::Text(Channel::Reasoning, text));
    }
    for text in [&message.content.text, &message.refusal].into_iter().filter_map(Text::some) {
        answer.text(Channel::Content, text, out);
    }
    let mut calls = message.tool_calls.unwrap_or_default();
    // A server that writes both means one call.
    if calls.is_empty() {
        calls.extend(message.function_call.map(|function| Call { function: Some(function), ..Call::default() }));
    }
    answer.called |= !calls.is_empty();
    take_calls(calls, answer, out);
}

/// Yields native calls.
fn take_calls(calls: Vec<Call<'_>>, answer: &mut Answer, out: &mut Out<'_>) {
    for call in calls {
        let function = call.function.unwrap_or_default();
        let fragment = Fragment {
            index: call.index.0,
            id: &call.id.0,
            name: &function.name.0,
            arguments: function.arguments.0.as_deref().unwrap_or_default(),
            extra: call.extra_content.map(RawValue::get).filter(|extra| *extra != "null"),
        };
        answer.calls.take(fragment, out);
    }
}

/// The meaning of a `finish_reason`.
fn reason_of(reason: &str) -> FinishReason {
    match reason {
        "length" | "max_tokens" => FinishReason::Length,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "content_filter" => FinishReason::ContentFilter,
        _ => FinishReason::Stop,
    }
}
