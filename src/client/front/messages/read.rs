//! Reads a request of `/v1/messages`. Every valid field is accepted; fields without a meaning for a local model are ignored. What
//! the user says is never dropped: a block that cannot be read is refused.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{super::conversation, Request, without_alias};
use crate::{
    client::front::{
        conversation::{Conversation, Settings},
        exact::{self, Path},
        files, not_offered, schema,
    },
    error::Error,
    event::Note,
    openai::{self, ToolCall},
};

/// Claude Code describes itself for Anthropic's accounting in the first block of the system text. It changes with every
/// request in older versions, which made the backend read everything anew.
const BILLING: &str = "x-anthropic-billing-header";
/// Where a request has the arguments of earlier calls.
const ARGUMENTS: Path = &["messages", "content", "input"];
/// What Claude Code makes of arguments that it could not read.
const UNPARSED: &str = "__unparsedToolInput";

/// Reads the body.
///
/// # Errors
/// 400, with the field that is wrong.
pub fn read(body: &[u8]) -> Result<Request, Error> {
    let Value::Object(mut body) = exact::read(body, ARGUMENTS)? else {
        return Err(Error::client("the request body must be a JSON object"));
    };
    let Some(Value::Array(messages)) = body.shift_remove("messages") else {
        return Err(Error::client("`messages` must be an array of messages"));
    };
    openai::numbers(&body, &["max_tokens", "temperature", "top_p", "top_k"])?;
    let mut talk = Talk::default();
    if let Some(system) = body.get("system").filter(|system| !system.is_null()) {
        for text in system_texts("system", system)?.into_iter().filter(|text| !text.starts_with(BILLING)) {
            talk.conversation.system(text);
        }
    }
    for (at, message) in messages.iter().enumerate() {
        talk.message(&format!("messages[{at}]"), message)?;
    }
    let mut warnings = std::mem::take(&mut talk.warnings);
    let listed = openai::list(&body, "tools")?;
    let tools = tools(listed, &talk.found, &mut warnings)?;
    warnings.extend(body.get("mcp_servers").filter(|servers| is_filled(servers)).map(|_| Note::Warning {
        code: "field_ignored",
        text: "`mcp_servers` was left out: toolglot runs tools of its own registry only".into(),
    }));
    let mut settings = settings(&body);
    settings.set("tool_choice", tool_choice(body.get("tool_choice"), listed, &tools)?);
    let model = without_alias(body.get("model").and_then(Value::as_str).unwrap_or_default());
    let chat = talk.conversation.request(&body, model, tools, settings)?;
    Ok(Request { chat, warnings, ..Request::default() })
}

fn is_filled(list: &Value) -> bool {
    list.as_array().is_some_and(|list| !list.is_empty())
}

/// Reads the messages.
#[derive(Default)]
struct Talk {
    conversation: Conversation,
    /// Tools that were looked up in the conversation, in this order.
    found: Vec<String>,
    /// What the model does not get of the messages.
    warnings: Vec<Note>,
}

impl Talk {
    /// Takes the message at this place of the body.
    fn message(&mut self, place: &str, message: &Value) -> Result<(), Error> {
        let role = message.get("role").and_then(Value::as_str);
        let content = message.get("content").unwrap_or(&Value::Null);
        let place_of_content = format!("{place}.content");
        match role {
            Some("system" | "developer") => {
                for text in system_texts(&place_of_content, content)?.into_iter().filter(|text| !is_countdown(text)) {
                    self.conversation.system(text);
                }
            }
            Some("assistant") => self.assistant(&blocks(&place_of_content, content)?),
            Some("user" | "ctx" | "msg") => self.user(&place_of_content, content)?,
            _ => return Err(Error::client(format!("`{place}.role` must be user, assistant or system"))),
        }
        Ok(())
    }

    /// Blocks of other kinds come from tools that ran at a provider.
    fn assistant(&mut self, blocks: &[Value]) {
        for block in blocks {
            let field = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
            match kind(block) {
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
    fn user(&mut self, place: &str, content: &Value) -> Result<(), Error> {
        let mut said = Vec::new();
        for (at, block) in blocks(place, content)?.iter().enumerate() {
            let place = format!("{place}[{at}]");
            match kind(block) {
                "tool_result" => self.result(&place, block)?,
                _ => said.extend(parts(&place, block, &mut self.warnings)?),
            }
        }
        self.conversation.user(conversation::content(said));
        Ok(())
    }

    fn result(&mut self, place: &str, result: &Value) -> Result<(), Error> {
        let id = result.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
        let mut parts = Vec::new();
        if let Some(content) = result.get("content").filter(|content| !content.is_null()) {
            let place = format!("{place}.content");
            for (at, block) in blocks(&place, content)?.iter().enumerate() {
                match (kind(block), block.get("tool_name").and_then(Value::as_str)) {
                    ("tool_reference", Some(name)) => {
                        self.found.push(name.to_owned());
                        parts.push(conversation::text(format!("Tool {name} is now available.")));
                    }
                    _ => parts.extend(self::parts(&format!("{place}[{at}]"), block, &mut self.warnings)?),
                }
            }
        }
        if result.get("is_error").and_then(Value::as_bool) == Some(true) {
            mark_error(&mut parts);
        }
        self.conversation.result(id, conversation::content(parts));
        Ok(())
    }
}

/// The blocks of a content; a string is one block of text.
fn blocks(place: &str, content: &Value) -> Result<Vec<Value>, Error> {
    match content {
        Value::String(text) => Ok(vec![json!({"type": "text", "text": text})]),
        Value::Array(blocks) => match blocks.iter().position(|block| kind(block).is_empty()) {
            Some(at) => Err(Error::client(format!("`{place}[{at}]` must be an object with a `type`"))),
            None => Ok(blocks.clone()),
        },
        other => {
            let what = openai::kind(other);
            Err(Error::client(format!("`{place}` must be a string or an array of content blocks, but it is {what}")))
        }
    }
}

/// The texts of a system text.
fn system_texts(place: &str, content: &Value) -> Result<Vec<String>, Error> {
    let blocks = blocks(place, content)?;
    let texts = blocks.iter().enumerate().map(|(at, block)| text_of(&format!("{place}[{at}]"), block).map(str::to_owned));
    texts.collect()
}

fn text_of<'b>(place: &str, block: &'b Value) -> Result<&'b str, Error> {
    let text = block.get("text").and_then(Value::as_str);
    text.ok_or_else(|| Error::client(format!("`{place}.text` must be a string")))
}

fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect(),
        _ => Vec::new(),
    }
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

/// A block of the user, or of a result, as parts of a message.
fn parts(place: &str, block: &Value, warnings: &mut Vec<Note>) -> Result<Vec<Value>, Error> {
    match kind(block) {
        "text" => text_of(place, block).map(|text| vec![conversation::text(text)]),
        "image" => {
            let source = block.get("source").unwrap_or(&Value::Null);
            let image = image(source).ok_or_else(|| {
                Error::client(format!(
                    "`{place}.source` must be an image: {{\"type\": \"base64\", \"media_type\": .., \"data\": ..}} or {{\"type\": \"url\", \"url\": ..}}"
                ))
            })?;
            if !matches!(kind(source), "base64" | "url") {
                warnings.push(files::left_out(place, "an image that lies on another server"));
            }
            Ok(vec![image])
        }
        "document" | "search_result" => document(place, block, warnings),
        other => Err(Error::client(format!(
            "`{place}` is a block of type `{other}`, which cannot be passed on; possible are text, image, document, search_result and tool_result"
        ))),
    }
}

fn image(source: &Value) -> Option<Value> {
    let field = |name: &str| source.get(name).and_then(Value::as_str);
    match kind(source) {
        "" => None,
        "base64" => Some(conversation::image(format!("data:{};base64,{}", field("media_type")?, field("data")?))),
        "url" => Some(conversation::image(field("url")?)),
        _ => Some(conversation::text("[an image that lies on another server]")),
    }
}

/// The content of a document, or its name.
fn document(place: &str, block: &Value, warnings: &mut Vec<Note>) -> Result<Vec<Value>, Error> {
    let source = block.get("source").unwrap_or(&Value::Null);
    let field = |name: &str| source.get(name).and_then(Value::as_str);
    let title = block.get("title").and_then(Value::as_str);
    let name = title.or(field("url")).unwrap_or("without a name");
    let inside: Vec<&str> = match (kind(source), field("data")) {
        ("base64", Some(data)) => {
            return Ok(vec![files::file(title.unwrap_or("document"), field("media_type").unwrap_or("application/pdf"), data)]);
        }
        ("text", Some(data)) => vec![data],
        ("content", _) => texts(&source["content"]),
        _ => texts(&block["content"]),
    };
    let images = source.get("content").and_then(Value::as_array).filter(|_| kind(source) == "content");
    let images = images.into_iter().flatten().filter(|block| kind(block) == "image");
    let mut out = Vec::new();
    for image in images {
        out.extend(parts(place, image, warnings)?);
    }
    if inside.is_empty() && out.is_empty() {
        warnings.push(files::left_out(place, "a document that lies on another server or has no content"));
        out.push(conversation::text(format!("[document {name}: not supported]")));
    } else {
        out.insert(0, conversation::text(files::named(name, &inside.join("\n\n"))));
    }
    Ok(out)
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
    let unread = |text: &str| {
        let input: Value = serde_json::from_str(text).ok()?;
        input.get(UNPARSED)?.get("raw")?.as_str().map(str::to_owned)
    };
    match input {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) if text.contains(UNPARSED) => unread(text).unwrap_or_else(|| text.clone()),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The tools that are offered, as functions. Deferred ones only once they were found, after all others: the beginning of
/// the prompt stays as it was.
fn tools(tools: &[Value], found: &[String], warnings: &mut Vec<Note>) -> Result<Vec<Value>, Error> {
    let mut offered = Vec::new();
    for (at, tool) in tools.iter().enumerate().filter(|(_, tool)| !deferred(tool)) {
        match kind(tool) {
            "" | "custom" if name(tool).is_empty() => {
                return Err(Error::client(format!("`tools[{at}].name` must be a non-empty string")));
            }
            "" | "custom" => offered.push(function(at, tool)?),
            other => warnings.push(not_offered(at, other)),
        }
    }
    let mut seen = HashSet::new();
    let found = found.iter().filter(|wanted| seen.insert(*wanted));
    let place = |wanted: &String| tools.iter().position(|tool| deferred(tool) && name(tool) == wanted.as_str());
    for at in found.filter_map(place) {
        offered.push(function(at, &tools[at])?);
    }
    Ok(offered)
}

/// Whether the model gets the tool only once it was looked up.
fn deferred(tool: &Value) -> bool {
    tool.get("defer_loading").and_then(Value::as_bool) == Some(true)
}

fn name(tool: &Value) -> &str {
    tool.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn function(at: usize, tool: &Value) -> Result<Value, Error> {
    let mut schema = schema(&format!("tools[{at}]"), tool, "input_schema")?.cloned().unwrap_or_default();
    schema.entry("type").or_insert(json!("object"));
    let mut function = json!({"name": tool["name"], "parameters": schema});
    if let Some(description) = tool.get("description").filter(|description| description.is_string()) {
        function["description"] = description.clone();
    }
    Ok(json!({"type": "function", "function": function}))
}

/// All other fields that mean something to a local model, in OpenAI's words.
fn settings(body: &Map<String, Value>) -> Settings {
    let stop = body.get("stop_sequences").filter(|stop| *stop != &json!([])).cloned();
    let same = [("max_tokens", "max_tokens"), ("temperature", "temperature"), ("top_p", "top_p"), ("top_k", "top_k")];
    let mut out = Settings::of(body, &same);
    out.set("stop", stop);
    let choice = body.get("tool_choice").unwrap_or(&Value::Null);
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

/// The choice in OpenAI's words; `None`: the model decides.
fn tool_choice(choice: Option<&Value>, listed: &[Value], offered: &[Value]) -> Result<Option<Value>, Error> {
    let Some(choice) = choice.filter(|choice| !choice.is_null()) else { return Ok(None) };
    match kind(choice) {
        "auto" => Ok(None),
        "any" => Ok(Some(json!("required"))),
        "none" => Ok(Some(json!("none"))),
        "tool" => match choice.get("name").and_then(Value::as_str) {
            Some(chosen) => match listed.iter().find(|tool| name(tool) == chosen) {
                Some(tool) if !offered.iter().any(|offered| offered["function"]["name"] == chosen) => {
                    let why = if deferred(tool) { "was not looked up yet" } else { "is not a function" };
                    Err(Error::client(format!("`tool_choice` names `{chosen}`, which {why} and is not offered")))
                }
                _ => Ok(Some(json!({"type": "function", "function": {"name": chosen}}))),
            },
            None => Err(Error::client("`tool_choice.name` must be the name of a tool")),
        },
        _ => {
            let what = "an object with the `type` auto, any, none, or tool with a `name`";
            Err(Error::client(format!("`tool_choice` is {choice}; it must be {what}")))
        }
    }
}
