//! Reads a conversation in which calls are text at the end of the assistant's messages and results are user messages. They
//! become calls and results again, so that the model sees its own form. A pure function of the messages: ids are hashes of
//! position and content, so every turn gives the same ids as the turn before it.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{defuse, first_text, set_first_text, tags};
use crate::{
    adapter::quote::Turns,
    event::Tools,
    openai::{Content, Message, ToolCall, VOID_EMPTY, answer::call_id},
};

/// The result of a call that has none.
const NOT_RUN: &str = "not run";

pub(super) fn translate(messages: Vec<Message>, tools: &Tools) -> Vec<Message> {
    let mut out = Vec::with_capacity(messages.len());
    let mut messages = messages.into_iter().enumerate().peekable();
    while let Some((at, mut message)) = messages.next() {
        let text = match &message.content {
            Content::Text(text) if message.role == "assistant" => text,
            _ => {
                out.push(message);
                continue;
            }
        };
        let result = messages.peek().and_then(|(_, next)| Result::of(next));
        // Mentions were defused in the text alone: before a call is looked for they must stay so, and in its values nothing was.
        let restored = |text: &str| defuse::restore(text, tools.iter().map(|tool| tool.name.as_str()));
        let Some(call) = Call::at_the_end_of(text, tools, result.as_ref().map(|result| result.name.as_str())) else {
            message.content = Content::Text(if text == VOID_EMPTY { String::new() } else { restored(text) });
            out.push(message);
            continue;
        };
        let id = call_id(&[b"history", &(at as u64).to_le_bytes(), text.as_bytes()]);
        let before = match call.before {
            "" | VOID_EMPTY => Content::None,
            before => Content::Text(restored(before)),
        };
        let arguments = call.arguments(tools);
        let name = call.name.to_owned();
        message.tool_calls = vec![ToolCall { id: id.clone(), name: name.clone(), arguments, extra: None }];
        message.content = before;
        out.push(message);

        let answer = result.filter(|result| result.name == name);
        let content = answer.as_ref().map_or(NOT_RUN, |result| &result.content).to_owned();
        out.push(Message { tool_call_id: Some(id), ..Message::text("tool", content) });
        if let Some(result) = answer {
            messages.next();
            out.extend(result.remainder);
        }
    }
    out
}

/// A call that ends an assistant's text.
struct Call<'a> {
    before: &'a str,
    name: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

/// A user message that begins with a result.
struct Result {
    name: String,
    content: String,
    /// What the user said after it.
    remainder: Option<Message>,
}

impl<'a> Call<'a> {
    /// The last call in `text`, if it is at its end. A name that is not offered (any more) counts only if a result of
    /// that name follows.
    fn at_the_end_of(text: &'a str, tools: &Tools, answered: Option<&str>) -> Option<Call<'a>> {
        let inner = text.trim_end().strip_suffix('>')?;
        let (_, name) = inner.rsplit_once("</")?;
        if !tags::is_name(name) || (tools.get(name).is_none() && answered != Some(name)) {
            return None;
        }
        let body_end = inner.len() - name.len() - "</".len();
        let open = format!("<{name}>");
        // The body is the longest one that consists of parameters: values may mention the tool itself.
        let inner = inner.get(..body_end)?;
        inner.match_indices(&open).find_map(|(at, _)| {
            let parameters = tags::split(inner.get(at + open.len()..)?)?;
            Some(Call { before: inner.get(..at)?.trim_end(), name, parameters })
        })
    }

    /// The arguments as JSON text. Void knows strings only; where the schema says number, boolean or JSON, a value that reads as
    /// such becomes one again.
    fn arguments(&self, tools: &Tools) -> String {
        let properties = tools.get(self.name).map(|tool| super::properties(tool.checked_schema())).unwrap_or_default();
        let typed = |(name, text): &(&str, &str)| ((*name).to_owned(), typed(text, properties.get(*name)));
        Value::Object(self.parameters.iter().map(typed).collect()).to_string()
    }
}

fn typed(text: &str, property: Option<&Value>) -> Value {
    let wanted = property.and_then(|property| property.get("type")).and_then(Value::as_str);
    let value = wanted.filter(|kind| *kind != "string").and_then(|kind| {
        let value: Value = serde_json::from_str(text.trim()).ok()?;
        let fits = match (kind, &value) {
            ("integer", Value::Number(number)) => !number.is_f64(),
            ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => true,
            ("array", Value::Array(_)) | ("object", Value::Object(_)) => true,
            _ => false,
        };
        fits.then_some(value)
    });
    value.unwrap_or_else(|| json!(text))
}

impl Result {
    fn of(message: &Message) -> Option<Result> {
        let text = first_text(&message.content).filter(|_| message.role == "user")?;
        let Tagged { name, close, start, end } = Tagged::read(text)?;
        let content = text.get(start..end?)?;
        let content = content.strip_prefix('\n').unwrap_or(content);
        let content = content.strip_suffix('\n').unwrap_or(content).to_owned();
        let said = text.get(end? + close.len()..)?.trim_start_matches('\n');
        let mut remainder = message.clone();
        match &mut remainder.content {
            // What is no text (images) stays with the user's words.
            Content::Parts(parts) if said.is_empty() => drop(parts.remove(0)),
            content => set_first_text(content, said.to_owned()),
        }
        Some(Result { name: name.to_owned(), content, remainder: (!remainder.content.is_empty()).then_some(remainder) })
    }
}

/// Breaks control tokens in the result that a user message begins with. The user's words after it stay as they are.
pub(in crate::client::shape) fn break_turns(message: &mut Message, turns: &Turns) {
    let text = first_text(&message.content).filter(|_| message.role == "user");
    let Some((text, result)) = text.and_then(|text| Some((text, Tagged::read(text)?))) else { return };
    let (result, rest) = text.split_at(result.end.unwrap_or(text.len()));
    if let Cow::Owned(broken) = turns.broken(result) {
        let whole = broken + rest;
        set_first_text(&mut message.content, whole);
    }
}

/// A result at the beginning of a text: `<NAME_result>`, the tool's text, `</NAME_result>`.
struct Tagged<'a> {
    name: &'a str,
    close: String,
    /// Where the text of the tool begins.
    start: usize,
    /// Where the closing tag begins. The last one counts: what a tool printed must not become the user's words. `None` if Void
    /// cut the message, because its conversation became too long.
    end: Option<usize>,
}

impl<'a> Tagged<'a> {
    fn read(text: &'a str) -> Option<Tagged<'a>> {
        let (tag, after) = tags::opening(text)?;
        let name = tag.strip_suffix("_result").filter(|name| !name.is_empty())?;
        let close = format!("</{tag}>");
        let start = text.len() - after.len();
        let end = after.rfind(&close).map(|end| start + end);
        Some(Tagged { name, close, start, end })
    }
}
