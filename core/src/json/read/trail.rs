//! What readings consist of: steps, open brackets, the state between two tokens. Steps and brackets are only added, never
//! changed, because readings have a common past.

use super::super::lex::Quote;
use super::rules::Rule;
use super::{Ending, Guide, Key, MAX_DEPTH, Shape};

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
    /// A string joined to the one before it.
    MoreText(Quote),
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

/// An open bracket, with the keys read in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) parent: u32,
    /// The byte that closes it.
    pub(super) closer: u8,
    depth: u16,
    pub(super) shape: Shape,
    /// The shape of the value being read.
    value: Shape,
    /// Known keys so far (bit n: key number n).
    pub(super) seen: u64,
    /// Other keys so far: the head of a list in `Trail::keys`.
    keys: u32,
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
    /// Nothing: the root is closed.
    End,
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
    /// Keys that the guide does not know: (previous entry, hash).
    keys: Vec<(u32, u64)>,
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

    /// Opens a bracket; `None` if it nests too deep.
    pub(super) fn open(&mut self, state: &mut State, closer: u8, at: usize, guide: &dyn Guide) -> Option<()> {
        let (depth, shape, hash) = match self.frame(state.frame) {
            Some(parent) => (parent.depth + 1, parent.value, mix(parent.hash, parent.seen)),
            None => (1, guide.root(), 0),
        };
        if depth > MAX_DEPTH {
            return None;
        }
        self.note(state, StepKind::Open(closer), at, at + 1);
        let value = if closer == b'}' { shape } else { guide.item(shape) };
        let hash = mix(hash, ((at as u64) << 8) | u64::from(closer));
        self.frames.push(Frame { parent: state.frame, closer, depth, shape, value, seen: 0, keys: NONE, hash });
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
                let before = |at: u32| self.keys.get(at as usize);
                let keys = std::iter::successors(before(frame.keys), |(previous, _)| before(*previous));
                keys.take(KEYS_BACK).any(|(_, seen)| *seen == hash)
            }
        };
        (!seen).then_some(known)
    }

    /// Identifies the state of a reading: position, brackets, known keys. The keys matter, because a reading that lacks a
    /// required one may be cheaper here and dearer at the end.
    pub(super) fn state_id(&self, at: usize, frame: u32) -> u64 {
        mix(self.frame(frame).map_or(0, |frame| mix(frame.hash, frame.seen)), at as u64)
    }
}

/// Combines a value with a hash.
fn mix(hash: u64, value: u64) -> u64 {
    let mixed = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

fn hash_text(text: &str) -> u64 {
    text.bytes().fold(text.len() as u64, |hash, byte| mix(hash, u64::from(byte)))
}
