//! What the search is made of: the costs, the steps of a reading, the open brackets, the states between two tokens.

use super::super::lex::Quote;
use super::rules::Rule;
use super::{Ending, Shape};

pub(super) const NONE: u32 = u32::MAX;

/// Costs; they compare readings and mean nothing else.
pub(super) mod cost {
    /// A string with unescaped quotes inside.
    pub(crate) const INNER_QUOTES: u32 = 5;
    /// Its brackets do not balance: it was probably cut in the middle of code.
    pub(crate) const UNBALANCED: u32 = 10;
    /// Its inner quotes are odd.
    pub(crate) const ODD: u32 = 1;
    /// It goes on over a place where it could well have ended.
    pub(crate) const PASSED: u32 = 6;
    /// No more than this in sum, where nothing is known of the keys.
    pub(crate) const PASSED_MOST: u32 = 24;
    /// A forgotten closing quote before `, "key":`.
    pub(crate) const FORGOTTEN: u32 = 5;
    /// A forgotten closing quote before the closers at the end of the text.
    pub(crate) const FORGOTTEN_AT_END: u32 = 9;
    /// A string that is open at the end of the text.
    pub(crate) const OPEN_STRING: u32 = 12;
    /// Another open end.
    pub(crate) const OPEN: u32 = 4;
    /// A value without quotes.
    pub(crate) const UNQUOTED: u32 = 6;
    /// Something that is there and should not be, or the other way round.
    pub(crate) const ODDITY: u32 = 3;
    /// A key that the object must have and has not.
    pub(crate) const MISSING_KEY: u32 = 20;
    /// A colon without a value: less than a string that reaches over it would cost, because no value is invented from that.
    pub(crate) const NO_VALUE: u32 = 8;
    /// An object that closed too early and is opened again.
    pub(crate) const REOPENED: u32 = 8;
    /// Prose behind the root.
    pub(crate) const PROSE: u32 = 2;
    /// Something behind the root that looks like the rest of it.
    pub(crate) const SPILT: u32 = 30;
    /// Nothing is looked at beyond this.
    pub(crate) const MOST: usize = 600;
}

/// What stands in a reading's list of steps.
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
    /// Where the reading goes on, and in which frame: names the state behind a string.
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
    /// Names this frame and those around it.
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
    /// A comma stands directly before.
    pub(super) comma: bool,
    /// A container that is open ends with a closing tag of the call.
    pub(super) tagged: bool,
    /// The state was entered behind a string and must be compared with others that got here.
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
    /// Quotes that were passed.
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

/// The cheapest reading, and the last step of another one of the same cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Best {
    pub(super) state: State,
    pub(super) other: Option<u32>,
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
    /// A scan for the end of the string whose content starts at `start`, behind its opening quote at `open` (the same place
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
