//! Reads a request of `/v1/messages`. Every valid field is accepted; fields without a meaning for a local model are ignored.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{super::conversation, Request, without_alias};
use crate::{
    client::front::conversation::{Conversation, Settings},
    error::Error,
    openai::{self, ToolCall},
};

/// Claude Code describes itself for Anthropic's accounting in the first block of the system text. It changes with every
/// request in older versions, which made the backend read everything anew.
const BILLING: &str = "x-anthropic-billing-header";
/// What Claude Code makes of arguments that it could not read.
const UNPARSED: &str = "__unparsedToolInput";

/// Reads the body.
pub fn read(body: &[u8]) -> Result<Request, Error> {
    let Value::Object(mut body) = openai::json(body)? else {
        return Err(Error::client("the request body must be a JSON object"));
    };
    let Some(Value::Array(messages)) = body.shift_remove("messages") else {
        return Err(Error::client("`messages` must be an array of messages"));
    };
    let mut talk = Talk::default();
    for text in texts(body.get("system")).filter(|text| !text.starts_with(BILLING)) {
        talk.conversation.system(text.to_owned());
    }
    for (at, message) in messages.iter().enumerate() {
        talk.message(at, message)?;
    }
    let tools = tools(body.get("tools"), &talk.found)?;
    let model = without_alias(body.get("model").and_then(Value::as_str).unwrap_or_default());
    Ok(talk.conversation.request(&body, model, tools, settings(&body))?.into())
}

/// Reads the messages.
#[derive(Default)]
struct Talk {
    conversation: Conversation,
    /// Tools that were looked up in the conversation, in this order.
    found: Vec<String>,
}

impl Talk {
    fn message(&mut self, at: usize, message: &Value) -> Result<(), Error> {
        let role = message.get("role").and_then(Value::as_str);
        let content = message.get("content").unwrap_or(&Value::Null);
        match role {
            Some("system" | "developer") => {
                for text in texts(Some(content)).filter(|text| !is_countdown(text)) {
                    self.conversation.system(text.to_owned());
                }
            }
            Some("assistant") => self.assistant(content),
            Some("user" | "ctx" | "msg") => self.user(content),
            _ => return Err(Error::client(format!("`messages[{at}].role` must be user, assistant or system"))),
        }
        Ok(())
    }

    fn assistant(&mut self, content: &Value) {
        for block in blocks(content) {
            let field = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
            match kind(&block) {
                "text" => self.conversation.assistant(field("text")),
                "thinking" => self.conversation.reasoning(field("thinking")),
                "tool_use" => {
                    let (id, name) = (field("id").to_owned(), field("name").to_owned());
                    let arguments = arguments(block.get("input"));
                    self.conversation.call(ToolCall { id, name, arguments, extra: None });
                }
                other => tracing::debug!(kind = other, "a block of the assistant is left out"),
            }
        }
    }

    /// Results first: they answer the calls of the message before.
    fn user(&mut self, content: &Value) {
        let (results, parts): (Vec<Value>, Vec<Value>) =
            blocks(content).into_iter().partition(|block| kind(block) == "tool_result");
        for result in results {
            let id = result.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
            let mut parts: Vec<Value> = blocks(result.get("content").unwrap_or(&Value::Null))
                .iter()
                .filter_map(|block| {
                    if kind(block) == "tool_reference" {
                        let name = block.get("tool_name").and_then(Value::as_str)?;
                        self.found.push(name.to_owned());
                        return Some(conversation::text(format!("Tool {name} is now available.")));
                    }
                    part(block)
                })
                .collect();
            if result.get("is_error").and_then(Value::as_bool) == Some(true) {
                mark_error(&mut parts);
            }
            self.conversation.result(id, conversation::content(parts));
        }
        self.conversation.user(conversation::content(parts.iter().filter_map(part).collect()));
    }
}

/// The blocks of a content; a string is one block of text.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn texts(content: Option<&Value>) -> impl Iterator<Item = &str> {
    let (whole, blocks) = match content {
        Some(Value::String(text)) => (Some(text.as_str()), &[][..]),
        Some(Value::Array(blocks)) => (None, blocks.as_slice()),
        _ => (None, &[][..]),
    };
    whole.into_iter().chain(blocks.iter().filter_map(|block| block.get("text")?.as_str()))
}

fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Whether a text is Claude Code's count of the tokens left in Anthropic's context. It does not apply to the local model, and
/// changes in each turn.
fn is_countdown(text: &str) -> bool {
    let text = text.trim();
    let inside = text.strip_prefix("<system-reminder>").and_then(|text| text.strip_suffix("</system-reminder>"));
    let text = inside.unwrap_or(text).trim();
    text.starts_with("<total_tokens>") && text.ends_with("</total_tokens>")
}

/// A block of the user as a part of a message.
fn part(block: &Value) -> Option<Value> {
    let text = |name: &str| block.get(name).and_then(Value::as_str);
    match kind(block) {
        "text" => text("text").map(conversation::text),
        "image" => Some(image(block.get("source")?)),
        "document" | "search_result" => Some(conversation::text(document(block))),
        other => {
            tracing::debug!(kind = other, "a block of the user is left out");
            None
        }
    }
}

fn image(source: &Value) -> Value {
    let field = |name: &str| source.get(name).and_then(Value::as_str).unwrap_or_default();
    match kind(source) {
        "base64" => conversation::image(format!("data:{};base64,{}", field("media_type"), field("data"))),
        "url" => conversation::image(field("url")),
        _ => conversation::text("[an image that lies on another server]"),
    }
}

/// The text of a document, or its name.
fn document(block: &Value) -> String {
    let source = block.get("source").unwrap_or(&Value::Null);
    let inside: Vec<&str> = match kind(source) {
        "text" => source.get("data").and_then(Value::as_str).into_iter().collect(),
        "content" => texts(source.get("content")).collect(),
        _ => texts(block.get("content")).collect(),
    };
    let title = block.get("title").and_then(Value::as_str).unwrap_or("without a name");
    if inside.is_empty() { format!("[document {title}: not supported]") } else { format!("{title}\n\n{}", inside.join("\n\n")) }
}

/// The model has to see that the call failed.
fn mark_error(parts: &mut Vec<Value>) {
    let said = parts.iter().filter_map(|part| part.get("text")?.as_str()).any(|text| text.to_lowercase().contains("error"));
    if said {
        return;
    }
    match parts.first_mut().and_then(|part| part.get_mut("text")) {
        Some(Value::String(text)) => text.insert_str(0, "ERROR: "),
        _ => parts.insert(0, conversation::text("ERROR")),
    }
}

/// The arguments of a call. If Claude Code could not read them, the model's own text, which is mended like any other.
fn arguments(input: Option<&Value>) -> String {
    let raw = input.and_then(|input| input.get(UNPARSED)?.get("raw")?.as_str());
    match (raw, input) {
        (Some(raw), _) => raw.to_owned(),
        (None, Some(Value::String(text))) => text.clone(),
        (None, Some(input)) if !input.is_null() => input.to_string(),
        _ => "{}".to_owned(),
    }
}

/// The tools that are offered, as functions. Deferred ones only once they were found, after all others: the beginning of
/// the prompt stays as it was.
fn tools(tools: Option<&Value>, found: &[String]) -> Result<Vec<Value>, Error> {
    let tools = tools.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let deferred = |tool: &Value| tool.get("defer_loading").and_then(Value::as_bool) == Some(true);
    let name = |tool: &Value| tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut offered = Vec::new();
    for (at, tool) in tools.iter().enumerate().filter(|(_, tool)| !deferred(tool)) {
        match kind(tool) {
            "" | "custom" if name(tool).is_empty() => {
                return Err(Error::client(format!("`tools[{at}].name` must be a non-empty string")));
            }
            "" | "custom" => offered.push(function(tool)),
            other => tracing::info!(kind = other, "a tool that runs at the provider is not offered"),
        }
    }
    let mut seen = HashSet::new();
    let found = found.iter().filter(|wanted| seen.insert(*wanted));
    let found = found.filter_map(|wanted| tools.iter().find(|tool| deferred(tool) && name(tool) == *wanted));
    offered.extend(found.map(function));
    Ok(offered)
}

fn function(tool: &Value) -> Value {
    let mut schema = tool.get("input_schema").and_then(Value::as_object).cloned().unwrap_or_default();
    schema.entry("type").or_insert(json!("object"));
    let mut function = json!({"name": tool["name"], "parameters": schema});
    if let Some(description) = tool.get("description").filter(|description| description.is_string()) {
        function["description"] = description.clone();
    }
    json!({"type": "function", "function": function})
}

/// All other fields that mean something to a local model, in OpenAI's words.
fn settings(body: &Map<String, Value>) -> Settings {
    let stop = body.get("stop_sequences").filter(|stop| *stop != &json!([])).cloned();
    let same = [("max_tokens", "max_tokens"), ("temperature", "temperature"), ("top_p", "top_p"), ("top_k", "top_k")];
    let mut out = Settings::of(body, &same);
    out.set("stop", stop);
    let choice = body.get("tool_choice").unwrap_or(&Value::Null);
    out.set(
        "tool_choice",
        match kind(choice) {
            "" | "auto" => None,
            "any" => Some(json!("required")),
            "tool" => Some(json!({"type": "function", "function": {"name": choice.get("name")}})),
            // `none`, or a word that is no choice.
            other => Some(json!(other)),
        },
    );
    if choice.get("disable_parallel_tool_use").and_then(Value::as_bool) == Some(true) {
        out.set("parallel_tool_calls", Some(json!(false)));
    }
    let output = body.get("output_config").unwrap_or(&Value::Null);
    let effort = output.get("effort").and_then(Value::as_str).map(|effort| match effort {
        "xhigh" | "max" => "high",
        other => other,
    });
    let thinks = body.get("thinking").is_none_or(|thinking| kind(thinking) != "disabled");
    out.set("reasoning_effort", effort.filter(|_| thinks).map(Value::from));
    let format = output.get("format").or(body.get("output_format")).unwrap_or(&Value::Null);
    if kind(format) == "json_schema" {
        let schema = json!({"name": "answer", "schema": format.get("schema")});
        out.set("response_format", Some(json!({"type": "json_schema", "json_schema": schema})));
    }
    out
}
