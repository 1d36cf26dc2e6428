//! The open brackets of a reading: what they are, which keys they have had, and what belongs into them. A frame is never
//! changed, only followed by a newer one, because readings share their past.

use super::search::{Search, mix};
use super::state::{Bracket, Frame, NONE, State, StepKind, Want, cost};
use super::{Key, MAX_DEPTH};

impl Search<'_, '_> {
    /// Opens a bracket.
    pub(super) fn open(&mut self, state: &mut State, bracket: Bracket, at: usize) -> Option<()> {
        let (depth, shape, hash) = match self.frames.get(state.frame as usize) {
            Some(parent) => (parent.depth + 1, parent.value, parent.hash),
            None => (1, self.guide.root(), 0),
        };
        if depth > MAX_DEPTH {
            return self.dead(at, "more than 128 levels of nesting");
        }
        let kind = match bracket {
            Bracket::Object => StepKind::Object,
            Bracket::Array => StepKind::Array,
            Bracket::Paren => StepKind::Paren,
        };
        self.note(state, kind, at, at + 1);
        let value = if bracket == Bracket::Object { shape } else { self.guide.item(shape) };
        let hash = mix(hash, ((at as u64) << 2) | bracket as u64);
        self.frames.push(Frame { parent: state.frame, bracket, depth, shape, value, seen: 0, keys: NONE, hash });
        state.frame = (self.frames.len() - 1) as u32;
        state.at = (at + 1) as u32;
        state.comma = false;
        state.want = if bracket == Bracket::Object { Want::Member } else { Want::Item };
        Some(())
    }

    /// Closes the innermost bracket, which ends before `end`.
    pub(super) fn close(&mut self, state: &mut State, start: usize, end: usize) -> Option<()> {
        let frame = *self.frames.get(state.frame as usize)?;
        if frame.bracket == Bracket::Object {
            state.cost += cost::MISSING_KEY * self.guide.missing(frame.shape, frame.seen);
        }
        self.note(state, StepKind::Close, start, end);
        state.frame = frame.parent;
        if self.handed_over {
            // Nobody else looks at what is closed.
            self.frames.truncate(frame.parent.wrapping_add(1) as usize);
        }
        state.at = end as u32;
        state.comma = false;
        state.want = if frame.parent == NONE { Want::End } else { Want::Next };
        Some(())
    }

    /// A key was read: the frame learns it.
    pub(super) fn learn(&mut self, state: &mut State, key: &str) {
        let Some(mut frame) = self.frames.get(state.frame as usize).copied() else { return };
        match self.guide.key(frame.shape, key) {
            Key::Known(number) if number < 64 => frame.seen |= 1 << number,
            _ => {
                self.keys.push((frame.keys, hash_text(key)));
                frame.keys = (self.keys.len() - 1) as u32;
            }
        }
        frame.value = self.guide.member(frame.shape, key);
        self.frames.push(frame);
        state.frame = (self.frames.len() - 1) as u32;
    }

    /// What a key ahead is to the innermost object: `None` if it was there already.
    pub(super) fn fresh(&self, frame: &Frame, key: &str) -> Option<Key> {
        let known = self.guide.key(frame.shape, key);
        let seen = match known {
            Key::Known(number) if number < 64 => frame.seen & (1 << number) != 0,
            _ => {
                let hash = hash_text(key);
                let mut at = frame.keys;
                // Keys far back are forgotten: that bounds the search and only ever makes a reading less sure.
                (0..64).any(|_| match self.keys.get(at as usize) {
                    Some((before, seen)) => {
                        at = *before;
                        *seen == hash
                    }
                    None => false,
                })
            }
        };
        (!seen).then_some(known)
    }
}

fn hash_text(text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks();
    let hash = words.iter().fold(text.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    mix(hash, rest.iter().fold(0, |last, byte| last << 8 | u64::from(*byte)))
}
