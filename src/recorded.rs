//! Reads a recorded answer again: decodes the backend's bytes and runs the stages, without a client, a clock or a second round.
//! `toolglot check`, the page, and Ollama's text completion use it.

use std::sync::Arc;

use crate::{
    adapter::{Adapter, Library, scanner},
    backend::{Decoder, Dialect},
    client::{self, shape::Shape},
    error::Error,
    event::{Channel, Delta, Event, FinishReason, Note, Sink, ToolCall, Tools, Usage},
    fix::Schemas,
    fixture::{Fixture, Round},
    turn::answer::{Answer, Policy, Setup},
    wire::Frames,
};

pub mod check;

/// An owned delta, which can be fed again in other pieces.
#[derive(Debug, Clone, PartialEq)]
pub enum Owned {
    /// A piece of text.
    Text(Channel, String),
    /// A native call.
    Call(ToolCall),
    /// Token counts.
    Usage(Usage),
    /// The stop sequence that ended the answer.
    StopSequence(String),
    /// The end.
    Finish(FinishReason),
}

/// The parts that the answers of one request are read with.
pub struct Case {
    /// How the model writes.
    adapter: Arc<Adapter>,
    /// The request, as its client wrote it.
    pub incoming: client::Incoming,
    /// Its tools, shared by all answers.
    pub tools: Arc<Tools>,
    /// Compiled schemas.
    schemas: Arc<Schemas>,
}

/// The events of an answer, one line each.
#[derive(Default)]
struct Lines {
    out: String,
    /// What the text that is not written yet is.
    label: &'static str,
    text: String,
}

/// The largest frame, in bytes.
const FRAME_BYTES: usize = 1 << 20;

/// Decodes a recorded answer whose bytes arrived in these pieces.
///
/// # Errors
/// As [`read`], as text.
pub fn decode<'b>(round: &Round, pieces: impl IntoIterator<Item = &'b [u8]>) -> Result<Vec<Owned>, String> {
    let mut out = Vec::new();
    let read = read(round.wire, pieces, &mut |delta: Delta<'_>| out.push(delta.into()));
    read.map(|()| out).map_err(|error| error.message)
}

/// Does the same delta by delta, so that the caller gets what came before a fault.
///
/// # Errors
/// A frame cannot be read, or the answer has no end. `out` has got the deltas before that.
pub fn read<'b>(
    wire: Option<Dialect>,
    pieces: impl IntoIterator<Item = &'b [u8]>,
    out: &mut dyn FnMut(Delta<'_>),
) -> Result<(), Error> {
    let Some(dialect) = wire else {
        let text: Vec<u8> = pieces.into_iter().flatten().copied().collect();
        out(Delta::Text(Channel::Content, &String::from_utf8_lossy(&text)));
        out(Delta::Finish(FinishReason::Stop));
        return Ok(());
    };
    let (mut frames, mut decoder) = (Frames::new(dialect.framing(), FRAME_BYTES), Decoder::new(dialect));
    for piece in pieces {
        frames.push(piece);
        while let Some(frame) = frames.next()? {
            decoder.frame(frame, out)?;
        }
    }
    if let Some(frame) = frames.finish() {
        decoder.frame(frame, out)?;
    }
    decoder.finish(out)
}

/// The events of each answer of a fixture, one per line, with the adapter that its model's name selects. `look` sees each answer
/// that can be read: its round, how it is read, its deltas and its events.
///
/// # Errors
/// A request cannot be read, or `look` fails. An answer that cannot be read is no error, but a line `fault`.
pub fn events(
    fixture: &Fixture,
    library: &Library,
    mut look: impl FnMut(&Round, &Case, &[Owned], &str) -> Result<(), String>,
) -> Result<String, String> {
    let mut out = String::new();
    for (number, round) in fixture.rounds.iter().enumerate() {
        let case = Case::of(round, library)?;
        let deltas = match decode(round, [&*round.reads.bytes]) {
            Ok(deltas) => deltas,
            Err(message) => {
                out.push_str(&format!("fault {message}\n"));
                continue;
            }
        };
        let whole = case.run(&deltas);
        look(round, &case, &deltas, &whole)?;
        if number > 0 {
            out.push_str(&format!("round {}\n", number + 1));
        }
        out.push_str(&whole);
    }
    Ok(out.trim_end().to_owned())
}

impl Case {
    /// Read with the adapter that the model's name selects.
    ///
    /// # Errors
    /// The request cannot be read.
    pub fn of(round: &Round, library: &Library) -> Result<Case, String> {
        let adapter = library.find(&round.request.model, None).adapter;
        let incoming = client::read(round.request.clone(), &client::Hints::default()).map_err(|error| error.message)?;
        let tools = Arc::new(incoming.tools.clone());
        Ok(Case { adapter, incoming, tools, schemas: Arc::default() })
    }

    /// Feeds the deltas to an answer.
    pub fn feed(&self, deltas: &[Owned], out: &mut dyn Sink) {
        let shape = Shape::new(self.incoming.shape, Arc::clone(&self.tools), self.incoming.one_call);
        let mut answer = Answer::new(Setup {
            scanner: scanner::Options { elements: self.incoming.verbatim.is_some(), ..scanner::Options::default() },
            policy: Policy { notice_when_empty: true, ..Policy::default() },
            carrier: shape.within(self.incoming.workspace.clone()).carrier(),
            ..Setup::new(Arc::clone(&self.adapter), Arc::clone(&self.tools), Arc::clone(&self.schemas))
        });
        for delta in deltas {
            answer.delta(delta.borrow(), out);
        }
        answer.finish(out);
    }

    /// The events, one per line.
    pub fn run(&self, deltas: &[Owned]) -> String {
        let mut lines = Lines::default();
        self.feed(deltas, &mut lines);
        lines.flush();
        lines.out
    }
}

impl From<Delta<'_>> for Owned {
    fn from(delta: Delta<'_>) -> Owned {
        match delta {
            Delta::Text(channel, text) => Owned::Text(channel, text.to_owned()),
            Delta::Call(call) => Owned::Call(call.into()),
            Delta::Usage(usage) => Owned::Usage(usage),
            Delta::StopSequence(stop) => Owned::StopSequence(stop.to_owned()),
            Delta::Finish(reason) => Owned::Finish(reason),
        }
    }
}

impl Owned {
    /// The delta.
    pub fn borrow(&self) -> Delta<'_> {
        match self {
            Owned::Text(channel, text) => Delta::Text(*channel, text),
            Owned::Call(call) => Delta::Call(call.at(0)),
            Owned::Usage(usage) => Delta::Usage(*usage),
            Owned::StopSequence(stop) => Delta::StopSequence(stop),
            Owned::Finish(reason) => Delta::Finish(*reason),
        }
    }
}

impl Lines {
    /// Adds to the text of the line that is being written, or begins another one.
    fn add(&mut self, label: &'static str, text: &str) {
        if self.label != label {
            self.flush();
            self.label = label;
        }
        self.text.push_str(text);
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.out.push_str(&format!("{} {}\n", self.label, serde_json::Value::from(std::mem::take(&mut self.text))));
        }
    }

    /// A line of its own.
    fn line(&mut self, line: &str) {
        self.flush();
        self.out.push_str(line);
        self.out.push('\n');
    }
}

impl Sink for Lines {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => self.add("text", text),
            Event::Reasoning(text) => self.add("reasoning", text),
            Event::Call(call) => {
                let id = call.id.map(|id| format!(" (id {id})")).unwrap_or_default();
                self.line(&format!("call {}{id} {}", call.name, call.arguments));
            }
            Event::Refused { name, why, .. } => self.line(&format!("refused {name}: {why}")),
            // It does not interrupt the text.
            Event::Note(Note::Warning { code, .. }) => self.out.push_str(&format!("note {code}\n")),
            Event::Note(_) => {}
            Event::Finish { reason, .. } => self.line(&format!("finish {}", reason.as_str())),
        }
    }
}
