//! Reads a container from text that is nearly JSON. The result is a tree with positions and the list of repairs. If there are
//! several ways to read the text (mostly: which of several unescaped quotes ends a string), the cheapest one wins. A second one
//! of the same cost is a tie, reported as [`Reading::rival`].

mod build;
mod follow;
mod grammar;
mod members;
mod rules;
mod search;
mod strings;
#[cfg(test)]
mod tests;
mod trail;
mod values;

use super::code::Code;
use super::strict;
use super::tree::Node;

/// Deepest nesting that is read.
pub const MAX_DEPTH: u16 = 128;

/// A position in a [`Guide`]'s schema. Only the guide knows what the number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape(pub u32);

/// What a guide knows about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// An expected key, by its number, which is the same for all its spellings.
    Known(u16),
    /// Other keys are expected here, but not this one.
    Extra,
    /// The guide does not know which keys are expected here.
    Open,
}

/// What is expected of the text. The reader knows nothing of tools; a guide tells it which keys a schema has.
pub trait Guide {
    /// The shape of the root.
    fn root(&self) -> Shape;
    /// The shape of a member of this object.
    fn member(&self, of: Shape, key: &str) -> Shape;
    /// The shape of the items of this array.
    fn item(&self, of: Shape) -> Shape;
    /// Whether this object is expected to have the key.
    fn key(&self, of: Shape, key: &str) -> Key;
    /// How many required keys of this object are not in `seen` (bit n: key number n).
    fn missing(&self, of: Shape, seen: u64) -> u32;
}

/// One repair of the syntax.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// The rule.
    pub rule: Code,
    /// What was done. It never contains values.
    pub note: &'static str,
    /// Whether the text could also be read in another way.
    pub guess: bool,
    /// JSON pointer to the value concerned.
    pub path: String,
    /// The first byte concerned, in the source.
    pub start: usize,
    /// The byte after the last one concerned.
    pub end: usize,
}

/// The state in which the text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ending {
    /// The root is closed.
    #[default]
    Complete,
    /// Brackets are open, after a complete value or an opening bracket.
    Open,
    /// After a comma: another member or item is missing.
    AfterComma,
    /// After a colon: the value is missing.
    AfterColon,
    /// Inside a key.
    InKey,
    /// Inside a string.
    InString,
    /// Inside a number or a word without quotes, which may be truncated.
    InWord,
}

/// The cheapest reading of a text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading<'s> {
    /// The container.
    pub root: Node<'s>,
    /// The repairs, in the order of the text.
    pub repairs: Vec<Repair>,
    /// How the text ended.
    pub ending: Ending,
    /// Byte offset in the source after the container.
    pub end: usize,
    /// Set if a value is missing or has no JSON form: a sentence that says which.
    pub void: Option<String>,
    /// Set if another reading of the same cost gives other values (a tie): the JSON pointer of the first value that
    /// differs.
    pub rival: Option<String>,
    /// Set if the text ended before the value of a key: the JSON pointer of that value.
    pub dangling: Option<String>,
    /// Whether a closing tag directly follows an open container.
    pub tagged: bool,
}

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The byte at which the reading that got furthest failed.
    pub at: usize,
    /// What was wrong there.
    pub what: &'static str,
}

/// Reads the container whose bracket is at byte `start`. Strict JSON that is followed by nothing but closing markers is returned
/// as it is, whatever the guide expects, because valid JSON has only one reading.
///
/// # Errors
/// No reading reaches the end of the text, or there are too many to compare.
pub fn read<'s>(source: &'s str, start: usize, guide: &dyn Guide) -> Result<Reading<'s>, Unreadable> {
    let mut search = search::Search::new(source, guide);
    if let Some(root) = strict::prefix(source, start)
        && search.tail(root.end) == 0
    {
        return Ok(Reading { end: root.end, root, ..Reading::default() });
    }
    let best = search.run(start)?;
    Ok(build::build(&search, &best))
}
