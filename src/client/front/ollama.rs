//! Ollama's `/api/chat`: its request becomes the internal form, events become JSON lines with whole calls and objects as
//! arguments, or one object.

use std::time::Duration;

use bytes::{BufMut, BytesMut};
use chrono::{DateTime, SecondsFormat};
use serde_json::{Map, Value, json};

use super::{
    Collected, Head, Protocol,
    exact::{self, Path},
    pieces::Piece,
};
use crate::{
    client::{compact::compact, front::conversation},
    error::Error,
    event::{Call, FinishReason, Note, Usage},
    openai::{
        ChatRequest,
        answer::{Envelope, arguments_or_empty, put_string},
    },
};

mod generate;
#[cfg(test)]
mod tests;

pub use generate::{By, Generate, from_chat, read as read_generate};

/// A stream of JSON lines.
#[derive(Debug)]
pub(super) struct Stream {
    envelope: Envelope,
    /// `{"model":..,"created_at":..,"message":{"role":"assistant",`
    line: String,
    /// Until now, and until the first event.
    elapsed: Duration,
    waited: Option<Duration>,
}

/// The option that limits the answer.
const LIMIT: &str = "num_predict";
/// Options that have the same name as OpenAI's fields.
const OPTIONS: &[&str] =
    &["stop", "temperature", "top_p", "top_k", "min_p", "seed", "frequency_penalty", "presence_penalty", "repeat_penalty"];

/// Options about the loading of a model: its answer is the same without them.
const LOADING: &[&str] =
    &["num_ctx", "num_batch", "num_gpu", "main_gpu", "num_thread", "num_keep", "use_mmap", "use_mlock", "low_vram", "numa"];

impl Stream {
    pub(super) fn new(head: Head) -> Stream {
        let Envelope { model, created, .. } = &head.envelope;
        let line = json!({"model": model, "created_at": timestamp(*created), "message": {"role": "assistant"}}).to_string();
        let line = format!("{},", line.strip_suffix("}}").unwrap_or_default());
        Stream { envelope: head.envelope, line, elapsed: Duration::ZERO, waited: None }
    }

    fn message(&mut self, out: &mut BytesMut, members: impl FnOnce(&mut BytesMut)) {
        self.waited.get_or_insert(self.elapsed);
        out.put_slice(self.line.as_bytes());
        members(out);
        out.put_slice(b"},\"done\":false}\n");
    }
}

impl Protocol for Stream {
    fn piece(&mut self, kind: Piece, text: &str, out: &mut BytesMut) {
        self.message(out, |out| {
            out.put_slice(match kind {
                Piece::Text => b"\"content\":",
                Piece::Reasoning => b"\"content\":\"\",\"thinking\":",
            });
            put_string(text, out);
        });
    }

    fn call(&mut self, call: Call<'_>, out: &mut BytesMut) {
        self.message(out, |out| {
            out.put_slice(b"\"content\":\"\",\"tool_calls\":[");
            out.put_slice(exact::written(&call_value(call), &["function", "arguments"]).as_bytes());
            out.put_slice(b"]");
        });
    }

    fn note(&mut self, _: &Note, _: &mut BytesMut) {
        self.waited.get_or_insert(self.elapsed);
    }

    fn finish(&mut self, reason: FinishReason, usage: Option<Usage>, out: &mut BytesMut) {
        let message = json!({"role": "assistant", "content": ""});
        let waited = self.waited.unwrap_or(self.elapsed);
        let last = last(&self.envelope, message, reason, usage.unwrap_or_default(), self.elapsed, waited);
        out.put_slice(last.to_string().as_bytes());
        out.put_slice(b"\n");
    }

    fn elapsed(&mut self, elapsed: Duration) {
        self.elapsed = elapsed;
    }

    /// A line without content: the protocol has no comments.
    fn alive(&mut self, _text: &str, out: &mut BytesMut) {
        out.put_slice(self.line.as_bytes());
        out.put_slice(b"\"content\":\"\"},\"done\":false}\n");
    }

    fn fault(&mut self, error: &Error, out: &mut BytesMut) {
        out.put_slice(error_body(error).to_string().as_bytes());
        out.put_slice(b"\n");
    }
}

/// Reads the body of `/api/chat`. Streaming is the default. Options get OpenAI's names if it has one, so that they mean the same
/// at every backend. Calls in the history get ids, which connect them with their results.
///
/// # Errors
/// 400, with the field that is wrong.
pub fn read(body: &[u8]) -> Result<ChatRequest, Error> {
    let mut value = exact::read(body, EARLIER)?;
    if let Some(object) = value.as_object_mut() {
        object.entry("stream").or_insert(json!(true));
        object.entry("messages").or_insert(json!([]));
        read_options(object);
        for message in object.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
            read_images(message);
        }
    }
    let mut request = ChatRequest::from_value(value)?;
    conversation::name_calls(&mut request);
    Ok(request)
}

/// Fits a request to a backend that is no Ollama: such servers refuse Ollama's own fields. `think: true` is what a model does
/// that can reason.
pub fn without_own(request: &mut ChatRequest) -> Vec<Note> {
    match request.rest.shift_remove("think") {
        Some(Value::Bool(false)) => drop(request.rest.insert("reasoning_effort".into(), json!("none"))),
        Some(level @ Value::String(_)) => drop(request.rest.insert("reasoning_effort".into(), level)),
        _ => {}
    }
    for name in ["keep_alive", "truncate"] {
        request.rest.shift_remove(name);
    }
    let Some(Value::Object(options)) = request.rest.shift_remove("options") else { return Vec::new() };
    // A limit that is still here is none.
    let lost = options.keys().filter(|name| *name != LIMIT && !LOADING.contains(&name.as_str()));
    let warning = |name: &String| Note::Warning {
        code: "field_dropped",
        text: format!("only Ollama has the option `{name}`: the model's backend is none, so it was left out"),
    };
    lost.map(warning).collect()
}

/// The answer to a request that only loads the model. `created`: Unix time, in seconds.
pub fn loaded(model: &str, created: u64) -> Value {
    let message = json!({"role": "assistant", "content": ""});
    json!({"model": model, "created_at": timestamp(created), "message": message, "done": true, "done_reason": "load"})
}

/// The body of an error: `{"error": "text"}`.
pub(super) fn error_body(error: &Error) -> Value {
    json!({"error": error.message})
}

/// A whole answer.
pub(super) fn whole(answer: &Collected) -> Value {
    let mut message = json!({"role": "assistant", "content": answer.text(Piece::Text)});
    let thinking = answer.text(Piece::Reasoning);
    if !thinking.is_empty() {
        message["thinking"] = json!(thinking);
    }
    let calls: Vec<Value> = answer.calls().zip(0..).map(|(call, index)| call_value(call.at(index))).collect();
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    last(&answer.head.envelope, message, answer.reason, answer.usage, answer.elapsed, Duration::ZERO)
}

/// Where an answer has the arguments of calls, and where a request has those of earlier calls.
pub(super) const ARGUMENTS: Path = &["message", "tool_calls", "function", "arguments"];
const EARLIER: Path = &["messages", "tool_calls", "function", "arguments"];

/// A call. Its arguments are a text that [`exact::written`] makes an object of, each token as it was written.
fn call_value(call: Call<'_>) -> Value {
    let arguments = compact(arguments_or_empty(call.arguments));
    json!({"id": call.id, "function": {"index": call.index, "name": call.name, "arguments": arguments}})
}

/// The last line of an answer, or the whole of it. Ollama says `stop` for calls too. Durations are in nanoseconds. Unknown ones are
/// omitted, because clients divide by them.
fn last(envelope: &Envelope, message: Value, reason: FinishReason, usage: Usage, elapsed: Duration, waited: Duration) -> Value {
    let mut out = json!({
        "model": envelope.model,
        "created_at": timestamp(envelope.created),
        "message": message,
        "done": true,
        "done_reason": if reason == FinishReason::Length { "length" } else { "stop" },
        "prompt_eval_count": usage.prompt_tokens,
        "eval_count": usage.completion_tokens,
    });
    if !elapsed.is_zero() {
        let nanoseconds = |duration: Duration| json!(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
        let waited = waited.min(elapsed);
        out["total_duration"] = nanoseconds(elapsed);
        out["load_duration"] = json!(0);
        out["prompt_eval_duration"] = nanoseconds(waited);
        out["eval_duration"] = nanoseconds((elapsed - waited).max(Duration::from_nanos(1)));
    }
    out
}

fn read_options(request: &mut Map<String, Value>) {
    if let Some(Value::Object(mut options)) = request.shift_remove("options") {
        // Below zero it means that there is no limit, which other servers do not understand.
        let is_limited = options.get(LIMIT).and_then(Value::as_f64).is_none_or(|limit| limit >= 0.0);
        let limit = is_limited.then_some((LIMIT, "max_tokens"));
        for (own, openai) in OPTIONS.iter().map(|name| (*name, *name)).chain(limit) {
            if let Some(value) = options.shift_remove(own) {
                request.entry(openai).or_insert(value);
            }
        }
        if !options.is_empty() {
            request.insert("options".into(), Value::Object(options));
        }
    }
    let format = match request.shift_remove("format") {
        Some(Value::String(name)) if name == "json" => Some(json!({"type": "json_object"})),
        Some(schema @ Value::Object(_)) => {
            Some(json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}))
        }
        _ => None,
    };
    if let Some(format) = format {
        request.insert("response_format".into(), format);
    }
}

/// Moves images, which Ollama has next to the text, into parts of the content, where OpenAI has them.
fn read_images(message: &mut Value) {
    let Some(message) = message.as_object_mut() else { return };
    let Some(Value::Array(images)) = message.shift_remove("images") else { return };
    if images.is_empty() {
        return;
    }
    let text = message.get("content").filter(|text| **text != "").map(|text| json!({"type": "text", "text": text}));
    let image = |data: &str| conversation::image(format!("data:{};base64,{data}", image_type(data)));
    let parts: Value = text.into_iter().chain(images.iter().filter_map(Value::as_str).map(image)).collect();
    message.insert("content".into(), parts);
}

/// The type of an image by the first characters of its base64.
fn image_type(data: &str) -> &'static str {
    const TYPES: &[(&str, &str)] =
        &[("iVBOR", "image/png"), ("/9j/", "image/jpeg"), ("R0lG", "image/gif"), ("UklG", "image/webp")];
    TYPES.iter().find(|(start, _)| data.starts_with(start)).map_or("image/png", |(_, kind)| kind)
}

/// Unix seconds as RFC 3339 in UTC.
fn timestamp(seconds: u64) -> String {
    let time = DateTime::from_timestamp(seconds.try_into().unwrap_or_default(), 0);
    time.unwrap_or_default().to_rfc3339_opts(SecondsFormat::Secs, true)
}
