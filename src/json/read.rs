//! Reads a container from text that is nearly JSON: a tree with places, and the list of what had to be repaired. Where a
//! text can be read in more than one way (mostly: which of several unescaped quotes ends a string) the cheapest reading
//! wins, and a second one of the same price is reported as a rival.

mod brackets;
mod build;
mod frames;
mod members;
mod rules;
mod search;
mod state;
mod straight;
mod strings;
#[cfg(test)]
mod tests;
mod values;

use super::pointer::Pointer;
use super::strict;
use super::tree::Node;
use straight::Straight;

/// Deepest nesting that is read.
pub const MAX_DEPTH: u16 = 128;

/// A place in a [`Guide`]'s shape; its meaning belongs to the guide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape(pub u32);

/// What a guide says of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// One of the expected ones: its number, the same for every spelling of it.
    Known(u16),
    /// Others are expected here, not this one.
    Extra,
    /// The guide does not know what belongs here.
    Open,
}

/// What is known of the text before it is read. The reader knows nothing of tools; whoever does steers it through this.
pub trait Guide {
    /// The shape of the root.
    fn root(&self) -> Shape;
    /// The shape of an object's member.
    fn member(&self, of: Shape, key: &str) -> Shape;
    /// The shape of an array's items.
    fn item(&self, of: Shape) -> Shape;
    /// Whether the key is expected in this object.
    fn key(&self, of: Shape, key: &str) -> Key;
    /// How many keys an object of this shape must have that are not in `seen` (bit n: key number n).
    fn missing(&self, of: Shape, seen: u64) -> u32;
}

/// The guide of those who know nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unguided;

/// A repair of the syntax.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// The rule's name.
    pub rule: &'static str,
    /// What was done, without any value.
    pub note: &'static str,
    /// Whether there was another way to read it.
    pub guess: bool,
    /// JSON pointer to the value that it concerns.
    pub path: Pointer,
    /// Bytes of the source.
    pub start: usize,
    /// The byte behind them.
    pub end: usize,
}

/// In which state the text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The root is closed.
    Complete,
    /// Brackets are open, directly after a finished value (or after an opening bracket).
    Open,
    /// After a comma: more was to come.
    AfterComma,
    /// After a colon: the value was to come.
    AfterColon,
    /// In a key.
    InKey,
    /// In a string.
    InString,
    /// In a number or an unquoted word: it may have had more letters.
    InWord,
}

/// The cheapest reading of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading<'s> {
    /// The container.
    pub root: Node<'s>,
    /// What was repaired, in the order of the text.
    pub repairs: Vec<Repair>,
    /// How the text ended.
    pub ending: Ending,
    /// The byte behind the container.
    pub end: usize,
    /// Something in it has no JSON form or no value at all: a sentence that says what.
    pub void: Option<String>,
    /// Where another reading of the same cost differs: the path of the value.
    pub rival: Option<String>,
    /// A key whose value was to come when the text ended: its path.
    pub dangling: Option<String>,
    /// Whether a closing tag directly follows an open container.
    pub tagged: bool,
}

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The byte at which no reading goes on.
    pub at: usize,
    /// What was wrong there.
    pub what: &'static str,
}

/// Reads the container that starts at byte `start` of the source (a bracket). Strict JSON with nothing but closing marks
/// after it is read as it is, whatever the guide expects: what is valid has one reading.
pub fn read<'s>(source: &'s str, start: usize, guide: &dyn Guide) -> Result<Reading<'s>, Unreadable> {
    let mut search = search::Search::new(source, guide);
    if let Some(root) = strict::prefix(source, start)
        && search.tail(root.end) == 0
    {
        return Ok(Reading::strict(root));
    }
    match search.straight(start) {
        Straight::Over(reading) => Ok(reading),
        Straight::Left(state) => search.run(state).map(|best| build::build(&search, best)),
    }
}

// === impl Reading ===

impl<'s> Reading<'s> {
    /// The reading of a strict container.
    fn strict(root: Node<'s>) -> Reading<'s> {
        Reading {
            repairs: Vec::new(),
            ending: Ending::Complete,
            end: root.end,
            void: None,
            rival: None,
            dangling: None,
            tagged: false,
            root,
        }
    }
}

// === impl Unguided ===

impl Guide for Unguided {
    fn root(&self) -> Shape {
        Shape(0)
    }

    fn member(&self, _: Shape, _: &str) -> Shape {
        Shape(0)
    }

    fn item(&self, _: Shape) -> Shape {
        Shape(0)
    }

    fn key(&self, _: Shape, _: &str) -> Key {
        Key::Open
    }

    fn missing(&self, _: Shape, _: u64) -> u32 {
        0
    }
}
