//! Writes a chat into a fixture file, for `toolglot record`: the request in the internal form, and the backend's bytes with their
//! pauses. (`page::kept` keeps turns in memory, for the page.) The file is written at the end of the turn, also if the backend
//! broke off or the client left, because these are the cases worth a recording. Headers are not recorded, request fields that
//! name a person or a secret are omitted, and a key that the backend repeats is masked. Only the owner can read the files.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use chrono::Utc;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    atomic,
    backend::Dialect,
    error::Error,
    event::{Tool, ToolChoice, Tools},
    fixture::{Fixture, Reads, Round},
    openai::{ChatRequest, Message},
    plan::Plan,
    redact,
    turn::tap::Tap,
};

/// Records one turn; dropping it writes the file.
struct Recording {
    file: PathBuf,
    fixture: Fixture,
    last: Instant,
    /// Secrets to mask.
    secrets: Vec<String>,
    /// Whether the turn came to its end.
    complete: bool,
}

/// How much of a model's name a file is named after: no file system takes more than 255 bytes.
const NAME_CHARS: usize = 100;

/// Fields of a request that may identify the sender.
const PRIVATE: &[&str] = &["user", "metadata", "safety_identifier", "prompt_cache_key", "api_key", "authorization"];

/// Creates the directory of recordings if it does not exist.
pub(super) fn prepare(directory: &Path) -> Result<(), Error> {
    atomic::make_folder(directory)
        .map_err(|error| Error::proxy(format!("cannot record into {}: {error}", directory.display())))?;
    atomic::clear(directory);
    Ok(())
}

/// A tap that writes one file into the directory when the turn is over.
pub(super) fn tap(directory: &Path, plan: &Plan) -> Box<dyn Tap> {
    let (model, envelope) = (&plan.chat.model, &plan.reply.head.envelope);
    let tail = envelope.id.get(envelope.id.len().saturating_sub(6)..).unwrap_or(&envelope.id);
    Box::new(Recording {
        // The end of the answer's id tells chats of one moment apart.
        file: directory.join(format!("{}-{}-{tail}.txt", plain(model), Utc::now().timestamp_millis())),
        fixture: Fixture {
            title: format!("{model} at {}, recorded by toolglot {}", plan.backend.name, env!("CARGO_PKG_VERSION")),
            ..Fixture::default()
        },
        last: Instant::now(),
        secrets: plan.secrets().map(str::to_owned).collect(),
        complete: false,
    })
}

impl Tap for Recording {
    fn round(&mut self, chat: &ChatRequest, tools: &Tools, dialect: Dialect) {
        let request = serde_json::from_str(&request(chat, tools)).ok().and_then(|value| ChatRequest::from_value(value).ok());
        let request = request.unwrap_or_default();
        self.fixture.rounds.push(Round { request, wire: Some(dialect), reads: Reads::default() });
        self.last = Instant::now();
    }

    fn upstream(&mut self, bytes: &[u8]) {
        let after = std::mem::replace(&mut self.last, Instant::now()).elapsed();
        let Some(round) = self.fixture.rounds.last_mut() else { return };
        round.reads.record(after, bytes);
    }

    fn end(&mut self) {
        self.complete = true;
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.fixture.rounds.is_empty() {
            return; // nothing came back
        }
        if !self.complete {
            self.fixture.title.push_str(", broken off");
        }
        let text = self.fixture.write();
        let text = redact::without(&text, self.secrets.iter().map(String::as_str));
        match atomic::write(&self.file, redact::known(&text).as_bytes()) {
            Ok(()) => tracing::info!(file = %self.file.display(), complete = self.complete, "recorded"),
            Err(error) => tracing::error!(file = %self.file.display(), %error, "cannot write the recording"),
        }
    }
}

/// A model's name in the name of a file.
pub(super) fn plain(model: &str) -> String {
    model.chars().take(NAME_CHARS).map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect()
}

/// A request as it is kept: with its tools in OpenAI's form, whatever the client's form.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: &'a [Message],
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Definition<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(flatten, serialize_with = "public")]
    rest: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct Definition<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Option<&'a RawValue>,
}

impl<'a> From<&'a Tool> for Definition<'a> {
    fn from(tool: &'a Tool) -> Definition<'a> {
        let parameters = serde_json::from_str(&tool.schema).or_else(|_| serde_json::from_str("{}")).ok();
        Definition { r#type: "function", function: Function { name: &tool.name, description: &tool.description, parameters } }
    }
}

/// Writes the fields that do not identify a person.
fn public<S: Serializer>(rest: &Map<String, Value>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(rest.iter().filter(|(name, _)| !PRIVATE.contains(&name.as_str())))
}

/// The request as JSON text, without fields that identify a person.
pub(super) fn request(chat: &ChatRequest, tools: &Tools) -> String {
    let tool_choice = match &tools.choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
    };
    let ChatRequest { model, messages, stream, rest, .. } = chat;
    let tools = tools.iter().map(Definition::from).collect();
    serde_json::to_string(&Request { model, messages, stream: *stream, tools, tool_choice, rest }).unwrap_or_default()
}
