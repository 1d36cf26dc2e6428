//! Wraps: inline code, or a code fence with a call marker at its beginning, around the whole answer or its end. A wrap is framing
//! if it holds only calls of offered tools and nothing follows it. Otherwise it is text, and a call in it is an example. So the wrap
//! and its content are held until the end of the answer, or until the first sign that they are text.

use super::{
    GAP_BYTES, Region, Scanner,
    fence::{Head, fence_head},
};
use crate::{
    adapter::syntax::{Start, blank, starts_with_any},
    event::Sink,
};

/// Maximum length of the ticks of inline code. More of them open a fence.
const INLINE_TICKS: usize = 2;

/// The ticks around the whole answer or its end.
pub(super) struct Wrap {
    tick: u8,
    /// How many open it: up to two are inline code.
    length: usize,
    /// Position in the answer at which its content begins.
    content: usize,
    /// The closing delimiter, unless it was read.
    close: Option<[String; 1]>,
}

impl Scanner {
    /// Enters a wrap if a call may begin in it. `None`: more text is needed.
    pub(super) fn begin_wrap(&mut self, at: usize, end: bool) -> Option<bool> {
        if self.held.wrap.is_some() || self.emitted.calls() > 0 || !self.held.is_empty() {
            return Some(false);
        }
        let Some((tick, length, content)) = self.opener(at, end)? else { return Some(false) };
        let first = content + blank(&self.buf[content..]);
        if first - content > GAP_BYTES {
            return Some(false);
        }
        let marked = self.marker_begins(first, end)?;
        // JSON and Python in a fence are forms of their own.
        let bare = self.buf[first..].starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '{' | '['));
        if !marked && (!bare || length > INLINE_TICKS) {
            return Some(false);
        }
        let close = Some([char::from(tick).to_string().repeat(length)]);
        self.held.wrap = Some(Wrap { tick, length, content: self.buf.in_answer(content), close });
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

    /// The wrap that may begin at `at`: its tick, their number, and the start of its content. `None`: more text is needed.
    fn opener(&self, at: usize, end: bool) -> Option<Option<(u8, usize, usize)>> {
        let rest = &self.buf[at..];
        let Some(&tick @ (b'`' | b'~')) = rest.as_bytes().first() else { return Some(None) };
        let length = rest.bytes().take(GAP_BYTES).take_while(|&byte| byte == tick).count();
        let after = &rest[length..];
        if after.is_empty() && !end {
            return None;
        }
        if length > INLINE_TICKS {
            return match fence_head(after, tick, end) {
                Some((_, Head::Maybe)) => None,
                Some((content, Head::Block(_))) => Some(Some((tick, length, at + length + content))),
                _ => Some(None),
            };
        }
        // A tool's name may be alone in inline code on its line: its arguments may follow.
        let ticks = &rest[..length];
        match starts_with_any(after, self.tools.iter().map(|tool| format!("{}{ticks}\n", tool.name)), end) {
            Start::Maybe => None,
            Start::No if tick == b'`' => Some(Some((tick, length, at + length))),
            _ => Some(None),
        }
    }

    /// Whether the current position is inside a wrap.
    pub(super) fn is_wrapped(&self) -> bool {
        self.wrap_close().is_some()
    }

    /// The closing delimiter of the wrap, if it is open.
    pub(super) fn wrap_close(&self) -> Option<&[String]> {
        self.held.wrap.as_ref()?.close.as_ref().map(<[String; 1]>::as_slice)
    }

    /// Closes the wrap if calls that were read up to `to` end with its closing delimiter.
    pub(super) fn close_wrap_before(&mut self, to: usize) {
        if let Some(wrap) = &mut self.held.wrap
            && wrap.close.as_ref().is_some_and(|[close]| self.buf[..to].trim_end().ends_with(close))
        {
            wrap.close = None;
        }
    }

    /// Handles the closing delimiter at `first` after calls in a wrap. `None`: something else follows.
    pub(super) fn step_wrap(&mut self, first: usize, end: bool, out: &mut dyn Sink) -> Option<bool> {
        let calls_wait = !self.held.is_empty();
        let wrap = self.held.wrap.as_mut().filter(|_| calls_wait)?;
        let length = match starts_with_any(&self.buf[first..], wrap.close.as_ref()?, end) {
            Start::Yes(length) => length,
            Start::Maybe => return Some(false),
            Start::No => return None,
        };
        let after = self.buf.as_bytes().get(first + length);
        if after.is_none() && !end {
            return Some(false);
        }
        if after == self.buf.as_bytes().get(first) {
            self.unwrap(out);
            return Some(true);
        }
        wrap.close = None;
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
        match wrap.length {
            length @ ..=INLINE_TICKS => self.emitted.open_inline(length),
            length => self.region = Region::Fence(wrap.tick, length),
        }
    }
}
