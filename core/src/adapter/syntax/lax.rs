//! Reads a name, then a brace dictionary with bare keys and special string delimiters: `f{city:<|"|>Oslo<|"|>,days:3}`. Also the
//! variations that models write: plain quotes, `=`, parentheses, missing or extra delimiters, and `f{city:Oslo,days:3}` if a
//! backend strips special tokens.

use super::{
    Closing, Context, Parsed, Start, Step, WORD_BYTES, blank,
    literal::{self, Attempts, Dialect, Item, Node, Read},
    markdown::name_length,
    place::Document,
    starts_with_any, unclosed,
};
use crate::{
    adapter::Lax,
    fix::name::{is_known, known_tool},
};

/// Reads one call, or several between one pair of markers.
#[derive(Debug, Default)]
pub(crate) struct LaxReader {
    calls: Vec<Parsed>,
    /// Start of the current call, or of the text after the last one.
    at: usize,
    body: Option<Body>,
}

/// A call whose name was read.
#[derive(Debug)]
struct Body {
    name: String,
    open: usize,
    document: Document,
    /// The tool's parameters.
    keys: Vec<String>,
    attempts: Attempts,
    /// The search for the closing marker of a malformed call.
    torn: Option<Closing>,
}

enum Head {
    Call {
        name: String,
        open: usize,
    },
    /// The name alone, before the closing marker.
    Bare {
        name: String,
        end: usize,
    },
    Maybe,
    No,
}

impl LaxReader {
    pub(crate) fn read(&mut self, text: &str, lax: &Lax, context: Context<'_>) -> Step {
        loop {
            if let Some(step) = self.step(text, lax, context) {
                return step;
            }
        }
    }

    /// The name of the current call.
    pub(crate) fn name(&self) -> Option<String> {
        self.body.as_ref().map(|body| body.name.clone())
    }

    fn step(&mut self, text: &str, lax: &Lax, context: Context<'_>) -> Option<Step> {
        let Some(Body { name, open, document, keys, attempts, torn }) = &mut self.body else {
            return self.head(text, lax, context);
        };
        if let Some(closing) = torn {
            let Some((begin, end)) = closing.find(text, context.close) else {
                return Some(if context.end { self.cut(None) } else { Step::More });
            };
            let torn = Parsed::new(std::mem::take(name), text[*open..begin].trim());
            return Some(Step::Torn {
                whole: std::mem::take(&mut self.calls),
                torn,
                why: "keys and values do not fit together",
                end,
            });
        }
        let ends = |rest: &str| ends(rest, lax, context);
        if !attempts.is_due(text, *open, context.end) {
            return Some(Step::More);
        }
        let dialect = Dialect { delimiters: &lax.strings, loose: Some(&ends), keys, end: context.end, lenient: false };
        let read = match literal::read(text, *open, dialect) {
            Read::Done { items, end } => arguments(items, document).map(|arguments| (arguments, end)),
            Read::More(_) if !context.end => return Some(Step::More),
            Read::More(items) => {
                let so_far = items.filter(|_| context.marked).and_then(|items| arguments(items, document));
                return Some(self.cut(so_far));
            }
            Read::Fail => None,
        };
        match read {
            Some((arguments, end)) => {
                self.calls.push(Parsed::new(std::mem::take(name), arguments));
                (self.at, self.body) = (end, None);
                None
            }
            None if context.marked && !context.close.is_empty() => {
                *torn = Some(Closing::after(*open));
                None
            }
            None => Some(Step::Reject),
        }
    }

    /// Begins a call whose brackets open at `open`.
    fn open(&mut self, name: String, open: usize, context: Context<'_>) {
        let document = Document::new(known_tool(context.tools, &name));
        let keys = document.root().keys();
        self.body = Some(Body { name, open, document, keys, attempts: Attempts::default(), torn: None });
    }

    /// Reads what is before a call or after the last one.
    fn head(&mut self, text: &str, lax: &Lax, context: Context<'_>) -> Option<Step> {
        if self.calls.is_empty() {
            return match head(text, self.at, lax, context) {
                Head::Call { name, open } => {
                    if !context.marked && !is_known(context.tools, &name) {
                        return Some(Step::Reject);
                    }
                    self.open(name, open, context);
                    None
                }
                // A word between the tags.
                Head::Bare { name, .. } if !is_known(context.tools, &name) && !self.is_announced(text, lax) => Some(Step::Reject),
                Head::Bare { name, end } => {
                    self.calls.push(Parsed::new(name, "{}"));
                    Some(self.done(end))
                }
                Head::Maybe if !context.end => Some(Step::More),
                Head::Maybe => Some(Step::nameless()),
                Head::No => Some(Step::Reject),
            };
        }
        self.at += blank(&text[self.at..]);
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
                    self.open(name, open, context);
                    None
                }
                Head::Maybe if !context.end => Some(Step::More),
                _ => Some(self.done(self.at)),
            },
            _ => Some(self.done(self.at)),
        }
    }

    /// Whether what precedes a name is here.
    fn is_announced(&self, text: &str, lax: &Lax) -> bool {
        lax.open.iter().any(|open| text[self.at..].trim_start().starts_with(open.as_str()))
    }

    fn done(&mut self, end: usize) -> Step {
        Step::Done { calls: std::mem::take(&mut self.calls), end }
    }

    /// The text ended inside a call. `so_far`: its arguments, if only the closing bracket is missing.
    fn cut(&mut self, so_far: Option<String>) -> Step {
        let cut = Parsed::new(self.name().unwrap_or_default(), unclosed(&so_far.unwrap_or_default()));
        Step::Cut { whole: std::mem::take(&mut self.calls), cut, closed: false }
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
    let Some(length) = name_length(rest, "_-.:/") else { return if rest.len() > WORD_BYTES { Head::No } else { Head::Maybe } };
    let name = rest[..length].to_owned();
    if name.is_empty() || length > WORD_BYTES {
        return Head::No;
    }
    // Empty parentheses, then the arguments: `f(){a:1}`.
    let empty = if rest[length..].starts_with("(){") { 2 } else { 0 };
    if empty == 0 && !context.end && "(){".starts_with(&rest[length..]) {
        return Head::Maybe;
    }
    let length = length + empty;
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

/// Whether a call whose last value has no delimiters may end before `rest`.
fn ends(rest: &str, lax: &Lax, context: Context<'_>) -> Start {
    let rest = rest.trim_start();
    if rest.is_empty() {
        return if context.end { Start::Yes(0) } else { Start::Maybe };
    }
    let next = context.close.iter().chain(&context.call.open).chain(&context.call.stripped).chain(&lax.open);
    starts_with_any(rest, next, context.end)
}

/// The arguments as JSON text. `None`: some have no key.
fn arguments(items: Vec<Item>, document: &Document) -> Option<String> {
    if let [(None, Node::Dict(members))] = items.as_slice() {
        return Some(document.root().object(members.clone()));
    }
    let members: Option<Vec<(String, Node)>> = items.into_iter().map(|(key, value)| Some((key?, value))).collect();
    Some(document.root().object(members?))
}
