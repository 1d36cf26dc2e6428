//! Code fences and inline code.

use super::{Region, Scanner};
use crate::{
    adapter::{
        Framing,
        asides::ends,
        syntax::{Seen, Start, starts_with_any},
    },
    event::Sink,
};

/// Minimum number of ticks of a fence.
const FENCE_TICKS: usize = 3;
/// Maximum length of the text after them, in bytes.
const INFO_BYTES: usize = 200;
/// How many bytes of a line decide whether it closes a fence.
const CLOSING_BYTES: usize = 256;
/// Maximum length of a call on the line of its fence, in bytes.
const ONE_LINE_BYTES: usize = 4096;
/// Maximum length of a run of backticks. A longer one counts as several.
const RUN_BYTES: usize = 200;

/// The ticks that open and close code: backticks or tildes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticks {
    pub(super) byte: u8,
    pub(super) length: usize,
}

impl Ticks {
    /// The ticks with which a text begins. `None`: it begins with something else.
    pub(super) fn of(text: &str) -> Option<Ticks> {
        let byte = text.bytes().next().filter(|byte| matches!(byte, b'`' | b'~'))?;
        Some(Ticks { byte, length: text.bytes().take(RUN_BYTES).take_while(|&other| other == byte).count() })
    }

    pub(super) fn text(self) -> String {
        char::from(self.byte).to_string().repeat(self.length)
    }
}

impl Scanner {
    /// Scans a code fence that holds no call: only its end counts.
    pub(super) fn step_fence(&mut self, ticks: Ticks, end: bool, out: &mut dyn Sink) -> bool {
        let mut offset = self.buf.pos;
        loop {
            let newline = self.buf[offset..].find('\n').map(|at| offset + at);
            let line = &self.buf[offset..newline.unwrap_or(self.buf.len())];
            // Only the beginning of a long line decides, so it does not matter how much of it has arrived.
            let looked_at = &line[..line.floor_char_boundary(CLOSING_BYTES)];
            let is_whole = looked_at.len() < line.len() || end || newline.is_some();
            let closes = match self.line_begins(offset) {
                false => Start::No,
                true => closes_fence(looked_at, ticks, &self.adapter.framing, is_whole),
            };
            match (closes, newline) {
                (Start::Yes(after), _) => {
                    self.advance(offset + after, out);
                    self.region = Region::Text;
                    return true;
                }
                (Start::No, Some(newline)) => offset = newline + 1,
                (closes, _) => {
                    self.advance(if closes == Start::No { self.buf.len() } else { offset }, out);
                    return false;
                }
            }
        }
    }

    /// Whether a line begins exactly at `at`.
    fn line_begins(&self, at: usize) -> bool {
        if at > self.buf.from { self.buf.pending(at).ends_with('\n') } else { self.emitted.line_head.is_empty() }
    }
}

/// What follows the ticks of code.
#[derive(Default)]
pub(super) struct Head {
    pub(super) language: String,
    /// Where the content begins: on the next line, or on this one.
    pub(super) content: usize,
    /// Whether it is a fence. Otherwise it is inline code.
    pub(super) is_fence: bool,
}

/// What follows some ticks. `No`: they do not open code.
pub(super) fn head(text: &str, ticks: Ticks, begins_line: bool, end: bool) -> Seen<Head> {
    if text.is_empty() && ticks.length < RUN_BYTES && !end {
        return Seen::Maybe;
    }
    let may_be_fence = ticks.length >= FENCE_TICKS && (begins_line || ticks.byte == b'`');
    match if may_be_fence { fence_head(text, ticks.byte, end) } else { Seen::No } {
        // After other text on its line, a fence must have a language.
        Seen::Yes(head) if begins_line || (head.is_fence && !head.language.is_empty()) => Seen::Yes(head),
        Seen::Maybe => Seen::Maybe,
        _ if ticks.byte == b'`' => Seen::Yes(Head::default()),
        _ => Seen::No,
    }
}

/// What follows at least three ticks, if a value or only the language is on their line.
fn fence_head(text: &str, tick: u8, end: bool) -> Seen<Head> {
    let word = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let body = word + text[word..].bytes().take_while(|byte| *byte == b' ').count();
    // Only within the bytes held for the head: the rest may not be there yet.
    let has_value = body <= INFO_BYTES && text[body..].starts_with(['{', '[']);
    let window = text.bytes().take(if has_value { ONE_LINE_BYTES } else { INFO_BYTES });
    let Some(stop) = window.clone().position(|byte| byte == b'\n' || (byte == b'`' && tick == b'`')) else {
        return if !end && window.len() == text.len() { Seen::Maybe } else { Seen::No };
    };
    let is_fence = text.as_bytes()[stop] == b'\n';
    let content = if has_value { body } else { stop + 1 };
    let language = text[..content.min(stop)].split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    if has_value || is_fence { Seen::Yes(Head { language, content, is_fence }) } else { Seen::No }
}

/// Whether a line closes a fence; `Yes` has the offset after its ticks. Only whitespace, a control token or the end of the answer
/// region may follow them.
fn closes_fence(line: &str, ticks: Ticks, framing: &Framing, whole: bool) -> Start {
    let body = line.trim_start();
    let length = body.bytes().take_while(|&byte| byte == ticks.byte).count();
    let rest = body[length..].trim_start();
    let after = line.len() - body.len() + length;
    let closes_answer = framing.answer.iter().flat_map(|answer| &answer.close);
    let tokens = framing.drop.iter().chain(closes_answer).map(String::as_str).chain(ends());
    match rest.is_empty() {
        true if !whole => Start::Maybe,
        _ if length < ticks.length => Start::No,
        true => Start::Yes(after),
        false => match starts_with_any(rest, tokens, whole) {
            Start::Yes(_) => Start::Yes(after),
            other => other,
        },
    }
}
