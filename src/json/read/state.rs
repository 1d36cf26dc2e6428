//! What readings are made of: steps, open brackets, the state between two tokens, a string whose end is being looked for.

use super::super::lex::Quote;
use super::rules::Rule;
use super::{Ending, Shape};

pub(super) const NONE: u32 = u32::MAX;

/// One entry in a reading's list of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    Object,
    Array,
    /// A parenthesised list: an array, or the one value in it.
    Paren,
    Close,
    Key(Quote),
    Text(Quote),
    /// Joined to the string before it.
    MoreText(Quote),
    Number,
    True,
    False,
    Null,
    /// A value that has no JSON form, or none at all.
    Void(Rule),
    Repair(Rule),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) previous: u32,
    pub(super) start: u32,
    pub(super) end: u32,
    /// Where the reading goes on, and in which frame: names the state after a string.
    pub(super) after: u32,
    pub(super) frame: u32,
    pub(super) kind: StepKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bracket {
    Object,
    Array,
    Paren,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) parent: u32,
    pub(super) bracket: Bracket,
    pub(super) depth: u16,
    pub(super) shape: Shape,
    /// The shape of the value that is being read.
    pub(super) value: Shape,
    /// Known keys so far.
    pub(super) seen: u64,
    /// Other keys so far: head of a list in `keys`.
    pub(super) keys: u32,
    /// Names the place of this bracket, and those around it with their known keys.
    pub(super) hash: u64,
}

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
    /// Nothing more; the root is closed.
    End,
    /// The text is over, in this state.
    Over(Ending),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    pub(super) at: u32,
    pub(super) frame: u32,
    pub(super) step: u32,
    pub(super) cost: u32,
    pub(super) want: Want,
    /// A comma was read last.
    pub(super) comma: bool,
    /// A closing tag of the call follows a container that is open.
    pub(super) tagged: bool,
    /// The state follows a string and must be compared with others that got here.
    pub(super) entered: bool,
}

/// A string whose end is being looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan {
    pub(super) open: u32,
    pub(super) start: u32,
    pub(super) quote: Quote,
    /// From here on.
    pub(super) at: u32,
    /// Quotes that were passed, and what passing them costs.
    pub(super) inner: u32,
    pub(super) passed: u32,
    /// Brackets up to `balanced`: round, square, curly.
    pub(super) brackets: [i32; 3],
    pub(super) balanced: u32,
    /// A closing one came before its opening one.
    pub(super) crossed: bool,
    /// Joined to the string before it.
    pub(super) more: bool,
}

/// A reading that waits for its turn: at a state, or inside of a string.
#[derive(Debug, Clone, Copy)]
pub(super) struct Branch {
    pub(super) state: State,
    pub(super) scan: Option<Scan>,
    /// What it costs at least.
    pub(super) cost: u32,
}

// === impl Bracket ===

impl Bracket {
    /// The byte that closes it.
    pub(super) fn closer(self) -> u8 {
        match self {
            Bracket::Object => b'}',
            Bracket::Array => b']',
            Bracket::Paren => b')',
        }
    }
}

// === impl State ===

impl State {
    /// Before the bracket at `start`.
    pub(super) fn first(start: usize) -> State {
        State {
            at: start as u32,
            frame: NONE,
            step: NONE,
            cost: 0,
            want: Want::Value,
            comma: false,
            tagged: false,
            entered: false,
        }
    }
}

// === impl Scan ===

impl Scan {
    /// A scan for the end of the string whose content starts at `start`, after its opening quote at `open` (the same place
    /// if it has none).
    pub(super) fn new(open: usize, start: usize, quote: Quote, more: bool) -> Scan {
        let start = start as u32;
        Scan {
            open: open as u32,
            start,
            quote,
            at: start,
            inner: 0,
            passed: 0,
            brackets: [0; 3],
            balanced: start,
            crossed: false,
            more,
        }
    }

    /// Whether its opening quote is missing.
    pub(super) fn is_half_quoted(&self) -> bool {
        self.open == self.start
    }
}
