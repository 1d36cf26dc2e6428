//! A name, then a brace dictionary with bare keys and string delimiters of its own: `f{city:<|"|>Oslo<|"|>,days:3}`; with all
//! that models make of it: plain quotes, `=`, parentheses, a missing or superfluous delimiter, and after a backend removed
//! the special tokens `f{city:Oslo,days:3}`.

use super::{
    Context, Parsed, Start, Step, UNFINISHED, blank, find_any, floor,
    literal::{Dialect, Item, Literal, Node, Read},
    place::Document,
    starts_with_any,
};
use crate::{
    adapter::Lax,
    fix::name::{Resolved, resolve},
};

/// A longer name is none.
const NAME_BYTES: usize = 256;

/// Reads one call, or several that share a pair of markers.
#[derive(Debug, Default)]
pub(crate) struct LaxReader {
    calls: Vec<Parsed>,
    /// Where the current call, or the text behind the last one, begins.
    at: usize,
    head: Option<(String, usize)>,
    literal: Option<Literal>,
    /// The body is not written like that: only a closing marker can end it, searched from here.
    torn: Option<usize>,
}

enum Head {
    Call {
        name: String,
        open: usize,
    },
    /// The name alone; the closing marker follows it.
    Bare {
        name: String,
        end: usize,
    },
    Maybe,
    No,
}

// === impl LaxReader ===

impl LaxReader {
    pub(crate) fn read(&mut self, text: &str, lax: &Lax, context: Context<'_>) -> Step {
        loop {
            if let Some(step) = self.step(text, lax, context) {
                return step;
            }
        }
    }

    /// The name of the call that is being read.
    pub(crate) fn name(&self) -> Option<String> {
        self.head.as_ref().map(|(name, _)| name.clone())
    }

    fn step(&mut self, text: &str, lax: &Lax, context: Context<'_>) -> Option<Step> {
        let Some((name, open)) = self.head.clone() else { return self.head(text, lax, context) };
        if let Some(seen) = self.torn {
            return Some(self.step_torn(text, seen, name, open, context));
        }
        let tool = match resolve(context.tools, &name) {
            Resolved::Known { tool, .. } => Some(tool),
            Resolved::Unknown { .. } => None,
        };
        let document = Document::new(tool);
        let keys = document.root().keys();
        let ends = |rest: &str| ends(rest, lax, context);
        let dialect = Dialect { delimiters: &lax.strings, loose: true, words: true, keys: &keys, ends: &ends, end: context.end };
        let literal = self.literal.get_or_insert_with(|| Literal::new(open));
        match literal.read(text, dialect) {
            Read::More if !context.end => Some(Step::More),
            Read::More if literal.refused_end() && !context.marked => Some(Step::Reject),
            Read::More => Some(self.cut(name)),
            Read::Fail if context.marked && !context.close.is_empty() => {
                self.torn = Some(open);
                None
            }
            Read::Fail => Some(Step::Reject),
            Read::Done { items, end } => {
                let arguments = arguments(items, &document);
                self.calls.push(Parsed { name, id: None, arguments });
                (self.at, self.head, self.literal) = (end, None, None);
                None
            }
        }
    }

    /// Before a call, or behind the last one.
    fn head(&mut self, text: &str, lax: &Lax, context: Context<'_>) -> Option<Step> {
        if self.calls.is_empty() {
            return match head(text, self.at, lax, context) {
                Head::Call { name, open } => {
                    if !context.marked && matches!(resolve(context.tools, &name), Resolved::Unknown { .. }) {
                        return Some(Step::Reject);
                    }
                    self.head = Some((name, open));
                    None
                }
                Head::Bare { name, end } => {
                    self.calls.push(Parsed { name, id: None, arguments: "{}".to_owned() });
                    Some(self.done(end))
                }
                Head::Maybe if !context.end => Some(Step::More),
                Head::Maybe | Head::No => Some(Step::Reject),
            };
        }
        let rest = &text[self.at..];
        let junk = rest.len()
            - rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '}' | ')' | ']' | ',' | ';' | '`')).len();
        if junk == rest.len() && !context.end {
            return Some(Step::More);
        }
        match starts_with_any(&rest[junk..], context.close, context.end) {
            Start::Yes(length) => return Some(self.done(self.at + junk + length)),
            Start::Maybe => return Some(Step::More),
            Start::No => {}
        }
        match starts_with_any(&rest[junk..], &lax.open, context.end) {
            Start::Maybe => Some(Step::More),
            Start::Yes(_) if context.marked => match head(text, self.at + junk, lax, context) {
                Head::Call { name, open } => {
                    self.head = Some((name, open));
                    None
                }
                Head::Maybe if !context.end => Some(Step::More),
                _ => Some(self.done(self.at)),
            },
            _ => Some(self.done(self.at)),
        }
    }

    fn step_torn(&mut self, text: &str, seen: usize, name: String, open: usize, context: Context<'_>) -> Step {
        match find_any(text, seen, context.close) {
            Some((begin, end)) => {
                self.calls.push(Parsed { name, id: None, arguments: text[open..begin].trim().to_owned() });
                self.done(end)
            }
            None if context.end => self.cut(name),
            None => {
                let longest = context.close.iter().map(String::len).max().unwrap_or(1);
                self.torn = Some(floor(text, text.len().saturating_sub(longest)).max(seen));
                Step::More
            }
        }
    }

    fn done(&mut self, end: usize) -> Step {
        Step::Done { calls: std::mem::take(&mut self.calls), end }
    }

    fn cut(&mut self, name: String) -> Step {
        Step::Cut { whole: std::mem::take(&mut self.calls), cut: Parsed { name, id: None, arguments: UNFINISHED.to_owned() } }
    }
}

fn head(text: &str, at: usize, lax: &Lax, context: Context<'_>) -> Head {
    let mut at = at + blank(&text[at..]);
    match starts_with_any(&text[at..], &lax.open, context.end) {
        Start::Yes(length) => at += length,
        Start::Maybe => return Head::Maybe,
        Start::No => {}
    }
    at += blank(&text[at..]);
    let rest = &text[at..];
    let length = rest.find(|c: char| !(c.is_alphanumeric() || "_-.:/".contains(c)));
    let Some(length) = length else { return if rest.len() > NAME_BYTES { Head::No } else { Head::Maybe } };
    let name = rest[..length].to_owned();
    if name.is_empty() || length > NAME_BYTES {
        return Head::No;
    }
    let tail = &rest[length..];
    let gap = blank(tail);
    match tail.as_bytes().get(gap) {
        Some(b'{' | b'(') if gap == 0 || context.marked => Head::Call { name, open: at + length + gap },
        None => Head::Maybe,
        Some(_) => match starts_with_any(&tail[gap..], context.close, context.end) {
            Start::Yes(close) if context.marked => Head::Bare { name, end: at + length + gap + close },
            Start::Maybe => Head::Maybe,
            _ => Head::No,
        },
    }
}

/// Whether a call whose last value has no delimiters may end where `rest` begins.
fn ends(rest: &str, lax: &Lax, context: Context<'_>) -> Start {
    let rest = rest.trim_start();
    if rest.is_empty() {
        return if context.end { Start::Yes(0) } else { Start::Maybe };
    }
    let next = context.close.iter().chain(&context.call.open).chain(&context.call.stripped).chain(&lax.open);
    let next: Vec<String> = next.filter(|marker| !marker.is_empty()).cloned().collect();
    starts_with_any(rest, &next, context.end)
}

/// The arguments as JSON text; what has no key makes an array, which no tool takes.
fn arguments(items: Vec<Item>, document: &Document) -> String {
    let place = document.root();
    if let [(None, Node::Dict(members))] = items.as_slice() {
        return place.object(members.clone()).to_string();
    }
    match items.iter().all(|(key, _)| key.is_some()) {
        true => place.object(items.into_iter().filter_map(|(key, value)| Some((key?, value))).collect()).to_string(),
        false => serde_json::Value::Array(items.into_iter().map(|(_, value)| place.json(value)).collect()).to_string(),
    }
}
