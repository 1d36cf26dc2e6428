//! Reads a container from text that is nearly JSON. Where a text can be read in more than one way (mostly: which of several
//! unescaped quotes ends a string) the cheapest reading wins, and a second one of the same price is reported as a rival.
//!
//! The search is Dijkstra's over (place, open brackets): states are small, share their past, and are looked at in order of
//! cost, so a text that needs no guess is read in one pass. A second way into the same state is dropped, which together
//! with a budget keeps the work linear in the text. Recursion does not occur.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

mod build;
mod strings;
mod tokens;

use super::lex::{Quote, Text};
use super::tree::Node;

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
    pub path: String,
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
    /// Whether the text held out a closing tag directly after an open container.
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

/// Reads the container that starts at byte `start` of the source (a bracket).
pub fn read<'s>(source: &'s str, start: usize, guide: &dyn Guide) -> Result<Reading<'s>, Unreadable> {
    let mut search = Search::new(source, guide);
    search.begin(start);
    let best = search.run()?;
    Ok(build::build(&search, best))
}

// === the search's own types ===

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
    /// A colon without a value.
    pub(crate) const NO_VALUE: u32 = 60;
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
    Void(&'static str),
    Repair(&'static str, &'static str, bool),
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

#[derive(Debug, Clone, Copy)]
struct Item {
    state: State,
    scan: Option<Scan>,
}

#[derive(Debug, Clone, Copy)]
struct Entered {
    cost: u32,
    rival: bool,
}

/// Hash values are their own hash.
#[derive(Debug, Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = mix(self.0, u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

pub(super) struct Search<'s, 'g> {
    pub(super) text: Text<'s>,
    pub(super) guide: &'g dyn Guide,
    pub(super) steps: Vec<Step>,
    pub(super) frames: Vec<Frame>,
    /// Keys of which the guide knows nothing: (list before, hash).
    pub(super) keys: Vec<(u32, u64)>,
    queue: Vec<Vec<Item>>,
    /// No bucket below this one has an item.
    lowest: usize,
    entered: HashMap<u64, Entered, BuildHasherDefault<Identity>>,
    work: usize,
    pub(super) stuck: Unreadable,
}

// === impl Search ===

impl<'s, 'g> Search<'s, 'g> {
    fn new(source: &'s str, guide: &'g dyn Guide) -> Search<'s, 'g> {
        Search {
            text: Text::new(source),
            guide,
            steps: Vec::with_capacity(source.len() / 16 + 16),
            frames: Vec::with_capacity(source.len() / 32 + 16),
            keys: Vec::new(),
            queue: Vec::new(),
            lowest: 0,
            entered: HashMap::default(),
            work: 0,
            stuck: Unreadable { at: 0, what: "no JSON object or array" },
        }
    }

    fn begin(&mut self, start: usize) {
        let state =
            State { at: start as u32, frame: NONE, step: NONE, cost: 0, want: Want::Value, comma: false, tagged: false, entered: false };
        self.push(state, None);
    }

    /// Runs to the cheapest reading; the error says where the one that got furthest was stuck.
    fn run(&mut self) -> Result<Best, Unreadable> {
        let limit = 50_000 + 4 * self.text.bytes.len();
        let mut best: Option<Best> = None;
        while let Some((cost, item)) = self.pop() {
            if let Some(best) = &best
                && cost > best.state.cost
            {
                break;
            }
            if self.work > limit {
                break;
            }
            let over = match item.scan {
                Some(scan) => self.scan(item.state, scan).and_then(|state| self.advance(state)),
                None => self.advance(item.state),
            };
            let Some(state) = over else { continue };
            match &mut best {
                None => best = Some(Best { state, other: None }),
                Some(best) if best.other.is_none() && state.cost == best.state.cost => best.other = Some(state.step),
                Some(_) => {}
            }
        }
        match best {
            Some(best) => Ok(best),
            None if self.work > limit => Err(Unreadable { at: self.stuck.at, what: "too many ways to read it" }),
            None => Err(self.stuck.clone()),
        }
    }

    /// Follows one reading until it is over, stuck, or no longer the cheapest.
    fn advance(&mut self, mut state: State) -> Option<State> {
        loop {
            self.work += 1;
            if state.entered {
                state.entered = false;
                if !self.enter(&state) {
                    return None;
                }
            }
            if let Want::Over(_) = state.want {
                return Some(state);
            }
            let next = self.step(state);
            match next {
                Some(next) if next.cost as usize <= self.cheapest() => state = next,
                Some(next) => {
                    self.push(next, None);
                    return None;
                }
                None => return None,
            }
        }
    }

    /// One token further. `None`: this reading ends here, or its continuations are in the queue.
    fn step(&mut self, state: State) -> Option<State> {
        match state.want {
            Want::Value => self.value(state),
            Want::Item => self.item(state),
            Want::Member => self.member(state),
            Want::Next => self.next(state),
            Want::End => self.end(state),
            Want::Over(_) => Some(state),
        }
    }

    /// Lets a reading wait for its turn.
    pub(super) fn push(&mut self, state: State, scan: Option<Scan>) {
        self.push_at(state.cost, state, scan);
    }

    /// Lets a reading wait whose cost will be at least `cost`.
    pub(super) fn push_at(&mut self, cost: u32, state: State, scan: Option<Scan>) {
        let cost = cost as usize;
        if cost > cost::MOST {
            return;
        }
        if self.queue.len() <= cost {
            self.queue.resize_with(cost + 1, Vec::new);
        }
        self.queue[cost].push(Item { state, scan });
        self.lowest = self.lowest.min(cost);
    }

    fn pop(&mut self) -> Option<(u32, Item)> {
        let cost = self.cheapest();
        let item = self.queue.get_mut(cost)?.pop()?;
        Some((cost as u32, item))
    }

    /// The cost of the cheapest reading that waits.
    pub(super) fn cheapest(&mut self) -> usize {
        while self.lowest < self.queue.len() && self.queue[self.lowest].is_empty() {
            self.lowest += 1;
        }
        if self.lowest < self.queue.len() { self.lowest } else { usize::MAX }
    }

    /// Counts bytes that were looked at.
    pub(super) fn worked(&mut self, bytes: usize) {
        self.work += 1 + bytes / 32;
    }

    /// Whether this state is worth following: nobody was here cheaper. Another of the same cost makes it a rival.
    fn enter(&mut self, state: &State) -> bool {
        let name = self.state_name(state.at, state.frame);
        match self.entered.get_mut(&name) {
            Some(before) => {
                before.rival |= before.cost == state.cost;
                before.cost > state.cost
            }
            None => {
                self.entered.insert(name, Entered { cost: state.cost, rival: false });
                true
            }
        }
    }

    /// Whether a second reading of the same cost went through the state behind this string.
    pub(super) fn rivalled(&self, step: &Step) -> bool {
        self.entered.get(&self.state_name(step.after, step.frame)).is_some_and(|entered| entered.rival)
    }

    fn state_name(&self, at: u32, frame: u32) -> u64 {
        let hash = self.frames.get(frame as usize).map_or(0, |frame| frame.hash);
        mix(hash, u64::from(at))
    }

    /// Appends a step to a reading.
    pub(super) fn note(&mut self, state: &mut State, kind: StepKind, start: usize, end: usize) {
        let step = Step { previous: state.step, start: start as u32, end: end as u32, after: end as u32, frame: state.frame, kind };
        state.step = self.steps.len() as u32;
        self.steps.push(step);
    }

    /// Appends a repair to a reading.
    pub(super) fn repair(&mut self, state: &mut State, repair: (&'static str, &'static str, bool), start: usize, end: usize) {
        self.note(state, StepKind::Repair(repair.0, repair.1, repair.2), start, end);
    }

    /// This reading goes no further.
    pub(super) fn dead(&mut self, at: usize, what: &'static str) -> Option<State> {
        if at >= self.stuck.at {
            self.stuck = Unreadable { at, what };
        }
        None
    }

    /// The text is over in the middle of something.
    pub(super) fn over(&mut self, mut state: State, ending: Ending, extra: u32) -> Option<State> {
        state.cost += extra;
        state.want = Want::Over(ending);
        let mut frame = state.frame;
        while let Some(open) = self.frames.get(frame as usize) {
            state.cost += cost::MISSING_KEY * self.guide.missing(open.shape, open.seen);
            frame = open.parent;
        }
        Some(state)
    }

    /// Opens a bracket.
    pub(super) fn open(&mut self, mut state: State, bracket: Bracket, at: usize) -> Option<State> {
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
        self.note(&mut state, kind, at, at + 1);
        let value = if bracket == Bracket::Object { shape } else { self.guide.item(shape) };
        let hash = mix(hash, ((at as u64) << 2) | bracket as u64);
        self.frames.push(Frame { parent: state.frame, bracket, depth, shape, value, seen: 0, keys: NONE, hash });
        state.frame = (self.frames.len() - 1) as u32;
        state.at = (at + 1) as u32;
        state.comma = false;
        state.want = if bracket == Bracket::Object { Want::Member } else { Want::Item };
        Some(state)
    }

    /// Closes the innermost bracket, which ends before `end`.
    pub(super) fn close(&mut self, mut state: State, start: usize, end: usize) -> Option<State> {
        let frame = *self.frames.get(state.frame as usize)?;
        if frame.bracket == Bracket::Object {
            state.cost += cost::MISSING_KEY * self.guide.missing(frame.shape, frame.seen);
        }
        self.note(&mut state, StepKind::Close, start, end);
        state.frame = frame.parent;
        state.at = end as u32;
        state.comma = false;
        state.want = if frame.parent == NONE { Want::End } else { Want::Next };
        Some(state)
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

/// The cheapest reading, and the last step of another one of the same cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Best {
    pub(super) state: State,
    pub(super) other: Option<u32>,
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

fn mix(hash: u64, value: u64) -> u64 {
    let mixed = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

fn hash_text(text: &str) -> u64 {
    text.bytes().fold(0x1234_5678, |hash, byte| mix(hash, u64::from(byte)))
}
