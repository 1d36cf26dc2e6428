//! What the readings of one text share: their steps, their open brackets, and the keys of those. Entries are only added, never
//! changed, because readings have a common past.

use super::rules::Rule;
use super::state::{Bracket, Frame, NONE, State, Step, StepKind};
use super::{Guide, Key, MAX_DEPTH};

/// How many keys back a repeated key is noticed. A larger number would only make a reading more certain.
const KEYS_BACK: usize = 64;

/// The steps and brackets of all readings.
#[derive(Debug, Default)]
pub(super) struct Trail {
    pub(super) steps: Vec<Step>,
    frames: Vec<Frame>,
    /// Keys that the guide does not know: (previous entry, hash).
    keys: Vec<(u32, u64)>,
}

impl Trail {
    /// Appends a step to a reading.
    pub(super) fn note(&mut self, state: &mut State, kind: StepKind, start: usize, end: usize) {
        let step =
            Step { previous: state.step, start: start as u32, end: end as u32, after: end as u32, frame: state.frame, kind };
        state.step = self.steps.len() as u32;
        self.steps.push(step);
    }

    /// Appends a repair to a reading.
    pub(super) fn repair(&mut self, state: &mut State, rule: Rule, start: usize, end: usize) {
        self.note(state, StepKind::Repair(rule), start, end);
    }

    /// The step with this number.
    pub(super) fn step(&self, at: u32) -> Option<&Step> {
        self.steps.get(at as usize)
    }

    /// The bracket with this number; `None` outside the root.
    pub(super) fn frame(&self, at: u32) -> Option<&Frame> {
        self.frames.get(at as usize)
    }

    /// A bracket and those around it, from the inside out.
    pub(super) fn frames(&self, innermost: u32) -> impl Iterator<Item = &Frame> {
        std::iter::successors(self.frame(innermost), |frame| self.frame(frame.parent))
    }

    /// Opens a bracket; `None` if it nests too deep.
    pub(super) fn open(&mut self, state: &mut State, bracket: Bracket, at: usize, guide: &dyn Guide) -> Option<()> {
        let (depth, shape, hash) = match self.frame(state.frame) {
            Some(parent) => (parent.depth + 1, parent.value, mix(parent.hash, parent.seen)),
            None => (1, guide.root(), 0),
        };
        if depth > MAX_DEPTH {
            return None;
        }
        let kind = match bracket {
            Bracket::Object => StepKind::Object,
            Bracket::Array => StepKind::Array,
            Bracket::Paren => StepKind::Paren,
        };
        self.note(state, kind, at, at + 1);
        let value = if bracket == Bracket::Object { shape } else { guide.item(shape) };
        let hash = mix(hash, ((at as u64) << 2) | bracket as u64);
        self.frames.push(Frame { parent: state.frame, bracket, depth, shape, value, seen: 0, keys: NONE, hash });
        state.frame = (self.frames.len() - 1) as u32;
        Some(())
    }

    /// Adds a key to the innermost bracket.
    pub(super) fn learn(&mut self, state: &mut State, key: &str, guide: &dyn Guide) {
        let Some(mut frame) = self.frame(state.frame).copied() else { return };
        match guide.key(frame.shape, key) {
            Key::Known(number) if number < 64 => frame.seen |= 1 << number,
            _ => {
                self.keys.push((frame.keys, hash_text(key)));
                frame.keys = (self.keys.len() - 1) as u32;
            }
        }
        frame.value = guide.member(frame.shape, key);
        state.frame = self.frames.len() as u32;
        self.frames.push(frame);
    }

    /// What the guide says of a key; `None` if the bracket has it already.
    pub(super) fn fresh(&self, frame: &Frame, key: &str, guide: &dyn Guide) -> Option<Key> {
        let known = guide.key(frame.shape, key);
        let seen = match known {
            Key::Known(number) if number < 64 => frame.seen & (1 << number) != 0,
            _ => {
                let hash = hash_text(key);
                let list =
                    std::iter::successors(self.keys.get(frame.keys as usize), |(before, _)| self.keys.get(*before as usize));
                list.take(KEYS_BACK).any(|(_, seen)| *seen == hash)
            }
        };
        (!seen).then_some(known)
    }

    /// Identifies the state of a reading: position, brackets, known keys. The keys matter, because a reading that lacks a
    /// required one may be cheaper here and dearer at the end.
    pub(super) fn state_id(&self, at: u32, frame: u32) -> u64 {
        mix(self.frame(frame).map_or(0, |frame| mix(frame.hash, frame.seen)), u64::from(at))
    }
}

/// Combines a value with a hash.
fn mix(hash: u64, value: u64) -> u64 {
    let mixed = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

fn hash_text(text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks();
    let hash = words.iter().fold(text.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    mix(hash, rest.iter().fold(0, |last, byte| last << 8 | u64::from(*byte)))
}
