//! The answer in OpenAI's form: the chunks of a stream, the collected completion, the error body. The part that all chunks of a
//! stream share is serialised once, so a chunk is one append to the caller's buffer.

use bytes::{BufMut, BytesMut};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    error::{Blame, Error},
    event::{Call, FinishReason, ToolCall, Usage},
};

#[cfg(test)]
mod tests;

/// The fields that all chunks of an answer, and the completion, share.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Envelope {
    /// The answer's id (`chatcmpl-...`).
    pub id: String,
    /// Unix time in seconds.
    pub created: u64,
    /// The model's name as the client wrote it.
    pub model: String,
}

/// Writes the JSON of chunks (`chat.completion.chunk`), without framing. The caller must keep the order: the role first and once,
/// text before calls, each call in one chunk, `finish` once, `usage` last.
#[derive(Debug, Clone)]
pub struct Chunks {
    /// Everything up to the value of `choices`.
    envelope: Vec<u8>,
}

/// A whole answer, for a client that does not stream.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Completion {
    /// The text.
    pub content: String,
    /// The reasoning.
    pub reasoning: String,
    /// The calls, each with its id.
    pub calls: Vec<ToolCall>,
    /// Why it ended.
    pub reason: Option<FinishReason>,
    /// The stop sequence of the request that ended it, if the backend reports it.
    pub stop_sequence: Option<String>,
    /// Token counts; 0 if the backend sent none, because clients need the field.
    pub usage: Usage,
}

impl Chunks {
    /// A writer for one answer.
    pub fn new(envelope: &Envelope) -> Chunks {
        let mut out = BytesMut::with_capacity(160);
        out.put_slice(b"{\"id\":");
        put_string(&envelope.id, &mut out);
        out.put_slice(b",\"object\":\"chat.completion.chunk\",\"created\":");
        out.put_slice(envelope.created.to_string().as_bytes());
        out.put_slice(b",\"model\":");
        put_string(&envelope.model, &mut out);
        out.put_slice(b",\"choices\":");
        Chunks { envelope: out.to_vec() }
    }

    /// `{"role":"assistant","content":""}`.
    pub fn role(&self, out: &mut BytesMut) {
        self.delta(out, |out| out.put_slice(b"\"role\":\"assistant\",\"content\":\"\""));
    }

    /// A piece of text.
    pub fn content(&self, text: &str, out: &mut BytesMut) {
        self.delta(out, |out| {
            out.put_slice(b"\"content\":");
            put_string(text, out);
        });
    }

    /// A piece of reasoning, in the field that the client reads.
    pub fn reasoning(&self, field: &str, text: &str, out: &mut BytesMut) {
        self.delta(out, |out| {
            put_string(field, out);
            out.put_u8(b':');
            put_string(text, out);
        });
    }

    /// A whole call: index, id, type, name and all arguments in one chunk, which all tested clients accept.
    pub fn call(&self, call: Call<'_>, out: &mut BytesMut) {
        self.delta(out, |out| {
            out.put_slice(b"\"tool_calls\":[{\"index\":");
            out.put_slice(call.index.to_string().as_bytes());
            out.put_slice(b",\"id\":");
            put_string(call.id.unwrap_or_default(), out);
            out.put_slice(b",\"type\":\"function\",\"function\":");
            put_function(call, out);
            if let Some(extra) = call.extra {
                out.put_slice(b",\"extra_content\":");
                out.put_slice(extra_value(extra).to_string().as_bytes());
            }
            out.put_slice(b"}]");
        });
    }

    /// A whole call in the older form, `function_call`.
    pub fn function(&self, call: Call<'_>, out: &mut BytesMut) {
        self.delta(out, |out| {
            out.put_slice(b"\"function_call\":");
            put_function(call, out);
        });
    }

    /// The end: an empty delta with the reason.
    pub fn finish(&self, reason: &str, out: &mut BytesMut) {
        out.put_slice(&self.envelope);
        out.put_slice(b"[{\"index\":0,\"delta\":{},\"finish_reason\":\"");
        out.put_slice(reason.as_bytes());
        out.put_slice(b"\"}]}");
    }

    /// The usage chunk: no choices.
    pub fn usage(&self, usage: Usage, out: &mut BytesMut) {
        out.put_slice(&self.envelope);
        out.put_slice(b"[],\"usage\":");
        out.put_slice(usage_value(usage).to_string().as_bytes());
        out.put_u8(b'}');
    }

    /// A chunk without choices, with a field of toolglot's own; `json` is its value.
    pub fn extension(&self, field: &str, json: &str, out: &mut BytesMut) {
        out.put_slice(&self.envelope);
        out.put_slice(b"[],");
        put_string(field, out);
        out.put_u8(b':');
        out.put_slice(json.as_bytes());
        out.put_u8(b'}');
    }

    fn delta(&self, out: &mut BytesMut, members: impl FnOnce(&mut BytesMut)) {
        out.put_slice(&self.envelope);
        out.put_slice(b"[{\"index\":0,\"delta\":{");
        members(out);
        out.put_slice(b"},\"finish_reason\":null}]}");
    }
}

impl Completion {
    /// The `chat.completion` object: `{id, object, created, model, choices: [..], usage}`. `reasoning_field`: the message field for
    /// reasoning; `None`: reasoning is omitted.
    pub fn to_value(&self, envelope: &Envelope, reasoning_field: Option<&str>) -> Value {
        let silent = self.content.is_empty() && !self.calls.is_empty();
        let mut message = json!({"role": "assistant", "content": if silent { Value::Null } else { json!(self.content) }});
        if let Some(field) = reasoning_field.filter(|_| !self.reasoning.is_empty()) {
            message[field] = json!(self.reasoning);
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.iter().map(call_value).collect();
        }
        json!({
            "id": envelope.id,
            "object": "chat.completion",
            "created": envelope.created,
            "model": envelope.model,
            "choices": [{
                "index": 0,
                "message": message,
                "logprobs": null,
                "finish_reason": self.reason.unwrap_or(FinishReason::Stop).as_str(),
            }],
            "usage": usage_value(self.usage),
        })
    }
}

/// The type of an error in its body.
pub fn error_type(error: &Error) -> &'static str {
    match (error.blame, error.status) {
        (_, 401) => "authentication_error",
        (_, 403) => "permission_error",
        (_, 404) => "not_found_error",
        (_, 429) => "rate_limit_error",
        (_, 400..500) | (Blame::Client, _) => "invalid_request_error",
        _ => "server_error",
    }
}

/// The body of an error: `{"error": {message, type, param, code}}`. It is the HTTP body before an answer, or a `data:` line in
/// it.
pub fn error_body(error: &Error) -> Value {
    json!({"error": {"message": error.message, "type": error_type(error), "param": null, "code": error.code}})
}

/// `call_` and 24 characters of base 62: a pure function of `parts`, so that a rewritten history is the same in every turn.
pub fn call_id(parts: &[&[u8]]) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut id = String::from("call_");
    // One digit per byte: slightly uneven, still 140 bits.
    id.extend(hash.finalize().iter().take(24).map(|byte| char::from(DIGITS[usize::from(*byte) % DIGITS.len()])));
    id
}

/// Appends `text` as a JSON string. It also escapes line separators (U+0085, U+2028, U+2029), because the line readers of some
/// clients split at them.
pub fn put_string(text: &str, out: &mut BytesMut) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    const MAY_BE_ESCAPED: [bool; 256] = {
        let (mut table, mut byte) = ([false; 256], 0);
        while byte < table.len() {
            table[byte] = byte < 0x20 || matches!(byte as u8, b'"' | b'\\' | 0xC2 | 0xE2);
            byte += 1;
        }
        table
    };
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.put_u8(b'"');
    let mut clean = 0; // everything before it is written
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|&byte| MAY_BE_ESCAPED[usize::from(byte)]) {
        at += found;
        let byte = bytes[at];
        let (escape, length): ([u8; 6], usize) = match (byte, bytes.get(at + 1), bytes.get(at + 2)) {
            (b'"', ..) => (*b"\\\"    ", 2),
            (b'\\', ..) => (*b"\\\\    ", 2),
            (b'\n', ..) => (*b"\\n    ", 2),
            (b'\r', ..) => (*b"\\r    ", 2),
            (b'\t', ..) => (*b"\\t    ", 2),
            (0..0x20, ..) => ([b'\\', b'u', b'0', b'0', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]], 6),
            (0xC2, Some(0x85), _) => (*b"\\u0085", 6),
            (0xE2, Some(0x80), Some(0xA8)) => (*b"\\u2028", 6),
            (0xE2, Some(0x80), Some(0xA9)) => (*b"\\u2029", 6),
            _ => {
                at += 1;
                continue;
            }
        };
        out.put_slice(&bytes[clean..at]);
        out.put_slice(&escape[..length]);
        at += match byte {
            0xC2 => 2,
            0xE2 => 3,
            _ => 1,
        };
        clean = at;
    }
    out.put_slice(&bytes[clean..]);
    out.put_u8(b'"');
}

/// Writes the name and the arguments of a call.
fn put_function(call: Call<'_>, out: &mut BytesMut) {
    out.put_slice(b"{\"name\":");
    put_string(call.name, out);
    out.put_slice(b",\"arguments\":");
    put_string(arguments_or_empty(call.arguments), out);
    out.put_u8(b'}');
}

fn call_value(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": arguments_or_empty(&call.arguments)});
    let mut out = json!({"id": call.id.as_deref().unwrap_or_default(), "type": "function", "function": function});
    if let Some(extra) = &call.extra {
        out["extra_content"] = extra_value(extra);
    }
    out
}

/// Replaces empty arguments by `{}`: clients lose a call whose arguments are an empty string.
pub fn arguments_or_empty(arguments: &str) -> &str {
    if arguments.is_empty() { "{}" } else { arguments }
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
