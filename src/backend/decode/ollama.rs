//! Decodes a line of Ollama's answer. `/api/chat`: `{"message": {content, thinking, tool_calls}, "done", "done_reason",
//! counters}`. `/api/generate`: the same with `response` and `thinking` instead of `message`. Or `{"error"}`. A call is always
//! whole, and its arguments are an object.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Answer, Out,
    calls::Fragment,
    loose::{Function, Number, Text},
    pattern::Lone,
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
    created_at: Text<'a>,
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

impl<'a> Line<'a> {
    /// The text, if the line contains nothing else.
    fn lone(&self) -> Option<Lone<'a>> {
        let Line { message, response, thinking, done, error: None, created_at, .. } = self else { return None };
        let (content, own, calls) = match message {
            Some(Message { content, thinking, tool_calls }) => (Some(content), Some(thinking), tool_calls.as_ref()),
            None => (None, None, None),
        };
        let texts = [
            (Channel::Content, Some(response)),
            (Channel::Content, content),
            (Channel::Reasoning, Some(thinking)),
            (Channel::Reasoning, own),
        ];
        let mut said =
            texts.into_iter().filter_map(|(channel, text)| Some((channel, text.filter(|text| text.some().is_some())?)));
        let ((channel, text), None) = (said.next()?, said.next()) else { return None };
        let goes_on = *done != Some(true) && calls.is_none_or(Vec::is_empty);
        let time = created_at.written().unwrap_or_default();
        text.written().filter(|_| goes_on).map(|text| Lone { channel, text, time })
    }
}

/// Decodes a line. Returns its text if it contains nothing else.
pub(super) fn frame<'a>(frame: &'a [u8], answer: &mut Answer, out: &mut Out<'_>) -> Result<Option<Lone<'a>>, Error> {
    let line: Line<'_> = serde_json::from_slice(frame).map_err(|error| unreadable(&error, frame))?;
    let lone = line.lone();
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
    Ok(lone)
}
