//! Builds the tree and the list of repairs from the steps of the winning reading.

use std::borrow::Cow;

use super::super::code::Code;
use super::super::decode::decode;
use super::super::lex::Quote;
use super::super::number;
use super::super::pointer::{push_index, push_key};
use super::super::strict;
use super::super::tree::{Member, Node, Value};
use super::search::{Best, Search};
use super::trail::{State, Step, StepKind, Want};
use super::{Ending, Reading, Repair};

/// Maximum number of repairs that are listed.
const MOST_REPAIRS: usize = 1000;

/// A container whose end has not been reached.
struct Open<'s> {
    value: Value<'s>,
    start: usize,
    /// The byte that closes it. A list in parentheses with a comma in it is closed like any other.
    closer: u8,
    /// Number of repairs before it. If there are more when it closes, it is not exact.
    repaired: usize,
    key: Option<(Cow<'s, str>, usize)>,
}

/// Builds the tree step by step.
#[derive(Default)]
struct Builder<'s> {
    source: &'s str,
    open: Vec<Open<'s>>,
    root: Option<Node<'s>>,
    repairs: Vec<Repair>,
    /// Number of repairs, listed or not.
    repaired: usize,
    void: Option<String>,
    end: usize,
}

/// Builds the best reading, and finds out where it is tied with another one.
pub(super) fn build<'s>(search: &Search<'s, '_>, best: &Best) -> Reading<'s> {
    let steps = |last: u32| {
        let mut steps: Vec<&Step> = search.trail.steps(last).collect();
        steps.reverse();
        steps
    };
    let mut builder = Builder { source: search.text.source, ..Builder::default() };
    let mut rival = None;
    let own = steps(best.state.step);
    for step in &own {
        builder.take(step);
        if rival.is_none() && search.is_rivalled(step) {
            rival = Some(builder.path());
        }
    }
    if rival.is_none() && best.other.is_some_and(|other| values(&own) != values(&steps(other))) {
        rival = Some(String::new());
    }
    builder.finish(&best.state, rival)
}

/// What a reading says: its steps without the repairs, and without the places of closing brackets.
fn values(steps: &[&Step]) -> Vec<(StepKind, usize, usize)> {
    let place = |step: &Step| if step.kind == StepKind::Close { (0, 0) } else { (step.start, step.end) };
    let said = steps.iter().filter(|step| !matches!(step.kind, StepKind::Repair(_)));
    said.map(|step| (step.kind, place(step).0, place(step).1)).collect()
}

impl<'s> Builder<'s> {
    /// Closes what is open and returns the reading. `state` is its last state.
    fn finish(mut self, state: &State, rival: Option<String>) -> Reading<'s> {
        let dangling = self.open.last().is_some_and(|open| open.key.is_some()).then(|| self.path());
        while !self.open.is_empty() {
            self.close(state.at, false);
        }
        let ending = if let Want::Over(ending) = state.want { ending } else { Ending::Open };
        let end = if ending == Ending::Complete { self.end } else { state.at };
        let root = self.root.unwrap_or(Node { value: Value::Null, start: end, end, exact: false });
        Reading { root, repairs: self.repairs, ending, end, void: self.void, rival, dangling, tagged: state.tagged }
    }

    /// Applies the next step.
    fn take(&mut self, step: &Step) {
        let (source, start, end) = (self.source, step.start, step.end);
        let written = &source[start..end];
        let (value, exact) = match step.kind {
            StepKind::Open(closer) => return self.begin(closer, start),
            StepKind::Close => {
                let closer = self.open.last().map(|open| open.closer).filter(|closer| *closer != b')');
                return self.close(end, closer.is_some() && written.bytes().next() == closer);
            }
            StepKind::Key(quote) => {
                let text = self.text(start, end, quote);
                if let Some(open) = self.open.last_mut() {
                    open.key = Some((text, start));
                }
                return;
            }
            StepKind::Text(quote) => {
                let value = Value::Text(self.text(start, end, quote));
                let quoted = quote == Quote::Double && source[..start].ends_with('"');
                if quoted && strict::prefix(source, start - 1).is_some_and(|strict| strict.end == end + 1) {
                    return self.add(Node { value, start: start - 1, end: end + 1, exact: true });
                }
                (value, false)
            }
            StepKind::Number => match number::respell(written) {
                Some(digits) => {
                    let exact = digits == written;
                    (Value::Number(digits), exact)
                }
                None => (self.refuse("no number", "at"), false),
            },
            StepKind::Word(Some(word)) => (Value::Bool(word), matches!(written, "true" | "false")),
            StepKind::Word(None) => (Value::Null, written == "null"),
            StepKind::Void((_, what, ..)) => (self.refuse(what, "at"), false),
            StepKind::Repair((rule, note, guess, _)) => return self.repair(*rule, note, *guess, start, end),
        };
        self.add(Node { value, start, end, exact });
    }

    /// Decodes a string and lists its repairs.
    fn text(&mut self, start: usize, end: usize, quote: Quote) -> Cow<'s, str> {
        let decoded = decode(&self.source[start..end], quote);
        if decoded.lone_surrogate {
            self.refuse("half of a surrogate pair", "in");
        }
        if decoded.control {
            self.repair(Code::T1, "raw control characters escaped", false, start, end);
        }
        if decoded.odd_escape {
            self.repair(Code::T2, "backslashes that begin no escape kept", false, start, end);
        }
        decoded.text
    }

    /// Notes that a value is missing or has no JSON form. Only the first one is kept.
    fn refuse(&mut self, what: &str, preposition: &str) -> Value<'s> {
        let path = self.path();
        self.void.get_or_insert_with(|| format!("{what} {preposition} {}", if path.is_empty() { "/" } else { &path }));
        Value::Null
    }

    /// Opens a container.
    fn begin(&mut self, closer: u8, start: usize) {
        let value = if closer == b'}' { Value::Object(Vec::new()) } else { Value::Array(Vec::new()) };
        self.open.push(Open { value, start, closer, repaired: self.repaired, key: None });
    }

    /// Closes the innermost container. `closed`: its own closing bracket is in the source.
    fn close(&mut self, end: usize, closed: bool) {
        let Some(open) = self.open.pop() else { return };
        self.end = end;
        let exact = closed && open.repaired == self.repaired;
        let only = match open.value {
            Value::Array(mut items) if open.closer == b')' && items.len() == 1 => items.pop(),
            value => Some(Node { value, start: open.start, end, exact }),
        };
        only.into_iter().for_each(|node| self.add(node));
    }

    /// Adds a value to the innermost container.
    fn add(&mut self, node: Node<'s>) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        match &mut open.value {
            Value::Object(members) => {
                let (key, start) = open.key.take().unwrap_or((Cow::Borrowed(""), node.start));
                members.push(Member { key, start, node });
            }
            Value::Array(items) => items.push(node),
            _ => {}
        }
    }

    /// Lists a repair.
    fn repair(&mut self, rule: Code, note: &'static str, guess: bool, start: usize, end: usize) {
        self.repaired += 1;
        match self.repairs.get_mut(MOST_REPAIRS) {
            // It stands for all further ones.
            Some(last) => last.guess |= guess,
            None => self.repairs.push(Repair { rule, note, guess, path: self.path(), start, end }),
        }
    }

    /// JSON pointer to the value being read, or read last.
    fn path(&self) -> String {
        let mut path = String::new();
        for (depth, open) in self.open.iter().enumerate() {
            match &open.value {
                Value::Object(members) => {
                    let last = || members.last().map(|member| &member.key);
                    let key = open.key.as_ref().map(|(key, _)| key).or_else(last);
                    key.into_iter().for_each(|key| push_key(&mut path, key));
                }
                Value::Array(items) if depth + 1 < self.open.len() => push_index(&mut path, items.len()),
                Value::Array(items) if !items.is_empty() => push_index(&mut path, items.len() - 1),
                _ => {}
            }
        }
        path
    }
}
