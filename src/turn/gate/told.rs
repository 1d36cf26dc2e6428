//! What the client was told of an answer: its calls and its text.

use serde_json::Value;

/// A call as it is compared: its name, and its arguments without whitespace.
pub(in crate::turn) type Made = (String, String);

pub(in crate::turn) fn made(name: &str, arguments: &str) -> Made {
    (name.to_owned(), canonical(arguments))
}

/// The delivered calls of this answer.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    pub(super) count: u32,
    calls: Vec<Made>,
}

/// The calls of this answer, delivered or not, each with whether the backend itself had read it.
#[derive(Debug, Default)]
pub(super) struct Written(Vec<(Made, bool)>);

/// The text of this answer so far.
#[derive(Debug)]
pub(super) struct Said {
    /// The client has got text.
    pub(super) text: bool,
    /// The client has got reasoning.
    pub(super) reasoning: bool,
    /// The client is at the start of a line.
    pub(super) line_start: bool,
    /// The prose to search for an announcement or a patch, whether the client got it or not.
    pub(super) prose: String,
    /// How much of it is kept, in bytes.
    pub(super) prose_bytes: usize,
}

impl Delivered {
    pub(super) fn has(&self, call: &Made) -> bool {
        self.calls.contains(call)
    }

    /// Counts a call; its index.
    pub(super) fn add(&mut self, call: Made) -> u32 {
        self.calls.push(call);
        self.count += 1;
        self.count - 1
    }
}

impl Written {
    /// Adds a call. Returns whether it was there before, once in the text and once as a native call: a backend's parser may leave
    /// in the text what it has read.
    pub(super) fn repeats(&mut self, call: Made, native: bool) -> bool {
        let is_other = |(known, by_backend): &(Made, bool)| *by_backend != native && alike(known, &call);
        let repeats = self.0.iter().any(is_other);
        self.0.push((call, native));
        repeats
    }

    /// Whether the backend itself has read a call of this tool.
    pub(super) fn has_native(&self, name: &str) -> bool {
        self.0.iter().any(|((known, _), native)| *native && known == name)
    }
}

/// Whether two calls are the same. A backend's parser may order the arguments anew, and take off whitespace around texts.
fn alike(one: &Made, other: &Made) -> bool {
    let read = |json: &str| serde_json::from_str(json).ok().map(trimmed);
    one.0 == other.0 && (one.1 == other.1 || read(&one.1).is_some_and(|value| Some(value) == read(&other.1)))
}

fn trimmed(value: Value) -> Value {
    match value {
        Value::String(text) => Value::from(text.trim()),
        Value::Array(items) => items.into_iter().map(trimmed).collect(),
        Value::Object(members) => members.into_iter().map(|(key, value)| (key, trimmed(value))).collect(),
        other => other,
    }
}

impl Said {
    /// The client gets this text.
    pub(super) fn left(&mut self, text: &str) {
        self.text |= !text.trim().is_empty();
        self.line_start = text.ends_with('\n');
    }
}

/// JSON text without insignificant whitespace, for comparison.
fn canonical(json: &str) -> String {
    serde_json::from_str::<Value>(json).map(|value| value.to_string()).unwrap_or_else(|_| json.trim().to_owned())
}
