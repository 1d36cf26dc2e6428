//! OpenAI's own form: the request's `tools` and `tool_choice` become the table of tools; calls pass unchanged.

use serde_json::Value;

use super::{Counts, void};
use crate::{
    client::front::not_offered,
    error::Error,
    event::{Event, Note, Sink, Tool, ToolChoice, Tools},
    openai::ChatRequest,
};

/// Passes everything through. Calls beyond the number that the client takes are dropped and counted. A client that asked for
/// one call gets no word about it: the model makes the others in its next answers.
#[derive(Debug)]
pub(in crate::client) struct Writer {
    most: u32,
    counts: Counts,
}

/// OpenAI's own packages discard an answer with more calls than this. Only a model in a loop writes so many.
const MOST_CALLS: u32 = 128;

impl Writer {
    pub(super) fn new(one_call: bool) -> Writer {
        Writer { most: if one_call { 1 } else { MOST_CALLS }, counts: Counts::default() }
    }
}

impl super::Writer for Writer {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        match event {
            Event::Call(call) if call.index >= self.most => self.counts.dropped += 1,
            Event::Finish { .. } => {
                let dropped = self.counts.dropped;
                if self.most > 1 && dropped > 0 {
                    let calls = if dropped == 1 { "call was" } else { "calls were" };
                    let line = format!("{dropped} more {calls} not run: an answer holds at most {} calls", self.most);
                    out.event(Event::Text(&format!("\n[toolglot] {line}\n")));
                }
                out.event(event);
            }
            event => out.event(event),
        }
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}

/// Whether the client asked for one call per answer (`parallel_tool_calls: false`).
pub(in crate::client) fn one_call_asked(request: &ChatRequest) -> bool {
    request.rest.get("parallel_tool_calls").and_then(Value::as_bool) == Some(false)
}

/// The table of the tools in a request.
pub(in crate::client) struct Offered {
    pub(in crate::client) tools: Tools,
    /// Whether they identify the client as Void.
    pub(in crate::client) are_voids: bool,
    pub(in crate::client) warnings: Vec<Note>,
}

/// Builds the table from the request's `tools`.
pub(in crate::client) fn read_tools(definitions: &[Value]) -> Result<Offered, Error> {
    let (mut tools, mut are_voids, mut warnings) = (Tools::default(), false, Vec::new());
    for (at, value) in definitions.iter().enumerate() {
        let Some(function) = value.get("function") else {
            let kind = value.get("type").and_then(Value::as_str).unwrap_or("no type");
            if value.get("name").is_some() || kind == "function" {
                return Err(Error::client(format!(
                    "`tools[{at}]` has no `function`; a tool is written as {{\"type\": \"function\", \"function\": {{\"name\": .., \"parameters\": ..}}}}"
                )));
            }
            warnings.push(not_offered(at, kind));
            continue;
        };
        let Some(name) = function.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            return Err(Error::client(format!("`tools[{at}].function.name` must be a non-empty string")));
        };
        let description = function.get("description").and_then(Value::as_str).unwrap_or_default();
        let schema = function.get("parameters").filter(|schema| !schema.is_null());
        let text = match schema {
            None => "{}".to_owned(),
            // Its `Display` would take twice as long.
            Some(schema @ Value::Object(_)) => serde_json::to_string(schema).unwrap_or_default(),
            Some(_) => return Err(Error::client(format!("`tools[{at}].function.parameters` must be a JSON Schema object"))),
        };
        let mut tool = Tool::new(name, description, text);
        are_voids |= schema.is_some_and(|schema| void::complete_native(&mut tool, schema));
        if !tools.add(tool) {
            warnings.push(warning("duplicate_tool", format!("tool `{name}` is offered twice; the first one counts")));
        }
    }
    Ok(Offered { tools, are_voids, warnings })
}

/// Applies the request's `tool_choice`: only the tools that it permits stay.
pub(in crate::client) fn read_choice(request: &ChatRequest, tools: &mut Tools, warnings: &mut Vec<Note>) -> Result<(), Error> {
    let Some(choice) = &request.tool_choice else { return Ok(()) };
    if let Some(allowed) = choice.get("allowed_tools") {
        let Some(listed) = allowed.get("tools").and_then(Value::as_array) else {
            return Err(Error::client(
                "`tool_choice` of type `allowed_tools` needs `tools`, an array of the tools that may be called",
            ));
        };
        let names: Vec<&str> = listed.iter().filter_map(named).collect();
        known(&names, tools)?;
        tools.choice = match allowed.get("mode").filter(|mode| !mode.is_null()) {
            _ if names.is_empty() => ToolChoice::None,
            None => ToolChoice::Auto,
            Some(mode) => word(mode)?,
        };
        tools.limit(&names);
    } else if let Some(name) = named(choice) {
        known(&[name], tools)?;
        tools.choice = ToolChoice::Named(name.to_owned());
        tools.limit(&[name]);
    } else if choice.get("type").and_then(Value::as_str) == Some("function") {
        return Err(Error::client("`tool_choice.function.name` must be the name of a tool"));
    } else if choice.is_object() {
        warnings.push(warning("tool_choice_ignored", format!("`tool_choice` {choice} is not understood; the model decides")));
    } else {
        tools.choice = word(choice)?;
    }
    Ok(())
}

/// The name in a choice, which may be written with or without `function` around it.
fn named(choice: &Value) -> Option<&str> {
    choice.get("function").unwrap_or(choice).get("name").and_then(Value::as_str)
}

/// A choice in one word.
fn word(choice: &Value) -> Result<ToolChoice, Error> {
    match choice.as_str() {
        Some("auto") => Ok(ToolChoice::Auto),
        Some("none") => Ok(ToolChoice::None),
        Some("required" | "any") => Ok(ToolChoice::Required),
        _ => {
            let what = "`auto`, `none`, `required`, a function, or `allowed_tools` with `mode` and `tools`";
            Err(Error::client(format!("`tool_choice` is {choice}; possible is {what}")))
        }
    }
}

fn known(names: &[&str], tools: &Tools) -> Result<(), Error> {
    let Some(name) = names.iter().find(|name| tools.get(name).is_none()) else { return Ok(()) };
    let what = "functions among `tools` are offered, deferred ones only after they were looked up";
    Err(Error::client(format!("`tool_choice` names `{name}`, which is not offered: {what}")))
}

fn warning(code: &'static str, text: String) -> Note {
    Note::Warning { code, text }
}
