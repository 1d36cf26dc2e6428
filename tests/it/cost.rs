//! What a piece of prose costs while it is read: allocations, and bytes written to the client. Counted, not timed, so that the
//! figures are the same on every machine.

use std::sync::Arc;

use bytes::BytesMut;
use serde_json::json;
use toolglot::{
    backend::{Decoder, Dialect},
    client::{
        front::{Front, Head, Kind},
        shape::{self, Shape},
    },
    event::{Event, Tool, ToolChoice, Tools},
    turn::answer::{Answer, Setup},
    wire::{Frames, Framing},
};

use crate::seen::library;

/// One answer on its way from a backend's bytes to the client's.
struct Way {
    frames: Frames,
    decoder: Decoder,
    answer: Answer,
    shape: Shape,
    front: Front,
    out: BytesMut,
}

impl Way {
    fn new(model: &str, dialect: Dialect, kind: Kind) -> Way {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        let tools = Arc::new(Tools::new(
            ["read_file", "edit_file", "run_command"].map(|name| Tool::new(name, "", schema.to_string())),
            ToolChoice::Auto,
        ));
        let answer = Answer::new(Setup::new(library().find(model, None).adapter, Arc::clone(&tools), Arc::default()));
        let head = Head { kind, tools: Arc::clone(&tools), ..Head::default() };
        Way {
            frames: Frames::new(if dialect == Dialect::Ollama { Framing::Lines } else { Framing::Sse }, 1 << 20),
            decoder: Decoder::new(dialect),
            answer,
            shape: Shape::new(shape::Kind::Native, tools, false),
            front: Front::new(head),
            out: BytesMut::with_capacity(1 << 16),
        }
    }

    /// Reads what arrived; the number of bytes for the client.
    fn read(&mut self, bytes: &[u8]) -> usize {
        let Way { frames, decoder, answer, shape, front, out } = self;
        out.clear();
        frames.push(bytes);
        while let Some(frame) = frames.next().unwrap() {
            let mut write = |event: Event<'_>| front.event(event, out);
            let mut shaped = |event: Event<'_>| shape.event(event, &mut write);
            decoder.frame(frame, &mut |delta| answer.delta(delta, &mut shaped)).unwrap();
        }
        out.len()
    }
}

/// A piece of an answer, as llama.cpp and Ollama send it.
fn piece(dialect: Dialect, text: &str) -> Vec<u8> {
    let model = "m:7b";
    match dialect {
        Dialect::Ollama => {
            let message = json!({"role": "assistant", "content": text});
            format!("{}\n", json!({"model": model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false}))
        }
        _ => {
            let choices = json!([{"index": 0, "delta": {"content": text}, "finish_reason": null}]);
            format!(
                "data: {}\n\n",
                json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices})
            )
        }
    }
    .into_bytes()
}

const PIECES: usize = 700;

/// Allocations of [`PIECES`] pieces of an answer that is long already, and how many bytes each of them gives the client.
fn cost(model: &str, dialect: Dialect, kind: Kind) -> (u64, usize) {
    let mut way = Way::new(model, dialect, kind);
    let words = [
        "The", " file", " holds", " two", " functions", ",", " and", " the", " second", " one", " is", " never", " called", ". ",
    ];
    let pieces: Vec<Vec<u8>> = words.iter().map(|word| piece(dialect, word)).collect();
    // Buffers reach their size first.
    for piece in pieces.iter().cycle().take(PIECES) {
        way.read(piece);
    }
    let mut written = 0;
    let counted = allocation_counter::measure(|| written = pieces.iter().cycle().take(PIECES).map(|piece| way.read(piece)).sum());
    (counted.count_total, written / PIECES)
}

#[test]
fn a_piece_of_prose_allocates_nothing_and_is_written_once() {
    for model in ["qwen2.5-coder:7b", "gemma3:12b", "mistral-small", "deepseek-r1:8b", "gpt-oss:20b", "unknown"] {
        for dialect in [Dialect::OpenAi, Dialect::Ollama] {
            for (kind, longest) in [(Kind::OpenAi, 160), (Kind::Ollama, 120), (Kind::Messages, 130), (Kind::Responses, 190)] {
                let (allocations, bytes) = cost(model, dialect, kind);
                // A text that is kept of the answer doubles its room once: what has come is as much as what came before.
                assert!(allocations <= 1, "{model} over {dialect:?} to {kind:?}: {allocations} allocations of {PIECES} pieces");
                assert!(bytes <= longest, "{model} over {dialect:?} to {kind:?}: {bytes} bytes for each piece");
            }
        }
    }
}
