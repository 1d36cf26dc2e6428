//! The text of the answer that has not left yet, and the account of what was held for nothing.

use std::ops::Deref;

use super::strings::Strings;
use crate::event::FinishReason;

/// Text that was held for nothing is read again. This many bytes of it are allowed for each byte of the answer, and
/// [`FREE_HOLDS`] holds in addition; beyond that the name of an offered tool has to come within [`HASTY_BYTES`].
const REREAD: usize = 4;
const FREE_HOLDS: usize = 4;
const HASTY_BYTES: usize = 256;

/// The text that is held. It reads as a `str`; places are offsets into it unless they are counted from the beginning of the
/// answer.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    text: String,
    /// Where the text begins that has not left.
    from: usize,
    /// Up to where it was looked at.
    pos: usize,
    /// Bytes of the answer that were before the text.
    gone: usize,
    /// Bytes that were held for nothing.
    wasted: usize,
    /// Up to here, counted from the beginning of the answer, the text is inside of a value that is no call.
    inside_value: usize,
    /// The strings of values that are no calls: not even a marked call begins in them.
    strings: Strings,
    /// Up to here, counted from the beginning of the answer, the text is what a call writes that was cut, or a quoted call.
    inside_content: usize,
    /// Why the answer ended, once it has.
    ended: Option<FinishReason>,
}

impl Deref for Buffer {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

// === impl Buffer ===

impl Buffer {
    pub(super) fn from(&self) -> usize {
        self.from
    }

    pub(super) fn pos(&self) -> usize {
        self.pos
    }

    pub(super) fn ended(&self) -> Option<FinishReason> {
        self.ended
    }

    /// Whether a limit ended the answer.
    pub(super) fn is_cut(&self) -> bool {
        matches!(self.ended, Some(FinishReason::Length | FinishReason::ContentFilter))
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn end(&mut self, reason: FinishReason) {
        self.ended = Some(reason);
    }

    /// Drops the text that has left: all places are smaller by the number that this returns.
    pub(super) fn compact(&mut self) -> usize {
        self.strings.is_open_after(&self.text[..self.from], self.gone);
        let by = std::mem::take(&mut self.from);
        self.text.drain(..by);
        self.pos -= by;
        self.gone += by;
        by
    }

    /// The text before `to` was looked at.
    pub(super) fn look_to(&mut self, to: usize) {
        self.pos = to;
    }

    /// The text that has not left is looked at again.
    pub(super) fn look_again(&mut self) {
        self.pos = self.from;
        self.leave_strings();
    }

    /// The text before `to` has left.
    pub(super) fn leave_to(&mut self, to: usize) {
        self.from = to;
        self.pos = self.pos.max(to);
    }

    /// The text before `to` goes, whether it was looked at or not.
    pub(super) fn discard_to(&mut self, to: usize) {
        self.from = to;
    }

    /// All that was looked at goes.
    pub(super) fn discard_seen(&mut self) {
        self.from = self.pos;
    }

    /// The text before `to` goes, and reading continues there.
    pub(super) fn skip_to(&mut self, to: usize) {
        (self.from, self.pos) = (to, to);
    }

    /// Takes `at..to` out of the text, which stays before and after it.
    pub(super) fn cut_out(&mut self, at: usize, to: usize) {
        self.strings.is_open_after(&self.text[..at], self.gone);
        self.text.replace_range(at..to, "");
        self.pos = at;
    }

    /// Drops the text from `at` on.
    pub(super) fn truncate(&mut self, at: usize) {
        self.text.truncate(at);
        self.pos = self.pos.min(at);
    }

    /// The place `at`, counted from the beginning of the answer.
    pub(super) fn in_answer(&self, at: usize) -> usize {
        self.gone + at
    }

    /// The place in the text of one that is counted from the beginning of the answer.
    pub(super) fn place(&self, in_answer: usize) -> usize {
        in_answer - self.gone
    }

    /// So many bytes were held for nothing.
    pub(super) fn waste(&mut self, bytes: usize) {
        self.wasted += bytes;
    }

    /// The text up to `to` is a value that is no call, so no call begins in it.
    pub(super) fn pass_value(&mut self, to: usize) {
        self.inside_value = self.inside_value.max(self.gone + to);
    }

    /// The text up to `to` is what a call of raw text writes that was cut, or a call that is quoted: no call begins in it.
    pub(super) fn pass_content(&mut self, to: usize) {
        self.inside_content = self.inside_content.max(self.gone + to);
        self.pass_value(to);
    }

    /// What begins at `at` is no call. `named`: it names an offered tool.
    pub(super) fn pass_strings(&mut self, at: usize, named: bool) {
        self.strings.is_open_after(&self.text[..at], self.gone);
        self.strings.follow(self.gone + at, named);
    }

    /// What comes next is outside of all values: a call was read, or framing.
    pub(super) fn leave_strings(&mut self) {
        self.strings = Strings::default();
    }

    /// Whether what begins at `at` is quoted by a value that is no call, so that even a marker there begins none.
    pub(super) fn is_quoted(&mut self, at: usize) -> bool {
        self.gone + at < self.inside_content || self.strings.is_open_after(&self.text[..at], self.gone)
    }

    pub(super) fn is_inside_value(&self, at: usize) -> bool {
        self.gone + at < self.inside_value
    }

    /// How many bytes from `at` on may be looked at before a name is known; `usual` until too much was held for nothing.
    pub(super) fn patience(&self, at: usize, usual: usize) -> usize {
        let allowed = FREE_HOLDS.saturating_mul(usual).saturating_add(REREAD.saturating_mul(self.gone + at));
        if self.wasted <= allowed { usual } else { usual.min(HASTY_BYTES) }
    }
}
