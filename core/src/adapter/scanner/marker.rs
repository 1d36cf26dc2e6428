//! Decides what begins at a marker.

use std::sync::Arc;

use super::{Region, Scanner, unless};
use crate::{
    adapter::{
        asides::ends,
        syntax::Start,
        triggers::{Aside, Found},
    },
    event::{Place, Sink},
};

/// Maximum length of the tokens at the end of an answer, in characters.
const ENDS_CHARS: usize = 64;
/// Maximum length of such tokens and of what is left over of calls, in bytes.
const ENDS_BYTES: usize = 256;

/// Whether a text holds nothing but whitespace, tokens that end a turn, and `others`. Before the end of the answer, it may also be
/// the beginning of such a text.
fn is_only_ends(text: &str, others: &[String], end: bool) -> bool {
    let tokens = || ends().chain(others.iter().map(String::as_str));
    let mut rest = text[..text.floor_char_boundary(ENDS_BYTES)].trim_start();
    while let Some(after) = tokens().filter_map(|token| rest.strip_prefix(token)).min_by_key(|after| after.len()) {
        rest = after.trim_start();
    }
    text.len() <= ENDS_BYTES && (rest.is_empty() || (!end && tokens().any(|token| token.starts_with(rest))))
}

impl Scanner {
    /// Decides what the marker begins. Returns whether progress is possible without more text, also as the error.
    pub(super) fn step_marker(&mut self, found: Found<'_>, end: bool, out: &mut dyn Sink) -> Result<bool, bool> {
        let (at, mark) = (found.at, found.mark);
        // A call follows the remains of a header, so the message is for a tool.
        if mark.framing.stripped_header && !mark.calls.is_empty() && self.message.stripped && self.ends_in_a_word(at) {
            self.message.for_user = false;
        }
        let wanted = self.wanted();
        if !end && self.adapter.triggers.may_become(&self.buf[at..]) {
            return Ok(false);
        }
        if self.options.framing && mark.ends && !mark.is_framing() {
            unless(self.step_end(found, end, out))?;
        }
        if self.drops(found) && self.is_shown_token(found, end).ok_or(false)? {
            self.advance(at + found.len, out);
            return Ok(true);
        }
        if self.code.is_some() && mark.calls.is_empty() {
            self.show_code(out);
            return Ok(true);
        }
        if mark.code {
            return Ok(self.step_code(at, end, out));
        }
        // Somebody else's turn ends any message. Other asides matter only where calls are recognised.
        let turn = matches!(mark.aside, Some(Aside::Turn | Aside::EndedTurn));
        let result = if mark.element && wanted { self.client_result(at, end).ok_or(false)? } else { None };
        let aside = result.or(mark.aside).filter(|_| wanted || (turn && self.tools.wanted()));
        let meaningful = (self.options.framing && mark.is_framing())
            || aside.is_some()
            || (wanted && (mark.element || mark.bare || !mark.calls.is_empty()));
        if !meaningful {
            self.advance(at + found.len, out);
            return Ok(true);
        }
        unless(self.step_inline(at, end, out))?;
        let is_named = || self.is_named(at) && !self.tail(at).ends_sentence();
        let family = mark.family.filter(|_| !is_named() && self.region != Region::Reasoning);
        if let Some(shown) = family.and_then(|family| self.adapter.families.get(family)) {
            // From here on this family's adapter reads the answer.
            self.adapter = Arc::clone(&shown.family);
            self.buf.forget_markers();
            return Ok(true);
        }
        unless(self.step_frame(found, aside, end, out))?;
        if wanted {
            let begun = match () {
                () if !mark.calls.is_empty() => self.begin_marked(found, end),
                () if mark.bare => Some(self.begin_bare(at, found.len)),
                () => Some(mark.element && result.is_none() && self.begin_element(at, end)),
            };
            if begun.ok_or(false)? {
                return Ok(true);
            }
            if self.code.is_some() {
                self.show_code(out);
                return Ok(true);
            }
        }
        let lone = wanted && !mark.calls.is_empty() && self.is_lone(at, found.len);
        self.message.opened |= !mark.calls.is_empty();
        self.not_a_call(at, found.len, self.drops(found) || lone, out);
        Ok(true)
    }

    /// Whether a sentence or code shows a control token: it is named, and a quote or punctuation follows. A token of the model's own
    /// is followed by another one, by what it begins, or by nothing. `None`: more text is needed.
    fn is_shown_token(&self, found: Found<'_>, end: bool) -> Option<bool> {
        let next = self.buf[found.at + found.len..].chars().next();
        match self.is_named(found.at) {
            true if next.is_none() && !end => None,
            is_named => Some(is_named && next.is_some_and(|c| matches!(c, '"' | '\'' | ',' | '.' | ';' | ')'))),
        }
    }

    /// Whether a sentence or code names the marker at `at`: a space or a quote is before it.
    fn is_named(&self, at: usize) -> bool {
        self.char_before(at).is_some_and(|c| matches!(c, ' ' | '"' | '\'' | '(')) && !self.at_line_start(at)
    }

    /// The character before `at`.
    fn char_before(&self, at: usize) -> Option<char> {
        self.buf.pending(at).chars().next_back().or(self.emitted.end)
    }

    /// Whether a marker is a control token, which is not content even if it belongs to no call.
    pub(super) fn drops(&self, found: Found<'_>) -> bool {
        found.mark.framing.drop || (found.mark.framing.of_call && !self.is_named(found.at))
    }

    /// Drops the token of some family that ends the answer. `None`: text follows it, or a sentence mentions it.
    fn step_end(&mut self, found: Found<'_>, end: bool, out: &mut dyn Sink) -> Option<bool> {
        // Closing markers are left over only if nothing that looked like a call is before them.
        let left_over = if self.message.opened || !self.wanted() { &[][..] } else { self.adapter.triggers.left_over() };
        if self.is_named(found.at) || self.emitted.inline > 0 || !is_only_ends(&self.buf[found.at..], left_over, end) {
            return None;
        }
        if end {
            self.remove(found.at, self.buf.len(), out);
        }
        Some(end)
    }

    /// Where the text ends that unmarked calls may end: before the tokens that end the turn.
    pub(super) fn text_end(&self, end: bool) -> usize {
        let text = self.buf.trim_end();
        let last = text.char_indices().rev().take(ENDS_CHARS);
        let begins = last.filter(|&(at, c)| matches!(c, '<' | '[') && is_only_ends(&text[at..], &[], end));
        begins.last().map_or(self.buf.len(), |(at, _)| at)
    }

    /// Passes a marker inside inline code. `None`: there is no inline code at `at`.
    fn step_inline(&mut self, at: usize, end: bool, out: &mut dyn Sink) -> Option<bool> {
        if self.emitted.inline == 0 {
            return None;
        }
        let closes = self.inline_end(at, end);
        if closes == Start::Maybe {
            return Some(false);
        }
        self.emitted.inline = 0;
        let Start::Yes(after) = closes else { return None };
        self.advance(after, out);
        Some(true)
    }

    /// Handles a marker of messages, headers, reasoning or asides. `None`: it is none of them, or a call may begin there too.
    fn step_frame(&mut self, found: Found<'_>, aside: Option<Aside>, end: bool, out: &mut dyn Sink) -> Option<bool> {
        let (at, framing) = (found.at, found.mark.framing);
        if self.options.framing
            && (framing.header || framing.stripped_header)
            && !self.is_in_block_quote(at)
            && let Some(progress) = self.step_header(at, found.len, end, out)
        {
            return Some(progress);
        }
        if self.options.framing
            && let Some(progress) = self.step_framing(found, end, out)
        {
            return Some(progress);
        }
        aside.filter(|&aside| self.step_aside(aside, at, out)).map(|_| false)
    }

    /// Whether nothing but whitespace is between a call and this position.
    pub(super) fn follows_call(&self) -> bool {
        let waits = |end: usize| self.buf[end..self.buf.pos].trim().is_empty();
        self.waiting.last().is_some_and(|last| waits(last.to)) || (self.before.fresh && self.emitted.calls > 0)
    }

    /// Discards the answer from `at` on: the model invented another speaker's turn.
    pub(super) fn lose_rest(&mut self, at: usize, out: &mut dyn Sink) {
        self.resolve(at, true, out);
        self.emit(self.buf.trimmed(at), out);
        self.region = Region::Lost;
        self.buf.skip_to(self.buf.len());
    }

    /// Handles a marker of text around calls that the model only mentions. Returns whether the answer is over.
    fn step_aside(&mut self, aside: Aside, at: usize, out: &mut dyn Sink) -> bool {
        let begins_line = self.at_line_start(at);
        match aside {
            Aside::Opens => self.message.aside = Some(Place::Reasoning),
            Aside::Result => self.message.aside = Some(Place::Code),
            Aside::Closes => self.message.aside = None,
            _ => {}
        }
        let is_over = match aside {
            Aside::Opens | Aside::Closes => false,
            Aside::EndedTurn => true,
            Aside::Turn => begins_line && (self.emitted.said || self.emitted.calls > 0 || self.follows_call()),
            Aside::Result => begins_line && (self.emitted.calls > 0 || self.follows_call()),
            Aside::ResultOfCall => begins_line && self.follows_call(),
        };
        if is_over && self.options.framing {
            self.lose_rest(at, out);
        }
        is_over && self.options.framing
    }
}
