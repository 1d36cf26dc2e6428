//! Ollama's `/api/generate` as editors use it to complete code (raw text, or the text around a gap). The request becomes a
//! text completion of OpenAI's API; the answer is that of a chat without calls ([`from_chat`]).

use serde_json::{Map, Value, json};

use super::read_options;
use crate::{error::Error, openai};

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
pub fn from_chat(mut answer: Value) -> Value {
    let Some(mut message) = answer.as_object_mut().and_then(|answer| answer.shift_remove("message")) else { return answer };
    answer["response"] = message["content"].take();
    if !message["thinking"].is_null() {
        answer["thinking"] = message["thinking"].take();
    }
    answer
}
