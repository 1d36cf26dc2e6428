//! Reasoning and control tokens.

use std::sync::Arc;

use super::{GAP_BYTES, Region, Scanner};
use crate::{
    adapter::{
        Inside, Reasoning,
        syntax::{Start, starts_with_any},
        triggers::Found,
    },
    event::Sink,
};

impl Scanner {
    /// Skips the label of a reasoning region whose markers the backend removed, if it is a line of its own at the start of the
    /// answer. `false`: more text is needed.
    pub(super) fn skip_label(&mut self, end: bool) -> bool {
        let Some(reasoning) = self.adapter.framing.reasoning.as_ref().filter(|_| self.options.framing) else { return true };
        match starts_with_any(&self.buf, &reasoning.label, end) {
            Start::Maybe => false,
            Start::No => true,
            Start::Yes(length) => match self.buf[length..].chars().next() {
                None => end,
                Some('\n') => {
                    self.buf.skip_to(length + 1);
                    self.emitted.swallow_blank = true;
                    true
                }
                Some(_) => true,
            },
        }
    }

    /// Handles markers of reasoning and answer in the text. `None`: this is not one.
    pub(super) fn step_framing(&mut self, found: Found<'_>, end: bool, out: &mut dyn Sink) -> Option<bool> {
        let (at, after) = (found.at, found.at + found.len);
        let adapter = Arc::clone(&self.adapter);
        let (divides, reasoning) = (found.mark.framing, adapter.framing.reasoning.as_ref());
        let anywhere = reasoning.is_some_and(|reasoning| reasoning.anywhere);
        let begins = anywhere || self.at_line_start(at);
        if divides.reasoning_open && !begins && !end && after == self.buf.len() {
            return Some(false);
        }
        if divides.reasoning_open && (begins || (self.follows_sentence(at) && !self.buf[after..].starts_with(' '))) {
            let label = match reasoning.map_or(Start::No, |region| label(&self.buf[after..], region, end)) {
                Start::Yes(length) => length,
                Start::Maybe => return Some(false),
                Start::No => 0,
            };
            self.resolve(at, true, out);
            self.remove(at, after + label, out);
            self.region = Region::Reasoning;
            self.emitted.swallow_blank = true;
            self.emitted.divide(true);
            // After this one, a closing marker is no longer a sign of how the answer began.
            self.draft.began.get_or_insert(self.options.reasoning_open);
            return Some(true);
        }
        if divides.reasoning_close {
            let Some(ends_line) = self.ends_line(after, end) else { return Some(false) };
            if anywhere || ends_line || self.at_line_start(at) {
                // Calls before it were drafts.
                if self.proves_thoughts(&self.buf[at..after]) {
                    self.waiting.clear();
                }
                self.remove(at, after, out);
                self.emitted.swallow_blank = !self.emitted.said;
                if self.waiting.is_empty() {
                    self.emitted.divide(false);
                }
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

    /// Whether `at` is a word in a sentence that began on this line: a space precedes it, and the sentence has not ended.
    fn is_in_sentence(&self, at: usize) -> bool {
        let before = self.buf.pending(at);
        before.ends_with(' ') && !self.at_line_start(at) && !self.follows_sentence(at)
    }

    /// Whether a whole sentence or a colon precedes `at`: `I run it now. [TOOL_CALLS]..`.
    pub(super) fn follows_sentence(&self, at: usize) -> bool {
        self.emitted.tail.after(self.buf.pending(at)).ends_sentence()
    }

    /// Whether a marker that ends at `after` ends its line, or another tag follows. `None`: more text is needed.
    pub(super) fn ends_line(&self, after: usize, end: bool) -> Option<bool> {
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
        let found = match adapter.triggers.next(&self.buf, self.buf.pos, end) {
            Ok(found) => found,
            Err(held) => {
                self.reason_on(held, out);
                return false;
            }
        };
        let (at, after, divides) = (found.at, found.at + found.len, found.mark.framing);
        if !end && adapter.triggers.may_become(&self.buf[at..]) {
            self.reason_on(at, out);
            return false;
        }
        let is_stripped = divides.stripped_header && self.message.stripped && self.ends_in_a_word(at);
        if divides.header || divides.message_end || is_stripped {
            return self.leave_reasoning(found, out);
        }
        self.buf.scan_to(after);
        if divides.reasoning_close {
            self.give_up_draft(out);
            self.emit(self.buf.trimmed(at), out);
            self.leave_reasoning_at(after);
            self.message.in_answer |= divides.answer_open;
            return true;
        }
        if (divides.drop && found.mark.calls.is_empty()) || divides.reasoning_open {
            self.emit(at, out);
            self.buf.skip_to(after);
            return true;
        }
        if self.tools.wanted() && !found.mark.calls.is_empty() {
            match self.inside() {
                // A marker after a space in a sentence is only mentioned.
                Inside::AtEnd if self.is_in_sentence(at) => {}
                Inside::AtEnd | Inside::Parse => {
                    self.buf.scan_to(at);
                    match self.begin_marked(found, end) {
                        None => return false,
                        Some(true) => return true,
                        Some(false) => self.buf.scan_to(after),
                    }
                }
                Inside::Ignore if divides.drop => {
                    self.emit(at, out);
                    self.buf.skip_to(after);
                }
                Inside::Ignore => {}
            }
        }
        true
    }

    /// The reasoning ended and text continues at `at`.
    pub(super) fn leave_reasoning_at(&mut self, at: usize) {
        self.buf.skip_to(at);
        self.buf.leave_strings();
        self.region = Region::Text;
        self.draft.believed = None;
        self.emitted.swallow_blank = true;
        self.emitted.begin_line();
        (self.before.fresh, self.before.tried) = (!self.emitted.said, false);
    }

    /// The text up to `to` is reasoning. Whitespace at its end is held, because what follows may swallow it.
    fn reason_on(&mut self, to: usize, out: &mut dyn Sink) {
        let blanks = self.buf[self.buf.pos..to].trim().is_empty();
        self.buf.scan_to(to);
        if !blanks {
            self.emit(self.buf.trimmed(to), out);
        }
    }
}

/// The label after the opening marker: a whole word before whitespace or the end of the reasoning. `Yes` has its length.
fn label(text: &str, reasoning: &Reasoning, end: bool) -> Start {
    let length = match starts_with_any(text, &reasoning.label, end) {
        Start::Yes(length) => length,
        other => return other,
    };
    let rest = &text[length..];
    match starts_with_any(rest, &reasoning.close, end) {
        Start::No if rest.is_empty() && !end => Start::Maybe,
        Start::No
            if rest.is_empty() || rest.starts_with(char::is_whitespace) || text[..length].ends_with(char::is_whitespace) =>
        {
            Start::Yes(length)
        }
        Start::No => Start::No,
        Start::Maybe => Start::Maybe,
        Start::Yes(_) => Start::Yes(length),
    }
}
