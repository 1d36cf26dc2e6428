//! Code fences and inline code.

use super::{Region, Scanner, candidate::Fence};
use crate::{
    adapter::{
        Framing,
        asides::{ASIDES, ends},
        syntax::{Seen, Start, starts_with_any},
    },
    event::Sink,
};

/// Maximum length of the text after the ticks of a fence, in bytes.
const INFO_BYTES: usize = 200;
/// How many bytes of a line decide whether it closes a fence.
const CLOSING_BYTES: usize = 256;
/// Maximum length of a call on the line of its fence, in bytes.
const ONE_LINE_BYTES: usize = 4096;
/// Languages of fences that hold calls and nothing else.
const DEDICATED: [&str; 9] =
    ["tool_call", "tool_calls", "toolcall", "tool-call", "tool_json", "tool_code", "tool_use", "tool_request", "function_call"];
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
    /// Handles a backtick or tilde: a code fence, inline code, or neither.
    pub(super) fn step_code(&mut self, at: usize, end: bool, out: &mut dyn Sink) -> bool {
        let Some(ticks @ Ticks { byte: tick, length }) = Ticks::of(&self.buf[at..]) else { return false };
        if at + length == self.buf.len() && length < RUN_BYTES && !end {
            return false;
        }
        let begins_line = self.at_line_start(at);
        if length >= 3 && (begins_line || tick == b'`') {
            let head = fence_head(&self.buf[at + length..], tick, end);
            if matches!(head, Seen::Maybe) {
                return false;
            }
            // After other text on its line, a fence must have a language.
            if let Seen::Yes(Head { language, content, one_line }) = head
                && (begins_line || (!one_line && !language.is_empty()))
            {
                let content = at + length + content;
                let is_dedicated = DEDICATED.contains(&language.as_str());
                let fence = Fence { ticks, one_line, is_dedicated, content };
                if self.options.framing && begins_line && ASIDES.result_fences.contains(&language) && self.follows_call() {
                    self.lose_rest(at, out);
                    return false;
                }
                if self.wanted() && begins_line && !self.before.fresh {
                    match self.begin_wrap(at, end) {
                        Some(false) => {}
                        begun => return begun.is_some(),
                    }
                }
                if self.wanted() && self.begin_fence(at, fence, &language) {
                    return true;
                }
                if !one_line {
                    self.advance(content, out);
                    self.region = Region::Fence(ticks);
                    return true;
                }
            }
        }
        if tick == b'`' {
            self.emitted.ticks(length);
        }
        self.advance(at + length, out);
        true
    }

    /// Scans a code fence without a call (`begin_fence` has tried it): only its end counts.
    pub(super) fn step_fence(&mut self, ticks: Ticks, end: bool, out: &mut dyn Sink) -> bool {
        let mut offset = self.buf.pos;
        loop {
            let newline = self.buf[offset..].find('\n').map(|at| offset + at);
            let line = &self.buf[offset..newline.unwrap_or(self.buf.len())];
            // Only the beginning of a long line decides, so it does not matter how much of it has arrived.
            let looked_at = &line[..line.floor_char_boundary(CLOSING_BYTES)];
            let is_long = looked_at.len() < line.len();
            let closes = if self.line_begins(offset) {
                let is_whole = !is_long && (end || newline.is_some());
                match closes_fence(looked_at, ticks, &self.adapter.framing, is_whole) {
                    // Reasoning ends the code that it left open.
                    Start::No if self.message.aside => closes_aside(looked_at, is_whole),
                    closes => closes,
                }
            } else {
                Start::No
            };
            let closes = if is_long && matches!(closes, Start::Maybe) { Start::No } else { closes };
            match (closes, newline) {
                (Start::Yes(after), _) => {
                    self.advance(offset + after, out);
                    self.region = Region::Text;
                    return true;
                }
                (Start::Maybe, _) => {
                    self.advance(offset, out);
                    return false;
                }
                (Start::No, Some(newline)) => offset = newline + 1,
                (Start::No, None) => {
                    self.advance(self.buf.len(), out);
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

/// What follows the ticks of a code fence.
pub(super) struct Head {
    pub(super) language: String,
    /// Where the content begins: on the next line, or on this one.
    pub(super) content: usize,
    /// Whether the fence closes on this line.
    pub(super) one_line: bool,
}

/// The head of a fence after its ticks, if this is a fence.
pub(super) fn fence_head(text: &str, tick: u8, end: bool) -> Seen<Head> {
    // A value may begin on the first line.
    let word = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let body = word + text[word..].bytes().take_while(|byte| *byte == b' ').count();
    // Only within the bytes held for the head: the rest may not be there yet.
    let begins = body <= INFO_BYTES && text[body..].starts_with(['{', '[']);
    let window = text.bytes().take(if begins { ONE_LINE_BYTES } else { INFO_BYTES });
    let head = |language: &str, content: usize, one_line: bool| {
        let language = language.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        Seen::Yes(Head { language, content, one_line })
    };
    match window.clone().position(|byte| byte == b'\n' || (byte == b'`' && tick == b'`')) {
        Some(stop) if text.as_bytes()[stop] == b'\n' && begins => head(&text[..word], body, false),
        Some(stop) if text.as_bytes()[stop] == b'\n' => head(&text[..stop], stop + 1, false),
        Some(_) if begins => head(&text[..word], body, true),
        None if !end && window.len() == text.len() => Seen::Maybe,
        Some(_) | None => Seen::No,
    }
}

/// Whether a line closes a fence; `Yes` has the offset after its ticks. Only whitespace, a control token or the end of the answer
/// region may follow them.
fn closes_fence(line: &str, ticks: Ticks, framing: &Framing, whole: bool) -> Start {
    let body = line.trim_start();
    let length = body.bytes().take_while(|&byte| byte == ticks.byte).count();
    let rest = body[length..].trim_start();
    let after = line.len() - body.len() + length;
    let closes_answer = framing.answer.iter().flat_map(|answer| &answer.close);
    match rest.is_empty() {
        true if !whole => Start::Maybe,
        _ if length < ticks.length => Start::No,
        true => Start::Yes(after),
        false => match starts_with_any(
            rest,
            framing.drop.iter().map(String::as_str).chain(ends()).chain(closes_answer.map(String::as_str)),
            whole,
        ) {
            Start::Yes(_) => Start::Yes(after),
            other => other,
        },
    }
}

/// Whether a line begins with the tag that closes text around calls that the model only mentions.
fn closes_aside(line: &str, whole: bool) -> Start {
    match starts_with_any(line, ASIDES.asides.iter().map(|[_, close]| close), whole) {
        Start::Yes(_) => Start::Yes(0),
        start => start,
    }
}
