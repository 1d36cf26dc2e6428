//! A whole answer, for a client that does not stream.

use std::time::Duration;

use serde_json::Value;

use super::{Head, Kind, TRACE, call_id_of, exact, messages, ollama, openai, pieces::Piece, responses};
use crate::event::{Event, FinishReason, Note, Sink, ToolCall, Usage};

/// Collects the events of an answer, of which each protocol makes one object.
#[derive(Debug, Default)]
pub struct Collected {
    pub(super) head: Head,
    parts: Vec<Part>,
    pub(super) reason: FinishReason,
    /// 0 if the backend sent none, because clients need the field.
    pub(super) usage: Usage,
    /// The stop sequence of the request that ended the answer.
    pub(super) stop_sequence: Option<String>,
    /// The duration of the answer.
    pub(super) elapsed: Duration,
    /// Bytes of text, reasoning and arguments so far.
    size: usize,
    warnings: Vec<Note>,
    trace: Option<String>,
}

/// A part of an answer. Calls have ids.
#[derive(Debug)]
pub(super) enum Part {
    Piece(Piece, String),
    Call(ToolCall),
}

impl Kind {
    /// The body of a whole answer ([`Collected::into_value`]).
    pub fn body(self, answer: &Value) -> String {
        match self {
            Kind::OpenAi | Kind::Responses => answer.to_string(),
            Kind::Ollama => exact::written(answer, ollama::ARGUMENTS),
            Kind::Messages => exact::written(answer, messages::ARGUMENTS),
        }
    }
}

impl Collected {
    /// A collector for one answer.
    pub fn new(head: Head) -> Collected {
        Collected { head, ..Collected::default() }
    }

    /// Bytes of text, reasoning and arguments so far.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Takes the duration of the answer, for protocols that report it.
    pub fn elapsed(&mut self, elapsed: Duration) {
        self.elapsed = elapsed;
    }

    /// Takes the warnings, which have no place in the object.
    pub fn take_warnings(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.warnings)
    }

    /// The object. Where the protocol has arguments as an object, they are a text of JSON, because numbers would lose digits:
    /// [`Kind::body`] writes them.
    pub fn into_value(mut self) -> Value {
        let mut value = match self.head.kind {
            Kind::OpenAi => openai::whole(&self),
            Kind::Ollama => ollama::whole(&self),
            Kind::Messages => messages::whole(&mut self),
            Kind::Responses => responses::whole(&mut self),
        };
        let trace = self.trace.and_then(|trace| serde_json::from_str(&trace).ok());
        if let (Some(trace), Some(value)) = (trace, value.as_object_mut()) {
            value.insert(TRACE.into(), trace);
        }
        value
    }

    /// All text, or all reasoning.
    pub(super) fn text(&self, kind: Piece) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Piece(of, text) if *of == kind => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| if let Part::Call(call) = part { Some(call) } else { None })
    }

    /// The parts as blocks, of which none is blank (`pieces`).
    pub(super) fn take_blocks(&mut self) -> Vec<Part> {
        let mut blocks = Vec::new();
        for part in std::mem::take(&mut self.parts) {
            match (blocks.last_mut(), part) {
                (Some(Part::Piece(last, whole)), Part::Piece(kind, text)) if *last == kind => whole.push_str(&text),
                (_, Part::Piece(_, text)) if text.trim().is_empty() => {}
                (_, part) => blocks.push(part),
            }
        }
        blocks
    }

    fn piece(&mut self, kind: Piece, text: &str) {
        self.size += text.len();
        match self.parts.last_mut() {
            Some(Part::Piece(last, whole)) if *last == kind => whole.push_str(text),
            _ => self.parts.push(Part::Piece(kind, text.to_owned())),
        }
    }
}

impl Sink for Collected {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => self.piece(Piece::Text, text),
            Event::Reasoning(text) if self.head.reasoning_field.is_some() => self.piece(Piece::Reasoning, text),
            Event::Call(call) => {
                self.size += call.arguments.len();
                let id = Some(call_id_of(&self.head.envelope.id, call));
                self.parts.push(Part::Call(ToolCall { id, ..call.into() }));
            }
            Event::Note(note @ Note::Warning { .. }) => self.warnings.push(note.clone()),
            Event::Note(Note::Trace(trace)) => self.trace = Some(trace.clone()),
            Event::Note(Note::StopSequence(stop)) => self.stop_sequence = Some(stop.clone()),
            Event::Reasoning(_) | Event::Refused { .. } | Event::Note(_) => {}
            Event::Finish { reason, usage } => (self.reason, self.usage) = (reason, usage.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Call, FinishReason};

    #[test]
    fn arguments_keep_their_digits() {
        let arguments = r#"{"wei":100000000000000000001,"part":123456789.123456789123,"far":1e400,"text":"{\"a\":1}"}"#;
        for kind in [Kind::Messages, Kind::Ollama] {
            let mut collected = Collected::new(Head { kind, ..Head::default() });
            for event in [
                Event::Call(Call { id: Some("a"), ..Call::new(0, "pay", arguments) }),
                Event::Note(&Note::Trace(r#"{"calls":[{"arguments":"{}"}]}"#.into())),
                Event::Finish { reason: FinishReason::ToolCalls, usage: None },
            ] {
                collected.event(event);
            }
            let body = kind.body(&collected.into_value());
            assert!(body.contains(&format!(":{arguments}")), "{body}");
            assert!(body.contains(r#""toolglot":{"calls":[{"arguments":"{}"}]}"#), "a text stays a text: {body}");
        }
    }
}
