//! A tool's answer -> what the model reads of it: text and structured results, images as images, links by name; long ones cut
//! to head and tail; nothing in it that could be read as a call.

use serde_json::{Value, json};

use super::Observation;
use crate::{
    adapter::{Adapter, quote},
    event::Tools,
    mcp::response::McpResponse,
    openai::Content,
};

/// The answer as the model shall see it; of a longer one, `most` bytes.
pub(super) fn observation(response: &McpResponse, most: usize, adapter: &Adapter, tools: &Tools) -> Observation {
    let text = quote::defused(&cut(&text(response), most), adapter, tools);
    let images = images(response);
    let content = if images.is_empty() {
        Content::Text(text)
    } else {
        let text = json!({"type": "text", "text": text});
        Content::Parts(std::iter::once(text).chain(images).collect())
    };
    Observation { content, failed: response.is_error() }
}

/// The texts; a structured result after them, unless they say the same.
fn text(response: &McpResponse) -> String {
    let text = response.to_text();
    let Ok(result) = &response.outcome else { return text };
    let text = match text.is_empty() {
        true if result.structured.is_none() => "(the result is empty)".to_owned(),
        _ => text,
    };
    let text = if result.is_error { format!("error: {text}") } else { text };
    let Some(structured) = result.structured.as_ref().filter(|_| !result.content.is_empty()) else { return text };
    let items = result.content.iter().filter_map(|item| item.get("text").and_then(Value::as_str));
    let said = |item: &str| serde_json::from_str::<Value>(item).is_ok_and(|value| value == *structured);
    if items.into_iter().any(said) { text } else { format!("{text}\n{structured}") }
}

/// The images as parts of a message; models that see none are told of them later on.
fn images(response: &McpResponse) -> Vec<Value> {
    let Ok(result) = &response.outcome else { return Vec::new() };
    let image = |item: &Value| {
        let field = |name: &str| item.get(name).and_then(Value::as_str);
        let url = format!("data:{};base64,{}", field("mimeType").unwrap_or("image/png"), field("data")?);
        (field("type") == Some("image")).then(|| json!({"type": "image_url", "image_url": {"url": url}}))
    };
    result.content.iter().filter_map(image).collect()
}

/// Head and tail of a text that is too long, with what is missing between.
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
