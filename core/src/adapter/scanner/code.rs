//! Code at the beginning of which a call may begin: a fence, or inline code around the whole answer. It is held until the answer
//! ends, or until the first sign that it is text. It is framing if it holds only calls and nothing follows it. Otherwise it is
//! text, and a call in it is an example.

use super::{
    Region, Scanner,
    candidate::Candidate,
    fence::{Head, Ticks, head},
};
use crate::{
    adapter::{
        Call,
        asides::ASIDES,
        syntax::{Seen, Start, blank, starts_with_any},
    },
    event::Sink,
};

/// Languages of fences that hold calls and nothing else.
const DEDICATED: [&str; 9] =
    ["tool_call", "tool_calls", "toolcall", "tool-call", "tool_json", "tool_code", "tool_use", "tool_request", "function_call"];

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
                false => {
                    self.buf[first..].starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '{' | '['))
                        && self.begin_bare(first, 0)
                }
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
    pub(super) fn begin_of(&self, candidate: &Candidate) -> usize {
        self.code.as_ref().map_or(candidate.at, |code| code.at)
    }

    /// Whether the text up to `to` ends with the closing ticks of the code that is held.
    pub(super) fn ends_code(&self, to: usize) -> bool {
        self.code_close().is_some_and(|close| self.buf[..to].trim_end().ends_with(&close))
    }

    /// Handles the closing ticks at `first` after calls in code. `None`: something else follows.
    pub(super) fn step_code_end(&mut self, first: usize, end: bool) -> Option<bool> {
        let code = self.code.as_ref().filter(|code| self.waiting.last().is_some_and(|last| last.at >= code.at))?;
        let (close, rest) = (code.ticks.text(), &self.buf[first..]);
        let length = match starts_with_any(rest, [&close], end) {
            Start::Yes(length) => length,
            // The answer ended inside of them.
            Start::No if end && !rest.is_empty() && close.starts_with(rest) => rest.len(),
            Start::Maybe => return Some(false),
            Start::No => return None,
        };
        self.code = None;
        self.buf.scan_to(first + length);
        self.extend_waiting(first + length);
        Some(true)
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
}
