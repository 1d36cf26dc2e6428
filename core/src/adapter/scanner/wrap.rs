//! Wraps: delimiters around the whole answer, such as inline code, a code fence, or a tag like `<response>`. A wrap is framing if
//! it holds only calls of offered tools and nothing is outside of it. Otherwise it is text, and a call in it is an example. So
//! the wrap and its content are held until the end of the answer, or until the first sign that they are text.

use super::{
    GAP_BYTES, Region, Scanner,
    fence::{Head, fence_head},
};
use crate::{
    adapter::syntax::{Start, blank, starts_with_any},
    event::Sink,
};

/// Names of tags that mean only "this is the answer".
const TAGS: [&str; 9] = ["response", "answer", "output", "result", "json", "xml", "message", "assistant", "action"];
/// Names of tags that mean only "this is a call", after the namespace of a vendor: `<vendor:tool_call>`.
const CALLS: [&str; 5] = ["tool_call", "tool_calls", "function_call", "function_calls", "tool_use"];
/// Maximum length of a tag, in bytes.
const TAG_BYTES: usize = 48;
/// Languages of fences around markup that is not a program.
const LANGUAGES: [&str; 8] = ["", "xml", "html", "text", "txt", "plaintext", "json", "tool_call"];
/// Maximum length of the ticks of inline code. More of them open a fence.
const INLINE_TICKS: usize = 2;

/// Delimiters around the whole answer.
pub(super) struct Wrap {
    kind: Kind,
    /// Position in the answer at which its content begins.
    content: usize,
    /// The closing delimiters still to come, innermost last.
    close: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A code fence, with its character and length.
    Fence(u8, usize),
    /// Inline code, with its number of backticks.
    Inline(usize),
    Tag,
}

/// Whether a wrap begins here: its kind, the start of its content, its closing delimiter.
enum Opener {
    Is(Kind, usize, String),
    Maybe,
    No,
}

impl Scanner {
    /// Enters a wrap at the start of the answer if a call may begin in it. `None`: more text is needed.
    pub(super) fn begin_wrap(&mut self, at: usize, end: bool) -> Option<bool> {
        if self.held.wrap.is_some() || self.emitted.calls() > 0 || !self.held.is_empty() {
            return Some(false);
        }
        let (mut kind, mut content, mut close) = match self.opener(at, end) {
            Opener::Is(kind, content, close) => (kind, content, vec![close]),
            Opener::Maybe => return None,
            Opener::No => return Some(false),
        };
        let mut first = content + blank(&self.buf[content..]);
        if first - content > GAP_BYTES {
            return Some(false);
        }
        let mut marked = self.marker_begins(first, end)?;
        let mut fenced = false;
        if kind == Kind::Tag && !marked {
            let inner = self.opener(first, end);
            if matches!(inner, Opener::Maybe) {
                return None;
            }
            // JSON and Python in a fence are forms of their own, also inside a tag.
            fenced = self.buf[first..].starts_with("```");
            if let Opener::Is(Kind::Fence(tick, length), inside, ticks) = inner
                && let next = inside + blank(&self.buf[inside..])
                && next - inside <= GAP_BYTES
                && self.marker_begins(next, end)?
            {
                (kind, content, first, marked) = (Kind::Fence(tick, length), inside, next, true);
                close.push(ticks);
            }
        }
        let bare = self.buf[first..].starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '{' | '['));
        if !marked && !fenced && (!bare || matches!(kind, Kind::Fence(..))) {
            return Some(false);
        }
        self.held.wrap = Some(Wrap { kind, content: self.buf.in_answer(content), close });
        self.buf.scan_to(first);
        self.before.set_tried(marked);
        Some(true)
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

    /// The wrap that may begin at `at`.
    fn opener(&self, at: usize, end: bool) -> Opener {
        let rest = &self.buf[at..];
        let Some(&first @ (b'`' | b'~' | b'<')) = rest.as_bytes().first() else { return Opener::No };
        if first == b'<' {
            // In some families such a tag is the answer region, or a marker.
            let is_region =
                |tag: &str| self.adapter.framing.answer.as_ref().is_some_and(|answer| answer.open.iter().any(|open| open == tag));
            let is_marker = || self.marker_begins(at, true) == Some(true);
            let tag = &rest[..rest.floor_char_boundary(TAG_BYTES)];
            return match tag.split_once('>').map(|(tag, _)| tag.strip_prefix('<').unwrap_or(tag)) {
                Some(name) if wraps_calls(name) && !is_region(&format!("<{name}>")) && !is_marker() => {
                    Opener::Is(Kind::Tag, at + name.len() + "<>".len(), format!("</{name}>"))
                }
                None if !end && tag.len() == rest.len() && tag[1..].chars().all(is_in_name) => Opener::Maybe,
                _ => Opener::No,
            };
        }
        let length = rest.bytes().take(GAP_BYTES).take_while(|&byte| byte == first).count();
        let close = char::from(first).to_string().repeat(length);
        if length == rest.len() && !end {
            return Opener::Maybe;
        }
        if length <= INLINE_TICKS {
            return match self.is_a_name_in_code(&rest[length..], &close, end) {
                Start::No if first == b'`' => Opener::Is(Kind::Inline(length), at + length, close),
                Start::Maybe => Opener::Maybe,
                _ => Opener::No,
            };
        }
        match fence_head(&rest[length..], first, end) {
            Some((_, Head::Maybe)) => Opener::Maybe,
            Some((content, Head::Block(language))) if LANGUAGES.contains(&language.as_str()) => {
                Opener::Is(Kind::Fence(first, length), at + length + content, close)
            }
            _ => Opener::No,
        }
    }

    /// Whether a tool's name in inline code is alone on its line: its arguments may follow.
    fn is_a_name_in_code(&self, text: &str, close: &str, end: bool) -> Start {
        let lines = self.tools.iter().map(|tool| format!("{}{close}\n", tool.name));
        starts_with_any(text, lines, end)
    }

    /// Whether the current position is inside a wrap.
    pub(super) fn is_wrapped(&self) -> bool {
        self.wrap_close().is_some()
    }

    /// Whether that wrap is code, in which a marked call is treated like an unmarked one.
    pub(super) fn is_wrapped_in_code(&self) -> bool {
        self.held.wrap.as_ref().is_some_and(|wrap| !wrap.close.is_empty() && wrap.kind != Kind::Tag)
    }

    /// The closing delimiter of the innermost open wrap.
    pub(super) fn wrap_close(&self) -> Option<&[String]> {
        self.held.wrap.as_ref()?.close.last().map(std::slice::from_ref)
    }

    /// Closes the wrap if calls that were read up to `to` end with its closing delimiter.
    pub(super) fn close_wrap_before(&mut self, to: usize) {
        if let Some(wrap) = &mut self.held.wrap
            && wrap.close.last().is_some_and(|close| self.buf[..to].trim_end().ends_with(close))
        {
            wrap.close.pop();
        }
    }

    /// Handles the closing delimiter at `first` after calls in a wrap. `None`: something else follows.
    pub(super) fn step_wrap(&mut self, first: usize, end: bool, out: &mut dyn Sink) -> Option<bool> {
        let calls_wait = !self.held.is_empty();
        let wrap = self.held.wrap.as_mut().filter(|_| calls_wait)?;
        let close = wrap.close.last()?;
        let length = match starts_with_any(&self.buf[first..], [close], end) {
            Start::Yes(length) => length,
            Start::Maybe => return Some(false),
            Start::No => return None,
        };
        let after = self.buf.as_bytes().get(first + length);
        let ticks = close.starts_with(['`', '~']);
        if ticks && after.is_none() && !end {
            return Some(false);
        }
        if ticks && after == self.buf.as_bytes().get(first) {
            self.unwrap(out);
            return Some(true);
        }
        wrap.close.pop();
        self.buf.scan_to(first + length);
        self.held.extend(self.buf.in_answer(first + length));
        Some(true)
    }

    /// Unwraps if text up to `to` shows that this is not a wrap. Returns whether it did.
    pub(super) fn leaves_wrap(&mut self, to: usize, out: &mut dyn Sink) -> bool {
        let leaves = self.is_wrapped() && !self.buf[self.buf.pos()..to].trim().is_empty();
        if leaves {
            self.unwrap(out);
        }
        leaves
    }

    /// Turns the wrap into text and rescans what follows it.
    pub(super) fn unwrap(&mut self, out: &mut dyn Sink) {
        let Some(wrap) = self.held.wrap.take() else { return };
        self.buf.rescan();
        self.held.forget();
        self.advance(self.buf.place(wrap.content), out);
        match wrap.kind {
            Kind::Fence(tick, length) => self.region = Region::Fence(tick, length),
            Kind::Inline(length) => self.emitted.open_inline(length),
            Kind::Tag => {}
        }
    }
}

/// Whether a tag of this name says only that its content is the answer, or calls.
fn wraps_calls(name: &str) -> bool {
    let in_namespace = |name: &str| name.split_once(':').is_some_and(|(_, name)| CALLS.contains(&name));
    TAGS.contains(&name) || (name.chars().all(is_in_name) && in_namespace(name))
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-:".contains(c)
}
