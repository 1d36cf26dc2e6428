//! Reasoning and control tokens.

use std::sync::Arc;

use super::{GAP_BYTES, Region, Scanner};
use crate::{
    adapter::{
        Inside,
        syntax::{Start, starts_with_any},
        triggers::Found,
    },
    event::Sink,
};

impl Scanner {
    /// Handles markers of reasoning and answer in the text. `None`: this is not one.
    pub(super) fn step_framing(&mut self, found: Found<'_>, end: bool, out: &mut dyn Sink) -> Option<bool> {
        let (at, after) = (found.at, found.at + found.len);
        let adapter = Arc::clone(&self.adapter);
        let (divides, reasoning) = (found.mark.framing, adapter.framing.reasoning.as_ref());
        if divides.reasoning_open && (self.divides_at(at) || self.follows_sentence(at)) {
            let labels = reasoning.map_or(&[][..], |region| &region.label);
            let label = match starts_with_any(&self.buf[after..], labels, end) {
                Start::Yes(length) => length,
                Start::Maybe => return Some(false),
                Start::No => 0,
            };
            self.resolve(at, true, out);
            self.remove(at, after + label, out);
            self.region = Region::Reasoning;
            self.emitted.swallow_blank = true;
            self.emitted.divide(true);
            self.emitted.begin_line();
            // After this one, a closing marker is no longer a sign of how the answer began.
            self.draft.began.get_or_insert(self.options.reasoning_open);
            return Some(true);
        }
        if divides.reasoning_close {
            let Some(closes) = self.closes_here(at, after, end) else { return Some(false) };
            if closes {
                // Calls before it were drafts.
                if self.proves_thoughts(&self.buf[at..after]) {
                    self.waiting.clear();
                }
                self.remove(at, after, out);
                self.emitted.swallow_blank = !self.emitted.said;
                self.emitted.divide(false);
                // Closed without an opening marker: the text before it was reasoning.
                if self.emitted.said {
                    self.draft.began.get_or_insert(true);
                }
                self.message.in_answer |= divides.answer_open;
                return Some(true);
            }
        }
        if divides.answer_open && !self.emitted.said && !self.message.in_answer {
            self.remove(at, after, out);
            self.message.in_answer = true;
            self.emitted.swallow_blank = true;
            return Some(true);
        }
        if divides.answer_close && self.message.in_answer {
            let Some(ends_line) = self.ends_line(after, end) else { return Some(false) };
            if ends_line {
                self.remove(at, after, out);
                self.message.in_answer = false;
                return Some(true);
            }
        }
        None
    }

    /// Whether no whitespace precedes `at`.
    pub(super) fn ends_in_a_word(&self, at: usize) -> bool {
        !self.buf.pending(at).ends_with(char::is_whitespace)
    }

    /// Whether a whole sentence or a colon precedes `at`: `I run it now. [TOOL_CALLS]..`.
    pub(super) fn follows_sentence(&self, at: usize) -> bool {
        self.tail(at).ends_sentence()
    }

    /// Whether a marker of reasoning may be at `at`: where a line begins, or anywhere if the family's models write it there.
    fn divides_at(&self, at: usize) -> bool {
        self.adapter.framing.reasoning.as_ref().is_some_and(|own| own.anywhere) || self.at_line_start(at)
    }

    /// Whether the closing marker of reasoning at `at` closes it, and is not only mentioned. `None`: more text is needed.
    pub(super) fn closes_here(&self, at: usize, after: usize, end: bool) -> Option<bool> {
        Some(self.ends_line(after, end)? || self.divides_at(at))
    }

    /// Whether a marker that ends at `after` ends its line, or another tag follows. `None`: more text is needed.
    fn ends_line(&self, after: usize, end: bool) -> Option<bool> {
        let rest = &self.buf[after..];
        let rest = &rest[..rest.floor_char_boundary(GAP_BYTES)];
        match rest.trim_start_matches([' ', '\r']).as_bytes().first() {
            Some(b'\n' | b'<') => Some(true),
            None if rest.len() >= GAP_BYTES => Some(false),
            None => end.then_some(true),
            Some(_) => Some(false),
        }
    }

    /// Scans reasoning: only its end counts, and calls if the family's models forget to close it.
    pub(super) fn step_reasoning(&mut self, end: bool, out: &mut dyn Sink) -> bool {
        let adapter = Arc::clone(&self.adapter);
        if let Some(progress) = self.swallow_closers(end) {
            return progress;
        }
        let found = adapter.triggers.next_sure(&self.buf, self.buf.pos, end);
        let at = found.map_or_else(|held| held, |found| found.at);
        // Whitespace at its end is held, because what follows may swallow it.
        self.emit(self.buf.trimmed(at), out);
        self.buf.scan_to(at);
        let Ok(found) = found else { return false };
        let (after, divides) = (at + found.len, found.mark.framing);
        let is_stripped = divides.stripped_header && self.message.stripped && self.ends_in_a_word(at);
        if divides.header || divides.message_end || is_stripped {
            // The next header begins at its own marker.
            self.leave_reasoning(at, if divides.message_end { after } else { at }, out);
            self.message.primed |= divides.message_end;
            return true;
        }
        if divides.reasoning_close {
            self.leave_reasoning(at, after, out);
            self.message.in_answer |= divides.answer_open;
            return true;
        }
        let opens = self.tools.wanted() && !found.mark.calls.is_empty();
        let ignored = self.inside() == Inside::Ignore;
        if divides.reasoning_open || (divides.drop && (found.mark.calls.is_empty() || (opens && ignored))) {
            self.take_out(at, after, out);
            return true;
        }
        let begun = if opens && !ignored { self.begin_marked(found, end) } else { Some(false) };
        if begun == Some(false) {
            self.buf.scan_to(after);
        }
        begun.is_some()
    }

    /// The reasoning ends at `at`, and text continues at `after`. Calls in it were drafts.
    fn leave_reasoning(&mut self, at: usize, after: usize, out: &mut dyn Sink) {
        self.waiting.clear();
        self.emit(self.buf.trimmed(at), out);
        self.buf.skip_to(after);
        self.region = Region::Text;
        self.draft.believed = None;
        self.emitted.swallow_blank = true;
        self.emitted.begin_line();
        (self.before.fresh, self.before.tried) = (!self.emitted.said, false);
    }
}
