//! Cleans the history so that backends can read it: a fault in one old message must not make every later request fail, and a
//! tool's result must not end its turn. Pure and stable: the result for a message depends only on that message and those before
//! it.

use std::borrow::Cow;

use serde_json::{Value, json, value::RawValue};

use super::request::image_url;
use crate::{
    adapter::quote::Turns,
    event::Note,
    openai::{Content, Message, ToolCall, Unanswered, VOID_EMPTY, VOID_FIELD, answer::call_id},
};

/// The longest part of a MIME type, in bytes, and the longest name of a file, in characters, that a model is shown.
const MIME_BYTES: usize = 64;
const FILE_NAME_CHARS: usize = 120;

pub(super) mod leaked;
#[cfg(test)]
mod tests;

/// Cleans the messages of a chat. `turns`: the control tokens of the model's prompt, which are broken up in results.
pub(super) fn clean(all: &mut Vec<Message>, turns: &Turns, notes: &mut Vec<Note>) {
    let mut messages = Vec::with_capacity(all.len());
    let mut open = Unanswered::default();
    // The results that came together, each with the place of its call.
    let mut results: Vec<(usize, Message)> = Vec::new();
    for (at, mut message) in all.drain(..).enumerate() {
        // A verbatim history (`ToolMode::Client`) still has what `client` removed from the others.
        message.rest.retain(|name, value| name != VOID_FIELD && !value.is_null());
        match message.role.as_str() {
            "developer" => message.role = "system".to_owned(),
            "assistant" => {
                if is_placeholder(&message.content) {
                    message.content = Content::None;
                }
                say_refusal(&mut message);
                if message.content.is_empty() && message.tool_calls.is_empty() {
                    continue;
                }
                for (position, call) in message.tool_calls.iter_mut().enumerate() {
                    mend(call, [at, position], notes);
                }
                open.add(&message);
            }
            "tool" => {
                say_refusal(&mut message);
                say_parts(&mut message, at, notes);
                break_turns(&mut message, turns);
                if let Some(place) = answer(&mut message, &mut open) {
                    results.push((place, message));
                    continue;
                }
            }
            _ => {}
        }
        settle(&mut results, &mut messages);
        messages.push(message);
    }
    settle(&mut results, &mut messages);
    *all = messages;
}

/// Makes a refusal text: it is in a field or in a part of its own, which only OpenAI's servers know.
fn say_refusal(message: &mut Message) {
    if let Content::Parts(parts) = &mut message.content {
        for part in parts {
            if let Some(text) = part.get("refusal").and_then(Value::as_str) {
                *part = json!({"type": "text", "text": text});
            }
        }
    }
    match message.rest.shift_remove("refusal") {
        Some(Value::String(text)) if message.content.text().is_empty() => message.content = Content::Text(text),
        _ => {}
    }
}

/// Makes every part of a result a text, an image or a file. A part of another kind is named, and the client gets a warning.
fn say_parts(message: &mut Message, at: usize, notes: &mut Vec<Note>) {
    let is_known = |part: &Value| ["text", "image_url", "file"].iter().any(|name| part.get(*name).is_some());
    let Content::Parts(parts) = &mut message.content else { return };
    for part in parts.iter_mut().filter(|part| !is_known(part)) {
        let text = format!("`{}` cannot be a part of a tool's result and was left out", in_message(at, part));
        notes.push(Note::Warning { code: "field_dropped", text });
        let kind = part.get("type").and_then(Value::as_str).unwrap_or("unknown");
        *part = json!({"type": "text", "text": format!("[a part of type {kind}: not supported]")});
    }
}

/// Where in the conversation a part of a message is.
pub(super) fn in_message(at: usize, part: &Value) -> String {
    format!("messages[{at}].content ({})", part.get("type").unwrap_or(&Value::Null))
}

/// Adds results in the order of their calls: many prompts show no ids, so that the order alone says what answers which call.
fn settle(results: &mut Vec<(usize, Message)>, messages: &mut Vec<Message>) {
    results.sort_by_key(|(place, _)| *place);
    messages.extend(results.drain(..).map(|(_, result)| result));
}

/// The first complete JSON object of an argument text, usually the whole text; `None` if there is none.
pub(super) fn object(arguments: &str) -> Option<Cow<'_, str>> {
    let first = serde_json::Deserializer::from_str(arguments).into_iter::<&RawValue>().next()?.ok()?.get();
    if first.starts_with('{') {
        return Some(Cow::Borrowed(if first.len() == arguments.trim().len() { arguments } else { first }));
    }
    // A JSON string with JSON in it.
    let inner: String = serde_json::from_str(first).ok()?;
    object(&inner).map(|found| Cow::Owned(found.into_owned()))
}

/// Moves the images and files of tool results, which backends do not accept there, into a user message after the results of that
/// turn. Without `vision`, or if the backend takes no `files`, a line of text names them instead.
pub(super) fn show_images(messages: &mut Vec<Message>, vision: bool, files: bool) {
    let mut shown = Vec::with_capacity(messages.len());
    let mut images: Vec<Value> = Vec::new();
    for mut message in messages.drain(..) {
        if message.role != "tool" {
            shown.extend(attached(&mut images));
        } else if let Content::Parts(parts) = &mut message.content {
            parts.iter_mut().for_each(|part| show_image(part, &mut images, vision, files));
            message.content = Content::Text(message.content.to_text());
        }
        shown.push(message);
    }
    shown.extend(attached(&mut images));
    *messages = shown;
}

/// Replaces an image or a file by a line of text, and adds it to `images` if the model sees it.
fn show_image(part: &mut Value, images: &mut Vec<Value>, vision: bool, files: bool) {
    let (kind, name, is_seen, unseen) = if let Some(file) = part.get("file") {
        let name = file.get("filename").and_then(Value::as_str).map_or_else(|| "without a name".to_owned(), file_name);
        if let Some(written) = part.pointer_mut("/file/filename") {
            *written = json!(name);
        }
        ("file", name, files, "a file")
    } else if part.get("image_url").is_some() {
        ("image", mime(part).unwrap_or("image").to_owned(), vision, "an image")
    } else {
        return;
    };
    let image = std::mem::take(part);
    let text = if is_seen {
        images.push(image);
        format!("[{kind} {}: {name}, attached below]", images.len())
    } else {
        let cannot = if kind == "file" { "read files" } else { "see images" };
        format!("[{unseen}, {name}: this model cannot {cannot}]")
    };
    *part = json!({"type": "text", "text": text});
}

/// Breaks up control tokens in a result: a result is data, but backends interpret control tokens anywhere in a prompt.
fn break_turns(message: &mut Message, turns: &Turns) {
    let broken = |text: &str| match turns.broken(text) {
        Cow::Owned(broken) => Some(broken),
        Cow::Borrowed(_) => None,
    };
    if let Some(content) = message.content.with_texts(broken) {
        message.content = content;
    }
}

/// The user message with these images and files, if there are any; leaves `images` empty.
fn attached(images: &mut Vec<Value>) -> Option<Message> {
    if images.is_empty() {
        return None;
    }
    let what = if images.iter().any(|part| part.get("file").is_some()) { "files" } else { "images" };
    let mut parts = vec![json!({"type": "text", "text": format!("The {what} of the results above:")})];
    parts.append(images);
    Some(Message { role: "user".to_owned(), content: Content::Parts(parts), ..Message::default() })
}

/// The MIME type in the `data:` URL of an image part. What is written differently may be anything, and is not shown.
fn mime(part: &Value) -> Option<&str> {
    let kind = image_url(part)?.strip_prefix("data:")?.split([';', ',']).next()?;
    let is_name = |name: &str| {
        let is_written = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        (1..=MIME_BYTES).contains(&name.len()) && name.bytes().all(is_written)
    };
    kind.split_once('/').is_some_and(|(main, sub)| is_name(main) && is_name(sub)).then_some(kind)
}

/// The name of a file without what could be markup.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || " +-._".contains(c) { c } else { '_' };
    name.chars().take(FILE_NAME_CHARS).map(plain).collect()
}

/// Whether a text is Void's placeholder for an empty one.
fn is_placeholder(content: &Content) -> bool {
    match content {
        Content::Text(text) => text.trim() == VOID_EMPTY,
        Content::Parts(parts) => parts.len() <= 1 && content.text().trim() == VOID_EMPTY,
        Content::None => false,
    }
}

/// Makes the arguments of a call one JSON object, and adds an id if there is none. `place`: the places of the message and of the
/// call in it.
fn mend(call: &mut ToolCall, place: [usize; 2], notes: &mut Vec<Note>) {
    let mended = match object(&call.arguments) {
        Some(Cow::Borrowed(text)) if text.len() == call.arguments.len() => None,
        Some(text) => Some(text.into_owned()),
        None => Some("{}".to_owned()),
    };
    if let Some(mended) = mended {
        if !call.arguments.trim().is_empty() {
            let text = format!(
                "`messages[{}]`: the arguments of the call of `{}` are not one JSON object; backends get {mended}",
                place[0], call.name
            );
            notes.push(Note::Warning { code: "history_mended", text });
        }
        call.arguments = mended;
    }
    if call.id.is_empty() {
        let place = place.map(|at| (at as u64).to_le_bytes()).concat();
        call.id = call_id(&[&place, call.name.as_bytes(), call.arguments.as_bytes()]);
    }
}

/// Connects a result to its call, and returns the call's place. A result without a call becomes user text, because backends
/// refuse it.
fn answer(message: &mut Message, open: &mut Unanswered) -> Option<usize> {
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    match open.take(id, None) {
        Some((place, answered)) => {
            message.tool_call_id = Some(answered);
            Some(place)
        }
        None => {
            message.tool_call_id = None;
            message.role = "user".to_owned();
            let name = message.rest.shift_remove("name");
            let name = name.as_ref().and_then(Value::as_str).unwrap_or("an earlier tool call");
            let text = format!("Result of {name}:\n{}", message.content.text());
            match &mut message.content {
                Content::Parts(parts) => {
                    parts.retain(|part| part.get("text").is_none());
                    parts.insert(0, json!({"type": "text", "text": text}));
                }
                content => *content = Content::Text(text),
            }
            None
        }
    }
}
