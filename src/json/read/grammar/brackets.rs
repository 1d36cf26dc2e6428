//! The reader's grammar of closing brackets, right and wrong ones, and of what may follow the root.

use super::super::rules::{ELLIPSIS, EXTRA_CLOSER, NO_CLOSER, REOPENED, UNCLOSED};
use super::super::state::{Bracket, Frame, NONE, State, Want};
use super::super::{Ending, Key, cost};
use super::Grammar;

impl Grammar<'_, '_> {
    /// A closing bracket, the right one or not.
    pub(super) fn closer(&mut self, state: &mut State, at: usize, byte: u8) -> Option<()> {
        let frame = *self.frame(state)?;
        let bracket = match byte {
            b'}' => Bracket::Object,
            b']' => Bracket::Array,
            _ => Bracket::Paren,
        };
        if frame.bracket == bracket {
            if frame.parent == NONE && bracket == Bracket::Object && self.reopens(&frame, at + 1) {
                // The rest of the members follows the bracket: one reading drops it.
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
            while !self.is_in(state, bracket) {
                self.repair(state, NO_CLOSER, at, at);
                state.cost += 1;
                self.close(state, at, at)?;
            }
            return self.close(state, at, at + 1);
        }
        // Nothing of this kind is open: it is too much where the right one follows, otherwise it is the wrong kind.
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
            // Where the text may be cut, only its own bracket closes the root.
            state.at = (at + 1) as u32;
            state.cost += self.tail(at + 1);
            return self.over(state, Ending::Open, 0);
        }
        self.close(state, at, at + 1)
    }

    /// Whether an object with members is open directly inside of an array: a brace here opens the next item.
    pub(super) fn unclosed_before_item(&self, state: &State) -> bool {
        self.frame(state).is_some_and(|frame| {
            frame.bracket == Bracket::Object && (frame.seen != 0 || frame.keys != NONE) && self.inside_array(frame)
        })
    }

    pub(super) fn close_before_item(&mut self, state: &mut State, at: usize) -> Option<()> {
        self.repair(state, UNCLOSED, at, at);
        state.cost += cost::ODDITY;
        self.close(state, at, at)?;
        state.want = Want::Item;
        Some(())
    }

    /// Whether the members of a root object go on after its closing bracket.
    pub(super) fn reopens(&self, frame: &Frame, at: usize) -> bool {
        let comma = self.text.skip(at);
        let Some(length) = self.text.comma(comma) else { return false };
        let key = self.text.skip(comma + length);
        self.text.closer_ahead(key)
            && self.text.key(key).is_some_and(|key| matches!(self.fresh(frame, key.name), Some(Key::Known(_) | Key::Open)))
    }

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

    /// There is a closing tag of the call where the container should go on.
    pub(super) fn tag(&mut self, state: &mut State) -> Option<()> {
        state.tagged = true;
        let ending = if state.comma { Ending::AfterComma } else { Ending::Open };
        self.over(state, ending, cost::OPEN)
    }

    /// Whether there is a closing tag or a special token here.
    pub(super) fn closing_tag(&self, at: usize) -> bool {
        matches!(self.text.at(at + 1), Some(b'/' | b'|')) || self.text.starts(at, "<\u{ff5c}")
    }

    /// After the root.
    pub(super) fn end(&mut self, state: &mut State) -> Option<()> {
        state.cost += self.tail(state.at as usize);
        state.want = Want::Over(Ending::Complete);
        Some(())
    }

    /// Whether prose from here on leads to another object: its bracket is followed by a key.
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

    /// What it costs that the root has ended and this follows.
    pub(crate) fn tail(&self, at: usize) -> u32 {
        let (mut at, mut gap) = self.text.gap(at);
        while let Some(byte) = self.text.at(at) {
            match byte {
                b'}' | b']' | b')' | b';' | b',' => (at, gap) = self.text.gap(at + 1),
                // A `\n` that is spelled out belongs to a string.
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
