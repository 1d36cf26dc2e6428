//! Writes events as content blocks, strictly one after the other. A call's block is written whole, because a client's parser
//! would complete truncated arguments.

use std::fmt::Write;

use bytes::{BufMut, BytesMut};
use serde_json::{Value, json};

use super::{SIGNATURE, counted, error_body, message, usage_value};
use crate::{
    client::front::{
        Head, Protocol,
        pieces::{Blank, Piece},
    },
    error::Error,
    event::{Call, FinishReason, Note, Usage},
    openai::answer::{arguments_or_empty, put_string},
    wire::write_event,
};

/// A stream of server-sent events, each with its name.
#[derive(Debug)]
pub(in crate::client::front) struct Stream {
    head: Head,
    /// The block that is being written, and its text so far.
    open: Option<Piece>,
    text: String,
    blank: Blank,
    /// The blocks that were written.
    content: Vec<Value>,
    reason: FinishReason,
    usage: Usage,
    /// The stop sequence that ended the answer.
    stop_sequence: Option<String>,
}

impl Stream {
    pub(in crate::client::front) fn new(head: Head) -> Stream {
        let (text, blank, content) = (String::new(), Blank::default(), Vec::new());
        let (reason, usage) = (FinishReason::Stop, Usage::default());
        Stream { head, open: None, text, blank, content, reason, usage, stop_sequence: None }
    }

    /// Ends the block that is open.
    fn close(&mut self, out: &mut BytesMut) {
        let Some(piece) = self.open.take() else { return };
        let text = std::mem::take(&mut self.text);
        match piece {
            Piece::Reasoning => {
                self.delta("signature_delta", "signature", SIGNATURE, out);
                self.stop(json!({"type": "thinking", "thinking": text, "signature": SIGNATURE}), out);
            }
            Piece::Text => self.stop(json!({"type": "text", "text": text}), out),
        }
    }

    fn start(&self, content: &Value, out: &mut BytesMut) {
        event("content_block_start", &json!({"index": self.content.len(), "content_block": content}), out);
    }

    fn delta(&self, kind: &str, field: &str, text: &str, out: &mut BytesMut) {
        let index = self.content.len();
        write_event(out, "content_block_delta", |out| {
            let _ = write!(out, r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{field}":"#);
            put_string(text, out);
            out.put_slice(b"}}");
        });
    }

    /// Only vLLM and SGLang tell whether a stop sequence was met, and which one.
    fn stop_reason(&self) -> &'static str {
        match self.reason {
            FinishReason::ToolCalls => "tool_use",
            FinishReason::Length => "max_tokens",
            FinishReason::Stop if self.stop_sequence.is_some() => "stop_sequence",
            FinishReason::Stop => "end_turn",
            FinishReason::ContentFilter => "refusal",
        }
    }

    fn stop(&mut self, block: Value, out: &mut BytesMut) {
        event("content_block_stop", &json!({"index": self.content.len()}), out);
        self.content.push(block);
    }
}

impl Protocol for Stream {
    fn open(&mut self, out: &mut BytesMut) {
        let usage = Usage { prompt_tokens: self.head.prompt_tokens, ..Usage::default() };
        event("message_start", &json!({"message": message(&self.head, usage)}), out);
    }

    /// Writes a piece of a block of this kind. Ends an open block of another kind first.
    fn piece(&mut self, kind: Piece, text: &str, out: &mut BytesMut) {
        let Some(text) = self.blank.pass(self.open, kind, text) else { return };
        if self.open != Some(kind) {
            self.close(out);
            let content = match kind {
                Piece::Reasoning => json!({"type": "thinking", "thinking": "", "signature": ""}),
                Piece::Text => json!({"type": "text", "text": ""}),
            };
            self.start(&content, out);
            self.open = Some(kind);
        }
        let (name, field) = match kind {
            Piece::Reasoning => ("thinking_delta", "thinking"),
            Piece::Text => ("text_delta", "text"),
        };
        self.delta(name, field, &text, out);
        self.text.push_str(&text);
    }

    fn call(&mut self, call: Call<'_>, out: &mut BytesMut) {
        self.close(out);
        self.blank.forget();
        let arguments = arguments_or_empty(call.arguments);
        self.start(&json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}), out);
        self.delta("input_json_delta", "partial_json", arguments, out);
        self.stop(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}), out);
    }

    fn note(&mut self, note: &Note, out: &mut BytesMut) {
        match note {
            Note::StopSequence(stop) => self.stop_sequence = Some(stop.clone()),
            _ => self.alive("", out),
        }
    }

    fn finish(&mut self, reason: FinishReason, usage: Option<Usage>, out: &mut BytesMut) {
        self.close(out);
        (self.reason, self.usage) = (reason, usage.unwrap_or_default());
        let delta = json!({"stop_reason": self.stop_reason(), "stop_sequence": self.stop_sequence});
        event("message_delta", &json!({"delta": delta, "usage": usage_value(counted(self.usage, &self.head))}), out);
        event("message_stop", &json!({}), out);
    }

    fn whole(&mut self) -> Value {
        let mut message = message(&self.head, counted(self.usage, &self.head));
        message["content"] = Value::Array(std::mem::take(&mut self.content));
        message["stop_reason"] = json!(self.stop_reason());
        message["stop_sequence"] = json!(self.stop_sequence);
        message
    }

    fn alive(&mut self, _text: &str, out: &mut BytesMut) {
        event("ping", &json!({}), out);
    }

    fn fault(&mut self, error: &Error, out: &mut BytesMut) {
        event("error", &error_body(error), out);
    }
}

/// An event with its name in both places: clients need both.
fn event(name: &str, data: &Value, out: &mut BytesMut) {
    let mut whole = serde_json::Map::from_iter([("type".to_owned(), json!(name))]);
    whole.extend(data.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
    write_event(out, name, |out| out.put_slice(Value::Object(whole).to_string().as_bytes()));
}
