//! Writes events as content blocks, strictly one after the other. A call's block is written whole, because a client's parser
//! would complete truncated arguments.

use std::fmt::Write;

use bytes::{BufMut, BytesMut};
use serde_json::{Value, json};

use super::{SIGNATURE, counted, error_body, message, stop_reason, usage_value};
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
    /// The block that is being written.
    open: Option<Piece>,
    blank: Blank,
    /// How many blocks were written.
    blocks: u32,
    /// The stop sequence that ended the answer.
    stop_sequence: Option<String>,
}

impl Stream {
    pub(in crate::client::front) fn new(head: Head) -> Stream {
        Stream { head, open: None, blank: Blank::default(), blocks: 0, stop_sequence: None }
    }

    /// Ends the block that is open.
    fn close(&mut self, out: &mut BytesMut) {
        let Some(piece) = self.open.take() else { return };
        if piece == Piece::Reasoning {
            self.delta("signature_delta", "signature", SIGNATURE, out);
        }
        self.stop(out);
    }

    fn start(&self, content: &Value, out: &mut BytesMut) {
        event(&json!({"type": "content_block_start", "index": self.blocks, "content_block": content}), out);
    }

    fn delta(&self, kind: &str, field: &str, text: &str, out: &mut BytesMut) {
        let index = self.blocks;
        write_event(out, "content_block_delta", |out| {
            let _ = write!(out, r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{field}":"#);
            put_string(text, out);
            out.put_slice(b"}}");
        });
    }

    fn stop(&mut self, out: &mut BytesMut) {
        event(&json!({"type": "content_block_stop", "index": self.blocks}), out);
        self.blocks += 1;
    }
}

impl Protocol for Stream {
    fn open(&mut self, out: &mut BytesMut) {
        let usage = Usage { prompt_tokens: self.head.prompt_tokens, ..Usage::default() };
        event(&json!({"type": "message_start", "message": message(&self.head, usage)}), out);
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
    }

    fn call(&mut self, call: Call<'_>, out: &mut BytesMut) {
        self.close(out);
        self.blank.forget();
        self.start(&json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}), out);
        self.delta("input_json_delta", "partial_json", arguments_or_empty(call.arguments), out);
        self.stop(out);
    }

    fn note(&mut self, note: &Note, out: &mut BytesMut) {
        match note {
            Note::StopSequence(stop) => self.stop_sequence = Some(stop.clone()),
            _ => self.alive("", out),
        }
    }

    fn finish(&mut self, reason: FinishReason, usage: Option<Usage>, out: &mut BytesMut) {
        self.close(out);
        let stop = &self.stop_sequence;
        let delta = json!({"stop_reason": stop_reason(reason, stop.as_deref()), "stop_sequence": stop});
        let usage = usage_value(counted(usage.unwrap_or_default(), &self.head));
        event(&json!({"type": "message_delta", "delta": delta, "usage": usage}), out);
        event(&json!({"type": "message_stop"}), out);
    }

    fn alive(&mut self, _text: &str, out: &mut BytesMut) {
        event(&json!({"type": "ping"}), out);
    }

    fn fault(&mut self, error: &Error, out: &mut BytesMut) {
        event(&error_body(error), out);
    }
}

/// An event with its type as its name too: clients need both.
fn event(data: &Value, out: &mut BytesMut) {
    write_event(out, data["type"].as_str().unwrap_or_default(), |out| out.put_slice(data.to_string().as_bytes()));
}
