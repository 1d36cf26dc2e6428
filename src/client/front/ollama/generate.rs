//! Ollama's `/api/generate` as editors use it to complete code (raw text, or the text around a gap). The request becomes a
//! text completion of OpenAI's API; the answer becomes JSON lines or one object.

use std::time::Duration;

use bytes::{BufMut, BytesMut};
use serde_json::{Map, Value, json};

use super::{end, error_body, put_string, read_options, timestamp};
use crate::{
    error::Error,
    event::{Delta, FinishReason, Usage},
    openai,
};

/// A request for text.
#[derive(Debug, Clone, PartialEq)]
pub struct Generate {
    /// The client wants lines.
    pub streamed: bool,
    /// What answers it.
    pub by: By,
}

/// What answers a request for text.
#[derive(Debug, Clone, PartialEq)]
pub enum By {
    /// The request only loads the model.
    Loading,
    /// A completion of the text as it is: the body for OpenAI's `/completions`, always streamed.
    Completion(Value),
    /// A chat: the body for `/api/chat` with the prompt as the user's message.
    Chat(Value),
}

/// The answer.
#[derive(Debug)]
pub struct Generated {
    model: String,
    created: u64,
    /// Text that has not been written yet.
    text: String,
    reason: FinishReason,
    usage: Option<Usage>,
}

/// Fields that mean nothing to a text completion elsewhere.
const LEFT_OUT: &[&str] = &["raw", "options", "keep_alive", "think", "context", "stream", "system", "template", "images"];

/// Reads the body.
///
/// # Errors
/// 400 if the body is not an object.
pub fn read(body: &[u8]) -> Result<Generate, Error> {
    let mut request: Map<String, Value> = openai::object(body)?;
    let text = |name: &str| request.get(name).and_then(Value::as_str).unwrap_or_default();
    let flag = |name: &str| request.get(name).and_then(Value::as_bool);
    let streamed = flag("stream").unwrap_or(true);
    let around = !text("suffix").is_empty();
    if text("prompt").is_empty() && !around {
        return Ok(Generate { streamed, by: By::Loading });
    }
    if !around && flag("raw") != Some(true) {
        let mut message = json!({"role": "user", "content": text("prompt")});
        message["images"] = request.get("images").cloned().unwrap_or_else(|| json!([]));
        let system = Some(text("system")).filter(|system| !system.is_empty());
        let system = system.map(|system| json!({"role": "system", "content": system}));
        let messages: Vec<Value> = system.into_iter().chain([message]).collect();
        let own = ["prompt", "system", "images", "template", "context", "raw", "suffix"];
        request.retain(|name, _| !own.contains(&name.as_str()));
        request.insert("messages".into(), json!(messages));
        return Ok(Generate { streamed, by: By::Chat(Value::Object(request)) });
    }
    read_options(&mut request);
    request.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
    request.insert("stream".into(), json!(true));
    Ok(Generate { streamed, by: By::Completion(Value::Object(request)) })
}

/// A line or object of a chat's answer in the words of this API.
///
/// # Errors
/// It is not JSON.
pub fn from_chat(answer: &[u8]) -> Result<Value, Error> {
    let mut answer: Map<String, Value> = openai::object(answer)?;
    let Some(mut message) = answer.shift_remove("message") else { return Ok(Value::Object(answer)) };
    answer.insert("response".into(), message["content"].take());
    match message["thinking"].take() {
        Value::Null => {}
        thinking => drop(answer.insert("thinking".into(), thinking)),
    }
    Ok(Value::Object(answer))
}

impl Generated {
    /// An answer that has not begun; `created` is in seconds since 1970.
    pub fn new(model: &str, created: u64) -> Generated {
        Generated { model: model.to_owned(), created, text: String::new(), reason: FinishReason::Stop, usage: None }
    }

    /// Takes a piece of the completion.
    pub fn take(&mut self, delta: &Delta<'_>) {
        match delta {
            Delta::Text(_, text) => self.text.push_str(text),
            Delta::Usage(usage) => self.usage = Some(*usage),
            Delta::Finish(reason) => self.reason = *reason,
            // Ollama does not tell of the first, and a text completion has no second.
            Delta::StopSequence(_) | Delta::Call(_) => {}
        }
    }

    /// Appends a line with the text that was not written yet, if there is any.
    pub fn write(&mut self, out: &mut BytesMut) {
        if self.text.is_empty() {
            return;
        }
        out.put_slice(b"{\"model\":");
        put_string(&self.model, out);
        out.put_slice(b",\"created_at\":\"");
        out.put_slice(timestamp(self.created).as_bytes());
        out.put_slice(b"\",\"response\":");
        put_string(&std::mem::take(&mut self.text), out);
        out.put_slice(b",\"done\":false}\n");
    }

    /// Appends the last line.
    pub fn end(&self, elapsed: Duration, out: &mut BytesMut) {
        out.put_slice(self.to_value(elapsed).to_string().as_bytes());
        out.put_slice(b"\n");
    }

    /// Appends a fault; nothing may follow.
    pub fn fault(&self, error: &Error, out: &mut BytesMut) {
        out.put_slice(error_body(error).to_string().as_bytes());
        out.put_slice(b"\n");
    }

    /// The whole answer, with the text that was not written yet.
    pub fn to_value(&self, elapsed: Duration) -> Value {
        let mut out = json!({"model": self.model, "created_at": timestamp(self.created), "response": self.text});
        end(&mut out, self.reason, self.usage, elapsed, None);
        out
    }

    /// The answer to a request that only wants the model to be loaded.
    pub fn loaded(&self) -> Value {
        let created = timestamp(self.created);
        json!({"model": self.model, "created_at": created, "response": "", "done": true, "done_reason": "load"})
    }
}
