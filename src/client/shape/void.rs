//! Void describes its tools in a prompt and reads calls from the answer's text, as elements without escapes. Prompt and history
//! become tools, calls and results. A call becomes exactly the text that Void executes. Every other mention of a tool's tag is
//! defused, because Void would execute it too.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Value, value::RawValue};

use self::defuse::Defuser;
use super::Counts;
use crate::{
    event::{Call, Event, FinishReason, Origin, Sink, Tools, Why},
    openai::{ChatRequest, Content, Message},
};

mod defuse;
mod history;
mod prompt;
mod tags;

pub(super) use history::break_turns;
pub(super) use prompt::complete_native;
pub use tags::read_as_void;

/// Writes the answer as Void reads it.
#[derive(Debug)]
pub(super) struct Writer {
    tools: Arc<Tools>,
    text: Defuser,
    reasoning: Defuser,
    /// A call was delivered or refused: only reasoning and the end may follow.
    settled: bool,
    /// Text was sent, so a notice needs a paragraph of its own.
    said: bool,
    counts: Counts,
}

/// Reads a request with Void's tool prompt: removes the prompt, and translates the history. Returns the tools and the original
/// messages. `None`: it has no such prompt.
pub(in crate::client) fn read(request: &mut ChatRequest) -> Option<(Tools, Vec<Message>)> {
    let (at, tools, without) = find(&request.messages)?;
    let verbatim = request.messages.clone();
    let mut messages = std::mem::take(&mut request.messages);
    set_first_text(&mut messages[at].content, without);
    request.messages = history::translate(messages, &tools);
    Some((tools, verbatim))
}

/// Whether Void reads this call as it is meant; `Err` says why not.
pub(super) fn expressible(tools: &Tools, name: &str, arguments: &str) -> Result<(), Why> {
    body(tools, name, arguments).map(|_| ())
}

/// The whole element of a call.
pub(super) fn written(tools: &Tools, name: &str, arguments: &str) -> Option<String> {
    let body = body(tools, name, arguments).ok()?;
    Some(format!("<{name}>\n{body}</{name}>"))
}

impl Writer {
    pub(super) fn new(tools: Arc<Tools>) -> Writer {
        // Void does not know our own tools.
        let own = || tools.iter().filter(|tool| tool.origin == Origin::Client);
        let defuser = || Defuser::new(own().map(|tool| tool.name.as_str()));
        Writer {
            text: defuser(),
            reasoning: defuser(),
            tools: Arc::clone(&tools),
            settled: false,
            said: false,
            counts: Counts::default(),
        }
    }

    /// Delivers a call. The opening tag is an event of its own: Void looks for tags after every delta, in the order of its tool
    /// list, so in one piece, a value that mentions another tool's tag could win.
    fn call(&mut self, Call { name, arguments, .. }: Call<'_>, out: &mut dyn Sink) {
        self.settled = true;
        match body(&self.tools, name, arguments) {
            Ok(body) => {
                let text = self.text.flush();
                self.say(&text, out);
                out.divide();
                out.event(Event::Text(&format!("<{name}>\n")));
                out.divide();
                out.event(Event::Text(&format!("{body}</{name}>")));
            }
            Err(why) => {
                self.counts.refused += 1;
                out.event(Event::Refused { name, why: &why, raw: arguments, written: arguments });
                let gap = if self.said { "\n\n" } else { "" };
                let notice = format!("{gap}{}\n", why.notice(name));
                let notice = self.text.push(&notice);
                self.say(&notice, out);
            }
        }
    }

    fn say(&mut self, text: &str, out: &mut dyn Sink) {
        self.said |= !text.is_empty();
        emit(Event::Text(text), text, out);
    }
}

impl super::Writer for Writer {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        match event {
            Event::Text(_) if self.settled => self.counts.withheld += 1,
            Event::Text(text) => {
                let text = self.text.push(text);
                self.say(&text, out);
            }
            Event::Reasoning(text) => {
                let text = self.reasoning.push(text);
                emit(Event::Reasoning(&text), &text, out);
            }
            Event::Call(_) if self.settled => self.counts.dropped += 1,
            Event::Call(call) => self.call(call, out),
            Event::Refused { .. } | Event::Note(_) => out.event(event),
            Event::Finish { reason, usage } => {
                let text = self.text.flush();
                self.say(&text, out);
                let thought = self.reasoning.flush();
                emit(Event::Reasoning(&thought), &thought, out);
                let reason = if reason == FinishReason::ToolCalls { FinishReason::Stop } else { reason };
                out.event(Event::Finish { reason, usage });
            }
        }
    }

    fn counts(&self) -> Counts {
        Counts { defused: self.text.count + self.reasoning.count, ..self.counts }
    }
}

fn emit(event: Event<'_>, text: &str, out: &mut dyn Sink) {
    if !text.is_empty() {
        out.event(event);
    }
}

/// The text between a call's tags: the parameters in declared order, each value on lines of its own, nothing after the last one.
/// Read back as Void reads it, and refused if that is not what was written.
///
/// It omits parameters that the tool does not declare, which Void ignores, and parameters with the value `null`.
fn body(tools: &Tools, name: &str, arguments: &str) -> Result<String, Why> {
    let tool = tools.get(name).ok_or_else(|| {
        let offered: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        Why::UnknownTool(format!("; offered are {}", offered.join(", ")))
    })?;
    let properties = properties(&tool.schema);
    let malformed = |error: serde_json::Error| Why::Malformed(error.to_string());
    let arguments = if arguments.is_empty() { "{}" } else { arguments };
    let given: HashMap<String, &RawValue> = serde_json::from_str(arguments).map_err(malformed)?;
    let mut values: Vec<(&str, String)> = Vec::new();
    for name in properties.keys() {
        match given.get(name).map(|value| value.get()) {
            None | Some("null") => {}
            Some(json) if json.starts_with('"') => values.push((name, serde_json::from_str(json).map_err(malformed)?)),
            Some(json) => values.push((name, json.to_owned())),
        }
    }
    let written: Vec<String> = values.iter().map(|(name, value)| format!("<{name}>\n{value}\n</{name}>")).collect();
    let written = written.join("\n");
    let declared: Vec<&str> = properties.keys().map(String::as_str).collect();
    if read_as_void(&declared, &written) == values {
        return Ok(written);
    }
    let culprit = values.iter().find_map(|(name, value)| {
        let mut tags = declared.iter().flat_map(|name| [format!("</{name}>"), format!("<{name}>")]);
        let tag = tags.find(|tag| value.contains(tag.as_str()))?;
        Some(format!("the value of `{name}` contains `{tag}`, which would be read as the call's own markup"))
    });
    Err(Why::Inexpressible(culprit.unwrap_or_else(|| "more than ten parameters".to_owned())))
}

/// The parameters of a schema, in the order in which they are declared.
pub fn properties(schema: &str) -> Map<String, Value> {
    let mut schema: Value = serde_json::from_str(schema).unwrap_or_default();
    schema.get_mut("properties").and_then(Value::as_object_mut).map(std::mem::take).unwrap_or_default()
}

const SYSTEM_OPEN: &str = "<SYSTEM_MESSAGE>";
const SYSTEM_CLOSE: &str = "</SYSTEM_MESSAGE>";

/// The place of the tool prompt, its tools, and the text of that message without it. Only the system's own voice counts: the role
/// system or developer, or a first user message that begins with `<SYSTEM_MESSAGE>` (Void writes this for models whose name it
/// does not know). Elsewhere the same words are a quotation.
fn find(messages: &[Message]) -> Option<(usize, Tools, String)> {
    let first_user = messages.iter().position(|message| message.role == "user");
    messages.iter().enumerate().find_map(|(at, message)| {
        let text = first_text(&message.content)?;
        let is_wrapped = text.starts_with(SYSTEM_OPEN);
        let is_system = matches!(message.role.as_str(), "system" | "developer") || (is_wrapped && first_user == Some(at));
        let end = text.find(SYSTEM_CLOSE).filter(|_| is_wrapped);
        let (voice, rest) = is_system.then(|| text.split_at(end.unwrap_or(text.len())))?;
        let (tools, without) = prompt::cut(voice)?;
        Some((at, tools, without + rest))
    })
}

/// The text with which a message begins.
fn first_text(content: &Content) -> Option<&str> {
    match content {
        Content::Text(text) => Some(text),
        Content::Parts(parts) => parts.first()?.get("text")?.as_str(),
        Content::None => None,
    }
}

fn set_first_text(content: &mut Content, text: String) {
    match content {
        Content::Parts(parts) => parts[0]["text"] = text.into(),
        _ => *content = Content::Text(text),
    }
}

#[cfg(test)]
mod tests;
