//! OpenAI's protocol: events become the chunk sequence that every known client accepts (role once and first, text before
//! calls, a call whole in one chunk, one finish, usage only when asked for).

use bytes::{BufMut, BytesMut};

use super::{Calls, Head, Kind, Protocol, TRACE, note_text};
use crate::{
    error::Error,
    event::{Event, FinishReason, Note},
    openai::answer::{Chunks, error_body},
    wire::{write_comment, write_sse},
};

pub mod functions;
#[cfg(test)]
mod tests;

/// A stream of server-sent events.
#[derive(Debug)]
pub(super) struct Stream {
    head: Head,
    chunks: Chunks,
    started: bool,
    calls: Calls,
    trace: Option<String>,
}

impl Stream {
    pub(super) fn new(head: Head) -> Stream {
        Stream { chunks: Chunks::new(&head.envelope), head, started: false, calls: Calls::default(), trace: None }
    }

    fn reasoning(&mut self, text: &str, out: &mut BytesMut) {
        if let Some(field) = self.head.reasoning_field {
            self.start(out);
            write_sse(out, |out| self.chunks.reasoning(field, text, out));
        }
    }

    fn start(&mut self, out: &mut BytesMut) {
        if !self.started {
            self.started = true;
            write_sse(out, |out| self.chunks.role(out));
        }
    }
}

impl Protocol for Stream {
    fn event(&mut self, event: Event<'_>, out: &mut BytesMut) {
        match event {
            Event::Text(text) => {
                self.start(out);
                write_sse(out, |out| self.chunks.content(text, out));
            }
            Event::Reasoning(text) => self.reasoning(text, out),
            Event::CallStart { .. } | Event::CallArguments { .. } | Event::CallEnd { .. } => {
                if let Some((index, call)) = self.calls.event(&event, &self.head.envelope.id) {
                    self.start(out);
                    write_sse(out, |out| match self.head.kind {
                        Kind::Functions => self.chunks.function(&call, out),
                        _ => self.chunks.call(index, &call, call.id.as_deref().unwrap_or_default(), out),
                    });
                }
            }
            Event::Note(Note::Trace(trace)) => self.trace = Some(trace.clone()),
            Event::Note(note) => self.alive(&note_text(note), out),
            // What the client shall read about a refusal has been said in text by the stages before.
            Event::Refused { .. } => {}
            Event::Finish { reason, usage } => {
                self.start(out);
                let reason = match (self.head.kind, reason) {
                    (Kind::Functions, FinishReason::ToolCalls) => functions::FINISH,
                    _ => reason.as_str(),
                };
                write_sse(out, |out| self.chunks.finish(reason, out));
                if self.head.include_usage {
                    write_sse(out, |out| self.chunks.usage(usage.unwrap_or_default(), out));
                }
                if let Some(trace) = self.trace.take() {
                    write_sse(out, |out| self.chunks.extension(TRACE, &trace, out));
                }
                write_sse(out, |out| out.put_slice(b"[DONE]"));
            }
        }
    }

    fn alive(&mut self, text: &str, out: &mut BytesMut) {
        write_comment(out, text);
    }

    fn fault(&mut self, error: &Error, out: &mut BytesMut) {
        write_sse(out, |out| out.put_slice(error_body(error).to_string().as_bytes()));
        // Some clients wait for it, whatever came before.
        write_sse(out, |out| out.put_slice(b"[DONE]"));
    }
}
