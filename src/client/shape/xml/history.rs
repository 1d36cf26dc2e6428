//! Reads a conversation in which calls are text at the end of the assistant's messages and results are user messages. They
//! become calls and results again, so that the model sees its own form. A pure function of the messages: ids are hashes of
//! position and content, so every turn gives the same ids as the turn before it.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{Grammar, cline, defuse, tags};
use crate::{
    adapter::quote::Turns,
    event::Tools,
    openai::{Content, Message, ToolCall, VOID_EMPTY, answer::call_id},
};

/// The result of a call that has none.
const NOT_RUN: &str = "not run";

pub(super) fn translate(messages: Vec<Message>, tools: &Tools, grammar: Grammar) -> Vec<Message> {
    let mut out = Vec::with_capacity(messages.len());
    let mut messages = messages.into_iter().enumerate().peekable();
    while let Some((at, mut message)) = messages.next() {
        let Content::Text(text) = &message.content else {
            out.push(message);
            continue;
        };
        if message.role != "assistant" {
            out.push(message);
            continue;
        }
        let result = messages.peek().and_then(|(_, next)| Result::of(next, grammar));
        // Mentions were defused in the text alone: before a call is looked for they must stay so, and in its values nothing was.
        let restored = |text: &str| defuse::restore(text, tools.iter().map(|tool| tool.name.as_str()));
        let Some(call) = Call::at_the_end_of(text, tools, grammar, result.as_ref().map(|result| result.name.as_str())) else {
            message.content = Content::Text(if text == VOID_EMPTY { String::new() } else { restored(text) });
            out.push(message);
            continue;
        };
        let id = call_id(&[b"history", &(at as u64).to_le_bytes(), text.as_bytes()]);
        let before = match call.before {
            "" | VOID_EMPTY => Content::None,
            before => Content::Text(restored(before)),
        };
        let arguments = call.arguments(tools, grammar);
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
    fn at_the_end_of(text: &'a str, tools: &Tools, grammar: Grammar, answered: Option<&str>) -> Option<Call<'a>> {
        let inner = text.trim_end().strip_suffix('>')?;
        let (_, name) = inner.rsplit_once("</")?;
        if !tags::is_name(name) || (tools.get(name).is_none() && answered != Some(name)) {
            return None;
        }
        let body_end = inner.len() - name.len() - "</".len();
        let open = format!("<{name}>");
        // The body is the longest one that consists of parameters: values may mention the tool itself.
        let inner = inner.get(..body_end)?;
        let to_the_last = if grammar == Grammar::Cline { cline::to_the_last(name) } else { None };
        inner.match_indices(&open).find_map(|(at, _)| {
            let parameters = tags::split(inner.get(at + open.len()..)?, to_the_last)?;
            Some(Call { before: inner.get(..at)?.trim_end(), name, parameters })
        })
    }

    /// The arguments as JSON text. These clients know strings only; where the schema says number, boolean or JSON, a value that
    /// reads as such becomes one again.
    fn arguments(&self, tools: &Tools, grammar: Grammar) -> String {
        let properties = tools.get(self.name).map(|tool| super::properties(tool.checked_schema())).unwrap_or_default();
        let mut arguments = Map::new();
        for (name, text) in &self.parameters {
            let text = match grammar {
                Grammar::Void => text,
                Grammar::Cline => cline::without_line_breaks(text),
            };
            arguments.insert((*name).to_owned(), typed(text, properties.get(*name)));
        }
        Value::Object(arguments).to_string()
    }
}

fn typed(text: &str, property: Option<&Value>) -> Value {
    let wanted = property.and_then(|property| property.get("type")).and_then(Value::as_str);
    let value = wanted.filter(|kind| *kind != "string").and_then(|kind| {
        let value: Value = serde_json::from_str(text.trim()).ok()?;
        let fits = match kind {
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => false,
        };
        fits.then_some(value)
    });
    value.unwrap_or_else(|| json!(text))
}

impl Result {
    fn of(message: &Message, grammar: Grammar) -> Option<Result> {
        if message.role != "user" {
            return None;
        }
        // The message as pieces of text; what is no text (images) stays with the user's words.
        let (texts, others): (Vec<&str>, Vec<Value>) = match &message.content {
            Content::Text(text) => (vec![text], Vec::new()),
            Content::Parts(parts) => {
                let texts = parts.iter().map_while(|part| part.get("text")?.as_str()).collect::<Vec<_>>();
                let others = parts.iter().skip(texts.len()).cloned().collect();
                (texts, others)
            }
            Content::None => return None,
        };
        let (name, content, said) = match grammar {
            Grammar::Void => void_result(&texts)?,
            Grammar::Cline => cline::result(&texts)?,
        };
        let mut remainder = message.clone();
        remainder.content = match &message.content {
            Content::Parts(_) => {
                let said = said.into_iter().map(|text| json!({"type": "text", "text": text}));
                Content::Parts(said.chain(others).collect())
            }
            _ => Content::Text(said.join("\n\n")),
        };
        Some(Result { name, content, remainder: (!remainder.content.is_empty()).then_some(remainder) })
    }
}

/// Breaks control tokens in the result that a user message begins with. Void's user's words after it stay as they are. Cline's
/// details about the editor are treated like the result, because the result may contain the tag that begins them.
pub(in crate::client::shape) fn break_turns(grammar: Grammar, message: &mut Message, turns: &Turns) {
    if message.role != "user" {
        return;
    }
    let mut is_first = true;
    let mut is_result = false;
    let content = message.content.with_texts(|text| {
        let begins = std::mem::take(&mut is_first);
        let end = match grammar {
            Grammar::Void if begins => Tagged::read(text)?.end.unwrap_or(text.len()),
            Grammar::Void => 0,
            Grammar::Cline => {
                is_result |= begins && cline::result_head(text).is_some();
                if is_result { text.len() } else { 0 }
            }
        };
        let (result, rest) = text.split_at(end);
        match turns.broken(result) {
            Cow::Owned(broken) => Some(broken + rest),
            Cow::Borrowed(_) => None,
        }
    });
    if let Some(content) = content {
        message.content = content;
    }
}

/// Void's result at the beginning of a text: `<NAME_result>`, the tool's text, `</NAME_result>`.
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

/// Splits `<NAME_result>`, the tool's text, `</NAME_result>`, and the user's words after it.
fn void_result(texts: &[&str]) -> Option<(String, String, Vec<String>)> {
    let (text, more) = texts.split_first()?;
    let Tagged { name, close, start, end } = Tagged::read(text)?;
    let content = text.get(start..end?)?;
    let content = content.strip_prefix('\n').unwrap_or(content);
    let said = text.get(end? + close.len()..)?.trim_start_matches('\n');
    let said = std::iter::once(said).chain(more.iter().copied()).filter(|text| !text.is_empty()).map(str::to_owned);
    Some((name.to_owned(), content.strip_suffix('\n').unwrap_or(content).to_owned(), said.collect()))
}
