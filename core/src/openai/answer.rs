//! What the fronts write of an answer in OpenAI's form: ids, strings, errors.

use bytes::{BufMut, BytesMut};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::error::{Blame, Error};

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

/// Replaces empty arguments by `{}`: clients lose a call whose arguments are an empty string.
pub fn arguments_or_empty(arguments: &str) -> &str {
    if arguments.is_empty() { "{}" } else { arguments }
}
