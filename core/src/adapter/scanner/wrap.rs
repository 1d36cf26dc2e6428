//! Wraps: inline code, or a code fence with a call marker at its beginning, around the whole answer or its end. A wrap is framing
//! if it holds only calls of offered tools and nothing follows it. Otherwise it is text, and a call in it is an example. So the wrap
//! and its content are held until the end of the answer, or until the first sign that they are text.

use super::{
    GAP_BYTES, Region, Scanner,
    fence::{Ticks, fence_head},
};
use crate::{
    adapter::syntax::{Seen, Start, blank, starts_with_any},
    event::Sink,
};

/// Maximum length of the ticks of inline code. More of them open a fence.
const INLINE_TICKS: usize = 2;

/// The ticks around the whole answer or its end.
pub(super) struct Wrap {
    /// Up to two are inline code.
    ticks: Ticks,
    /// Position in the answer at which its content begins.
    content: usize,
    /// Whether the closing ticks were read.
    closed: bool,
}

impl Scanner {
    /// Enters a wrap if a call may begin in it. `None`: more text is needed.
    pub(super) fn begin_wrap(&mut self, at: usize, end: bool) -> Option<bool> {
        if self.wrap.is_some() || self.emitted.calls > 0 || !self.waiting.is_empty() {
            return Some(false);
        }
        let Some((ticks, content)) = self.opener(at, end)? else { return Some(false) };
        let first = content + blank(&self.buf[content..]);
        if first - content > GAP_BYTES {
            return Some(false);
        }
        let marked = self.marker_begins(first, end)?;
        // JSON and Python in a fence are forms of their own.
        let bare = self.buf[first..].starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '{' | '['));
        if !marked && (!bare || ticks.length > INLINE_TICKS) {
            return Some(false);
        }
        self.wrap = Some(Wrap { ticks, content: self.buf.in_answer(content), closed: false });
        self.buf.scan_to(first);
        self.before.tried = marked;
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

    /// The wrap that may begin at `at`: its ticks, and the start of its content. `None`: more text is needed.
    fn opener(&self, at: usize, end: bool) -> Option<Option<(Ticks, usize)>> {
        let rest = &self.buf[at..];
        let Some(ticks @ Ticks { byte, length }) = Ticks::of(rest) else { return Some(None) };
        let after = &rest[length..];
        if after.is_empty() && !end {
            return None;
        }
        if length > INLINE_TICKS {
            return match fence_head(after, byte, end) {
                Seen::Maybe => None,
                Seen::Yes(head) if !head.one_line => Some(Some((ticks, at + length + head.content))),
                _ => Some(None),
            };
        }
        // A tool's name may be alone in inline code on its line: its arguments may follow.
        let close = ticks.text();
        match starts_with_any(after, self.tools.iter().map(|tool| format!("{}{close}\n", tool.name)), end) {
            Start::Maybe => None,
            Start::No if byte == b'`' => Some(Some((ticks, at + length))),
            _ => Some(None),
        }
    }

    /// Whether the current position is inside a wrap.
    pub(super) fn is_wrapped(&self) -> bool {
        self.wrap.as_ref().is_some_and(|wrap| !wrap.closed)
    }

    /// The closing ticks of the wrap, if it is open.
    pub(super) fn wrap_close(&self) -> Option<String> {
        self.wrap.as_ref().filter(|wrap| !wrap.closed).map(|wrap| wrap.ticks.text())
    }

    /// Closes the wrap if calls that were read up to `to` end with its closing ticks.
    pub(super) fn close_wrap_before(&mut self, to: usize) {
        if let Some(wrap) = &mut self.wrap {
            wrap.closed |= self.buf[..to].trim_end().ends_with(&wrap.ticks.text());
        }
    }

    /// Handles the closing ticks at `first` after calls in a wrap. `None`: something else follows.
    pub(super) fn step_wrap(&mut self, first: usize, end: bool, out: &mut dyn Sink) -> Option<bool> {
        let close = self.wrap_close().filter(|_| !self.waiting.is_empty())?;
        let length = match starts_with_any(&self.buf[first..], &[close], end) {
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
        self.wrap.iter_mut().for_each(|wrap| wrap.closed = true);
        self.buf.scan_to(first + length);
        self.extend_waiting(first + length);
        Some(true)
    }

    /// Unwraps if text up to `to` shows that this is not a wrap. Returns whether it did.
    pub(super) fn leaves_wrap(&mut self, to: usize, out: &mut dyn Sink) -> bool {
        let leaves = self.is_wrapped() && !self.buf[self.buf.pos..to].trim().is_empty();
        if leaves {
            self.unwrap(out);
        }
        leaves
    }

    /// Turns the wrap into text and rescans what follows it.
    pub(super) fn unwrap(&mut self, out: &mut dyn Sink) {
        let Some(wrap) = self.wrap.take() else { return };
        self.buf.rescan();
        self.waiting.clear();
        self.advance(self.buf.place(wrap.content), out);
        if wrap.ticks.length <= INLINE_TICKS {
            self.emitted.inline = wrap.ticks.length;
        } else {
            self.region = Region::Fence(wrap.ticks);
        }
    }
}
