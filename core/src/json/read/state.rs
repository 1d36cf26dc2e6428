//! What readings consist of: steps, open brackets, the state between two tokens, and a string whose end is being looked for.

use super::super::lex::Quote;
use super::rules::Rule;
use super::{Ending, Shape};

pub(super) const NONE: u32 = u32::MAX;

/// What a step of a reading adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    Object,
    Array,
    /// A list in parentheses: an array, or the only value in it.
    Paren,
    Close,
    Key(Quote),
    Text(Quote),
    /// A string joined to the one before it.
    MoreText(Quote),
    Number,
    True,
    False,
    Null,
    /// A value that is missing or has no JSON form.
    Void(Rule),
    Repair(Rule),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) previous: u32,
    pub(super) start: u32,
    pub(super) end: u32,
    /// Where the reading continues, and in which frame. Identifies the state after a string.
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

/// An open bracket, with the keys read in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) parent: u32,
    pub(super) bracket: Bracket,
    pub(super) depth: u16,
    pub(super) shape: Shape,
    /// The shape of the value being read.
    pub(super) value: Shape,
    /// Known keys so far (bit n: key number n).
    pub(super) seen: u64,
    /// Other keys so far: the head of a list in `Trail::keys`.
    pub(super) keys: u32,
    /// Identifies the position of this bracket, and the brackets around it with their known keys.
    pub(super) hash: u64,
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
    pub(super) at: u32,
    pub(super) frame: u32,
    pub(super) step: u32,
    pub(super) cost: u32,
    pub(super) want: Want,
    /// The last token was a comma.
    pub(super) comma: bool,
    /// A closing tag of the call follows an open container.
    pub(super) tagged: bool,
    /// A string was just read: the state is to be compared with those of other readings.
    pub(super) entered: bool,
}

/// A string whose end is being looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan {
    pub(super) open: u32,
    pub(super) start: u32,
    pub(super) quote: Quote,
    /// Where the search continues.
    pub(super) at: u32,
    /// Delimiters passed so far, and the cost of passing them.
    pub(super) inner: u32,
    pub(super) passed: u32,
    /// Open brackets before `balanced`: round, square, curly.
    pub(super) brackets: [i32; 3],
    pub(super) balanced: u32,
    /// A closing bracket came before its opening one.
    pub(super) crossed: bool,
    /// The string is joined to the one before it.
    pub(super) more: bool,
}

/// A waiting reading, at a state or inside a string.
#[derive(Debug, Clone, Copy)]
pub(super) struct Branch {
    pub(super) state: State,
    pub(super) scan: Option<Scan>,
    /// Its minimum cost.
    pub(super) cost: u32,
}

impl Bracket {
    /// The bracket that this closing byte closes.
    pub(super) fn closed_by(byte: u8) -> Bracket {
        match byte {
            b'}' => Bracket::Object,
            b']' => Bracket::Array,
            _ => Bracket::Paren,
        }
    }

    /// The byte that closes this bracket.
    pub(super) fn closer(self) -> u8 {
        match self {
            Bracket::Object => b'}',
            Bracket::Array => b']',
            Bracket::Paren => b')',
        }
    }
}

impl State {
    /// The state before the bracket at `start`.
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

impl Scan {
    /// A scan for the end of the string that opens at `open` and whose content begins at `start`. Both are equal if the opening
    /// quote is missing.
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

    /// Whether the opening quote is missing.
    pub(super) fn is_half_quoted(&self) -> bool {
        self.open == self.start
    }
}
