//! A whole answer, for a client that does not stream.

use std::time::Duration;

use serde_json::Value;

use super::{
    Calls, Head, Kind, TRACE, exact, functions, messages, ollama,
    pieces::{Blocks, Piece},
    responses,
};
use crate::{
    event::{Event, Note, Sink},
    openai::answer::Completion,
};

/// Collects the events of an answer into one object, for a client that does not stream.
#[derive(Debug)]
pub struct Collected {
    head: Head,
    completion: Completion,
    /// The content, for protocols that have it in blocks; the completion has none then.
    blocks: Blocks,
    calls: Calls,
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
        let (completion, blocks, calls) = (Completion::default(), Blocks::default(), Calls::default());
        Collected { head, completion, blocks, calls, warnings: Vec::new(), elapsed: Duration::ZERO, trace: None }
    }

    /// Bytes of text, reasoning and arguments so far.
    pub fn size(&self) -> usize {
        let Completion { content, reasoning, calls, .. } = &self.completion;
        content.len() + reasoning.len() + calls.iter().map(|call| call.arguments.len()).sum::<usize>() + self.blocks.size()
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
        let mut value = match self.head.kind {
            Kind::OpenAi => self.completion.to_value(&self.head.envelope, self.head.reasoning_field),
            Kind::Functions => functions::completion(self.completion.to_value(&self.head.envelope, self.head.reasoning_field)),
            Kind::Ollama => ollama::completion(&self.completion, &self.head, self.elapsed),
            Kind::Messages => messages::completion(&self.completion, &self.blocks, &self.head),
            Kind::Responses => responses::completion(&self.completion, &self.blocks, self.head),
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
        let in_blocks = matches!(self.head.kind, Kind::Messages | Kind::Responses);
        match event {
            Event::Text(text) if in_blocks => self.blocks.piece(Piece::Text, text),
            Event::Reasoning(text) if in_blocks && self.head.reasoning_field.is_some() => {
                self.blocks.piece(Piece::Reasoning, text);
            }
            Event::Text(text) => self.completion.content.push_str(text),
            Event::Reasoning(text) => self.completion.reasoning.push_str(text),
            Event::CallStart { .. } | Event::CallArguments { .. } | Event::CallEnd { .. } => {
                let whole = self.calls.event(&event, &self.head.envelope.id).map(|(_, call)| call);
                match whole {
                    Some(call) if in_blocks => self.blocks.call(call),
                    whole => self.completion.calls.extend(whole),
                }
            }
            Event::Note(note @ Note::Warning { .. }) => self.warnings.push(note.clone()),
            Event::Note(Note::Trace(trace)) => self.trace = Some(trace.clone()),
            Event::Note(Note::StopSequence(stop)) => self.completion.stop_sequence = Some(stop.clone()),
            Event::Refused { .. } | Event::Note(_) => {}
            Event::Finish { reason, usage } => {
                self.completion.reason = Some(reason);
                self.completion.usage = usage.unwrap_or_default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::FinishReason;

    #[test]
    fn arguments_keep_their_digits() {
        let arguments = r#"{"wei":100000000000000000001,"part":123456789.123456789123,"far":1e400,"text":"{\"a\":1}"}"#;
        for kind in [Kind::Messages, Kind::Ollama] {
            let mut collected = Collected::new(Head { kind, ..Head::default() });
            for event in [
                Event::CallStart { index: 0, id: Some("a"), name: "pay" },
                Event::CallArguments { index: 0, json: arguments },
                Event::CallEnd { index: 0, extra: None },
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
