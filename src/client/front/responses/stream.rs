//! Writes events as items, strictly one after the other. A call leaves whole, because clients act only on its last event.

use std::{
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::{BufMut, BytesMut};
use serde_json::{Value, json};

use super::{Answer, call_item, item, part, prefix};
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

/// What the events of an item are called: those of its part, a piece of its text and the end of that. And the key of its place.
struct Names {
    part: &'static str,
    delta: &'static str,
    done: &'static str,
    place: &'static str,
}

fn names(kind: Piece) -> Names {
    match kind {
        Piece::Reasoning => Names {
            part: "response.reasoning_summary_part",
            delta: "response.reasoning_summary_text.delta",
            done: "response.reasoning_summary_text.done",
            place: "summary_index",
        },
        Piece::Text => Names {
            part: "response.content_part",
            delta: "response.output_text.delta",
            done: "response.output_text.done",
            place: "content_index",
        },
    }
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
        let Names { part, done, place, .. } = names(kind);
        self.event(done, json!({"item_id": id, place: 0, "text": text}), out);
        self.event(&format!("{part}.done"), json!({"item_id": id, place: 0, "part": self::part(kind, &text)}), out);
        self.done(item(kind, &id, Some(&text)), out);
    }

    fn done(&mut self, item: Value, out: &mut BytesMut) {
        self.event("response.output_item.done", json!({"item": item}), out);
        self.answer.output.push(item);
    }

    /// An event of the item that is being written.
    fn event(&mut self, name: &str, mut data: Value, out: &mut BytesMut) {
        data["output_index"] = json!(self.answer.output.len());
        write(&self.sequence, name, data, out);
    }
}

/// An event of the whole answer.
fn state(sequence: &AtomicU64, name: &str, response: Value, out: &mut BytesMut) {
    let mut data = json!({});
    data["response"] = response;
    write(sequence, name, data, out);
}

fn write(sequence: &AtomicU64, name: &str, data: Value, out: &mut BytesMut) {
    let mut whole = json!({"type": name, "sequence_number": sequence.fetch_add(1, Ordering::Relaxed)});
    if let (Value::Object(whole), Value::Object(data)) = (&mut whole, data) {
        whole.extend(data);
    }
    write_event(out, name, |out| out.put_slice(whole.to_string().as_bytes()));
}

impl Protocol for Stream {
    fn open(&mut self, out: &mut BytesMut) {
        let response = self.answer.to_value("in_progress", None);
        state(&self.sequence, "response.created", response.clone(), out);
        // The same object. Only later signs of life leave out what is as large as the prompt.
        state(&self.sequence, "response.in_progress", response, out);
    }

    /// Writes a piece of an item of this kind. Ends an open item of another kind first.
    fn piece(&mut self, kind: Piece, text: &str, out: &mut BytesMut) {
        let open = self.open.as_ref().map(|open| open.kind);
        let Some(text) = self.blank.pass(open, kind, text) else { return };
        let Names { part, delta, place, .. } = names(kind);
        if open != Some(kind) {
            self.close(out);
            let id = self.answer.id(prefix(kind));
            self.event("response.output_item.added", json!({"item": item(kind, &id, None)}), out);
            self.event(&format!("{part}.added"), json!({"item_id": id, place: 0, "part": self::part(kind, "")}), out);
            self.open = Some(Open { kind, id, text: String::new() });
        }
        let number = self.sequence.fetch_add(1, Ordering::Relaxed);
        let Some(Open { id, text: whole, .. }) = &mut self.open else { return };
        whole.push_str(&text);
        let item = self.answer.output.len();
        // One for each piece of the answer: written without a tree.
        write_event(out, delta, |out| {
            let _ = write!(
                out,
                r#"{{"type":"{delta}","sequence_number":{number},"output_index":{item},"item_id":"{id}","{place}":0,"delta":"#
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
            Some("custom_tool_call") => ("input", "response.custom_tool_call_input"),
            _ => ("arguments", "response.function_call_arguments"),
        };
        let mut added = item.clone();
        (added["status"], added[field]) = (json!("in_progress"), json!(""));
        self.event("response.output_item.added", json!({"item": added}), out);
        let id = &item["id"];
        self.event(&format!("{event}.delta"), json!({"item_id": id, "delta": item[field]}), out);
        self.event(&format!("{event}.done"), json!({"item_id": id, field: item[field], "name": item["name"]}), out);
        self.done(item, out);
    }

    fn finish(&mut self, reason: FinishReason, usage: Option<Usage>, out: &mut BytesMut) {
        self.close(out);
        let (name, response) = self.answer.ended(reason, usage.unwrap_or_default());
        state(&self.sequence, name, response, out);
    }

    /// An event, because comments do not stop the clock of a client that counts events.
    fn alive(&mut self, _text: &str, out: &mut BytesMut) {
        (self.signs())(out);
    }

    fn signs(&mut self) -> Signs {
        let (response, sequence) = (self.answer.alive(), Arc::clone(&self.sequence));
        Box::new(move |out| state(&sequence, "response.in_progress", response.clone(), out))
    }

    /// Not as an `error`: clients lose its text.
    fn fault(&mut self, error: &Error, out: &mut BytesMut) {
        self.close(out);
        let failed = self.answer.failed(error);
        state(&self.sequence, "response.failed", failed, out);
    }
}
