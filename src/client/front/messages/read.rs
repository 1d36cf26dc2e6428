//! Reads a request of `/v1/messages`. Every valid field is accepted; fields without a meaning for a local model are ignored. What
//! the user says is never dropped: a block that cannot be read is refused.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{Request, without_alias};
use crate::{
    client::front::{
        conversation::{self, Conversation},
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
        talk.system("system", system)?;
    }
    for (at, message) in messages.iter().enumerate() {
        talk.message(&format!("messages[{at}]"), message)?;
    }
    let Talk { conversation, found, mut warnings } = talk;
    let tools = tools(openai::list(&body, "tools")?, &found, &mut warnings)?;
    if !openai::list(&body, "mcp_servers")?.is_empty() {
        let text = "`mcp_servers` was left out: toolglot runs tools of its own registry only".into();
        warnings.push(Note::Warning { code: "field_ignored", text });
    }
    let model = without_alias(body.get("model").and_then(Value::as_str).unwrap_or_default());
    let chat = conversation.request(&body, model, tools, settings(&body)?)?;
    Ok(Request { chat, warnings, ..Request::default() })
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
        let (inside, content) = (format!("{place}.content"), &message["content"]);
        match message["role"].as_str() {
            Some("system" | "developer") => self.system(&inside, content),
            Some("assistant") => self.assistant(&inside, content),
            Some("user" | "ctx" | "msg") => self.user(&inside, content),
            _ => Err(Error::client(format!("`{place}.role` must be user, assistant or system"))),
        }
    }

    /// System text, without what changes with every request and means nothing to a local model.
    fn system(&mut self, place: &str, content: &Value) -> Result<(), Error> {
        for (place, block) in conversation::parts(place, content)? {
            let text = conversation::said(&place, &block, "text")?;
            if !text.starts_with(BILLING) && !is_countdown(text) {
                self.conversation.system(text);
            }
        }
        Ok(())
    }

    /// Blocks of other kinds come from tools that ran at a provider.
    fn assistant(&mut self, place: &str, content: &Value) -> Result<(), Error> {
        for (_, block) in conversation::parts(place, content)? {
            let field = |name: &str| block[name].as_str().unwrap_or_default();
            match kind(&block) {
                "text" => self.conversation.assistant(field("text")),
                "thinking" => self.conversation.reasoning(field("thinking")),
                "tool_use" => {
                    let (id, name) = (field("id").to_owned(), field("name").to_owned());
                    self.conversation.call(ToolCall { id, name, arguments: arguments(&block["input"]), extra: None });
                }
                other => tracing::debug!(kind = other, "a block of the assistant is left out"),
            }
        }
        Ok(())
    }

    /// Results first: they answer the calls of the message before.
    fn user(&mut self, place: &str, content: &Value) -> Result<(), Error> {
        let mut said = Vec::new();
        for (place, block) in conversation::parts(place, content)? {
            match kind(&block) {
                "tool_result" => self.result(&place, &block)?,
                _ => said.extend(self.part(&place, &block)?),
            }
        }
        self.conversation.user(conversation::content(said));
        Ok(())
    }

    fn result(&mut self, place: &str, result: &Value) -> Result<(), Error> {
        let mut parts = self.parts(&format!("{place}.content"), &result["content"])?;
        let says_so = |part: &Value| part["text"].as_str().is_some_and(|text| text.to_lowercase().contains("error"));
        // The model has to see that the call failed.
        if result["is_error"] == true && !parts.iter().any(says_so) {
            begin_with("ERROR: ", &mut parts);
        }
        self.conversation.result(result["tool_use_id"].as_str().unwrap_or_default(), conversation::content(parts));
        Ok(())
    }

    /// The blocks of a content, which may be absent, as parts of a message.
    fn parts(&mut self, place: &str, content: &Value) -> Result<Vec<Value>, Error> {
        let mut out = Vec::new();
        if !content.is_null() {
            for (place, block) in conversation::parts(place, content)? {
                out.extend(self.part(&place, &block)?);
            }
        }
        Ok(out)
    }

    /// A block of the user, or of a result, as parts of a message.
    fn part(&mut self, place: &str, block: &Value) -> Result<Vec<Value>, Error> {
        let part = match kind(block) {
            "text" => conversation::text(conversation::said(place, block, "text")?),
            "image" => self.image(place, &block["source"])?,
            "document" | "search_result" => return self.document(place, block),
            "tool_reference" => {
                let name = conversation::said(place, block, "tool_name")?;
                self.found.push(name.to_owned());
                conversation::text(format!("Tool {name} is now available."))
            }
            other => {
                return Err(Error::client(format!(
                    "`{place}` is a block of type `{other}`, which cannot be passed on; possible are text, image, document, search_result and tool_result"
                )));
            }
        };
        Ok(vec![part])
    }

    fn image(&mut self, place: &str, source: &Value) -> Result<Value, Error> {
        match (kind(source), source["media_type"].as_str(), source["data"].as_str(), source["url"].as_str()) {
            ("base64", Some(kind), Some(data), _) => Ok(conversation::image(format!("data:{kind};base64,{data}"))),
            ("url", _, _, Some(url)) => Ok(conversation::image(url)),
            ("" | "base64" | "url", ..) => Err(Error::client(format!(
                "`{place}.source` must be an image: {{\"type\": \"base64\", \"media_type\": .., \"data\": ..}} or {{\"type\": \"url\", \"url\": ..}}"
            ))),
            _ => Ok(files::image_elsewhere(place, &mut self.warnings)),
        }
    }

    /// The content of a document, or its name.
    fn document(&mut self, place: &str, block: &Value) -> Result<Vec<Value>, Error> {
        let source = &block["source"];
        let field = |name: &str| source[name].as_str();
        let title = block["title"].as_str();
        let name = title.or(field("url")).unwrap_or("without a name");
        let mut inside = match (kind(source), field("data")) {
            ("base64", Some(data)) => {
                return Ok(vec![files::file(
                    title.unwrap_or("document"),
                    field("media_type").unwrap_or("application/pdf"),
                    data,
                )]);
            }
            ("text", Some(data)) => vec![conversation::text(data)],
            ("content", _) => self.parts(&format!("{place}.source.content"), &source["content"])?,
            _ => self.parts(&format!("{place}.content"), &block["content"])?,
        };
        if inside.is_empty() {
            let what = "a document that lies on another server or has no content";
            inside.push(files::left_out(place, what, format!("[document {name}: not supported]"), &mut self.warnings));
        } else {
            begin_with(&format!("{name}\n\n"), &mut inside);
        }
        Ok(inside)
    }
}

/// Puts words before the first text.
fn begin_with(words: &str, parts: &mut Vec<Value>) {
    match parts.first_mut().and_then(|part| part.get_mut("text")) {
        Some(Value::String(text)) => text.insert_str(0, words),
        _ => parts.insert(0, conversation::text(words.trim_end())),
    }
}

fn kind(block: &Value) -> &str {
    block["type"].as_str().unwrap_or_default()
}

/// Whether a text is Claude Code's count of the tokens left in Anthropic's context. It does not apply to the local model, and
/// changes in each turn.
fn is_countdown(text: &str) -> bool {
    let text = text.trim();
    let inside = text.strip_prefix("<system-reminder>").and_then(|text| text.strip_suffix("</system-reminder>"));
    let text = inside.unwrap_or(text).trim();
    text.starts_with("<total_tokens>") && text.ends_with("</total_tokens>")
}

/// The arguments of a call. If Claude Code could not read them, the model's own text, which is mended like any other.
fn arguments(input: &Value) -> String {
    let written = conversation::arguments(input);
    let unread = written.contains(UNPARSED).then(|| serde_json::from_str::<Value>(&written).ok()).flatten();
    unread.and_then(|input| Some(input[UNPARSED]["raw"].as_str()?.to_owned())).unwrap_or(written)
}

/// The tools that are offered, as functions. Deferred ones only once they were found, after all others: the beginning of
/// the prompt stays as it was.
fn tools(tools: &[Value], found: &[String], warnings: &mut Vec<Note>) -> Result<Vec<Value>, Error> {
    let mut offered = Vec::new();
    for (at, tool) in tools.iter().enumerate().filter(|(_, tool)| tool["defer_loading"] != true) {
        match kind(tool) {
            "" | "custom" if tool["name"].as_str().is_none_or(str::is_empty) => {
                return Err(Error::client(format!("`tools[{at}].name` must be a non-empty string")));
            }
            "" | "custom" => offered.push(function(at, tool)?),
            other => warnings.push(not_offered(at, other)),
        }
    }
    let mut seen = HashSet::new();
    let found = found.iter().filter(|wanted| seen.insert(*wanted));
    let place = |wanted: &String| tools.iter().position(|tool| tool["defer_loading"] == true && tool["name"] == **wanted);
    for at in found.filter_map(place) {
        offered.push(function(at, &tools[at])?);
    }
    Ok(offered)
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
fn settings(body: &Map<String, Value>) -> Result<Value, Error> {
    let field = |name: &str| body.get(name).unwrap_or(&Value::Null);
    let (choice, output) = (field("tool_choice"), field("output_config"));
    let effort = output["effort"].as_str().filter(|_| kind(field("thinking")) != "disabled").map(|effort| match effort {
        "xhigh" | "max" => "high",
        other => other,
    });
    let format = output.get("format").unwrap_or(field("output_format"));
    let schema = json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": format["schema"]}});
    Ok(json!({
        "max_tokens": field("max_tokens"),
        "temperature": field("temperature"),
        "top_p": field("top_p"),
        "top_k": field("top_k"),
        "stop": Some(field("stop_sequences")).filter(|stop| **stop != json!([])),
        "tool_choice": tool_choice(choice)?,
        "parallel_tool_calls": (choice["disable_parallel_tool_use"] == true).then_some(false),
        "reasoning_effort": effort,
        "response_format": (kind(format) == "json_schema").then_some(schema),
    }))
}

/// The choice in OpenAI's words; `None`: the model decides.
fn tool_choice(choice: &Value) -> Result<Option<Value>, Error> {
    match kind(choice) {
        "" if choice.is_null() => Ok(None),
        "auto" => Ok(None),
        "any" => Ok(Some(json!("required"))),
        "none" => Ok(Some(json!("none"))),
        "tool" if choice["name"].is_string() => Ok(Some(json!({"type": "function", "function": {"name": choice["name"]}}))),
        "tool" => Err(Error::client("`tool_choice.name` must be the name of a tool")),
        _ => {
            let what = "an object with the `type` auto, any, none, or tool with a `name`";
            Err(Error::client(format!("`tool_choice` is {choice}; it must be {what}")))
        }
    }
}
