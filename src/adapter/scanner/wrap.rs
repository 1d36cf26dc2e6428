//! What a model puts around the whole of its answer: inline code, a code fence, a tag such as `<response>`. With nothing but
//! calls of offered tools inside and nothing outside, it is framing. With anything else it is text, and a call in it is an
//! example. So the wrap and what is inside wait for the end of the answer, or for the first sign that it is text.

use super::{
    Region, Scanner,
    framing::{GAP_BYTES, Head, fence_head},
};
use crate::{
    adapter::syntax::{Start, blank, starts_with_any},
    event::Sink,
};

/// Tags that say no more than that this is the answer.
const TAGS: [[&str; 2]; 8] = [
    ["<response>", "</response>"],
    ["<answer>", "</answer>"],
    ["<output>", "</output>"],
    ["<result>", "</result>"],
    ["<json>", "</json>"],
    ["<message>", "</message>"],
    ["<assistant>", "</assistant>"],
    ["<action>", "</action>"],
];
/// Languages of fences around markup that is no program.
const LANGUAGES: [&str; 8] = ["", "xml", "html", "text", "txt", "plaintext", "json", "tool_call"];
/// A longer run of backticks opens a fence, not inline code.
const INLINE_TICKS: usize = 2;

/// Something around the whole of the answer.
pub(super) struct Wrap {
    kind: Kind,
    /// Where its content begins, counted from the beginning of the answer.
    content: usize,
    /// What is still to close it, the innermost last.
    close: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Its character and length.
    Fence(u8, usize),
    /// So many backticks.
    Inline(usize),
    Tag,
}

/// Whether a wrap may begin at a place: its kind, where its content begins, what closes it.
enum Opener {
    Is(Kind, usize, String),
    Maybe,
    No,
}

impl Scanner {
    /// Enters a wrap at the beginning of the answer if a call may begin in it. `None`: more text is needed to know.
    pub(super) fn begin_wrap(&mut self, at: usize, end: bool) -> Option<bool> {
        if self.tentative.wrap.is_some() || self.left.calls() > 0 || !self.tentative.is_empty() || !self.options.unmarked {
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
            // JSON and Python in a fence are forms of their own, also in a tag.
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
        self.tentative.wrap = Some(Wrap { kind, content: self.buf.in_answer(content), close });
        self.buf.look_to(first);
        self.before.set_tried(marked);
        Some(true)
    }

    /// Whether the marker of a call is at `at`. `None`: more text is needed to know.
    fn marker_begins(&self, at: usize, end: bool) -> Option<bool> {
        let rest = &self.buf[at..];
        if !end && (rest.is_empty() || self.adapter.triggers.may_become(rest)) {
            return None;
        }
        let next = self.adapter.triggers.next(&self.buf, at, end);
        Some(next.is_ok_and(|found| found.at == at && !found.mark.calls.is_empty()))
    }

    fn opener(&self, at: usize, end: bool) -> Opener {
        let rest = &self.buf[at..];
        let Some(&first @ (b'`' | b'~' | b'<')) = rest.as_bytes().first() else { return Opener::No };
        if first == b'<' {
            // Some families set their answers off by such a tag.
            let own =
                |tag: &str| self.adapter.framing.answer.as_ref().is_some_and(|answer| answer.open.iter().any(|open| open == tag));
            return match TAGS.iter().find(|[open, _]| rest.starts_with(open)) {
                Some([open, _]) if own(open) => Opener::No,
                Some([open, close]) => Opener::Is(Kind::Tag, at + open.len(), (*close).to_owned()),
                None if !end && TAGS.iter().any(|[open, _]| open.starts_with(rest)) => Opener::Maybe,
                None => Opener::No,
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

    /// Whether a tool's name in inline code is alone in its line: its arguments may follow.
    fn is_a_name_in_code(&self, text: &str, close: &str, end: bool) -> Start {
        let lines = self.tools.iter().map(|tool| format!("{}{close}\n", tool.name));
        starts_with_any(text, &lines.collect::<Vec<_>>(), end)
    }

    /// Whether this place is inside of a wrap.
    pub(super) fn is_wrapped(&self) -> bool {
        self.wrap_close().is_some()
    }

    /// Whether that is code, in which a marked call counts like an unmarked one.
    pub(super) fn is_wrapped_in_code(&self) -> bool {
        self.tentative.wrap.as_ref().is_some_and(|wrap| !wrap.close.is_empty() && wrap.kind != Kind::Tag)
    }

    /// What closes the wrap around this place.
    pub(super) fn wrap_close(&self) -> Option<&[String]> {
        self.tentative.wrap.as_ref()?.close.last().map(std::slice::from_ref)
    }

    /// Calls inside of the wrap were read up to `to`: their end may be the wrap's.
    pub(super) fn close_wrap_before(&mut self, to: usize) {
        if let Some(wrap) = &mut self.tentative.wrap
            && wrap.close.last().is_some_and(|close| self.buf[..to].trim_end().ends_with(close))
        {
            wrap.close.pop();
        }
    }

    /// After calls in a wrap: whether it closes at `first`. `None`: something else follows.
    pub(super) fn step_wrap(&mut self, first: usize, end: bool, out: &mut dyn Sink) -> Option<bool> {
        let calls_wait = !self.tentative.is_empty();
        let wrap = self.tentative.wrap.as_mut().filter(|_| calls_wait)?;
        let close = wrap.close.last()?;
        let length = match starts_with_any(&self.buf[first..], [close], end) {
            Start::Yes(length) => length,
            Start::Maybe => return Some(false),
            Start::No => return None,
        };
        let behind = self.buf.as_bytes().get(first + length);
        let ticks = close.starts_with(['`', '~']);
        if ticks && behind.is_none() && !end {
            return Some(false);
        }
        if ticks && behind == self.buf.as_bytes().get(first) {
            self.unwrap(out);
            return Some(true);
        }
        wrap.close.pop();
        self.buf.look_to(first + length);
        Some(true)
    }

    /// Whether text up to `to` shows that this is no wrap.
    pub(super) fn leaves_wrap(&mut self, to: usize, out: &mut dyn Sink) -> bool {
        let leaves = self.is_wrapped() && !self.buf[self.buf.pos()..to].trim().is_empty();
        if leaves {
            self.unwrap(out);
        }
        leaves
    }

    /// It was no wrap: it is text, and the text after it is read again for what it is.
    pub(super) fn unwrap(&mut self, out: &mut dyn Sink) {
        let Some(wrap) = self.tentative.wrap.take() else { return };
        self.buf.look_again();
        self.tentative.forget();
        self.advance(self.buf.place(wrap.content), out);
        match wrap.kind {
            Kind::Fence(tick, length) => self.region = Region::Fence(tick, length),
            Kind::Inline(length) => self.left.open_inline(length),
            Kind::Tag => {}
        }
    }
}
