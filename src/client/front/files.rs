//! Files that a client sends with a message. A file of text becomes text, which every model can read. Any other file is passed on
//! in the form of chat completions, as if the client had sent it there.

use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use serde_json::{Value, json};

use super::conversation;
use crate::event::Note;

/// Types of files that hold text, apart from `text/*`.
const TEXTS: [&str; 7] = [
    "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
    "application/javascript", "application/x-sh",
];

/// A file with this name, MIME type and base64 content, as a part of a message.
pub(super) fn file(name: &str, kind: &str, data: &str) -> Value {
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_text = essence.starts_with("text/") || TEXTS.contains(&essence.as_str());
    let text = is_text.then(|| decoded(data)).flatten().and_then(|bytes| String::from_utf8(bytes).ok());
    match text {
        Some(text) => conversation::text(format!("{name}\n\n{text}")),
        None => json!({"type": "file", "file": {"filename": name, "file_data": format!("data:{kind};base64,{data}")}}),
    }
}

/// What stands for a part of the request that the model does not get, and a warning. `what`: what it is, and why.
pub(super) fn left_out(place: &str, what: &str, shown: String, warnings: &mut Vec<Note>) -> Value {
    warnings.push(Note::Warning { code: "part_dropped", text: format!("`{place}` is {what}, and was left out") });
    conversation::text(shown)
}

/// What stands for an image by its id.
pub(super) fn image_elsewhere(place: &str, warnings: &mut Vec<Note>) -> Value {
    let what = "an image that lies on another server";
    left_out(place, what, format!("[{what}]"), warnings)
}

/// The bytes of a base64 text, in the usual or in the URL alphabet, with or without padding; `None` if it is none.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let usual = |byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => byte,
    };
    let bytes = text.trim_end().trim_end_matches('=').bytes();
    let plain: Vec<u8> = bytes.filter(|byte| !byte.is_ascii_whitespace()).map(usual).collect();
    BASE64_STANDARD_NO_PAD.decode(plain).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_text_is_text_and_any_other_is_passed_on() {
        for (kind, data, text) in [
            ("text/plain", "SGVsbG8sIHfDtnJsZCE=", Some("Hello, wörld!")),
            ("text/csv; charset=utf-8", "YTtiCjE7Mg", Some("a;b\n1;2")),
            ("application/json", "eyJhIjoi8J-YgCJ9", Some("{\"a\":\"😀\"}")),
            // Broken into lines.
            ("text/plain", "SGVs\r\nbG8=\n", Some("Hello")),
            ("text/plain", "SGVsbG8sI", None),
            ("text/plain", "", Some("")),
            ("text/plain", "/w==", None),
            ("text/plain", "no base64!", None),
            ("application/pdf", "JVBERi0xLjQ=", None),
        ] {
            let expected = match text {
                Some(text) => json!({"type": "text", "text": format!("a\n\n{text}")}),
                None => json!({"type": "file", "file": {"filename": "a", "file_data": format!("data:{kind};base64,{data}")}}),
            };
            assert_eq!(file("a", kind, data), expected, "{kind}");
        }
    }
}
