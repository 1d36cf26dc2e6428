//! OpenAI's protocol: events become the chunk sequence that every known client accepts (role once and first, text before
//! calls, a call whole in one chunk, one finish, usage only when asked for), or one completion.

use bytes::{BufMut, BytesMut};
use serde_json::Value;

use super::{Head, note_text};
use crate::{
    error::Error,
    event::{Event, Note, ToolCall},
    openai::answer::{Chunks, Completion, call_id, error_body},
    wire::{write_comment, write_sse},
};

#[cfg(test)]
mod tests;

/// A stream of server-sent events.
#[derive(Debug)]
pub struct Stream {
    head: Head,
    chunks: Chunks,
    started: bool,
    calls: Calls,
}

/// The same events, collected into one completion.
#[derive(Debug)]
pub struct Collected {
    head: Head,
    completion: Completion,
    calls: Calls,
}

/// Puts a call together from its three events.
#[derive(Debug, Default)]
struct Calls {
    open: ToolCall,
}

// === impl Stream ===

impl Stream {
    pub(super) fn new(head: Head) -> Stream {
        Stream { chunks: Chunks::new(&head.envelope), head, started: false, calls: Calls::default() }
    }

    pub(super) fn event(&mut self, event: Event<'_>, out: &mut BytesMut) {
        match event {
            Event::Text("") | Event::Reasoning("") => {}
            Event::Text(text) => {
                self.start(out);
                write_sse(out, |out| self.chunks.content(text, out));
            }
            Event::Reasoning(text) => self.reasoning(text, out),
            Event::CallStart { id, name, .. } => self.calls.start(id, name),
            Event::CallArguments { json, .. } => self.calls.arguments(json),
            Event::CallEnd { index, extra } => {
                self.start(out);
                let call = self.calls.end(index, extra, &self.head.envelope.id);
                write_sse(out, |out| self.chunks.call(index, &call, call.id.as_deref().unwrap_or_default(), out));
            }
            Event::Note(note @ Note::Writing { .. }) if self.head.shows_reasoning => {
                self.reasoning(&(note_text(note) + "\n"), out)
            }
            Event::Note(note) => self.comment(&note_text(note), out),
            // What the client shall read about a refusal has been said in text by the stages before.
            Event::Refused { .. } => {}
            Event::Finish { reason, usage } => {
                self.start(out);
                write_sse(out, |out| self.chunks.finish(reason, out));
                if self.head.include_usage {
                    write_sse(out, |out| self.chunks.usage(usage.unwrap_or_default(), out));
                }
                write_sse(out, |out| out.put_slice(b"[DONE]"));
            }
        }
    }

    pub(super) fn comment(&mut self, text: &str, out: &mut BytesMut) {
        write_comment(out, text);
    }

    pub(super) fn fault(&mut self, error: &Error, out: &mut BytesMut) {
        write_sse(out, |out| out.put_slice(error_body(error).to_string().as_bytes()));
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

// === impl Collected ===

impl Collected {
    /// A collector for one answer.
    pub fn new(head: Head) -> Collected {
        Collected { head, completion: Completion::default(), calls: Calls::default() }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => self.completion.content.push_str(text),
            Event::Reasoning(text) => self.completion.reasoning.push_str(text),
            Event::CallStart { id, name, .. } => self.calls.start(id, name),
            Event::CallArguments { json, .. } => self.calls.arguments(json),
            Event::CallEnd { index, extra } => {
                self.completion.calls.push(self.calls.end(index, extra, &self.head.envelope.id));
            }
            Event::Refused { .. } | Event::Note(_) => {}
            Event::Finish { reason, usage } => {
                self.completion.reason = Some(reason);
                self.completion.usage = usage.unwrap_or_default();
            }
        }
    }

    /// The completion.
    pub fn into_value(self) -> Value {
        self.completion.to_value(&self.head.envelope, self.head.reasoning_field)
    }
}

// === impl Calls ===

impl Calls {
    fn start(&mut self, id: Option<&str>, name: &str) {
        self.open = ToolCall { id: id.map(str::to_owned), name: name.to_owned(), ..ToolCall::default() };
    }

    fn arguments(&mut self, json: &str) {
        self.open.arguments.push_str(json);
    }

    /// The whole call; its id is the model's own, else derived from the answer's id and the position.
    fn end(&mut self, index: u32, extra: Option<&str>, answer: &str) -> ToolCall {
        let mut call = std::mem::take(&mut self.open);
        call.id.get_or_insert_with(|| call_id(&[answer.as_bytes(), &index.to_le_bytes()]));
        call.extra = extra.map(str::to_owned);
        call
    }
}
