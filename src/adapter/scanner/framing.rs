//! Reasoning, control tokens, code fences and inline code.

use std::sync::Arc;

use super::{GAP_BYTES, Region, Scanner, candidate::Fence};
use crate::{
    adapter::{
        Framing, Inside, Reasoning,
        asides::{ENDS, RESULT_FENCES},
        syntax::{Start, blank, starts_with_any},
        triggers::Found,
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
                    self.emitted.swallow_blank(true);
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
        if divides.reasoning_open && (begins || self.is_between_sentences(at, after)) {
            let label = match reasoning.map_or(Start::No, |region| label(&self.buf[after..], region, end)) {
                Start::Yes(length) => length,
                Start::Maybe => return Some(false),
                Start::No => 0,
            };
            self.accept_tentative(out);
            self.remove(at, after + label, out);
            self.region = Region::Reasoning;
            self.emitted.swallow_blank(true);
            // A closing marker after this one says nothing about the beginning.
            self.draft.note_beginning(self.options.reasoning_open);
            return Some(true);
        }
        if divides.reasoning_close {
            let Some(ends_line) = self.ends_line(after, end) else { return Some(false) };
            if anywhere || ends_line || self.at_line_start(at) {
                // Calls before it were drafts.
                if self.proves_thoughts(&self.buf[at..after]) {
                    self.tentative.forget();
                }
                self.remove(at, after, out);
                self.emitted.swallow_blank(!self.emitted.has_said());
                // Closed without an opening marker: the text before it was reasoning.
                if self.emitted.has_said() {
                    self.draft.note_beginning(true);
                }
                return Some(true);
            }
        }
        if divides.answer_open && !self.emitted.has_said() && !self.message.is_in_answer() {
            self.remove(at, after, out);
            self.message.set_in_answer(true);
            self.emitted.swallow_blank(true);
            return Some(true);
        }
        if divides.answer_close && self.message.is_in_answer() {
            match self.ends_answer(after, end) {
                None => return Some(false),
                Some(true) => {
                    self.message.set_in_answer(false);
                    self.remove(at, after, out);
                    return Some(true);
                }
                Some(false) => {}
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
        before.ends_with(' ') && !self.at_line_start(at) && !self.emitted.tail().after(before).ends_sentence()
    }

    /// Whether a marker is between the end of a sentence and the next text, without spaces. Nobody mentions a marker there.
    fn is_between_sentences(&self, at: usize, after: usize) -> bool {
        !self.buf[after..].starts_with(' ')
            && self.ends_in_a_word(at)
            && self.emitted.tail().after(self.buf.pending(at)).ends_sentence()
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

    /// Whether only calls and control tokens can follow `at`. `None`: more text is needed.
    fn ends_answer(&self, at: usize, end: bool) -> Option<bool> {
        let limit = self.buf.floor_char_boundary(at + GAP_BYTES);
        let next = at + blank(&self.buf[at..limit]);
        if next == limit {
            return if limit < self.buf.len() { Some(false) } else { end.then_some(true) };
        }
        if !end && self.adapter.triggers.may_become(&self.buf[next..]) {
            return None;
        }
        match self.adapter.triggers.next(&self.buf, next, end) {
            Ok(found) if found.at == next => Some(found.mark.framing.drop || !found.mark.calls.is_empty()),
            _ => Some(false),
        }
    }

    /// Scans reasoning: only its end counts, and calls if the family's models forget to close it.
    pub(super) fn step_reasoning(&mut self, end: bool, out: &mut dyn Sink) -> bool {
        let adapter = Arc::clone(&self.adapter);
        if let Some(form) = self.before.call() {
            match self.swallow_closers(form, end) {
                Some(progress) => return progress,
                None => self.before.leave_call(),
            }
        }
        let found = match adapter.triggers.next(&self.buf, self.buf.pos(), end) {
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
        let is_stripped = divides.stripped_header && self.message.is_stripped() && self.ends_in_a_word(at);
        if divides.header || divides.message_end || is_stripped {
            return self.leave_reasoning(found, out);
        }
        self.buf.scan_to(after);
        if divides.reasoning_close {
            self.give_up_draft(out);
            self.emit(self.buf.trimmed(at), out);
            self.leave_reasoning_at(after);
            if divides.answer_open {
                self.message.set_in_answer(true);
            }
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
        self.draft.close();
        self.emitted.swallow_blank(true);
        self.emitted.begin_line();
        self.before.after_framing(self.emitted.has_said());
    }

    /// The text up to `to` is reasoning. Whitespace at its end is held, because what follows may swallow it.
    fn reason_on(&mut self, to: usize, out: &mut dyn Sink) {
        let blanks = self.buf[self.buf.pos()..to].trim().is_empty();
        self.buf.scan_to(to);
        if !blanks {
            self.emit(self.buf.trimmed(to), out);
        }
    }

    /// Handles a backtick or tilde: a code fence, inline code, or neither.
    pub(super) fn step_code(&mut self, at: usize, end: bool, out: &mut dyn Sink) -> bool {
        let bytes = self.buf.as_bytes();
        let Some(&tick) = bytes.get(at) else { return false };
        let length = bytes[at..].iter().take(RUN_BYTES).take_while(|&&byte| byte == tick).count();
        if at + length == bytes.len() && length < RUN_BYTES && !end {
            return false;
        }
        let begins_line = self.at_line_start(at);
        if length >= 3 && (begins_line || tick == b'`') {
            let (content, head) = match fence_head(&self.buf[at + length..], tick, end) {
                Some((_, Head::Maybe)) => return false,
                Some((content, head)) => (at + length + content, Some(head)),
                None => (at, None),
            };
            // After other text on its line, a fence must have a language.
            let is_fence = |head: &&Head| begins_line || matches!(head, Head::Block(language) if !language.is_empty());
            if let Some(Head::Block(language) | Head::Line(language)) = head.as_ref().filter(is_fence) {
                let one_line = matches!(head, Some(Head::Line(_)));
                let close = [char::from(tick).to_string().repeat(length)];
                let is_dedicated = DEDICATED.contains(&language.as_str());
                let fence = Fence { tick, length, one_line, is_dedicated, content, close };
                if self.options.framing && begins_line && RESULT_FENCES.contains(&language.as_str()) && self.follows_call() {
                    self.lose_rest(at, out);
                    return false;
                }
                if self.wanted() && begins_line && !self.before.is_fresh() && !self.is_introduced(at) {
                    match self.begin_wrap(at, end) {
                        Some(false) => {}
                        begun => return begun.is_some(),
                    }
                }
                if self.wanted() && self.begin_fence(at, fence, language) {
                    return true;
                }
                if !one_line {
                    self.advance(content, out);
                    self.region = Region::Fence(tick, length);
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
    pub(super) fn step_fence(&mut self, tick: u8, length: usize, end: bool, out: &mut dyn Sink) -> bool {
        let mut offset = self.buf.pos();
        loop {
            let newline = self.buf[offset..].find('\n').map(|at| offset + at);
            let line = &self.buf[offset..newline.unwrap_or(self.buf.len())];
            // Only the beginning of a long line decides, so it does not matter how much of it has arrived.
            let looked_at = &line[..line.floor_char_boundary(CLOSING_BYTES)];
            let is_long = looked_at.len() < line.len();
            let closes = if self.line_begins(offset) {
                let is_whole = !is_long && (end || newline.is_some());
                closes_fence(looked_at, tick, length, &self.adapter.framing, is_whole)
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
        if at > self.buf.from() { self.buf.pending(at).ends_with('\n') } else { self.emitted.is_line_blank() }
    }
}

/// What follows the ticks of a code fence.
pub(super) enum Head {
    /// The language. The content begins on the next line, or on this one.
    Block(String),
    /// The same, and the fence closes on this line.
    Line(String),
    Maybe,
}

/// The head of a fence after its ticks, and the start of the content. `None`: this is not a fence.
pub(super) fn fence_head(text: &str, tick: u8, end: bool) -> Option<(usize, Head)> {
    // A value may begin on the first line.
    let word = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let body = word + text[word..].bytes().take_while(|byte| *byte == b' ').count();
    // Only within the bytes held for the head: the rest may not be there yet.
    let begins = body <= INFO_BYTES && text[body..].starts_with(['{', '[']);
    let window = text.bytes().take(if begins { ONE_LINE_BYTES } else { INFO_BYTES });
    let language = |text: &str| text.trim().to_ascii_lowercase();
    match window.clone().position(|byte| byte == b'\n' || (byte == b'`' && tick == b'`')) {
        Some(stop) if text.as_bytes()[stop] == b'\n' && begins => Some((body, Head::Block(language(&text[..word])))),
        Some(stop) if text.as_bytes()[stop] == b'\n' => Some((stop + 1, Head::Block(language(&text[..stop])))),
        Some(_) if begins => Some((body, Head::Line(language(&text[..word])))),
        Some(_) => None,
        None if !end && window.len() == text.len() => Some((0, Head::Maybe)),
        None => None,
    }
}

/// Whether a line closes a fence; `Yes` has the offset after its ticks. Only whitespace, a control token or the end of the answer
/// region may follow them.
fn closes_fence(line: &str, tick: u8, length: usize, framing: &Framing, whole: bool) -> Start {
    let body = line.trim_start();
    let ticks = body.bytes().take_while(|&byte| byte == tick).count();
    let rest = body[ticks..].trim_start();
    let after = line.len() - body.len() + ticks;
    let closes_answer = framing.answer.iter().flat_map(|answer| &answer.close);
    match rest.is_empty() {
        true if !whole => Start::Maybe,
        _ if ticks < length => Start::No,
        true => Start::Yes(after),
        false => match starts_with_any(
            rest,
            framing.drop.iter().map(String::as_str).chain(ENDS).chain(closes_answer.map(String::as_str)),
            whole,
        ) {
            Start::Yes(_) => Start::Yes(after),
            other => other,
        },
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
