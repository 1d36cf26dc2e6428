//! What readings consist of: steps, open brackets, the state between two tokens. Steps and brackets are only added, never
//! changed, because readings have a common past.

use super::super::lex::Quote;
use super::rules::Rule;
use super::search::Search;
use super::{Ending, Key, MAX_DEPTH, Shape};

pub(super) const NONE: u32 = u32::MAX;
/// How many keys back a repeated key is noticed. A larger number would only make a reading more certain.
const KEYS_BACK: usize = 64;

/// What a step of a reading adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    /// An opening bracket, by the byte that closes it. A list in parentheses is an array, or the only value in it.
    Open(u8),
    Close,
    Key(Quote),
    Text(Quote),
    Number,
    /// A boolean or null.
    Word(Option<bool>),
    /// A value that is missing or has no JSON form.
    Void(Rule),
    Repair(Rule),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) previous: u32,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: StepKind,
    /// The state after a string, see [`Trail::state_id`].
    pub(super) state: Option<u64>,
}

/// An open bracket, with the keys read in it. Each key makes a new one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) parent: u32,
    /// The byte that closes it.
    pub(super) closer: u8,
    pub(super) shape: Shape,
    /// The shape of the value being read.
    value: Shape,
    /// Known keys so far (bit n: key number n).
    pub(super) seen: u64,
    /// The last key ([`key_id`]), and the bracket as it was before.
    key: Option<u64>,
    before: u32,
    /// Identifies the position of this bracket, and the brackets around it with their known keys.
    hash: u64,
}

/// What a reading expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// A value, after a colon.
    Value,
    /// An item, or the end of the array.
    Item,
    /// A key, or the end of the object.
    Member,
    /// What follows a value.
    Next,
    /// Nothing: the reading has ended, in this state.
    Over(Ending),
}

/// A reading between two tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    pub(super) at: usize,
    pub(super) frame: u32,
    pub(super) step: u32,
    pub(super) cost: u32,
    pub(super) want: Want,
    /// The last token was a comma.
    pub(super) comma: bool,
    /// A closing tag of the call follows an open container.
    pub(super) tagged: bool,
    /// A string was just read: this state is to be compared with those of other readings.
    pub(super) entered: Option<u64>,
}

/// The steps and brackets of all readings.
#[derive(Debug, Default)]
pub(super) struct Trail {
    steps: Vec<Step>,
    frames: Vec<Frame>,
}

impl Trail {
    /// Appends a step to a reading, which pays for it.
    pub(super) fn note(&mut self, state: &mut State, kind: StepKind, start: usize, end: usize) {
        if let StepKind::Repair(rule) | StepKind::Void(rule) = kind {
            state.cost += rule.3;
        }
        self.steps.push(Step { previous: state.step, start, end, kind, state: state.entered });
        state.step = (self.steps.len() - 1) as u32;
    }

    /// The steps of a reading, from the last one on.
    pub(super) fn steps(&self, last: u32) -> impl Iterator<Item = &Step> {
        std::iter::successors(self.steps.get(last as usize), |step| self.steps.get(step.previous as usize))
    }

    /// The bracket with this number; `None` outside the root.
    pub(super) fn frame(&self, at: u32) -> Option<&Frame> {
        self.frames.get(at as usize)
    }

    /// A bracket and those around it, from the inside out.
    pub(super) fn frames(&self, innermost: u32) -> impl Iterator<Item = &Frame> {
        std::iter::successors(self.frame(innermost), |frame| self.frame(frame.parent))
    }

    /// Identifies the state of a reading: position, brackets, known keys. The keys matter, because a reading that lacks a
    /// required one may be cheaper here and dearer at the end.
    pub(super) fn state_id(&self, at: usize, frame: u32) -> u64 {
        mix(self.frame(frame).map_or(0, |frame| mix(frame.hash, frame.seen)), at as u64)
    }
}

impl Search<'_, '_> {
    /// Opens a bracket; its first member or item is next.
    pub(super) fn open(&mut self, state: &mut State, closer: u8, at: usize) -> Option<()> {
        if self.trail.frames(state.frame).count() == usize::from(MAX_DEPTH) {
            return self.dead(at, "more than 128 levels of nesting");
        }
        let (shape, hash) = match self.frame(state) {
            Some(parent) => (parent.value, mix(parent.hash, parent.seen)),
            None => (self.guide.root(), 0),
        };
        let value = if closer == b'}' { shape } else { self.guide.item(shape) };
        let hash = mix(hash, ((at as u64) << 8) | u64::from(closer));
        self.trail.note(state, StepKind::Open(closer), at, at + 1);
        self.enter_frame(state, Frame { parent: state.frame, closer, shape, value, seen: 0, key: None, before: NONE, hash });
        state.at = at + 1;
        state.comma = false;
        state.want = if closer == b'}' { Want::Member } else { Want::Item };
        Some(())
    }

    /// Adds a key to the innermost bracket.
    pub(super) fn learn(&mut self, state: &mut State, key: &str) {
        let Some(mut frame) = self.frame(state).copied() else { return };
        let known = self.guide.key(frame.shape, key);
        if let Key::Known(number @ 0..64) = known {
            frame.seen |= 1 << number;
        }
        frame.key = Some(key_id(known, key));
        frame.before = state.frame;
        frame.value = self.guide.member(frame.shape, key);
        self.enter_frame(state, frame);
    }

    fn enter_frame(&mut self, state: &mut State, frame: Frame) {
        state.frame = self.trail.frames.len() as u32;
        self.trail.frames.push(frame);
    }

    /// The innermost open bracket.
    pub(super) fn frame(&self, state: &State) -> Option<&Frame> {
        self.trail.frame(state.frame)
    }

    /// What the guide says of a key; `None` if the bracket has it already.
    pub(super) fn fresh(&self, frame: &Frame, key: &str) -> Option<Key> {
        let known = self.guide.key(frame.shape, key);
        let id = Some(key_id(known, key));
        let mut before = std::iter::successors(Some(frame), |frame| self.trail.frame(frame.before)).take(KEYS_BACK);
        before.all(|frame| frame.key != id).then_some(known)
    }
}

/// Identifies a key, in all its spellings if it is known.
fn key_id(known: Key, key: &str) -> u64 {
    match known {
        Key::Known(number) => u64::from(number),
        Key::Extra | Key::Open => key.bytes().fold(key.len() as u64, |hash, byte| mix(hash, u64::from(byte))),
    }
}

/// Combines a value with a hash.
fn mix(hash: u64, value: u64) -> u64 {
    let mixed = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}
