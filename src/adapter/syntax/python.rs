//! Calls as Python: `[f(a=1), g(b="x")]`, or one `f(a=1)` a line, also as `print(f(a=1))` or `r = f(a=1)` and in a fence of
//! its own. Positional arguments take the names of the tool's parameters in the schema's order.

use serde_json::Value;

use super::{
    Context, Parsed, Start, Step, UNFINISHED, blank, find_any, floor,
    literal::{Dialect, Item, Literal, Node, Read},
    place::Document,
    starts_with_any,
};
use crate::fix::name::{Resolved, resolve};

/// A longer head is none.
const HEAD_BYTES: usize = 256;
const FENCE: &str = "```";

/// Reads a list of calls, or calls in lines.
#[derive(Debug, Default)]
pub(crate) struct PythonReader {
    calls: Vec<Parsed>,
    phase: Phase,
    /// Where the current call or the text behind the last one begins.
    at: usize,
    /// The calls stand in brackets.
    bracket: bool,
    /// Names that results were assigned to.
    assigned: Vec<String>,
}

#[derive(Debug, Default)]
enum Phase {
    /// Before everything.
    #[default]
    Begin,
    /// Before a call.
    Head,
    /// Inside of its parentheses; so many others are open around it.
    Arguments { name: String, around: usize, literal: Box<Literal> },
    /// Behind a call that still has parentheses around it.
    Around(usize),
    /// Behind a call.
    Between,
    /// Behind all calls.
    Behind,
    /// The arguments are no literals: only a closing marker can end the call, searched from `seen`.
    Torn { name: String, seen: usize },
}

/// What stands before the arguments.
enum Head {
    /// The name, the offset of its parenthesis, how many parentheses are open before it, the name of the variable.
    Call {
        name: String,
        open: usize,
        around: usize,
        variable: Option<String>,
    },
    /// A line that calls nothing: so long.
    Skip(usize),
    Maybe,
    No,
}

// === impl PythonReader ===

impl PythonReader {
    pub(crate) fn read(&mut self, text: &str, context: Context<'_>) -> Step {
        loop {
            if let Some(step) = self.step(text, context) {
                return step;
            }
        }
    }

    /// The name of the call that is being read.
    pub(crate) fn name(&self) -> Option<String> {
        match &self.phase {
            Phase::Arguments { name, .. } | Phase::Torn { name, .. } => Some(name.clone()),
            _ => self.calls.last().map(|call| call.name.clone()),
        }
    }

    fn step(&mut self, text: &str, context: Context<'_>) -> Option<Step> {
        match &mut self.phase {
            Phase::Begin => self.begin(text, context),
            Phase::Head => self.head(text, context),
            Phase::Arguments { name, around, literal } => {
                let tool = match resolve(context.tools, name) {
                    Resolved::Known { tool, .. } => Some(tool),
                    Resolved::Unknown { .. } => None,
                };
                let bracket = self.bracket;
                let ends = |rest: &str| ends(rest, bracket, context);
                let dialect =
                    Dialect { delimiters: &[], loose: false, words: context.marked, keys: &[], ends: &ends, end: context.end };
                match literal.read(text, dialect) {
                    Read::More if context.end => Some(self.cut()),
                    Read::More => Some(Step::More),
                    Read::Fail if context.close.is_empty() || !context.marked => Some(Step::Reject),
                    Read::Fail => {
                        self.phase = Phase::Torn { name: std::mem::take(name), seen: self.at };
                        None
                    }
                    Read::Done { items, end } => {
                        let document = Document::new(tool);
                        let arguments = arguments(items, &document).to_string();
                        self.calls.push(Parsed { name: std::mem::take(name), id: None, arguments });
                        (self.at, self.phase) = (end, Phase::Around(*around));
                        None
                    }
                }
            }
            Phase::Around(0) => {
                self.phase = Phase::Between;
                None
            }
            Phase::Around(left) => {
                let at = self.at + blank(&text[self.at..]);
                match text.as_bytes().get(at) {
                    Some(b')') => {
                        (self.at, *left) = (at + 1, *left - 1);
                        None
                    }
                    None if !context.end => Some(Step::More),
                    None => Some(self.cut()),
                    Some(_) => Some(Step::Reject),
                }
            }
            Phase::Between => self.between(text, context),
            Phase::Behind => Some(self.behind(text, context)),
            Phase::Torn { name, seen } => {
                let (name, from) = (name.clone(), *seen);
                match find_any(text, from, context.close) {
                    Some((begin, end)) => {
                        self.calls.push(Parsed { name, id: None, arguments: text[self.at..begin].trim().to_owned() });
                        Some(self.done(end))
                    }
                    None if context.end => Some(self.cut()),
                    None => {
                        let longest = context.close.iter().map(String::len).max().unwrap_or(1);
                        *seen = from.max(floor(text, text.len().saturating_sub(longest)));
                        Some(Step::More)
                    }
                }
            }
        }
    }

    fn begin(&mut self, text: &str, context: Context<'_>) -> Option<Step> {
        let at = self.at + blank(&text[self.at..]);
        let rest = &text[at..];
        if rest.is_empty() {
            return Some(if context.end { Step::Reject } else { Step::More });
        }
        if context.marked {
            match starts_with_any(rest, context.close, context.end) {
                Start::Yes(length) => return Some(self.done(at + length)),
                Start::Maybe => return Some(Step::More),
                Start::No => {}
            }
            if FENCE.starts_with(&rest[..floor(rest, FENCE.len().min(rest.len()))]) {
                let Some(newline) = rest.find('\n') else {
                    return Some(if context.end || rest.len() > HEAD_BYTES { Step::Reject } else { Step::More });
                };
                self.at = at + newline;
                return None;
            }
        }
        self.bracket = rest.starts_with('[');
        (self.at, self.phase) = (at + usize::from(self.bracket), Phase::Head);
        None
    }

    fn head(&mut self, text: &str, context: Context<'_>) -> Option<Step> {
        self.at += blank(&text[self.at..]);
        let rest = &text[self.at..];
        if self.bracket && rest.starts_with(']') && (context.marked || !self.calls.is_empty()) {
            (self.at, self.phase) = (self.at + 1, Phase::Behind);
            return None;
        }
        match head(rest, !self.bracket && !context.close.is_empty(), &self.assigned) {
            Head::Skip(length) => {
                self.at += length;
                None
            }
            Head::Call { name, open, around, variable } => {
                if !context.marked && matches!(resolve(context.tools, &name), Resolved::Unknown { .. }) {
                    return Some(self.stop(text));
                }
                self.assigned.extend(variable);
                let literal = Box::new(Literal::new(self.at + open));
                self.phase = Phase::Arguments { name: callee(name, context), around, literal };
                None
            }
            Head::Maybe if !context.end => Some(Step::More),
            Head::Maybe if self.bracket && !self.calls.is_empty() => Some(self.cut()),
            Head::Maybe | Head::No => Some(self.stop(text)),
        }
    }

    /// What follows is no call: those before it count, unless they stand in brackets that are still open.
    fn stop(&mut self, text: &str) -> Step {
        let end = text[..self.at].trim_end().len();
        match self.bracket || self.calls.is_empty() {
            true => Step::Reject,
            false => self.done(end),
        }
    }

    fn between(&mut self, text: &str, context: Context<'_>) -> Option<Step> {
        let gap = blank(&text[self.at..]);
        let rest = &text[self.at + gap..];
        let newline = text[self.at..self.at + gap].contains('\n');
        match rest.as_bytes().first() {
            None if !context.end => return Some(Step::More),
            None if self.bracket => return Some(self.cut()),
            None => return Some(self.done(self.at)),
            Some(b',' | b';') => (self.at, self.phase) = (self.at + gap + 1, Phase::Head),
            Some(b']') if self.bracket => (self.at, self.phase) = (self.at + gap + 1, Phase::Behind),
            Some(_) if self.bracket => return Some(Step::Reject),
            Some(_) if !context.close.is_empty() => match starts_with_any(rest, context.close, context.end) {
                Start::Maybe => return Some(Step::More),
                Start::Yes(_) => self.phase = Phase::Behind,
                Start::No if rest.starts_with(FENCE) => self.phase = Phase::Behind,
                Start::No if newline || rest.starts_with('#') => self.phase = Phase::Head,
                Start::No if context.marked => self.phase = Phase::Behind,
                Start::No => return Some(Step::Reject),
            },
            Some(_) if newline => self.phase = Phase::Head,
            // A call in a sentence is not the call.
            Some(_) => return Some(Step::Reject),
        }
        None
    }

    /// The closing marker is part of the call, and so is the fence that stood inside of the markers.
    fn behind(&mut self, text: &str, context: Context<'_>) -> Step {
        let rest = &text[self.at..];
        let junk = rest.len()
            - rest.trim_start_matches(|c: char| c.is_whitespace() || (context.marked && matches!(c, '`' | ']' | ';'))).len();
        if junk == rest.len() && !context.end {
            return Step::More;
        }
        match starts_with_any(&rest[junk..], context.close, context.end) {
            Start::Yes(length) => self.done(self.at + junk + length),
            Start::Maybe => Step::More,
            // `[text](address)` is a link.
            Start::No if !context.marked && rest.starts_with('(') => Step::Reject,
            Start::No => self.done(self.at),
        }
    }

    fn done(&mut self, end: usize) -> Step {
        Step::Done { calls: std::mem::take(&mut self.calls), end }
    }

    /// The text ended inside of a call, or between calls whose brackets are open.
    fn cut(&mut self) -> Step {
        let name = self.name().unwrap_or_default();
        Step::Cut { whole: std::mem::take(&mut self.calls), cut: Parsed { name, id: None, arguments: UNFINISHED.to_owned() } }
    }
}

/// The name of the call that `text` begins with. Lines around it (comments, assignments, `print`) are read where the
/// calls have a place of their own (`lines`).
fn head(text: &str, lines: bool, assigned: &[String]) -> Head {
    if lines && text.starts_with('#') {
        return text.find('\n').map_or(Head::Maybe, Head::Skip);
    }
    let (mut at, mut around, mut variable) = (0, 0, None);
    loop {
        let rest = &text[at..];
        let length = rest.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)));
        let Some(length) = length else { return if text.len() > HEAD_BYTES { Head::No } else { Head::Maybe } };
        let word = &rest[..length];
        if !word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || at > HEAD_BYTES {
            return Head::No;
        }
        let gap = if lines { rest[length..].len() - rest[length..].trim_start_matches(' ').len() } else { 0 };
        let tail = &rest[length + gap..];
        at += length + gap;
        match tail.as_bytes() {
            [] => return Head::Maybe,
            [b'(', inner @ ..] if lines && word == "print" => {
                if inner.is_empty() {
                    return Head::Maybe;
                }
                if let Some((shown, _)) = tail[1..].split_once(')')
                    && assigned.iter().any(|name| name == shown.trim())
                {
                    return Head::Skip(at + shown.len() + 2);
                }
                at += 1;
                around += 1;
            }
            [b'(', ..] => return Head::Call { name: word.to_owned(), open: at, around, variable },
            [b'='] => return Head::Maybe,
            [b'=', next, ..] if lines && *next != b'=' && variable.is_none() && around == 0 => {
                variable = Some(word.to_owned());
                at += 1 + blank(&tail[1..]);
                if at == text.len() {
                    return Head::Maybe;
                }
            }
            _ if lines && gap > 0 && word == "await" => {}
            _ => return Head::No,
        }
    }
}

/// The tool's name: `f.call(...)` calls `f` where no tool has the longer name.
fn callee(name: String, context: Context<'_>) -> String {
    let known = |name: &str| matches!(resolve(context.tools, name), Resolved::Known { .. });
    match name.strip_suffix(".call") {
        Some(short) if !known(&name) => short.to_owned(),
        _ => name,
    }
}

/// Whether a call may end where `rest` begins.
fn ends(rest: &str, bracket: bool, context: Context<'_>) -> Start {
    let gap = blank(rest);
    let newline = rest[..gap].contains('\n');
    let rest = &rest[gap..];
    let Some(first) = rest.as_bytes().first() else { return if context.end { Start::Yes(0) } else { Start::Maybe } };
    let begins_call = |text: &str| match head(text, !bracket && !context.close.is_empty(), &[]) {
        Head::Call { .. } | Head::Skip(_) => Start::Yes(0),
        Head::Maybe if !context.end => Start::Maybe,
        Head::Maybe | Head::No => Start::No,
    };
    match first {
        b']' if bracket => Start::Yes(0),
        b',' | b';' => begins_call(rest[1..].trim_start()),
        b')' if !bracket => Start::Yes(0),
        _ => match starts_with_any(rest, context.close, context.end) {
            Start::No if rest.starts_with(FENCE) => Start::Yes(0),
            Start::No if newline && !bracket => begins_call(rest),
            start => start,
        },
    }
}

/// The arguments as JSON; positional ones that have no name make an array, which no tool takes.
fn arguments(mut items: Vec<Item>, document: &Document) -> Value {
    let place = document.root();
    let keys = place.keys();
    if let [(None, Node::Dict(members))] = items.as_slice() {
        let is_arguments = members.iter().all(|(key, _)| keys.is_empty() || keys.contains(key));
        let takes_object = keys.first().is_some_and(|key| place.member(key).allows("object") == Some(true));
        if is_arguments || !takes_object {
            let members = members.clone();
            return place.object(members);
        }
    }
    let given: Vec<String> = items.iter().filter_map(|(key, _)| key.clone()).collect();
    let mut free = keys.into_iter();
    for (key, _) in items.iter_mut().filter(|(key, _)| key.is_none()) {
        *key = free.next().filter(|name| !given.contains(name));
    }
    match items.iter().all(|(key, _)| key.is_some()) {
        true => place.object(items.into_iter().filter_map(|(key, value)| Some((key?, value))).collect()),
        false => Value::Array(items.into_iter().map(|(_, value)| place.json(value)).collect()),
    }
}
