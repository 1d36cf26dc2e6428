//! Builds the tree and the list of repairs from the steps of the winning reading.

use std::borrow::Cow;

use super::super::code::Code;
use super::super::decode::decode;
use super::super::lex::Quote;
use super::super::number;
use super::super::pointer::{Pointer, push_index, push_key};
use super::super::tree::{Member, Node, Value};
use super::search::{Best, Search};
use super::state::{State, Step, StepKind, Want};
use super::trail::Trail;
use super::{Ending, Reading, Repair};

/// Maximum number of repairs that are listed.
const MOST_REPAIRS: usize = 1000;
/// Initial capacity of the list of repairs.
const REPAIRS: usize = 32;
/// Maximum initial capacity of an object. Below it, an object gets the size of the one before it.
const ROOM: usize = 16;

/// A container whose end has not been reached.
struct Open<'s> {
    value: Value<'s>,
    start: usize,
    /// Number of repairs before it. If there are more when it closes, it is not exact.
    repairs: usize,
    /// All its children are exact.
    exact: bool,
    paren: bool,
    key: Option<(Cow<'s, str>, usize)>,
    /// Length of its own path.
    base: usize,
}

/// Builds the tree step by step.
#[derive(Default)]
pub(super) struct Builder<'s> {
    source: &'s str,
    open: Vec<Open<'s>>,
    /// JSON pointer to the value being read, or read last. The index of a scalar item is left out, see [`Builder::path`].
    path: String,
    root: Option<Node<'s>>,
    repairs: Vec<Repair>,
    /// Repairs that are not listed: how many, and whether one of them is a guess.
    more: Option<(usize, bool)>,
    void: Option<String>,
    /// Number of members of the last object, because the rows of a list are alike.
    members: usize,
    end: usize,
}

/// Builds the best reading, and finds out where it is tied with another one.
pub(super) fn build<'s>(search: &Search<'s, '_>, best: Best) -> Reading<'s> {
    let trail = &search.grammar.trail;
    let steps = chain(trail, best.state.step);
    let mut builder = Builder { source: search.grammar.text.source, ..Builder::default() };
    let mut rival = None;
    for step in &steps {
        builder.take(step);
        if rival.is_none() && matches!(step.kind, StepKind::Text(_) | StepKind::MoreText(_)) && search.is_rivalled(step) {
            rival = Some(builder.path().to_string());
        }
    }
    if rival.is_none() && best.other.is_some_and(|other| values(&steps) != values(&chain(trail, other))) {
        rival = Some(String::new());
    }
    builder.finish(&best.state, rival)
}

/// The steps of a reading, in the order of the text.
fn chain(trail: &Trail, last: u32) -> Vec<&Step> {
    let mut steps: Vec<&Step> = std::iter::successors(trail.step(last), |step| trail.step(step.previous)).collect();
    steps.reverse();
    steps
}

/// What a reading says: its steps without the repairs.
fn values(steps: &[&Step]) -> Vec<(StepKind, u32, u32)> {
    steps
        .iter()
        .filter(|step| !matches!(step.kind, StepKind::Repair(_)))
        .map(|step| match step.kind {
            StepKind::Close => (StepKind::Close, 0, 0),
            kind => (kind, step.start, step.end),
        })
        .collect()
}

impl<'s> Builder<'s> {
    /// Closes what is open and returns the reading. `state` is its last state.
    pub(super) fn finish(mut self, state: &State, rival: Option<String>) -> Reading<'s> {
        let end = state.at as usize;
        let dangling = self.open.last().is_some_and(|open| open.key.is_some()).then(|| self.path().to_string());
        while !self.open.is_empty() {
            self.close(end, false);
        }
        let ending = match state.want {
            Want::Over(ending) => ending,
            _ => Ending::Open,
        };
        if let Some((_, guess)) = self.more {
            let note = "more repairs than are listed";
            self.repairs.push(Repair { rule: Code::S0, note, guess, path: Pointer::default(), start: 0, end });
        }
        let root = self.root.unwrap_or(Node { value: Value::Null, start: end, end, exact: false });
        let end = if ending == Ending::Complete { self.end } else { end };
        Reading { root, repairs: self.repairs, ending, end, void: self.void, rival, dangling, tagged: state.tagged }
    }

    /// Applies the next step.
    pub(super) fn take(&mut self, step: &Step) {
        let (start, end) = (step.start as usize, step.end as usize);
        match step.kind {
            StepKind::Object => self.begin(Value::Object(Vec::with_capacity(self.members.min(ROOM))), start, false),
            StepKind::Array => self.begin(Value::Array(Vec::new()), start, false),
            StepKind::Paren => self.begin(Value::Array(Vec::new()), start, true),
            StepKind::Close => {
                let bracket = self.source.as_bytes().get(start);
                let own = match self.open.last().map(|open| (&open.value, open.paren)) {
                    Some((Value::Object(_), _)) => bracket == Some(&b'}'),
                    Some(_) => bracket == Some(&b']'),
                    None => false,
                };
                self.close(end, own && start < end);
            }
            StepKind::Key(quote) => {
                let (text, _) = self.text(start, end, quote);
                if let Some(open) = self.open.last_mut() {
                    self.path.truncate(open.base);
                    push_key(&mut self.path, &text);
                    open.key = Some((text, start));
                    open.exact &= quote == Quote::Double;
                }
            }
            StepKind::Text(quote) => {
                let (text, exact) = self.text(start, end, quote);
                let exact = exact && quote == Quote::Double && self.source.as_bytes().get(end) == Some(&b'"');
                let exact = exact && start > 0 && self.source.as_bytes()[start - 1] == b'"';
                let (start, end) = if exact { (start - 1, end + 1) } else { (start, end) };
                self.add(Node { value: Value::Text(text), start, end, exact });
            }
            StepKind::MoreText(quote) => {
                let (more, _) = self.text(start, end, quote);
                if let Some(Node { value: Value::Text(text), end: last, exact, .. }) = self.last() {
                    text.to_mut().push_str(&more);
                    *last = end;
                    *exact = false;
                }
            }
            StepKind::Number => {
                let written = &self.source[start..end];
                let digits = number::respell(written);
                let exact = digits.as_deref() == Some(written);
                if digits.is_none() {
                    self.refuse("no number", "at");
                }
                self.add(Node { value: digits.map_or(Value::Null, Value::Number), start, end, exact });
            }
            StepKind::True | StepKind::False => {
                let exact = matches!(&self.source[start..end], "true" | "false");
                self.add(Node { value: Value::Bool(step.kind == StepKind::True), start, end, exact });
            }
            StepKind::Null => {
                let exact = &self.source[start..end] == "null";
                self.add(Node { value: Value::Null, start, end, exact });
            }
            StepKind::Void((_, what, _)) => {
                self.refuse(what, "at");
                self.add(Node { value: Value::Null, start, end, exact: false });
            }
            StepKind::Repair((rule, note, guess)) => self.repair(*rule, note, *guess, start, end),
        }
    }

    /// Decodes a string and lists its repairs. The flag says whether it was strict JSON.
    fn text(&mut self, start: usize, end: usize, quote: Quote) -> (Cow<'s, str>, bool) {
        let source = self.source;
        let decoded = decode(&source[start..end], quote);
        if decoded.lone_surrogate {
            self.refuse("half of a surrogate pair", "in");
        }
        if decoded.control {
            self.repair(Code::T1, "raw control characters escaped", false, start, end);
        }
        if decoded.odd_escape {
            self.repair(Code::T2, "backslashes that begin no escape kept", false, start, end);
        }
        let plain = !decoded.control && !decoded.quotes && !decoded.odd_escape && !decoded.lone_surrogate;
        (decoded.text, plain)
    }

    /// Notes that a value is missing or has no JSON form. Only the first one is kept.
    fn refuse(&mut self, what: &str, preposition: &str) {
        let path = self.path();
        self.void.get_or_insert_with(|| format!("{what} {preposition} {}", if path.is_empty() { "/" } else { &path }));
    }

    /// Opens a container.
    fn begin(&mut self, value: Value<'s>, start: usize, paren: bool) {
        if let Some(Open { value: Value::Array(items), base, .. }) = self.open.last() {
            self.path.truncate(*base);
            push_index(&mut self.path, items.len());
        }
        let base = self.path.len();
        self.open.push(Open { value, start, repairs: self.repaired(), exact: true, paren, key: None, base });
    }

    /// Closes the innermost container. `closed`: its own closing bracket is in the source.
    fn close(&mut self, end: usize, closed: bool) {
        let Some(open) = self.open.pop() else { return };
        let exact = closed && open.exact && open.repairs == self.repaired();
        if let Value::Object(members) = &open.value {
            self.members = members.len();
        }
        let mut node = Node { value: open.value, start: open.start, end, exact };
        self.end = end;
        self.path.truncate(open.base);
        if open.paren
            && let Value::Array(items) = &mut node.value
            && items.len() == 1
            && let Some(only) = items.pop()
        {
            node = only;
        }
        self.add(node);
    }

    /// Adds a value to the innermost container.
    fn add(&mut self, node: Node<'s>) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        open.exact &= node.exact;
        match &mut open.value {
            Value::Array(items) => {
                if !matches!(node.value, Value::Array(_) | Value::Object(_)) {
                    self.path.truncate(open.base);
                }
                items.push(node);
            }
            Value::Object(members) => {
                let (key, start) = open.key.take().unwrap_or((Cow::Borrowed(""), node.start));
                members.push(Member { key, start, node });
            }
            _ => {}
        }
    }

    /// The last value of the innermost container.
    fn last(&mut self) -> Option<&mut Node<'s>> {
        match &mut self.open.last_mut()?.value {
            Value::Array(items) => items.last_mut(),
            Value::Object(members) => members.last_mut().map(|member| &mut member.node),
            _ => None,
        }
    }

    /// Lists a repair.
    fn repair(&mut self, rule: Code, note: &'static str, guess: bool, start: usize, end: usize) {
        if rule == Code::S1
            && let Some(open) = self.open.last_mut()
        {
            // `(1,)` is a list of one.
            open.paren = false;
        }
        if rule == Code::T3
            && let Some(node) = self.last()
            && node.exact
            && node.start + 1 == start
        {
            // The position of a node that is not exact does not include its quotes.
            (node.start, node.end, node.exact) = (node.start + 1, node.end - 1, false);
        }
        if let Some(open) = self.open.last_mut() {
            open.exact = false;
        }
        if self.repairs.len() >= MOST_REPAIRS {
            let (count, guessed) = self.more.unwrap_or_default();
            self.more = Some((count + 1, guessed | guess));
            return;
        }
        if self.repairs.is_empty() {
            self.repairs.reserve(REPAIRS);
        }
        let path = self.path();
        self.repairs.push(Repair { rule, note, guess, path, start, end });
    }

    /// The number of repairs so far, listed or not.
    fn repaired(&self) -> usize {
        self.repairs.len() + self.more.map_or(0, |(count, _)| count)
    }

    /// JSON pointer to the value being read, or read last.
    #[inline]
    fn path(&mut self) -> Pointer {
        if let Some(Open { value: Value::Array(items), base, .. }) = self.open.last()
            && self.path.len() == *base
            && !items.is_empty()
        {
            push_index(&mut self.path, items.len() - 1);
            let path = Pointer::from(self.path.as_str());
            self.path.truncate(*base);
            return path;
        }
        Pointer::from(self.path.as_str())
    }
}
