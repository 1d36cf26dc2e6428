//! Void's default form: it sends its tools as a prompt and reads calls out of the answer's text. The prompt and the
//! history become tools, calls and results; a call becomes exactly the text that Void executes, and every other mention of
//! a tool's tag is defused, because Void would execute that too.

use std::{collections::HashMap, sync::Arc};

use serde_json::value::RawValue;

use self::defuse::Defuser;
use super::Counts;
use crate::{
    event::{Event, FinishReason, Sink, Tool, ToolCall, Tools, Why},
    openai::{ChatRequest, Message},
};

mod defuse;
mod history;
mod overlay;
mod prompt;
mod tags;

#[cfg(test)]
mod tests;

/// Writes the answer as Void reads it.
#[derive(Debug)]
pub(super) struct Writer {
    tools: Arc<Tools>,
    text: Defuser,
    reasoning: Defuser,
    open: Option<ToolCall>,
    /// A call was delivered or refused: nothing but reasoning and the end may follow.
    settled: bool,
    /// Text has left, so that a notice needs a paragraph of its own.
    said: bool,
    counts: Counts,
}

/// Reads a request in Void's form: the tools of its prompt, which is cut out, and a translated history. `None`: it has no
/// such prompt.
pub(super) fn read(request: &mut ChatRequest) -> Option<Tools> {
    let tools = prompt::take(request)?;
    let messages: Vec<Message> = std::mem::take(&mut request.messages);
    request.messages = history::translate(messages, &tools);
    Some(tools)
}

/// Completes Void's own tools where it sent them natively, without any types: the overlay is for the fixer only, the model
/// sees what the client sent. Says whether this is Void.
pub(super) fn complete_native(tools: &mut Tools) -> bool {
    let overlay = overlay::Overlay::embedded();
    let mut found = false;
    for tool in tools.iter_mut() {
        let Ok(schema) = serde_json::from_str::<serde_json::Value>(&tool.schema) else { continue };
        let Some(properties) = schema.get("properties").and_then(serde_json::Value::as_object) else { continue };
        if properties.is_empty() || properties.values().any(|property| property.get("type").is_some()) {
            continue;
        }
        let parameters: Vec<(&str, &str)> = properties
            .iter()
            .map(|(name, property)| {
                (name.as_str(), property.get("description").and_then(serde_json::Value::as_str).unwrap_or_default())
            })
            .collect();
        let own = overlay.knows(&tool.name, properties.keys().map(String::as_str));
        let schemas = parameters.iter().all(|(_, description)| description.starts_with('{'));
        if own || schemas {
            found |= own;
            tool.fixing_schema = Some(overlay.schema(&tool.name, &parameters).to_string().into());
        }
    }
    found
}

/// Whether Void can read this call as it is meant; `Err` says why not. Also for the stage that may ask the model again.
pub(super) fn expressible(tools: &Tools, name: &str, arguments: &str) -> Result<(), Why> {
    body(tools, name, arguments).map(|_| ())
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(tools: Arc<Tools>) -> Writer {
        let defuser = || Defuser::new(tools.iter().map(|tool| tool.name.as_str()));
        Writer {
            text: defuser(),
            reasoning: defuser(),
            tools: Arc::clone(&tools),
            open: None,
            settled: false,
            said: false,
            counts: Counts::default(),
        }
    }

    pub(super) fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
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
            Event::CallStart { .. } if self.settled => self.counts.dropped += 1,
            Event::CallStart { name, .. } => self.open = Some(ToolCall { name: name.to_owned(), ..ToolCall::default() }),
            Event::CallArguments { json, .. } => {
                if let Some(call) = &mut self.open {
                    call.arguments.push_str(json);
                }
            }
            Event::CallEnd { .. } => {
                if let Some(call) = self.open.take() {
                    self.call(&call, out);
                }
            }
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

    pub(super) fn counts(&self) -> Counts {
        Counts { defused: self.text.count + self.reasoning.count, ..self.counts }
    }

    /// The opening tag leaves alone: Void looks for tags after every delta, in the order of its tool list, so that in one
    /// piece a value that mentions another tool's tag could win.
    fn call(&mut self, call: &ToolCall, out: &mut dyn Sink) {
        self.settled = true;
        match body(&self.tools, &call.name, &call.arguments) {
            Ok(body) => {
                let text = self.text.flush();
                self.say(&text, out);
                out.event(Event::Text(&format!("<{}>\n", call.name)));
                out.event(Event::Text(&format!("{body}</{}>", call.name)));
            }
            Err(why) => {
                self.counts.refused += 1;
                out.event(Event::Refused { name: &call.name, why: &why, raw: &call.arguments });
                let gap = if self.said { "\n\n" } else { "" };
                let notice = self.text.push(&format!("{gap}[toolglot] call of {} was not run: {why}\n", call.name));
                self.say(&notice, out);
            }
        }
    }

    fn say(&mut self, text: &str, out: &mut dyn Sink) {
        self.said |= !text.is_empty();
        emit(Event::Text(text), text, out);
    }
}

fn emit(event: Event<'_>, text: &str, out: &mut dyn Sink) {
    if !text.is_empty() {
        out.event(event);
    }
}

/// What stands between a call's tags: the parameters in declared order, each value on lines of its own, nothing after the
/// last one. Read back as Void reads it, and refused if that is not what was written.
///
/// Parameters that the tool does not declare are left out, as Void ignores them; so are those with the value `null`.
fn body(tools: &Tools, name: &str, arguments: &str) -> Result<String, Why> {
    let tool = tools.get(name).ok_or_else(|| {
        let offered: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        Why::UnknownTool(format!("; offered are {}", offered.join(", ")))
    })?;
    let declared = declared_parameters(tool);
    let declared: Vec<&str> = declared.iter().map(String::as_str).collect();
    let arguments = if arguments.is_empty() { "{}" } else { arguments };
    let given: HashMap<String, &RawValue> = serde_json::from_str(arguments).map_err(|error| Why::Malformed(error.to_string()))?;
    let mut values: Vec<(&str, String)> = Vec::new();
    for name in &declared {
        match given.get(*name).map(|value| value.get()) {
            None | Some("null") => {}
            Some(json) if json.starts_with('"') => {
                values.push((name, serde_json::from_str(json).map_err(|error| Why::Malformed(error.to_string()))?));
            }
            Some(json) => values.push((name, json.to_owned())),
        }
    }
    let written: Vec<String> = values.iter().map(|(name, value)| format!("<{name}>\n{value}\n</{name}>")).collect();
    let written = written.join("\n");
    if tags::read_as_void(&declared, &written) == values { Ok(written) } else { Err(inexpressible(&declared, &values)) }
}

/// The names of a tool's parameters in the order in which Void declared them.
fn declared_parameters(tool: &Tool) -> Vec<String> {
    let schema: serde_json::Value = serde_json::from_str(&tool.schema).unwrap_or_default();
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}

fn inexpressible(declared: &[&str], values: &[(&str, String)]) -> Why {
    let tags = || declared.iter().flat_map(|name| [format!("</{name}>"), format!("<{name}>")]);
    let culprit = values.iter().find_map(|(name, value)| tags().find(|tag| value.contains(tag.as_str())).map(|tag| (name, tag)));
    Why::Inexpressible(match culprit {
        Some((name, tag)) => format!("the value of `{name}` contains `{tag}`, which would be read as the call's own markup"),
        None => "more than ten parameters".to_owned(),
    })
}
