//! Closing brackets, matching or not, and what may follow the root.

use super::super::rules::{ELLIPSIS, EXTRA_CLOSER, NO_CLOSER, REOPENED, UNCLOSED};
use super::super::state::{Bracket, Frame, NONE, State, Want};
use super::super::{Ending, Key, cost};
use super::Grammar;

impl Grammar<'_, '_> {
    /// Reads a closing bracket, matching or not.
    pub(super) fn closer(&mut self, state: &mut State, at: usize, byte: u8) -> Option<()> {
        let frame = *self.frame(state)?;
        let bracket = Bracket::closed_by(byte);
        if frame.bracket == bracket {
            if frame.parent == NONE && bracket == Bracket::Object && self.reopens(&frame, at + 1) {
                // More members follow. One reading ignores the bracket.
                let mut open = *state;
                self.repair(&mut open, REOPENED, at, at + 1);
                open.cost += cost::REOPENED;
                open.at = (at + 1) as u32;
                open.want = Want::Next;
                self.branch(open);
            }
            return self.close(state, at, at + 1);
        }
        if self.trail.frames(frame.parent).any(|outer| outer.bracket == bracket) {
            // One reading takes it for the bracket that is missing: `{"k": [1}, "l": 1}`.
            let mut other = *state;
            self.repair(&mut other, EXTRA_CLOSER, at, at + 1);
            other.cost += cost::REOPENED;
            self.close(&mut other, at, at + 1)?;
            self.branch(other);
            while !self.is_in(state, bracket) {
                self.repair(state, NO_CLOSER, at, at);
                state.cost += 1;
                self.close(state, at, at)?;
            }
            return self.close(state, at, at + 1);
        }
        // No such bracket is open. It is surplus if the matching one follows; otherwise it is of the wrong kind.
        self.repair(state, EXTRA_CLOSER, at, at + 1);
        state.cost += cost::ODDITY;
        let next = self.text.skip(at + 1);
        let too_much = self.text.at(next) == Some(frame.bracket.closer())
            || (frame.parent == NONE && self.text.comma(next).is_some() && self.text.closer_ahead(next));
        if too_much {
            state.at = (at + 1) as u32;
            state.want = Want::Next;
            return Some(());
        }
        if frame.parent == NONE {
            // The text may be truncated here: only a matching bracket closes the root.
            state.at = (at + 1) as u32;
            state.cost += self.tail(at + 1);
            return self.over(state, Ending::Open, 0);
        }
        self.close(state, at, at + 1)
    }

    /// Whether an object with members is open directly inside an array. A brace then opens the next item.
    pub(super) fn unclosed_before_item(&self, state: &State) -> bool {
        self.frame(state).is_some_and(|frame| {
            frame.bracket == Bracket::Object && (frame.seen != 0 || frame.keys != NONE) && self.inside_array(frame)
        })
    }

    /// Closes the object in that case; the next item follows.
    pub(super) fn close_before_item(&mut self, state: &mut State, at: usize) -> Option<()> {
        self.repair(state, UNCLOSED, at, at);
        state.cost += cost::ODDITY;
        self.close(state, at, at)?;
        state.want = Want::Item;
        Some(())
    }

    /// Whether more members of the root object follow its closing bracket.
    pub(super) fn reopens(&self, frame: &Frame, at: usize) -> bool {
        let comma = self.text.skip(at);
        let Some(length) = self.text.comma(comma) else { return false };
        let key = self.text.skip(comma + length);
        self.text.closer_ahead(key)
            && self.text.key(key).is_some_and(|key| matches!(self.fresh(frame, key.name), Some(Key::Known(_) | Key::Open)))
    }

    /// Drops an ellipsis between members.
    pub(super) fn ellipsis(&mut self, state: &mut State, at: usize) -> Option<()> {
        let end = at + self.text.bytes[at..].iter().take_while(|byte| **byte == b'.').count();
        self.repair(state, ELLIPSIS, at, end);
        state.cost += cost::ODDITY;
        state.at = end as u32;
        let comma = self.text.skip(end);
        if let Some(length) = self.text.comma(comma) {
            state.at = (comma + length) as u32;
            if state.want == Want::Next {
                let object = self.is_in(state, Bracket::Object);
                state.want = if object { Want::Member } else { Want::Item };
            }
        }
        state.comma = false;
        Some(())
    }

    /// Ends the reading at the closing tag of the call at `at`, with the container open. With a quote after it, the tag is most likely
    /// content of a string with unescaped quotes.
    pub(super) fn tag(&mut self, state: &mut State, at: usize) -> Option<()> {
        state.tagged = true;
        let ending = if state.comma { Ending::AfterComma } else { Ending::Open };
        let spilt = if self.text.quote_ahead(at) { cost::SPILT } else { 0 };
        self.over(state, ending, cost::OPEN + spilt)
    }

    /// Whether a closing tag or a special token is here.
    pub(super) fn closing_tag(&self, at: usize) -> bool {
        matches!(self.text.at(at + 1), Some(b'/' | b'|')) || self.text.starts(at, "<\u{ff5c}")
    }

    /// Ends the reading after the root.
    pub(super) fn end(&mut self, state: &mut State) -> Option<()> {
        state.cost += self.tail(state.at as usize);
        state.want = Want::Over(Ending::Complete);
        Some(())
    }

    /// Whether prose leads to another object: an opening brace with a key, before any quote.
    fn another_object(&self, at: usize) -> bool {
        const REACH: usize = 200;
        let near = &self.text.bytes[at..self.text.bytes.len().min(at + REACH)];
        match memchr::memchr2(b'{', b'"', near) {
            Some(found) if near[found] == b'{' => {
                let inside = self.text.skip(at + found + 1);
                self.text.quote(inside).is_some() && self.text.key(inside).is_some()
            }
            _ => false,
        }
    }

    /// The cost of ending the root before `at`, by what follows it.
    pub(crate) fn tail(&self, at: usize) -> u32 {
        let (mut at, mut gap) = self.text.gap(at);
        while let Some(byte) = self.text.at(at) {
            match byte {
                b'}' | b']' | b')' | b';' | b',' => (at, gap) = self.text.gap(at + 1),
                // A literal `\n` belongs to a string.
                _ if gap.escaped_space && self.text.more_json(at) => return cost::SPILT,
                b'<' | b'`' if !self.text.more_json(at) => return 0,
                b'{' | b'[' | b'`' => return cost::ODDITY,
                _ if byte.is_ascii_alphabetic() && self.another_object(at) => return cost::PROSE,
                _ if self.text.more_json(at) => return cost::SPILT,
                _ => return cost::PROSE,
            }
        }
        0
    }
}
