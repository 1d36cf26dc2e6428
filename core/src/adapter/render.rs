//! Renders a request for a model without native tools. The tools become an instruction, past calls become the text that the model
//! is asked to write (bare JSON or the family's own form), and results become text that answers it.
//!
//! Rendering is a pure function of the request. The messages of turn N are a prefix of those of turn N+1, so the backend's cache
//! holds. Past calls are always written in the call form and never as prose, because a model imitates its transcript.

use std::{fmt, io};

use minijinja::{Environment, Value as Data, context, value::Serde};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Adapter, quote, write::Written};
use crate::{
    error::Error,
    event::{Origin, ToolChoice, Tools},
    openai::{ChatRequest, Content, Message, ToolCall},
};

mod filters;
mod lines;
#[cfg(test)]
mod tests;
mod turns;

pub use turns::{alternate, concat, fold_system, instruct};

/// How to ask a family of models for calls: the `[prompt]` table of an adapter file. Every key is optional. The templates apply
/// to the family's own form; bare JSON has built-in ones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prompt {
    /// The form that the model is asked for. By default the family's own form if one of the templates is given, else bare JSON.
    /// In raw mode always the family's own form.
    pub style: Option<Style>,
    /// Template of the instruction. Variables: `tools` (each with `name`, `description`, `parameters`), `call_form`, `own_form`
    /// (whether that is the family's own), and `choice` (a sentence on how many calls are allowed and whether one is required).
    /// To word the choice differently: `parallel`, `required` (a call is required), `named` (the tool that must be called).
    pub tools: Option<String>,
    /// Template of one call. Variables: `name`, `arguments` (the object), `arguments_json` (its text), `id`, `index` (of the call
    /// in its turn).
    pub call: Option<String>,
    /// Template of all calls of a turn. Variable: `calls` (each as `call` renders it).
    pub calls: Option<String>,
    /// Template of one result. Variables: `name`, `content`, `id`, and `source` (`server.tool`) if toolglot ran the tool.
    pub result: Option<String>,
    /// How system messages are sent.
    pub system: System,
    /// Whether the reasoning of an answer with calls goes back to the model in later turns, also if the client has dropped it.
    pub reasoning: bool,
}

/// The form that the model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// Bare JSON, `{"name": ..., "arguments": {...}}`. Small models follow it best.
    Json,
    /// The form that the family was trained on.
    Own,
}

/// How system messages are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    /// As system messages.
    #[default]
    Keep,
    /// At the front of the first user message, because the model has no system role.
    Fold,
}

/// The compiled templates of one rendering.
struct Templates<'p> {
    environment: Environment<'p>,
    /// The family whose own form is used. `None` means bare JSON.
    family: Option<&'p Adapter>,
}

/// A buffer with a maximum size.
struct Bounded(Vec<u8>);

/// The templates of bare JSON, and defaults of the family's own form.
const CALL: &str = r#"{"name": {{ name | tojson }}, "arguments": {{ arguments_json }}}"#;

const CALLS: &str = "{{ calls | join('\n') }}";

const RESULT: &str =
    "{% if source %}[Tool Result: {{ source }}]{% else %}Result of the tool call {{ name }}:{% endif %}\n{{ content }}";

const CHOICE: &str = r#"
{%- if parallel -%}
Several calls that do not depend on each other may be written one {% if own_form %}behind the other{% else %}per line{% endif %}.
{%- else -%}
Use one tool at a time.
{%- endif %}
{%- if named %}
In this answer you must use the tool {{ named }}.
{%- elif required %}
In this answer you must use a tool.
{%- else %}
If no tool is needed, answer in plain text.
{%- endif %}"#;

const TOOLS: &str = r#"You can use the tools listed below.
{%- if own_form %}
To use a tool, end your answer with a call in exactly this form:
{{ call_form }}
Then stop; the next message brings the result.
{%- else %}
To use a tool, your whole answer is one JSON object in this form:
{{ call_form }}
Write nothing before or after it, and no code fence around it. "arguments" holds the parameters of the tool. Then stop; the next message brings the result.
{%- endif %} {{ choice }}

Tools:
{%- for tool in tools %}

{{ tool.name }}: {{ tool.description }}{{ tool.parameters | lines }}
{%- endfor %}"#;

/// Maximum work of a template, in instructions of its interpreter. A list of 500 tools needs about 10,000.
const FUEL: u64 = 2_000_000;
/// Maximum size of rendered text, in bytes.
const RENDERED_BYTES: usize = 16 * 1024 * 1024;
/// Maximum size of a template, in bytes.
const TEMPLATE_BYTES: usize = 64 * 1024;

impl Prompt {
    /// Checks that the templates compile.
    ///
    /// # Errors
    /// 500, with the template and the line.
    pub fn check(&self) -> Result<(), Error> {
        Templates::new(self, true).map(|_| ())
    }

    /// The form that the model is asked for.
    pub fn style(&self) -> Style {
        let templates = [&self.tools, &self.call, &self.calls, &self.result];
        let usual = if templates.iter().any(|template| template.is_some()) { Style::Own } else { Style::Json };
        self.style.unwrap_or(usual)
    }
}

/// Renders a request for a model without native tools. `raw`: the model has them, but the backend's parser destroys what it
/// writes, so it is always asked for its own form.
///
/// # Errors
/// 500 if a template of the adapter fails, takes too long, or renders more than 16 MiB.
pub fn render(adapter: &Adapter, raw: bool, request: &ChatRequest, tools: &Tools) -> Result<ChatRequest, Error> {
    let prompt = &adapter.prompt;
    // A form without a marker has no advantage over JSON.
    let has_own = prompt.call.is_some() || adapter.has_marked_form();
    let own = has_own && (raw || prompt.style() == Style::Own);
    let mut templates = Templates::new(prompt, own || prompt.style() == Style::Own)?;
    templates.family = own.then_some(adapter);
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    for message in &request.messages {
        messages.push(match message.role.as_str() {
            "assistant" if !message.tool_calls.is_empty() => templates.assistant(message)?,
            "tool" => templates.result(message, &request.messages, tools)?,
            _ => message.clone(),
        });
    }
    if tools.wanted() {
        let parallel = request.rest.get("parallel_tool_calls").and_then(Value::as_bool).unwrap_or(true);
        instruct(&mut messages, templates.tools(tools, parallel)?);
    }
    if prompt.system == System::Fold {
        fold_system(&mut messages);
    }
    alternate(&mut messages);
    let mut rest = request.rest.clone();
    rest.shift_remove("parallel_tool_calls");
    Ok(ChatRequest { model: request.model.clone(), messages, stream: request.stream, tools: Vec::new(), tool_choice: None, rest })
}

impl<'p> Templates<'p> {
    /// Compiles the templates of bare JSON, or of the family's own form (`own`).
    fn new(prompt: &'p Prompt, own: bool) -> Result<Templates<'p>, Error> {
        let mut environment = Environment::new();
        environment.set_fuel(Some(FUEL));
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        filters::add(&mut environment);
        for (name, given, default) in [
            ("tools", &prompt.tools, TOOLS),
            ("call", &prompt.call, CALL),
            ("calls", &prompt.calls, CALLS),
            ("result", &prompt.result, RESULT),
            ("choice", &None, CHOICE),
            ("json", &None, CALL),
        ] {
            let source = given.as_deref().filter(|_| own).unwrap_or(default);
            if source.len() > TEMPLATE_BYTES {
                return Err(Error::proxy(format!("[prompt] {name}: a template of more than {TEMPLATE_BYTES} bytes")));
            }
            environment.add_template(name, source).map_err(|error| failed(name, &error))?;
        }
        Ok(Templates { environment, family: None })
    }

    fn render(&self, name: &str, data: Data) -> Result<String, Error> {
        let mut out = Bounded(Vec::new());
        let template = self.environment.get_template(name).map_err(|error| failed(name, &error))?;
        template.render_captured_to(data, &mut out).map_err(|error| failed(name, &error))?;
        String::from_utf8(out.0).map_err(|error| failed(name, &error))
    }

    fn tools(&self, tools: &Tools, parallel: bool) -> Result<String, Error> {
        let list: Vec<Value> = tools
            .iter()
            .map(|tool| {
                let parameters = serde_json::from_str(&tool.schema).unwrap_or_else(|_| json!({}));
                json!({"name": tool.wire_name, "description": tool.description, "parameters": parameters})
            })
            .collect();
        let named = match &tools.choice {
            ToolChoice::Named(name) => Some(tools.get(name).map_or(name, |tool| &tool.wire_name)),
            _ => None,
        };
        let form = ToolCall { name: "TOOL_NAME".into(), arguments: r#"{"PARAMETER": "VALUE"}"#.into(), ..ToolCall::default() };
        let form = std::slice::from_ref(&form);
        let own = self.in_own_form(form)?;
        let own_form = own.is_some();
        let call_form = own.map_or_else(|| self.in_json(form), Ok)?;
        let required = tools.choice == ToolChoice::Required;
        let choice = self.render("choice", context! { own_form, required, named, parallel })?;
        let data = context! { tools => Serde(list), call_form, own_form, choice, required, named, parallel };
        self.render("tools", data)
    }

    fn call(&self, template: &str, index: usize, ToolCall { id, name, arguments, .. }: &ToolCall) -> Result<String, Error> {
        let object: Value = serde_json::from_str(arguments).unwrap_or_default();
        self.render(template, context! { name, arguments => Serde(object), arguments_json => arguments, id, index })
    }

    /// Renders calls as bare JSON.
    fn in_json(&self, calls: &[ToolCall]) -> Result<String, Error> {
        let calls: Vec<String> = calls.iter().map(|call| self.call("json", 0, call)).collect::<Result<_, Error>>()?;
        Ok(calls.join("\n"))
    }

    /// Renders calls in the family's own form. `None`: bare JSON was asked for, or a value contains a marker of the form and
    /// would not be read back.
    fn in_own_form(&self, calls: &[ToolCall]) -> Result<Option<String>, Error> {
        let Some(family) = self.family else { return Ok(None) };
        let written = |call: &ToolCall| {
            let id = (!call.id.is_empty()).then(|| call.id.clone());
            Some(Written { name: call.name.clone(), id, arguments: serde_json::from_str(&call.arguments).ok()? })
        };
        let written: Option<Vec<Written>> = calls.iter().map(written).collect();
        let carried = written.filter(|written| family.carries(written)).and_then(|written| family.write(&written));
        let Some(_) = family.prompt.call.as_ref().filter(|_| carried.is_some() || !family.has_form()) else {
            return Ok(carried);
        };
        let calls = calls.iter().enumerate().map(|(index, call)| self.call("call", index, call));
        let calls: Vec<String> = calls.collect::<Result<_, Error>>()?;
        self.render("calls", context! { calls }).map(Some)
    }

    /// Renders a turn of the assistant: its text, then its calls as it should have written them.
    fn assistant(&self, message: &Message) -> Result<Message, Error> {
        let mut lines = vec![message.content.to_text()];
        lines.retain(|text| !text.is_empty());
        let own = self.in_own_form(&message.tool_calls)?;
        lines.push(own.map_or_else(|| self.in_json(&message.tool_calls), Ok)?);
        let mut turn = message.clone();
        turn.content = Content::Text(lines.join("\n"));
        turn.tool_calls.clear();
        Ok(turn)
    }

    /// Renders a result. Parts of it that are not text follow its text.
    fn result(&self, message: &Message, all: &[Message], tools: &Tools) -> Result<Message, Error> {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        let calls = all.iter().rev().flat_map(|message| message.tool_calls.iter().rev());
        let called = calls.into_iter().find(|call| call.id == id).map(|call| call.name.as_str());
        let name = called.or_else(|| message.rest.get("name").and_then(Value::as_str)).unwrap_or("tool");
        let source = tools.by_wire_name(name).and_then(|tool| match &tool.origin {
            Origin::Registry { server, tool } => Some(format!("{server}.{tool}")),
            Origin::Client => None,
        });
        let content = message.content.text();
        let template = self.environment.get_template("result").map_err(|error| failed("result", &error))?;
        let content = quote::enclosed(&content, template.source());
        let text = self.render("result", context! { name, source, content, id })?;
        let mut content = Content::Text(text);
        if let Content::Parts(parts) = &message.content {
            let others: Vec<Value> = parts.iter().filter(|part| part.get("text").is_none()).cloned().collect();
            if !others.is_empty() {
                content = concat(content, Content::Parts(others));
            }
        }
        Ok(Message { role: "user".to_owned(), content, ..Message::default() })
    }
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > RENDERED_BYTES {
            return Err(io::Error::other("the rendered text is too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failed(name: &str, error: &dyn fmt::Display) -> Error {
    Error::proxy(format!("the adapter's [prompt] {name} template fails: {error}"))
}
