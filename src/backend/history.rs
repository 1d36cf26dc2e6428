//! Cleans the history so that backends can read it: a fault in one old message must not make every later request fail, and a
//! tool's result must not end its turn. Pure and stable: the result for a message depends only on that message and those before
//! it.

use std::borrow::Cow;

use serde_json::{Value, json, value::RawValue};

use super::chat::Chat;
use crate::{
    adapter::quote::Turns,
    event::Note,
    openai::{ChatRequest, Content, Message, ToolCall, Unanswered, VOID_EMPTY, VOID_FIELD, answer::call_id},
};

/// The longest part of a MIME type, in bytes, and the longest name of a file, in characters, that a model is shown.
const MIME_BYTES: usize = 64;
const FILE_NAME_CHARS: usize = 120;

pub(super) mod leaked;
#[cfg(test)]
mod tests;

/// The chat with a clean history and without `tools`, which are written separately for the backend. `turns`: the control
/// tokens of the model's prompt, which are broken up in results.
pub(super) fn clean<'a>(chat: &'a ChatRequest, turns: &Turns, notes: &mut Vec<Note>) -> Chat<'a> {
    let mut messages = Vec::with_capacity(chat.messages.len());
    let mut open = Unanswered::default();
    // The results that came together, each with the place of its call.
    let mut results: Vec<(usize, Cow<'a, Message>)> = Vec::new();
    for (at, message) in chat.messages.iter().enumerate() {
        let mut message = Cow::Borrowed(message);
        // A verbatim history (`ToolMode::Client`) still has what `client` removed from the others.
        let stays = |name: &str, value: &Value| name != VOID_FIELD && !value.is_null();
        if !message.rest.iter().all(|(name, value)| stays(name, value)) {
            message.to_mut().rest.retain(|name, value| stays(name, value));
        }
        match message.role.as_str() {
            "developer" => message.to_mut().role = "system".to_owned(),
            "assistant" => {
                if is_placeholder(&message.content) {
                    message.to_mut().content = Content::None;
                }
                say_refusal(&mut message);
                if message.content.is_empty() && message.tool_calls.is_empty() {
                    continue;
                }
                mend(&mut message, at, notes);
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
    Chat {
        model: &chat.model,
        messages,
        stream: chat.stream,
        tools: Vec::new(),
        tool_choice: chat.tool_choice.clone(),
        rest: chat.rest.clone(),
    }
}

/// Makes a refusal text: it is in a field or in a part of its own, which only OpenAI's servers know.
fn say_refusal(message: &mut Cow<'_, Message>) {
    let refusal = |value: &Value| value.get("refusal").and_then(Value::as_str).map(|text| json!({"type": "text", "text": text}));
    if let Content::Parts(parts) = &message.content
        && parts.iter().any(|part| refusal(part).is_some())
    {
        let parts = parts.iter().map(|part| refusal(part).unwrap_or_else(|| part.clone())).collect();
        message.to_mut().content = Content::Parts(parts);
    }
    if message.rest.contains_key("refusal") {
        let message = message.to_mut();
        match message.rest.shift_remove("refusal") {
            Some(Value::String(text)) if message.content.text().is_empty() => message.content = Content::Text(text),
            _ => {}
        }
    }
}

/// Makes every part of a result a text, an image or a file. A part of another kind is named, and the client gets a warning.
fn say_parts(message: &mut Cow<'_, Message>, at: usize, notes: &mut Vec<Note>) {
    let is_known = |part: &Value| ["text", "image_url", "file"].iter().any(|name| part.get(*name).is_some());
    let Content::Parts(parts) = &message.content else { return };
    if parts.iter().all(is_known) {
        return;
    }
    let said = parts.iter().map(|part| {
        if is_known(part) {
            return part.clone();
        }
        let text = format!("`{}` cannot be a part of a tool's result and was left out", in_message(at, part));
        notes.push(Note::Warning { code: "field_dropped", text });
        let kind = part.get("type").and_then(Value::as_str).unwrap_or("unknown");
        json!({"type": "text", "text": format!("[a part of type {kind}: not supported]")})
    });
    let said = said.collect();
    message.to_mut().content = Content::Parts(said);
}

/// Where in the conversation a part of a message is.
pub(super) fn in_message(at: usize, part: &Value) -> String {
    format!("messages[{at}].content ({})", part.get("type").unwrap_or(&Value::Null))
}

/// Adds results in the order of their calls: many prompts show no ids, so that the order alone says what answers which call.
fn settle<'a>(results: &mut Vec<(usize, Cow<'a, Message>)>, messages: &mut Vec<Cow<'a, Message>>) {
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
pub(super) fn show_images(messages: &mut Vec<Cow<'_, Message>>, vision: bool, files: bool) {
    let has_parts = |message: &Message| message.role == "tool" && matches!(message.content, Content::Parts(_));
    if !messages.iter().any(|message| has_parts(message)) {
        return;
    }
    let mut shown = Vec::with_capacity(messages.len());
    let mut images: Vec<Value> = Vec::new();
    for mut message in messages.drain(..) {
        if message.role != "tool" && !images.is_empty() {
            shown.push(Cow::Owned(attached(&mut images)));
        }
        if has_parts(&message) {
            let message = message.to_mut();
            if let Content::Parts(parts) = &mut message.content {
                parts.iter_mut().for_each(|part| show_image(part, &mut images, vision, files));
            }
            message.content = Content::Text(message.content.to_text());
        }
        shown.push(message);
    }
    if !images.is_empty() {
        shown.push(Cow::Owned(attached(&mut images)));
    }
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
fn break_turns(message: &mut Cow<'_, Message>, turns: &Turns) {
    let broken = |text: &str| match turns.broken(text) {
        Cow::Owned(broken) => Some(broken),
        Cow::Borrowed(_) => None,
    };
    if let Some(content) = message.content.with_texts(broken) {
        message.to_mut().content = content;
    }
}

/// The user message with these images and files; leaves `images` empty.
fn attached(images: &mut Vec<Value>) -> Message {
    let what = if images.iter().any(|part| part.get("file").is_some()) { "files" } else { "images" };
    let mut parts = vec![json!({"type": "text", "text": format!("The {what} of the results above:")})];
    parts.append(images);
    Message { role: "user".to_owned(), content: Content::Parts(parts), ..Message::default() }
}

/// The MIME type in the `data:` URL of an image part. What is written differently may be anything, and is not shown.
fn mime(part: &Value) -> Option<&str> {
    let url = part.get("image_url")?;
    let url = url.as_str().or_else(|| url.get("url")?.as_str())?;
    let kind = url.strip_prefix("data:")?.split([';', ',']).next()?;
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

/// Makes the arguments of each call one JSON object, and adds ids where there are none.
fn mend(message: &mut Cow<'_, Message>, at: usize, notes: &mut Vec<Note>) {
    for position in 0..message.tool_calls.len() {
        if let Some(call) = mended(&message.tool_calls[position], at, position, notes) {
            message.to_mut().tool_calls[position] = call;
        }
    }
}

/// The mended call; `None` if nothing is wrong with it.
fn mended(call: &ToolCall, at: usize, position: usize, notes: &mut Vec<Note>) -> Option<ToolCall> {
    let arguments = match object(&call.arguments) {
        Some(Cow::Borrowed(text)) if text.len() == call.arguments.len() => None,
        Some(text) => Some(text.into_owned()),
        None => Some("{}".to_owned()),
    };
    if arguments.is_none() && !call.id.is_empty() {
        return None;
    }
    let mut call = call.clone();
    if let Some(mended) = arguments {
        if !call.arguments.trim().is_empty() {
            let text = format!(
                "`messages[{at}]`: the arguments of the call of `{}` are not one JSON object; backends get {mended}",
                call.name
            );
            notes.push(Note::Warning { code: "history_mended", text });
        }
        call.arguments = mended;
    }
    if call.id.is_empty() {
        let place = [(at as u64).to_le_bytes(), (position as u64).to_le_bytes()];
        call.id = call_id(&[&place.concat(), call.name.as_bytes(), call.arguments.as_bytes()]);
    }
    Some(call)
}

/// Connects a result to its call, and returns the call's place. A result without a call becomes user text, because backends
/// refuse it.
fn answer(message: &mut Cow<'_, Message>, open: &mut Unanswered) -> Option<usize> {
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    match open.take(id, None) {
        Some((place, answered)) => {
            if answered != id {
                message.to_mut().tool_call_id = Some(answered);
            }
            Some(place)
        }
        None => {
            let message = message.to_mut();
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
