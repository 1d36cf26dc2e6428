//! OpenAI's protocol: events become the chunk sequence that every known client accepts (role once and first, text before
//! calls, a call whole in one chunk, one finish, usage only when asked for).

use bytes::{BufMut, BytesMut};

use serde_json::{Value, json};

use super::{Collected, Head, Protocol, TRACE, note_text, pieces::Piece};
use crate::{
    error::Error,
    event::{Call, FinishReason, Note, ToolCall, Usage},
    openai::answer::{Envelope, arguments_or_empty, error_body, put_string},
    wire::{write_comment, write_sse},
};

#[cfg(test)]
mod tests;

/// A stream of server-sent events, each a chunk (`chat.completion.chunk`).
#[derive(Debug)]
pub(super) struct Stream {
    head: Head,
    /// What all chunks begin with: everything up to the value of `choices`.
    envelope: String,
    started: bool,
    trace: Option<String>,
}

impl Stream {
    pub(super) fn new(head: Head) -> Stream {
        let Envelope { id, created, model } = &head.envelope;
        let fields = json!({"id": id, "object": "chat.completion.chunk", "created": created, "model": model}).to_string();
        let envelope = format!("{},\"choices\":", fields.strip_suffix('}').unwrap_or_default());
        Stream { envelope, head, started: false, trace: None }
    }

    fn start(&mut self, out: &mut BytesMut) {
        if !std::mem::replace(&mut self.started, true) {
            self.delta(out, |out| out.put_slice(b"\"role\":\"assistant\",\"content\":\"\""));
        }
    }

    /// A chunk, from its choices on.
    fn chunk(&self, out: &mut BytesMut, rest: impl FnOnce(&mut BytesMut)) {
        write_sse(out, |out| {
            out.put_slice(self.envelope.as_bytes());
            rest(out);
            out.put_u8(b'}');
        });
    }

    /// A chunk with a delta.
    fn delta(&self, out: &mut BytesMut, members: impl FnOnce(&mut BytesMut)) {
        self.chunk(out, |out| {
            out.put_slice(b"[{\"index\":0,\"delta\":{");
            members(out);
            out.put_slice(b"},\"finish_reason\":null}]");
        });
    }

    /// A chunk without choices, with one field.
    fn field(&self, name: &str, json: &str, out: &mut BytesMut) {
        self.chunk(out, |out| {
            out.put_slice(b"[],");
            put_string(name, out);
            out.put_u8(b':');
            out.put_slice(json.as_bytes());
        });
    }
}

impl Protocol for Stream {
    fn piece(&mut self, kind: Piece, text: &str, out: &mut BytesMut) {
        self.start(out);
        let field = match kind {
            Piece::Text => "content",
            Piece::Reasoning => self.head.reasoning_field.unwrap_or_default(),
        };
        self.delta(out, |out| {
            put_string(field, out);
            out.put_u8(b':');
            put_string(text, out);
        });
    }

    /// A whole call in one chunk, which all tested clients accept.
    fn call(&mut self, call: Call<'_>, out: &mut BytesMut) {
        self.start(out);
        self.delta(out, |out| {
            out.put_slice(b"\"tool_calls\":[{\"index\":");
            out.put_slice(call.index.to_string().as_bytes());
            out.put_slice(b",\"id\":");
            put_string(call.id.unwrap_or_default(), out);
            out.put_slice(b",\"type\":\"function\",\"function\":{\"name\":");
            put_string(call.name, out);
            out.put_slice(b",\"arguments\":");
            put_string(arguments_or_empty(call.arguments), out);
            out.put_u8(b'}');
            if let Some(extra) = call.extra {
                out.put_slice(b",\"extra_content\":");
                out.put_slice(extra_value(extra).to_string().as_bytes());
            }
            out.put_slice(b"}]");
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
        self.chunk(out, |out| {
            out.put_slice(b"[{\"index\":0,\"delta\":{},\"finish_reason\":\"");
            out.put_slice(reason.as_str().as_bytes());
            out.put_slice(b"\"}]");
        });
        if self.head.include_usage {
            self.field("usage", &usage_value(usage.unwrap_or_default()).to_string(), out);
        }
        if let Some(trace) = self.trace.take() {
            self.field(TRACE, &trace, out);
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

/// A whole answer: the `chat.completion` object.
pub(super) fn whole(answer: &Collected) -> Value {
    let Head { envelope, reasoning_field, .. } = &answer.head;
    let (content, reasoning) = (answer.text(Piece::Text), answer.text(Piece::Reasoning));
    let call = |call: &ToolCall| {
        let function = json!({"name": call.name, "arguments": arguments_or_empty(&call.arguments)});
        let mut out = json!({"id": call.id, "type": "function", "function": function});
        if let Some(extra) = &call.extra {
            out["extra_content"] = extra_value(extra);
        }
        out
    };
    let calls: Vec<Value> = answer.calls().map(call).collect();
    let is_silent = content.is_empty() && !calls.is_empty();
    let mut message = json!({"role": "assistant", "content": if is_silent { Value::Null } else { content.into() }});
    if let Some(field) = reasoning_field.filter(|_| !reasoning.is_empty()) {
        message[field] = json!(reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "id": envelope.id,
        "object": "chat.completion",
        "created": envelope.created,
        "model": envelope.model,
        "choices": [
            {"index": 0, "message": message, "logprobs": null, "finish_reason": answer.reason.as_str()},
        ],
        "usage": usage_value(answer.usage),
    })
}

/// Opaque data as JSON if it is JSON, otherwise as a string.
fn extra_value(extra: &str) -> Value {
    serde_json::from_str(extra).unwrap_or_else(|_| json!(extra))
}

fn usage_value(usage: Usage) -> Value {
    let Usage { prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens } = usage;
    let mut value = json!({
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens.saturating_add(completion_tokens),
    });
    if cached_tokens > 0 {
        value["prompt_tokens_details"] = json!({"cached_tokens": cached_tokens});
    }
    if reasoning_tokens > 0 {
        value["completion_tokens_details"] = json!({"reasoning_tokens": reasoning_tokens});
    }
    value
}
