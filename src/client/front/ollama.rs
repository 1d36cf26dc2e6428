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
    client::{compact::compact, front::conversation::name_calls},
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
    /// `{"model":..,"created_at":..,"message":{"role":"assistant",`
    line: Vec<u8>,
    /// Until now, and until the first event.
    elapsed: Duration,
    waited: Option<Duration>,
}

/// The option that limits the answer.
const LIMIT: &str = "num_predict";
/// The name of Ollama's option, and OpenAI's name of the field.
const OPTIONS: &[(&str, &str)] = &[
    (LIMIT, "max_tokens"),
    ("stop", "stop"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("seed", "seed"),
    ("frequency_penalty", "frequency_penalty"),
    ("presence_penalty", "presence_penalty"),
    ("repeat_penalty", "repeat_penalty"),
];

/// Options about the loading of a model: its answer is the same without them.
const LOADING: &[&str] =
    &["num_ctx", "num_batch", "num_gpu", "main_gpu", "num_thread", "num_keep", "use_mmap", "use_mlock", "low_vram", "numa"];

impl Stream {
    pub(super) fn new(head: Head) -> Stream {
        let mut line = BytesMut::new();
        line.put_slice(b"{\"model\":");
        put_string(&head.envelope.model, &mut line);
        line.put_slice(b",\"created_at\":\"");
        line.put_slice(timestamp(head.envelope.created).as_bytes());
        line.put_slice(b"\",\"message\":{\"role\":\"assistant\",");
        Stream { line: line.to_vec(), elapsed: Duration::ZERO, waited: None }
    }

    fn message(&mut self, out: &mut BytesMut, members: impl FnOnce(&mut BytesMut)) {
        self.waited.get_or_insert(self.elapsed);
        out.put_slice(&self.line);
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
            out.put_slice(call_json(call).as_bytes());
            out.put_slice(b"]");
        });
    }

    fn note(&mut self, _: &Note, _: &mut BytesMut) {
        self.waited.get_or_insert(self.elapsed);
    }

    fn finish(&mut self, reason: FinishReason, usage: Option<Usage>, out: &mut BytesMut) {
        out.put_slice(&self.line);
        out.put_slice(b"\"content\":\"\"},");
        let mut ending = json!({});
        end(&mut ending, reason, usage, self.elapsed, Some(self.waited.unwrap_or(self.elapsed)));
        // Its members are the last ones of the line.
        out.put_slice(ending.to_string().trim_start_matches('{').as_bytes());
        out.put_slice(b"\n");
    }

    fn elapsed(&mut self, elapsed: Duration) {
        self.elapsed = elapsed;
    }

    /// A line without content: the protocol has no comments.
    fn alive(&mut self, _text: &str, out: &mut BytesMut) {
        out.put_slice(&self.line);
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
    name_calls(&mut request);
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
    let calls = answer.calls().enumerate().map(|(index, call)| {
        let arguments = compact(arguments_or_empty(&call.arguments));
        json!({"id": call.id, "function": {"index": index, "name": call.name, "arguments": arguments}})
    });
    let calls: Vec<Value> = calls.collect();
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let Envelope { model, created, .. } = &answer.head.envelope;
    let mut out = json!({"model": model, "created_at": timestamp(*created), "message": message});
    end(&mut out, answer.reason, Some(answer.usage), answer.elapsed, None);
    out
}

/// Where an answer has the arguments of calls, and where a request has those of earlier calls.
pub(super) const ARGUMENTS: Path = &["message", "tool_calls", "function", "arguments"];
const EARLIER: Path = &["messages", "tool_calls", "function", "arguments"];

/// A call with its arguments as an object, each token as it was written.
fn call_json(call: Call<'_>) -> String {
    let (id, name) = (json!(call.id), json!(call.name));
    let (index, arguments) = (call.index, compact(arguments_or_empty(call.arguments)));
    format!("{{\"id\":{id},\"function\":{{\"index\":{index},\"name\":{name},\"arguments\":{arguments}}}}}")
}

/// Adds the fields of the last line next to the message. Ollama says `stop` for calls too. Durations are in nanoseconds. Unknown
/// ones are omitted, because clients divide by them.
fn end(out: &mut Value, reason: FinishReason, usage: Option<Usage>, elapsed: Duration, waited: Option<Duration>) {
    out["done"] = json!(true);
    out["done_reason"] = json!(if reason == FinishReason::Length { "length" } else { "stop" });
    let nanoseconds = |duration: Duration| json!(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    let usage = usage.unwrap_or_default();
    if elapsed.is_zero() {
        out["prompt_eval_count"] = json!(usage.prompt_tokens);
        out["eval_count"] = json!(usage.completion_tokens);
    } else {
        let waited = waited.unwrap_or_default().min(elapsed);
        let writing = (elapsed - waited).max(Duration::from_nanos(1));
        out["total_duration"] = nanoseconds(elapsed);
        out["load_duration"] = json!(0);
        out["prompt_eval_count"] = json!(usage.prompt_tokens);
        out["prompt_eval_duration"] = nanoseconds(waited);
        out["eval_count"] = json!(usage.completion_tokens);
        out["eval_duration"] = nanoseconds(writing);
    }
}

fn read_options(request: &mut Map<String, Value>) {
    if let Some(Value::Object(mut options)) = request.shift_remove("options") {
        // Below zero it means that there is no limit, which other servers do not understand.
        let is_limited = options.get(LIMIT).and_then(Value::as_f64).is_none_or(|limit| limit >= 0.0);
        for (own, openai) in OPTIONS.iter().filter(|(own, _)| *own != LIMIT || is_limited) {
            if let Some(value) = options.shift_remove(*own) {
                request.entry(*openai).or_insert(value);
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
    let text = message.get("content").cloned().filter(|text| text.as_str() != Some(""));
    let text = text.into_iter().map(|text| json!({"type": "text", "text": text}));
    let images = images
        .iter()
        .filter_map(Value::as_str)
        .map(|data| json!({"type": "image_url", "image_url": {"url": format!("data:{};base64,{data}", image_type(data))}}));
    let parts = text.chain(images).collect();
    message.insert("content".into(), Value::Array(parts));
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
