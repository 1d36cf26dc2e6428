//! Code: fences and inline code. A call may begin at the beginning of a fence, or of inline code around the whole answer. Such code is
//! held until the answer ends, or until the first sign that it is text. It is framing if it holds only calls and nothing follows
//! it. Otherwise it is text, and a call in it is an example.

use super::{Region, Scanner, Spot};
use crate::{
    adapter::{
        Call, Framing,
        asides::{ASIDES, ends},
        syntax::{Seen, Start, blank, starts_with_any},
    },
    event::Sink,
};

/// Languages of fences that hold calls and nothing else.
const DEDICATED: [&str; 9] =
    ["tool_call", "tool_calls", "toolcall", "tool-call", "tool_json", "tool_code", "tool_use", "tool_request", "function_call"];
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

/// Code that is held.
pub(super) struct Code {
    ticks: Ticks,
    /// Whether it is a fence. Otherwise it is inline code.
    is_fence: bool,
    /// Whether its language says that it holds calls.
    is_dedicated: bool,
    /// Where it and its content begin.
    at: usize,
    content: usize,
}

/// What follows the ticks of code.
#[derive(Default)]
struct Head {
    language: String,
    /// Where the content begins: on the next line, or on this one.
    content: usize,
    /// Whether it is a fence. Otherwise it is inline code.
    is_fence: bool,
}

impl Scanner {
    /// Handles backticks or tildes: a code fence, inline code, or neither.
    pub(super) fn step_code(&mut self, at: usize, end: bool, out: &mut dyn Sink) -> bool {
        let Some(ticks) = Ticks::of(&self.buf[at..]) else { return false };
        let begins_line = self.at_line_start(at);
        let head = match head(&self.buf[at + ticks.length..], ticks, begins_line, end) {
            Seen::Yes(head) => head,
            Seen::Maybe => return false,
            Seen::No => {
                self.advance(at + ticks.length, out);
                return true;
            }
        };
        if self.options.framing && begins_line && ASIDES.result_fences.contains(&head.language) && self.follows_call() {
            self.lose_rest(at, out);
            return false;
        }
        if self.wanted() && (head.is_fence || self.before.fresh) {
            match self.hold_code(at, ticks, &head, end) {
                Some(false) => {}
                begun => return begun.is_some(),
            }
        }
        if head.is_fence {
            self.advance(at + ticks.length + head.content, out);
            self.region = Region::Fence(ticks);
        } else {
            self.emitted.ticks(ticks.length);
            self.advance(at + ticks.length, out);
        }
        true
    }

    /// Holds code if a call may begin in it. `None`: more text is needed.
    fn hold_code(&mut self, at: usize, ticks: Ticks, head: &Head, end: bool) -> Option<bool> {
        let content = at + ticks.length + head.content;
        let first = content + blank(&self.buf[content..]);
        let is_marked = self.marker_begins(first, end)?;
        let is_dedicated = DEDICATED.contains(&head.language.as_str());
        let code = Code { ticks, is_fence: head.is_fence, is_dedicated, at, content };
        let begun = is_marked
            || match head.is_fence {
                true => self.begin_in_fence(content, &head.language),
                false => self.begin_bare(first, 0),
            };
        if begun {
            self.code = Some(code);
            self.buf.scan_to(first);
        }
        Some(begun)
    }

    /// Whether a call marker is at `at`. `None`: more text is needed.
    fn marker_begins(&self, at: usize, end: bool) -> Option<bool> {
        let rest = &self.buf[at..];
        if !end && (rest.is_empty() || self.adapter.triggers.may_become(rest)) {
            return None;
        }
        let next = self.adapter.triggers.next(&self.buf, at, end);
        Some(next.is_ok_and(|found| found.at == at && !found.mark.calls.is_empty()))
    }

    /// Whether calls of this form are examples here: in code, unless the client executes its own tags in fences.
    pub(super) fn is_code(&self, call: &Call) -> bool {
        self.code.as_ref().is_some_and(|code| !(code.is_fence && call.element && self.options.elements))
    }

    /// Whether a fence of a dedicated language marks what it holds.
    pub(super) fn is_dedicated(&self, call: &Call) -> bool {
        self.code.as_ref().is_some_and(|code| code.is_dedicated && !call.whole_answer)
    }

    /// The closing ticks of the code that is held.
    pub(super) fn code_close(&self) -> Option<String> {
        self.code.as_ref().map(|code| code.ticks.text())
    }

    /// Where a candidate begins, with the ticks before it.
    pub(super) fn begin_of(&self, spot: Spot) -> usize {
        self.code.as_ref().map_or(spot.at, |code| code.at)
    }

    /// Whether the text up to `to` ends with the closing ticks of the code that is held.
    pub(super) fn ends_code(&self, to: usize) -> bool {
        self.code_close().is_some_and(|close| self.buf[..to].trim_end().ends_with(&close))
    }

    /// Takes note that the text up to here ends with the closing ticks of the code that is held.
    pub(super) fn end_code(&mut self) {
        if self.ends_code(self.buf.pos) {
            self.code = None;
        }
    }

    /// Turns the code into text and rescans inline code.
    pub(super) fn show_code(&mut self, out: &mut dyn Sink) {
        let Some(code) = self.code.take() else { return };
        self.waiting.retain(|read| read.at < code.at);
        self.buf.scan_to(code.at);
        self.advance(code.content, out);
        if code.is_fence {
            self.region = Region::Fence(code.ticks);
        } else {
            self.emitted.ticks(code.ticks.length);
        }
    }

    /// Scans a code fence that holds no call: only its end counts.
    pub(super) fn step_fence(&mut self, ticks: Ticks, end: bool, out: &mut dyn Sink) -> bool {
        let mut offset = self.buf.pos;
        loop {
            let newline = self.buf[offset..].find('\n').map(|at| offset + at);
            let line = &self.buf[offset..newline.unwrap_or(self.buf.len())];
            // Only the beginning of a long line decides, so it does not matter how much of it has arrived.
            let looked_at = &line[..line.floor_char_boundary(CLOSING_BYTES)];
            let is_whole = looked_at.len() < line.len() || end || newline.is_some();
            let begins_line =
                if offset > self.buf.from { self.buf.pending(offset).ends_with('\n') } else { self.emitted.line_head.is_empty() };
            let closes = if begins_line { closes_fence(looked_at, ticks, &self.adapter.framing, is_whole) } else { Start::No };
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
}

/// What follows some ticks. `No`: they do not open code.
fn head(text: &str, ticks: Ticks, begins_line: bool, end: bool) -> Seen<Head> {
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
