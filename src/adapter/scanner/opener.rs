//! An opening marker that does not stand directly before its call: prose is between them, `<tool_call>Let me check.<function=f>`.

use super::{GAP_BYTES, Scanner, words::Lead};
use crate::{
    adapter::{syntax::blank, triggers::Found},
    event::Sink,
};

impl Scanner {
    /// Removes such a marker, whose call follows after a sentence. `None`: it is none, or something else begins there. `Some(false)`:
    /// more text is needed.
    pub(super) fn step_opener(&mut self, found: Found<'_>, end: bool, out: &mut dyn Sink) -> Option<bool> {
        let (at, past) = (found.at, found.at + found.len);
        if !found.mark.opens || !self.at_line_start(at) || self.is_wrapped() || self.is_in_block_quote(at) || self.is_shown(at) {
            return None;
        }
        let window = &self.buf[..self.buf.floor_char_boundary(past + GAP_BYTES)];
        let over = end || window.len() < self.buf.len();
        let start = past + blank(&window[past..]);
        let prose = &window[start..];
        // A sentence about the marker goes on after it: `<tool_call> opens a call.`
        let begins = prose.chars().next().map_or(!over, |c| c.is_alphabetic() && !c.is_lowercase());
        if !begins {
            return None;
        }
        let Some(length) = prose.find(|c: char| "<>{}[]`\"=|".contains(c)) else { return if over { None } else { Some(false) } };
        let sentence = prose[..length].trim_end();
        let next = start + length;
        if !sentence.ends_with(['.', '!', ':', '…', '。', '！', '：']) || !Lead::new(sentence).says_who_acts() {
            return None;
        }
        if !end && self.adapter.triggers.may_become(&self.buf[next..]) {
            return Some(false);
        }
        let call = self.adapter.triggers.next(&self.buf, next, end).ok()?;
        if call.at != next || call.mark.calls.is_empty() {
            return None;
        }
        self.remove(at, start, out);
        Some(true)
    }
}
