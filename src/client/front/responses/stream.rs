//! Writes events as items, strictly one after the other. A call leaves whole, because clients act only on its last event.

use std::{
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::{BufMut, BytesMut};
use serde_json::{Map, Value, json};

use super::{Answer, call_item, message_item, output_text, reasoning_item, summary};
use crate::{
    client::front::{
        Head, Protocol, Signs,
        pieces::{Blank, Piece},
    },
    error::Error,
    event::{Call, FinishReason, Usage},
    openai::answer::put_string,
    wire::write_event,
};

/// A stream of server-sent events.
#[derive(Debug)]
pub(in crate::client::front) struct Stream {
    answer: Answer,
    /// The item that is being written.
    open: Option<Open>,
    blank: Blank,
    /// The number of the next event, which signs of life share.
    sequence: Arc<AtomicU64>,
}

/// An item that is written piece by piece.
#[derive(Debug)]
struct Open {
    kind: Piece,
    id: String,
    text: String,
}

/// The events that end an answer.
const ENDS: &[&str] = &["completed", "incomplete", "failed"];

/// The answer's object, if this piece of a stream holds its end.
pub fn finished(piece: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(piece).ok()?;
    let data = text.rsplit("\n\n").find_map(|frame| {
        let (name, data) = frame.strip_prefix("event: response.")?.split_once("\ndata: ")?;
        ENDS.contains(&name).then_some(data)
    })?;
    let mut event: Value = serde_json::from_str(data).ok()?;
    Some(event["response"].take())
}

impl Stream {
    pub(in crate::client::front) fn new(head: Head) -> Stream {
        Stream { answer: Answer::new(head), open: None, blank: Blank::default(), sequence: Arc::default() }
    }

    /// Ends the item that is open.
    fn close(&mut self, out: &mut BytesMut) {
        let Some(Open { kind, id, text }) = self.open.take() else { return };
        let item = match kind {
            Piece::Reasoning => {
                self.event("response.reasoning_summary_text.done", json!({"item_id": id, "summary_index": 0, "text": text}), out);
                let part = json!({"item_id": id, "summary_index": 0, "part": summary(&text)});
                self.event("response.reasoning_summary_part.done", part, out);
                reasoning_item(&id, &text)
            }
            Piece::Text => {
                self.event("response.output_text.done", json!({"item_id": id, "content_index": 0, "text": text}), out);
                let part = json!({"item_id": id, "content_index": 0, "part": output_text(&text)});
                self.event("response.content_part.done", part, out);
                message_item(&id, &text)
            }
        };
        self.done(item, out);
    }

    fn done(&mut self, item: Value, out: &mut BytesMut) {
        self.event("response.output_item.done", json!({"item": item}), out);
        self.answer.output.push(item);
    }

    /// An event of the item that is being written.
    fn event(&mut self, name: &str, data: Value, out: &mut BytesMut) {
        let mut whole = Map::from_iter([("output_index".to_owned(), json!(self.answer.output.len()))]);
        whole.extend(if let Value::Object(data) = data { data } else { Map::new() });
        self.write(name, whole, out);
    }

    fn next_number(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// An event of the whole answer.
    fn state(&mut self, name: &str, response: Value, out: &mut BytesMut) {
        self.write(name, Map::from_iter([("response".to_owned(), response)]), out);
    }

    fn write(&mut self, name: &str, data: Map<String, Value>, out: &mut BytesMut) {
        let number = self.next_number();
        let mut whole = Map::from_iter([("type".to_owned(), json!(name)), ("sequence_number".to_owned(), json!(number))]);
        whole.extend(data);
        write_event(out, name, |out| out.put_slice(Value::Object(whole).to_string().as_bytes()));
    }
}

impl Protocol for Stream {
    fn open(&mut self, out: &mut BytesMut) {
        let response = self.answer.to_value("in_progress", None);
        self.state("response.created", response.clone(), out);
        // The same object. Only later signs of life leave out what is as large as the prompt.
        self.state("response.in_progress", response, out);
    }

    /// Writes a piece of an item of this kind. Ends an open item of another kind first.
    fn piece(&mut self, kind: Piece, text: &str, out: &mut BytesMut) {
        let open = self.open.as_ref().map(|open| open.kind);
        let Some(text) = self.blank.pass(open, kind, text) else { return };
        if open != Some(kind) {
            self.close(out);
            let id = self.answer.id(if kind == Piece::Reasoning { "rs" } else { "msg" });
            let (item, name, at, part) = match kind {
                Piece::Reasoning => (
                    json!({"id": id, "type": "reasoning", "summary": []}),
                    "response.reasoning_summary_part.added",
                    "summary_index",
                    summary(""),
                ),
                Piece::Text => (
                    json!({"id": id, "type": "message", "role": "assistant", "status": "in_progress", "content": []}),
                    "response.content_part.added",
                    "content_index",
                    output_text(""),
                ),
            };
            self.event("response.output_item.added", json!({"item": item}), out);
            self.event(name, json!({"item_id": id, at: 0, "part": part}), out);
            self.open = Some(Open { kind, id, text: String::new() });
        }
        let number = self.next_number();
        let Some(Open { id, text: whole, .. }) = &mut self.open else { return };
        whole.push_str(&text);
        let (name, at) = match kind {
            Piece::Reasoning => ("response.reasoning_summary_text.delta", "summary_index"),
            Piece::Text => ("response.output_text.delta", "content_index"),
        };
        let item = self.answer.output.len();
        // One for each piece of the answer: written without a tree.
        write_event(out, name, |out| {
            let _ = write!(
                out,
                r#"{{"type":"{name}","sequence_number":{number},"output_index":{item},"item_id":"{id}","{at}":0,"delta":"#
            );
            put_string(&text, out);
            out.put_slice(b"}");
        });
    }

    fn call(&mut self, call: Call<'_>, out: &mut BytesMut) {
        self.close(out);
        self.blank.forget();
        let item = call_item(&self.answer.id("fc"), call, &self.answer.head.tools);
        let (field, event) = match item["type"].as_str() {
            Some("function_call") => ("arguments", "response.function_call_arguments"),
            Some("custom_tool_call") => ("input", "response.custom_tool_call_input"),
            _ => ("", ""),
        };
        let mut added = item.clone();
        added["status"] = json!("in_progress");
        if !field.is_empty() {
            added[field] = json!("");
        }
        self.event("response.output_item.added", json!({"item": added}), out);
        if !field.is_empty() {
            let id = &item["id"];
            self.event(&format!("{event}.delta"), json!({"item_id": id, "delta": item[field]}), out);
            self.event(&format!("{event}.done"), json!({"item_id": id, field: item[field], "name": item["name"]}), out);
        }
        self.done(item, out);
    }

    fn finish(&mut self, reason: FinishReason, usage: Option<Usage>, out: &mut BytesMut) {
        self.close(out);
        let (name, response) = self.answer.ended(reason, usage.unwrap_or_default());
        self.state(name, response, out);
    }

    /// An event, because comments do not stop the clock of a client that counts events.
    fn alive(&mut self, _text: &str, out: &mut BytesMut) {
        let response = self.answer.small("in_progress", None);
        self.state("response.in_progress", response, out);
    }

    fn signs(&mut self) -> Signs {
        let (mut out, number) = (BytesMut::new(), self.sequence.load(Ordering::Relaxed));
        self.alive("", &mut out);
        self.sequence.store(number, Ordering::Relaxed);
        let event = String::from_utf8_lossy(&out);
        let key = "\"sequence_number\":";
        match event.split_once(&format!("{key}{number}")) {
            Some((head, tail)) => Signs::numbered(format!("{head}{key}"), Arc::clone(&self.sequence), tail.to_owned()),
            None => Signs::same(out.freeze()),
        }
    }

    /// Not as an `error`: clients lose its text.
    fn fault(&mut self, error: &Error, out: &mut BytesMut) {
        self.close(out);
        let failed = self.answer.failed(error);
        self.state("response.failed", failed, out);
    }
}
