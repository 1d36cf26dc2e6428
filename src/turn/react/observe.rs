//! Turns a tool's answer into what the model reads: text and structured results, images as images, links by name. Long
//! results are cut to their beginning and end, and nothing in them can be read as a call.

use serde_json::{Value, json};

use super::Observation;
use crate::{
    adapter::{Adapter, quote},
    event::Tools,
    mcp::response::McpResponse,
    openai::Content,
    plan::Ended,
};

/// What the model sees if a tool returns nothing.
const EMPTY: &str = "(the result is empty)";

/// The answer as the model sees it, cut to `most` bytes.
pub(super) fn observation(response: &McpResponse, most: usize, adapter: &Adapter, tools: &Tools) -> Observation {
    let (images, rest) = divided(response);
    let said = text(&rest);
    let is_empty = said == EMPTY;
    let said = quote::defused(&cut(&said, most), adapter, tools);
    let content = if images.is_empty() {
        Content::Text(said)
    } else {
        let said = (!is_empty).then(|| json!({"type": "text", "text": said}));
        Content::Parts(said.into_iter().chain(images).collect())
    };
    let ended = match () {
        () if response.may_have_run() => Ended::Unknown,
        () if response.is_error() => Ended::Failed,
        () => Ended::Well,
    };
    Observation { content, ended }
}

/// The texts; a structured result after them, unless they say the same.
fn text(response: &McpResponse) -> String {
    let text = response.to_text();
    let Ok(result) = &response.outcome else { return text };
    let structured = result.structured.as_ref().filter(|_| !result.content.is_empty());
    let items = || result.content.iter().filter_map(|item| item.get("text").and_then(Value::as_str));
    let more = structured.filter(|structured| !items().any(|item| says(item, structured)));
    let text = match text.trim().is_empty() {
        true if more.is_none() => EMPTY.to_owned(),
        _ => text,
    };
    let text = if result.is_error { format!("error: {text}") } else { text };
    match more {
        Some(more) => format!("{text}\n{more}"),
        None => text,
    }
}

/// Whether a text is all of a structured result: its JSON, or the value of its only key. Servers wrap values that are not objects
/// (`{"content": "the file's text"}`, `{"result": [1, 2]}`), and a model should not read a file twice.
fn says(text: &str, structured: &Value) -> bool {
    let parsed = serde_json::from_str::<Value>(text).ok();
    let same = |value: &Value| value.as_str() == Some(text) || parsed.as_ref() == Some(value);
    let only = || structured.as_object().filter(|object| object.len() == 1)?.values().next();
    same(structured) || only().is_some_and(same)
}

/// The images as parts of a message, and the answer without them. A later stage names them in the text.
fn divided(response: &McpResponse) -> (Vec<Value>, McpResponse) {
    let mut rest = response.clone();
    let Ok(result) = &mut rest.outcome else { return (Vec::new(), rest) };
    let image = |item: &Value| {
        let field = |name: &str| item.get(name).and_then(Value::as_str);
        let url = format!("data:{};base64,{}", field("mimeType").unwrap_or("image/png"), field("data")?);
        (field("type") == Some("image")).then(|| json!({"type": "image_url", "image_url": {"url": url}}))
    };
    let mut images = Vec::new();
    result.content.retain(|item| match image(item) {
        Some(shown) => {
            images.push(shown);
            false
        }
        None => true,
    });
    (images, rest)
}

/// Head and tail of a text that is too long. Between them, a note says how much is missing.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    // What a tool says first matters more: its summary, the beginning of a file.
    let head = text.floor_char_boundary(most / 3 * 2);
    let tail = text.ceil_char_boundary(text.len() - (most - most / 3 * 2));
    let missing = tail - head;
    let (head, tail) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!("{head}\n[... {missing} of {} bytes left out here ...]\n{tail}", text.len())
}
