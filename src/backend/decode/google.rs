//! Decodes an event of Google's `streamGenerateContent`: parts with text, thoughts and whole calls; token counts in any chunk; a
//! finish reason that may be in every chunk, or come after the chunk with the call.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{
    Answer, Out,
    loose::{Arguments, Number, Text},
    reported, unreadable,
};
use crate::{
    backend::errors,
    error::Error,
    event::{self, Channel, Delta, FinishReason, Usage},
};

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Event<'a> {
    candidates: Option<Vec<Candidate<'a>>>,
    usage_metadata: Option<Counts>,
    prompt_feedback: Option<Feedback<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Candidate<'a> {
    index: Number,
    content: Option<Content<'a>>,
    finish_reason: Text<'a>,
    finish_message: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Content<'a> {
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Part<'a> {
    text: Text<'a>,
    thought: Option<bool>,
    function_call: Option<FunctionCall<'a>>,
    thought_signature: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct FunctionCall<'a> {
    id: Text<'a>,
    name: Text<'a>,
    args: Arguments<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Counts {
    prompt_token_count: Number,
    candidates_token_count: Number,
    thoughts_token_count: Number,
    cached_content_token_count: Number,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Feedback<'a> {
    block_reason: Text<'a>,
}

/// Decodes an event.
pub(super) fn frame(frame: &[u8], answer: &mut Answer, out: &mut Out<'_>) -> Result<(), Error> {
    let event: Event<'_> = serde_json::from_slice(frame).map_err(|error| unreadable(&error, frame))?;
    reported(event.error)?;
    if let Some(counts) = event.usage_metadata {
        let reasoning_tokens = counts.thoughts_token_count.0.unwrap_or_default();
        answer.usage = Some(Usage {
            prompt_tokens: counts.prompt_token_count.0.unwrap_or_default(),
            completion_tokens: counts.candidates_token_count.0.unwrap_or_default() + reasoning_tokens,
            cached_tokens: counts.cached_content_token_count.0.unwrap_or_default(),
            reasoning_tokens,
        });
    }
    if event.prompt_feedback.is_some_and(|feedback| feedback.block_reason.some().is_some()) {
        answer.finish = Some(FinishReason::ContentFilter);
    }
    let candidates = event.candidates.unwrap_or_default();
    for candidate in candidates.into_iter().filter(|candidate| candidate.index.0.unwrap_or(0) == 0) {
        for part in candidate.content.and_then(|content| content.parts).unwrap_or_default() {
            take(part, out);
        }
        if let Some(reason) = candidate.finish_reason.some() {
            answer.finish = Some(reason_of(reason, &candidate.finish_message.0)?);
        }
    }
    Ok(())
}

/// Yields the content of a part.
fn take(part: Part<'_>, out: &mut Out<'_>) {
    if let Some(text) = part.text.some() {
        let channel = if part.thought == Some(true) { Channel::Reasoning } else { Channel::Content };
        out(Delta::Text(channel, text));
    }
    if let Some(call) = part.function_call {
        // The form in which Google's OpenAI endpoint carries the signature.
        let extra =
            part.thought_signature.some().map(|signature| json!({"google": {"thought_signature": signature}}).to_string());
        let arguments = call.args.0.as_deref().unwrap_or_default();
        out(Delta::Call(event::Call {
            id: call.id.some(),
            extra: extra.as_deref(),
            ..event::Call::new(0, &call.name.0, arguments)
        }));
    }
}

/// The meaning of a finish reason. A call that Google itself could not read is an error, because its text is lost.
fn reason_of(reason: &str, message: &str) -> Result<FinishReason, Error> {
    Ok(match reason {
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
            FinishReason::ContentFilter
        }
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => {
            let message = if message.is_empty() { reason } else { message };
            return Err(Error::backend(format!("the backend could not read the model's tool call: {message}"))
                .with_code(errors::MALFORMED_CALL));
        }
        _ => FinishReason::Stop,
    })
}
