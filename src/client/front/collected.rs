//! A whole answer, for a client that does not stream.

use std::time::Duration;

use bytes::BytesMut;
use serde_json::Value;

use super::{Front, Head, Kind, TRACE, call_id_of, exact, functions, messages, ollama};
use crate::{
    event::{Event, Note, Sink, ToolCall},
    openai::answer::Completion,
};

/// Collects the events of an answer into one object, for a client that does not stream.
#[derive(Debug)]
pub struct Collected {
    head: Head,
    completion: Completion,
    /// What keeps the content of protocols that have it in blocks; the completion has none then.
    blocks: Option<Front>,
    /// Bytes of text, reasoning and arguments so far.
    size: usize,
    warnings: Vec<Note>,
    elapsed: Duration,
    trace: Option<String>,
}

impl Kind {
    /// The body of a whole answer ([`Collected::into_value`]).
    pub fn body(self, answer: &Value) -> String {
        match self {
            Kind::OpenAi | Kind::Functions | Kind::Responses => answer.to_string(),
            Kind::Ollama => exact::written(answer, ollama::ARGUMENTS),
            Kind::Messages => exact::written(answer, messages::ARGUMENTS),
        }
    }
}

impl Collected {
    /// A collector for one answer.
    pub fn new(head: Head) -> Collected {
        let blocks = matches!(head.kind, Kind::Messages | Kind::Responses).then(|| Front::new(head.clone()));
        Collected {
            head,
            completion: Completion::default(),
            blocks,
            size: 0,
            warnings: Vec::new(),
            elapsed: Duration::ZERO,
            trace: None,
        }
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
    pub fn into_value(self) -> Value {
        let completion = || self.completion.to_value(&self.head.envelope, self.head.reasoning_field);
        let mut value = match (self.blocks, self.head.kind) {
            (Some(mut blocks), _) => blocks.protocol.whole(),
            (None, Kind::Functions) => functions::completion(completion()),
            (None, Kind::Ollama) => ollama::completion(&self.completion, &self.head, self.elapsed),
            (None, _) => completion(),
        };
        let trace = self.trace.and_then(|trace| serde_json::from_str(&trace).ok());
        if let (Some(trace), Some(value)) = (trace, value.as_object_mut()) {
            value.insert(TRACE.into(), trace);
        }
        value
    }
}

impl Sink for Collected {
    fn event(&mut self, event: Event<'_>) {
        match &event {
            Event::Text(text) | Event::Reasoning(text) => self.size += text.len(),
            Event::Call(call) => self.size += call.arguments.len(),
            _ => {}
        }
        match (event, &mut self.blocks) {
            (Event::Note(note @ Note::Warning { .. }), _) => self.warnings.push(note.clone()),
            (Event::Note(Note::Trace(trace)), _) => self.trace = Some(trace.clone()),
            (Event::Note(Note::StopSequence(stop)), None) => self.completion.stop_sequence = Some(stop.clone()),
            (event @ Event::Note(Note::StopSequence(_)), Some(blocks)) => blocks.event(event, &mut BytesMut::new()),
            (Event::Refused { .. } | Event::Note(_), _) => {}
            (event, Some(blocks)) => blocks.event(event, &mut BytesMut::new()),
            (Event::Text(text), None) => self.completion.content.push_str(text),
            (Event::Reasoning(text), None) => self.completion.reasoning.push_str(text),
            (Event::Call(call), None) => {
                let id = Some(call_id_of(&self.head.envelope.id, call));
                self.completion.calls.push(ToolCall { id, ..call.into() });
            }
            (Event::Finish { reason, usage }, None) => {
                self.completion.reason = Some(reason);
                self.completion.usage = usage.unwrap_or_default();
            }
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
