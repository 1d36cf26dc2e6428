//! OpenAI's protocol: events become the chunk sequence that every known client accepts (role once and first, text before
//! calls, a call whole in one chunk, one finish, usage only when asked for).

use bytes::{BufMut, BytesMut};

use super::{Head, Kind, Protocol, TRACE, note_text, pieces::Piece};
use crate::{
    error::Error,
    event::{Call, FinishReason, Note, Usage},
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
    trace: Option<String>,
}

impl Stream {
    pub(super) fn new(head: Head) -> Stream {
        Stream { chunks: Chunks::new(&head.envelope), head, started: false, trace: None }
    }

    fn start(&mut self, out: &mut BytesMut) {
        if !self.started {
            self.started = true;
            write_sse(out, |out| self.chunks.role(out));
        }
    }
}

impl Protocol for Stream {
    fn piece(&mut self, kind: Piece, text: &str, out: &mut BytesMut) {
        self.start(out);
        write_sse(out, |out| match kind {
            Piece::Text => self.chunks.content(text, out),
            Piece::Reasoning => self.chunks.reasoning(self.head.reasoning_field.unwrap_or_default(), text, out),
        });
    }

    fn call(&mut self, call: Call<'_>, out: &mut BytesMut) {
        self.start(out);
        write_sse(out, |out| match self.head.kind {
            Kind::Functions => self.chunks.function(call, out),
            _ => self.chunks.call(call, out),
        });
    }

    fn note(&mut self, note: &Note, out: &mut BytesMut) {
        match note {
            Note::Trace(trace) => self.trace = Some(trace.clone()),
            note => self.alive(&note_text(note), out),
        }
    }

    fn finish(&mut self, reason: FinishReason, usage: Option<Usage>, out: &mut BytesMut) {
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

    fn alive(&mut self, text: &str, out: &mut BytesMut) {
        write_comment(out, text);
    }

    fn fault(&mut self, error: &Error, out: &mut BytesMut) {
        write_sse(out, |out| out.put_slice(error_body(error).to_string().as_bytes()));
        // Some clients wait for it, whatever came before.
        write_sse(out, |out| out.put_slice(b"[DONE]"));
    }
}
