//! The fixture format: one text file per recorded conversation, written by `toolglot record`, read by the tests, the
//! benches and the `replay` backend.
//!
//! ```text
//! # qwen3-coder/read-file    recorded 2026-11-20, ollama 0.x
//! === request
//! {"model":"qwen3-coder:30b","tools":[...],"messages":[...]}
//! === stream openai
//! data: {"choices":[{"delta":{"content":"Let me look."}}]}
//! === events
//! text "Let me look."
//! finish stop
//! ```
//!
//! `request` and `stream` may repeat, one pair for each upstream round. The body of a section ends before the newline that
//! precedes the next `=== ` line. A line `@12ms` separates two reads of the upstream; `\xNN` is a byte that the file cannot
//! hold (not UTF-8, or one that would look like a section or a separator).

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};

use crate::{error::Error, openai::ChatRequest, wire::Dialect};

/// A recorded conversation with what is expected of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fixture {
    /// The comment lines at the top, without `# `.
    pub title: String,
    /// One for each upstream round.
    pub rounds: Vec<Round>,
    /// The expected events, one line each.
    pub events: Option<String>,
    /// The expected bytes for a client's shape, as (shape, bytes).
    pub clients: Vec<(String, String)>,
}

/// One upstream round: the request, and the backend's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// The request in its internal form.
    pub request: ChatRequest,
    /// The format of the stream; `None`: only the model's text, which ends with `stop`.
    pub wire: Option<Dialect>,
    /// The bytes as they arrived.
    pub reads: Reads,
}

/// Bytes as they arrived: in pieces, each after a pause since the one before it, or since the request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reads {
    /// All of them.
    pub bytes: Vec<u8>,
    /// The pause before each piece, and where it ends. In the file, pauses are whole milliseconds.
    ends: Vec<(Duration, usize)>,
}

/// The words for the formats of streams in the headers of sections.
const FORMATS: [(&str, Option<Dialect>); 4] =
    [("openai", Some(Dialect::OpenAi)), ("ollama", Some(Dialect::Ollama)), ("google", Some(Dialect::Google)), ("text", None)];

/// Pieces with a shorter pause between them are recorded as one.
const PAUSE: Duration = Duration::from_millis(1);

impl Reads {
    /// One piece without a pause.
    pub fn one(bytes: &[u8]) -> Reads {
        let mut reads = Reads::default();
        reads.push(Duration::ZERO, bytes);
        reads
    }

    /// Records bytes that arrived `after` the previous ones.
    pub fn record(&mut self, after: Duration, bytes: &[u8]) {
        // Without a pause, they belong to the piece before them.
        let after = self.ends.pop_if(|_| after < PAUSE).map_or(after, |(before, _)| before);
        self.push(after, bytes);
    }

    fn push(&mut self, after: Duration, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push((after, self.bytes.len()));
    }

    /// The pause before each piece, and the piece.
    pub fn iter(&self) -> impl Iterator<Item = (Duration, &[u8])> {
        let starts = [0].into_iter().chain(self.ends.iter().map(|&(_, end)| end));
        self.ends.iter().zip(starts).map(|(&(after, end), start)| (after, &self.bytes[start..end]))
    }
}

impl Fixture {
    /// Parses a fixture.
    ///
    /// # Errors
    /// What is wrong, with the number of the line.
    pub fn parse(text: &str) -> Result<Fixture, Error> {
        let mut fixture = Fixture::default();
        let mut request: Option<ChatRequest> = None;
        for (line, header, body) in sections(text) {
            let fail = |what: String| Error::proxy(format!("fixture, line {line}: {what}"));
            match header.split_once(' ').unwrap_or((header, "")) {
                ("", _) => {
                    fixture.title = body.lines().map(|line| line.trim_start_matches('#').trim()).collect::<Vec<_>>().join("\n")
                }
                ("request", _) => {
                    let value: Value =
                        serde_json::from_str(body).map_err(|error| fail(format!("the request is not JSON: {error}")))?;
                    request = Some(ChatRequest::from_value(value).map_err(|error| fail(error.message))?);
                }
                ("stream", word) => {
                    let known = FORMATS.iter().find(|(known, _)| *known == word);
                    let (_, wire) = *known.ok_or_else(|| fail(format!("unknown stream `{word}`")))?;
                    let request = request.take().ok_or_else(|| fail("a stream needs a request before it".into()))?;
                    fixture.rounds.push(Round { request, wire, reads: reads(body) });
                }
                ("events", _) => fixture.events = Some(body.to_owned()),
                ("client", shape) => fixture.clients.push((shape.to_owned(), body.to_owned())),
                (other, _) => return Err(fail(format!("unknown section `{other}`; known: request, stream, events, client"))),
            }
        }
        if fixture.rounds.is_empty() {
            return Err(Error::proxy("a fixture needs at least one request and stream"));
        }
        Ok(fixture)
    }

    /// The fixture as text, which [`Fixture::parse`] reads back unchanged.
    pub fn write(&self) -> String {
        let mut out = String::new();
        for line in self.title.lines() {
            let _ = writeln!(out, "# {line}");
        }
        for round in &self.rounds {
            let format = FORMATS.iter().find(|(_, known)| *known == round.wire).map_or("", |(word, _)| *word);
            let _ = write!(out, "=== request\n{}\n=== stream {format}\n", json!(round.request));
            for (at, (after, bytes)) in round.reads.iter().enumerate() {
                if at > 0 {
                    let _ = write!(out, "\n@{}ms\n", after.as_millis());
                }
                escape(bytes, &mut out);
            }
            out.push('\n');
        }
        if let Some(events) = &self.events {
            let _ = write!(out, "=== events\n{events}\n");
        }
        for (shape, bytes) in &self.clients {
            let _ = write!(out, "=== client {shape}\n{bytes}\n");
        }
        out
    }
}

/// (line number, header without `=== `, body) of every section; the text before the first one has the header "".
fn sections(text: &str) -> Vec<(usize, &str, &str)> {
    let mut out = Vec::new();
    let (mut header, mut header_line, mut start) = ("", 1, 0);
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if let Some(next) = line.strip_prefix("=== ") {
            out.push((header_line, header, body(&text[start..at])));
            (header, header_line, start) = (next.trim_end(), number + 1, at + line.len());
        }
        at += line.len();
    }
    out.push((header_line, header, body(&text[start..])));
    out
}

fn body(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

fn reads(body: &str) -> Reads {
    let (mut reads, mut after, mut piece) = (Reads::default(), Duration::ZERO, String::new());
    for line in body.split_inclusive('\n') {
        let pause =
            line.trim_end_matches('\n').strip_prefix('@').and_then(|rest| rest.strip_suffix("ms")).and_then(|ms| ms.parse().ok());
        match pause {
            Some(ms) => {
                reads.push(after, &unescape(piece.strip_suffix('\n').unwrap_or(&piece)));
                piece.clear();
                after = Duration::from_millis(ms);
            }
            None => piece.push_str(line),
        }
    }
    reads.push(after, &unescape(&piece));
    reads
}

fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = rest.strip_prefix(b"\\x").and_then(|hex| hex.get(..2)).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(value) => {
                out.push(value);
                rest = &rest[4..];
            }
            None => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    out
}

fn escape(bytes: &[u8], out: &mut String) {
    for chunk in bytes.utf8_chunks() {
        let mut line_start = out.ends_with('\n');
        let valid = chunk.valid();
        for (at, character) in valid.char_indices() {
            let rest = &valid[at..];
            let special =
                (line_start && (rest.starts_with("=== ") || character == '@')) || rest.starts_with("\\x") || character == '\r';
            if special {
                _ = write!(out, "\\x{:02x}", character as u32)
            } else {
                out.push(character)
            }
            line_start = character == '\n';
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
}

#[cfg(test)]
mod tests;
