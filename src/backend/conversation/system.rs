//! System text that is not first. Most chat templates refuse a second system message, and moving it to the beginning would make
//! the backend read everything again. So it stays in its place: as an element at the end of the result or the user's message
//! before it, or at the beginning of the user's message after it.

use crate::{
    adapter::render::concat,
    openai::{Content, Message, added},
};

/// Makes the leading system and developer messages one, and joins later ones to their neighbours. Nothing is lost, and a message
/// depends only on itself, the messages before it, and the system texts next to it.
pub fn join_system(messages: &mut Vec<Message>) {
    if !messages.iter().skip(1).any(is_system) {
        return;
    }
    let mut joined: Vec<Message> = Vec::with_capacity(messages.len());
    // Text after an assistant's message; it joins what comes next.
    let mut waiting = Content::None;
    for mut message in messages.drain(..) {
        if is_system(&message) {
            let text = message.content.text();
            match joined.last_mut() {
                None => joined.push(message),
                Some(_) if text.trim().is_empty() => {}
                Some(last) if is_system(last) => append(last, message.content),
                Some(last) if matches!(last.role.as_str(), "tool" | "user") => append(last, said(&text)),
                Some(_) => waiting = concat(waiting, said(&text)),
            }
            continue;
        }
        match message.role.as_str() {
            // Between calls and their results, nothing else may stand.
            "tool" => {}
            "user" if joined.last().is_some_and(|last| last.role != "tool") => {
                message.content = concat(std::mem::take(&mut waiting), message.content);
            }
            _ => settle(&mut waiting, &mut joined),
        }
        joined.push(message);
    }
    settle(&mut waiting, &mut joined);
    *messages = joined;
}

/// Waiting text joins the last result. Where there is none, it becomes a message of the user.
fn settle(waiting: &mut Content, joined: &mut Vec<Message>) {
    if waiting.is_empty() {
        return;
    }
    let text = std::mem::take(waiting);
    match joined.last_mut().filter(|last| last.role == "tool") {
        Some(last) => append(last, text),
        None => joined.push(Message { role: "user".into(), content: text, ..Message::default() }),
    }
}

fn append(message: &mut Message, text: Content) {
    message.content = concat(std::mem::take(&mut message.content), text);
}

fn said(text: &str) -> Content {
    Content::Text(added(text))
}

fn is_system(message: &Message) -> bool {
    matches!(message.role.as_str(), "system" | "developer")
}
