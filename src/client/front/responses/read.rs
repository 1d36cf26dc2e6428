//! Reads a request of `/v1/responses`. Items and tools of an unknown type are ignored, because clients send some that only
//! OpenAI's servers know. What a message or a result says is never dropped: a part that cannot be read is refused.

use serde_json::{Map, Value, json};

use super::{
    Request,
    offered::{Offered, flat},
};
use crate::{
    client::front::{
        conversation::{self, Conversation},
        files,
    },
    error::Error,
    event::Note,
    openai,
};

/// Reads the body, in which so many items of earlier responses come before the new ones.
///
/// # Errors
/// 400, with the field that is wrong (`not_supported` for `background`).
pub fn read(body: Value, earlier: usize) -> Result<Request, Error> {
    let Value::Object(body) = body else { return Err(Error::client("the request body must be a JSON object")) };
    if body.get("background").and_then(Value::as_bool) == Some(true) {
        return Err(Error::client("`background` is not supported: ask with `\"stream\": true`").with_code("not_supported"));
    }
    if body.get("input").is_none_or(Value::is_null) {
        return Err(Error::client("`input` is missing: a string, or an array of items"));
    }
    openai::numbers(&body, &["max_output_tokens", "temperature", "top_p"])?;
    let items = items(body.get("input"))?;
    let instructions = body.get("instructions").and_then(Value::as_str).unwrap_or_default();
    let tools = openai::list(&body, "tools")?;
    let offered = Offered::read(tools, instructions.contains(PATCH) || speaks_of_patches(&items))?;
    let mut talk = Talk { offered: &offered, conversation: Conversation::default(), warnings: Vec::new() };
    talk.conversation.system(instructions);
    for (at, item) in items.iter().enumerate() {
        talk.item(&format!("input[{}]", at.saturating_sub(earlier)), item)?;
    }
    let Talk { conversation, warnings: left_out, .. } = talk;
    let model = body.get("model").and_then(Value::as_str).unwrap_or_default();
    let Offered { functions, special, mut warnings } = offered;
    let settings = settings(&body, &mut warnings)?;
    warnings.extend(left_out);
    warnings.extend(IGNORED.iter().filter(|(name, _)| !body.get(*name).unwrap_or(&Value::Null).is_null()).map(ignored));
    let chat = conversation.request(&body, model, functions, settings)?;
    Ok(Request { chat, special, echo: echo(&body), warnings })
}

/// Fields without which the request has another meaning, and what to do instead.
const IGNORED: &[(&str, &str)] = &[
    ("conversation", "send `previous_response_id` or all items in `input`"),
    ("prompt", "send its text as `instructions` and `input`"),
];

fn ignored((name, instead): &(&str, &str)) -> Note {
    Note::Warning { code: "field_ignored", text: format!("`{name}` is kept only at OpenAI and was left out: {instead}") }
}

/// A tool that a client's prompt may mention although the client does not offer it.
const PATCH: &str = "apply_patch";

/// The items of `input`; a string is one message of the user.
///
/// # Errors
/// 400 if something in it cannot be read.
pub fn items(input: Option<&Value>) -> Result<Vec<Value>, Error> {
    match input {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) if text.is_empty() => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![json!({"type": "message", "role": "user", "content": text})]),
        Some(Value::Array(items)) => Ok(items.clone()),
        Some(other) => {
            let what = openai::kind(other);
            Err(Error::client(format!("`input` must be a string or an array of items, but it is {what}")))
        }
    }
}

/// The id of the stored item for which this one stands. The type may be left out.
pub fn referred(item: &Value) -> Option<&str> {
    let id = item["id"].as_str()?;
    let is_reference = match item["type"].as_str() {
        Some(kind) => kind == "item_reference",
        None => item["role"].is_null() && item["content"].is_null(),
    };
    is_reference.then_some(id)
}

fn speaks_of_patches(items: &[Value]) -> bool {
    let mut own = items.iter().filter(|item| matches!(item["role"].as_str(), Some("system" | "developer")));
    own.any(|item| item["content"].to_string().contains(PATCH))
}

/// Reads the items.
struct Talk<'o> {
    offered: &'o Offered,
    conversation: Conversation,
    /// What the model does not get of the items.
    warnings: Vec<Note>,
}

impl Talk<'_> {
    /// Takes the item at this place of the body.
    fn item(&mut self, place: &str, item: &Value) -> Result<(), Error> {
        if !item.is_object() {
            return Err(Error::client(format!("`{place}` must be an object, but it is {}", openai::kind(item))));
        }
        let field = |name: &str| item[name].as_str().unwrap_or_default();
        match field("type") {
            "message" | "" => self.message(&format!("{place}.content"), field("role"), &item["content"])?,
            "reasoning" => {
                let texts = ["summary", "content"].iter().filter_map(|name| item[*name].as_array()).find(|list| !list.is_empty());
                for part in texts.into_iter().flatten() {
                    self.conversation.reasoning(part["text"].as_str().unwrap_or_default());
                }
            }
            "item_reference" => return Err(Error::client(format!("`{place}.id` must be the id of a stored item"))),
            kind if kind.ends_with("_call_output") => {
                let parts = match &item["output"] {
                    Value::Null => Vec::new(),
                    output @ (Value::Array(_) | Value::String(_)) => self.parts(&format!("{place}.output"), output)?,
                    other => vec![conversation::text(other.to_string())],
                };
                self.conversation.result(field("call_id"), conversation::content(parts));
            }
            kind => match self.offered.call(item) {
                Some(call) => self.conversation.call(call),
                None => tracing::debug!(kind, "an item is left out"),
            },
        }
        Ok(())
    }

    fn message(&mut self, place: &str, role: &str, content: &Value) -> Result<(), Error> {
        let parts = self.parts(place, content)?;
        let texts = parts.iter().filter_map(|part| part["text"].as_str());
        match role {
            "system" | "developer" => texts.for_each(|text| self.conversation.system(text)),
            "assistant" => texts.for_each(|text| self.conversation.assistant(text)),
            _ => self.conversation.user(conversation::content(parts)),
        }
        Ok(())
    }

    /// The parts of a content in the words of the chat API.
    fn parts(&mut self, place: &str, content: &Value) -> Result<Vec<Value>, Error> {
        conversation::parts(place, content)?.iter().map(|(place, part)| self.part(place, part)).collect()
    }

    fn part(&mut self, place: &str, part: &Value) -> Result<Value, Error> {
        let field = |name: &str| part[name].as_str().filter(|text| !text.is_empty());
        let name = field("filename").or(field("file_url")).unwrap_or("file");
        match part["type"].as_str().unwrap_or_default() {
            "input_text" | "output_text" | "text" | "summary_text" => {
                Ok(conversation::text(conversation::said(place, part, "text")?))
            }
            "refusal" => Ok(conversation::text(conversation::said(place, part, "refusal")?)),
            "input_image" => Ok(match field("image_url") {
                Some(url) => conversation::image(url),
                None => files::image_elsewhere(place, &mut self.warnings),
            }),
            "input_file" => Ok(match (field("file_data"), field("file_id")) {
                (Some(data), _) => file(name, data),
                (None, Some(id)) => json!({"type": "file", "file": {"file_id": id}}),
                (None, None) => {
                    let what = "a file by URL, and nothing is fetched here";
                    files::left_out(place, what, format!("[file {name}: not supported]"), &mut self.warnings)
                }
            }),
            other => Err(Error::client(format!(
                "`{place}` is a part of type `{other}`, which cannot be passed on; possible are input_text, output_text, refusal, input_image and input_file"
            ))),
        }
    }
}

/// A file whose content is a `data:` URL, or whatever else the client has there.
fn file(name: &str, data: &str) -> Value {
    match data.strip_prefix("data:").and_then(|url| url.split_once(";base64,")) {
        Some((kind, data)) => files::file(name, kind, data),
        None => json!({"type": "file", "file": {"filename": name, "file_data": data}}),
    }
}

/// All other fields that mean something to a local model, in the chat API's words.
fn settings(body: &Map<String, Value>, warnings: &mut Vec<Note>) -> Result<Value, Error> {
    let field = |name: &str| body.get(name).unwrap_or(&Value::Null);
    let format = &field("text")["format"];
    let format = match format["type"].as_str() {
        Some("json_schema") => {
            let schema = json!({"name": format["name"], "schema": format["schema"], "strict": format["strict"]});
            json!({"type": "json_schema", "json_schema": schema})
        }
        Some("json_object") => json!({"type": "json_object"}),
        _ => Value::Null,
    };
    Ok(json!({
        "max_tokens": field("max_output_tokens"),
        "temperature": field("temperature"),
        "top_p": field("top_p"),
        "tool_choice": choice(field("tool_choice"), warnings)?,
        "parallel_tool_calls": field("parallel_tool_calls"),
        "reasoning_effort": field("reasoning")["effort"],
        "response_format": format,
    }))
}

/// `tool_choice` in the chat API's words; `null`: the model decides.
fn choice(choice: &Value, warnings: &mut Vec<Note>) -> Result<Value, Error> {
    match choice["type"].as_str() {
        None => Ok(choice.clone()),
        Some("function" | "custom") if !choice["name"].is_string() => {
            Err(Error::client("`tool_choice.name` must be the name of a tool"))
        }
        Some("function" | "custom") => Ok(chosen(choice)),
        Some("allowed_tools") => {
            let named =
                |tools: &Vec<Value>| -> Vec<Value> { tools.iter().filter(|tool| tool["name"].is_string()).map(chosen).collect() };
            let allowed = json!({"mode": choice["mode"], "tools": choice["tools"].as_array().map(named)});
            Ok(json!({"type": "allowed_tools", "allowed_tools": allowed}))
        }
        Some(kind) => {
            let text = format!("`tool_choice` names a tool of type `{kind}`, which is not offered; the model decides");
            warnings.push(Note::Warning { code: "tool_choice_ignored", text });
            Ok(Value::Null)
        }
    }
}

/// A tool that `tool_choice` names.
fn chosen(choice: &Value) -> Value {
    let name = choice["name"].as_str().map(|name| flat(choice["namespace"].as_str(), name));
    json!({"type": "function", "function": {"name": name}})
}

/// The fields that the answer repeats, or what they mean where they are absent; clients of the SDK need some of them.
fn echo(body: &Map<String, Value>) -> Map<String, Value> {
    let defaults = json!({
        "instructions": null, "max_output_tokens": null, "metadata": {}, "parallel_tool_calls": true,
        "previous_response_id": null, "reasoning": {"effort": null, "summary": null}, "store": true, "temperature": null,
        "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": null, "truncation": "disabled",
        "user": null,
    });
    let Value::Object(mut echo) = defaults else { return Map::new() };
    for (name, value) in &mut echo {
        if let Some(said) = body.get(name).filter(|said| !said.is_null()) {
            value.clone_from(said);
        }
    }
    echo
}
