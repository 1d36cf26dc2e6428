//! The client protocols. A front reads a request of its protocol into the internal form, and writes events as the bytes of an
//! answer. It lives for all rounds of a turn. Each front is one module and a row in [`Kind`]; this file has what they share.

use std::{sync::Arc, time::Duration};

use bytes::BytesMut;
use serde_json::{Map, Value};

use self::pieces::Piece;
use crate::{
    error::Error,
    event::{Call, Event, FinishReason, Input, Note, Tools, Usage},
    openai::{
        ChatRequest,
        answer::{Envelope, call_id, error_body},
    },
};

mod collected;
mod conversation;
mod exact;
mod files;
pub mod messages;
pub mod ollama;
mod openai;
mod pieces;
pub mod responses;

pub use collected::Collected;

/// The protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    /// OpenAI's chat completions: server-sent events, or one JSON object.
    #[default]
    OpenAi,
    /// Ollama's `/api/chat`: JSON lines, or one JSON object.
    Ollama,
    /// Anthropic's `/v1/messages`: server-sent events, or one JSON object.
    Messages,
    /// OpenAI's `/v1/responses`: server-sent events, or one JSON object.
    Responses,
}

/// A request as its front reads it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// The internal form; its `tools` are functions.
    pub chat: ChatRequest,
    /// The tools that the client offers in a namespace, or whose calls it does not take as functions.
    pub special: Vec<Special>,
    /// Fields of the request that the answer repeats.
    pub echo: Map<String, Value>,
    /// Warnings about the request.
    pub warnings: Vec<Note>,
}

/// The peculiarities of an offered tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Special {
    /// The name under which [`Request::chat`] offers it.
    pub name: String,
    /// See [`crate::event::Tool::namespace`].
    pub namespace: Option<(String, String)>,
    /// See [`crate::event::Tool::input`].
    pub input: Input,
}

/// What a front needs to know about an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// The protocol.
    pub kind: Kind,
    /// Id, time and model, the same in every chunk.
    pub envelope: Envelope,
    /// Whether the client asked for the usage chunk.
    pub include_usage: bool,
    /// The field for reasoning (OpenAI's chat protocol only, which has several in use); `None`: reasoning is not sent.
    pub reasoning_field: Option<&'static str>,
    /// Whether progress lines are sent as reasoning; otherwise they are comments.
    pub shows_reasoning: bool,
    /// The tools that may be called.
    pub tools: Arc<Tools>,
    /// An estimate of the prompt's tokens.
    pub prompt_tokens: u64,
    /// Fields of the request that the answer repeats.
    pub echo: Map<String, Value>,
}

/// Writes a stream.
#[derive(Debug)]
pub struct Front {
    protocol: Box<dyn Protocol>,
    /// The id of the answer.
    id: String,
    takes_reasoning: bool,
    shows_reasoning: bool,
    /// Whether the reasoning so far ends in the middle of a line.
    mid_line: bool,
}

/// How one protocol streams an answer.
trait Protocol: std::fmt::Debug + Send {
    /// Appends what must come before everything else, even a sign of life.
    fn open(&mut self, _out: &mut BytesMut) {}

    /// Appends a piece of text or, for a client that takes it, of reasoning. It is not empty.
    fn piece(&mut self, kind: Piece, text: &str, out: &mut BytesMut);

    /// Appends a whole call, which has an id.
    fn call(&mut self, call: Call<'_>, out: &mut BytesMut);

    /// Takes a note, which is a sign of life at least.
    fn note(&mut self, note: &Note, out: &mut BytesMut) {
        self.alive(&note_text(note), out);
    }

    /// Appends the end.
    fn finish(&mut self, reason: FinishReason, usage: Option<Usage>, out: &mut BytesMut);

    /// Appends a sign of life that no client takes for content. `text` is for people who read the stream.
    fn alive(&mut self, text: &str, out: &mut BytesMut);

    /// The signs of life that may be written while something else holds the front.
    fn signs(&mut self) -> Signs {
        let mut sign = BytesMut::new();
        self.alive("keep-alive", &mut sign);
        Box::new(move |out| out.extend_from_slice(&sign))
    }

    /// Appends an error. Nothing may follow.
    fn fault(&mut self, error: &Error, out: &mut BytesMut);

    /// Takes the duration of the answer so far.
    fn elapsed(&mut self, _elapsed: Duration) {}
}

/// Appends a sign of life.
pub type Signs = Box<dyn Fn(&mut BytesMut) + Send>;

impl Kind {
    /// The content type of a stream.
    pub fn content_type(self) -> &'static str {
        match self {
            Kind::OpenAi | Kind::Messages | Kind::Responses => "text/event-stream",
            Kind::Ollama => "application/x-ndjson",
        }
    }

    /// The name of a model without the prefix that clients of this protocol need (`claude-toolglot/`).
    pub fn own_name(self, name: &str) -> &str {
        match self {
            Kind::Messages => messages::without_alias(name),
            Kind::OpenAi | Kind::Ollama | Kind::Responses => name,
        }
    }

    /// The prefix of the ids of answers.
    pub fn id_prefix(self) -> &'static str {
        match self {
            Kind::OpenAi | Kind::Ollama => "chatcmpl-",
            Kind::Messages => "msg_",
            Kind::Responses => "resp_",
        }
    }

    /// The response body of an error before the answer. OpenAI's APIs: `{"error": {message, type, param, code}}`. Ollama's:
    /// `{"error": "text"}`. Messages: `{"type": "error", "error": {type, message}}`.
    pub fn error_body(self, error: &Error) -> Value {
        match self {
            Kind::OpenAi | Kind::Responses => error_body(error),
            Kind::Ollama => ollama::error_body(error),
            Kind::Messages => messages::error_body(error),
        }
    }

    /// The HTTP status of an error before the answer.
    pub fn status(self, error: &Error) -> u16 {
        match error.code.as_deref() {
            // Clients repeat a request after every other one, and this fault stays.
            Some("context_length_exceeded") => 400,
            _ => error.status,
        }
    }

    fn protocol(self, head: Head) -> Box<dyn Protocol> {
        match self {
            Kind::OpenAi => Box::new(openai::Stream::new(head)),
            Kind::Ollama => Box::new(ollama::Stream::new(head)),
            Kind::Messages => Box::new(messages::Stream::new(head)),
            Kind::Responses => Box::new(responses::Stream::new(head)),
        }
    }
}

impl From<ChatRequest> for Request {
    /// A request without peculiarities.
    fn from(chat: ChatRequest) -> Request {
        Request { chat, ..Request::default() }
    }
}

impl Special {
    /// Completes the tool's entry in the table.
    pub(super) fn complete(self, tools: &mut Tools) {
        if let Some(tool) = tools.iter_mut().find(|tool| tool.name == self.name) {
            (tool.namespace, tool.input) = (self.namespace, self.input);
        }
    }
}

impl Front {
    /// A front for one answer.
    pub fn new(head: Head) -> Front {
        let (takes_reasoning, shows_reasoning) = (head.reasoning_field.is_some(), head.shows_reasoning);
        let id = head.envelope.id.clone();
        Front { id, protocol: head.kind.protocol(head), takes_reasoning, shows_reasoning, mid_line: false }
    }

    /// Appends what must come before everything else. Call it once, before any other method.
    pub fn open(&mut self, out: &mut BytesMut) {
        self.protocol.open(out);
    }

    /// Appends the bytes of this event: one frame per text event.
    pub fn event(&mut self, event: Event<'_>, out: &mut BytesMut) {
        match event {
            Event::Note(note) if self.shows(note) => {
                let gap = if std::mem::take(&mut self.mid_line) { "\n" } else { "" };
                self.reasoning(&format!("{gap}{OURS}{}\n", note_text(note)), out);
            }
            // What the client shall read about a refusal has been said in text by the stages before.
            Event::Text("") | Event::Reasoning("") | Event::Refused { .. } => {}
            Event::Text(text) => self.protocol.piece(Piece::Text, text, out),
            Event::Reasoning(text) => {
                self.mid_line = !text.ends_with('\n');
                self.reasoning(text, out);
            }
            Event::Call(call) => {
                let id = call_id_of(&self.id, call);
                self.protocol.call(Call { id: Some(&id), ..call }, out);
            }
            Event::Note(note) => self.protocol.note(note, out),
            Event::Finish { reason, usage } => self.protocol.finish(reason, usage, out),
        }
    }

    fn reasoning(&mut self, text: &str, out: &mut BytesMut) {
        if self.takes_reasoning {
            self.protocol.piece(Piece::Reasoning, text, out);
        }
    }

    /// Whether the note is a line of the reasoning.
    fn shows(&self, note: &Note) -> bool {
        match note {
            Note::Writing { .. } => self.shows_reasoning,
            Note::Progress { shown, .. } => *shown,
            Note::Candidate { .. } | Note::Trace(_) | Note::StopSequence(_) | Note::Warning { .. } => false,
        }
    }

    /// Takes the duration of the answer so far, for protocols that report it at the end.
    pub fn elapsed(&mut self, elapsed: Duration) {
        self.protocol.elapsed(elapsed);
    }

    /// Signs of life that no client takes for content.
    pub fn signs(&mut self) -> Signs {
        self.protocol.signs()
    }

    /// Appends a fault; nothing may follow.
    pub fn fault(&mut self, error: &Error, out: &mut BytesMut) {
        self.protocol.fault(error, out);
    }
}

/// The additional field that says what was done in a turn.
pub const TRACE: &str = "toolglot";

/// The prefix of each of toolglot's own lines in reasoning and text.
const OURS: &str = "[toolglot] ";

/// The id under which a call leaves: its own, or one of the answer's.
pub fn call_id_of(answer: &str, call: Call<'_>) -> String {
    call.id.map_or_else(|| id_of(answer, call.index), str::to_owned)
}

/// The id of a call without one of its own, derived from the answer's id and the call's position.
pub fn id_of(answer: &str, index: u32) -> String {
    call_id(&[answer.as_bytes(), &index.to_le_bytes()])
}

/// Warns that the model does not get this tool, of a type that only the provider knows.
pub(super) fn not_offered(at: usize, kind: &str) -> Note {
    let text = format!("`tools[{at}]` ({kind}) is not a function and is not offered to the model");
    Note::Warning { code: "tool_ignored", text }
}

/// The schema of an offered tool's parameters.
///
/// # Errors
/// 400 if it is no object.
fn schema<'t>(place: &str, tool: &'t Value, name: &str) -> Result<Option<&'t Map<String, Value>>, Error> {
    match tool.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(schema)) => Ok(Some(schema)),
        Some(_) => Err(Error::client(format!("`{place}.{name}` must be a JSON Schema object"))),
    }
}

/// A note in one line, as a user reads it.
fn note_text(note: &Note) -> String {
    match note {
        Note::Writing { name, bytes } if *bytes < 1000 => format!("writing {name}, {bytes} B"),
        Note::Writing { name, bytes } => format!("writing {name}, {}.{} kB", bytes / 1000, bytes % 1000 / 100),
        Note::Progress { text, .. } | Note::Trace(text) => text.clone(),
        Note::StopSequence(stop) => format!("stopped at {stop}"),
        Note::Candidate { name, cell } => format!("{name}: {cell}"),
        Note::Warning { text, .. } => format!("warning: {text}"),
    }
}

/// Removes toolglot's own lines from reasoning that a client sends back, because a model would imitate them. `None`: there are
/// none.
pub(super) fn without_progress(reasoning: &str) -> Option<String> {
    let left: String = reasoning.split_inclusive('\n').filter(|line| !line.starts_with(OURS)).collect();
    (left.len() < reasoning.len()).then_some(left)
}
