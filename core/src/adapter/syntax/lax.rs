//! Reads a name, then a brace dictionary with bare keys and special string delimiters: `f{city:<|"|>Oslo<|"|>,days:3}`. Also the
//! variations that models write: plain quotes, `=`, parentheses, missing or extra delimiters, and `f{city:Oslo,days:3}` if a
//! backend strips special tokens.

use super::{
    Context, Parsed, Start, Step, WORD_BYTES, blank, find_any,
    literal::{self, Dialect, Item, Node, Read},
    markdown::name_length,
    place::object,
    starts_with_any, unclosed,
};
use crate::{
    adapter::Lax,
    fix::{
        Place, View,
        name::{is_known, known_tool},
    },
};

/// What is between calls and their closing marker.
const JUNK: fn(char) -> bool = |c| c.is_whitespace() || matches!(c, '}' | ')' | ']' | ',' | ';' | '`');

/// What precedes the arguments.
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

/// Reads one call, or several between one pair of markers.
pub(crate) fn read(text: &str, lax: &Lax, context: Context<'_>) -> Step {
    let mut calls = Vec::new();
    match all(text, lax, context, &mut calls) {
        Ok(end) => Step::Done { calls, end },
        Err(Step::Cut { cut, closed, .. }) => Step::Cut { whole: calls, cut, closed },
        Err(Step::Torn { torn, why, end, .. }) => Step::Torn { whole: calls, torn, why, end },
        Err(step) => step,
    }
}

/// Reads call after call. `Ok` has the offset after the last one. The error says why the last one is not whole.
fn all(text: &str, lax: &Lax, context: Context<'_>, calls: &mut Vec<Parsed>) -> Result<usize, Step> {
    let unread = if context.end { Step::nameless() } else { Step::More };
    let (name, open) = match head(text, 0, lax, context) {
        Head::Call { name, .. } if !context.marked && !is_known(context.tools, &name) => return Err(Step::Reject),
        Head::Call { name, open } => (name, open),
        // A word between the tags.
        Head::Bare { name, .. } if !is_known(context.tools, &name) && !is_announced(text, lax) => return Err(Step::Reject),
        Head::Bare { name, end } => {
            calls.push(Parsed::new(name, "{}"));
            return Ok(end);
        }
        Head::Maybe => return Err(unread),
        Head::No => return Err(Step::Reject),
    };
    let mut at = call(text, name, open, lax, context, calls)?;
    loop {
        at += blank(&text[at..]);
        let rest = text[at..].trim_start_matches(JUNK);
        let next = text.len() - rest.len();
        if rest.is_empty() && !context.end {
            return Err(Step::More);
        }
        match [starts_with_any(rest, context.close, context.end), starts_with_any(rest, &lax.open, context.end)] {
            [Start::Yes(length), _] => return Ok(next + length),
            [Start::Maybe, _] | [_, Start::Maybe] => return Err(Step::More),
            [_, Start::Yes(_)] if context.marked => match head(text, next, lax, context) {
                Head::Call { name, open } => at = call(text, name, open, lax, context, calls)?,
                Head::Maybe if !context.end => return Err(Step::More),
                _ => return Ok(at),
            },
            _ => return Ok(at),
        }
    }
}

/// Reads the call whose brackets open at `open`, and returns its end.
fn call(text: &str, name: String, open: usize, lax: &Lax, context: Context<'_>, calls: &mut Vec<Parsed>) -> Result<usize, Step> {
    let view = View::of(known_tool(context.tools, &name));
    let keys: Vec<String> = view.root().keys().map(str::to_owned).collect();
    let ends = |rest: &str| ends(rest, lax, context);
    let dialect = Dialect { delimiters: &lax.strings, loose: Some(&ends), keys: &keys, end: context.end, lenient: false };
    let cut = |so_far: Option<String>| Step::cut(Parsed::new(name.as_str(), unclosed(&so_far.unwrap_or_default())));
    let read = match literal::read(text, open, dialect) {
        Read::Done { items, end } => arguments(items, view.root()).map(|arguments| (arguments, end)),
        Read::More(_) if !context.end => return Err(Step::More),
        Read::More(items) => {
            let so_far = items.filter(|_| context.marked).and_then(|items| arguments(items, view.root()));
            return Err(cut(so_far));
        }
        Read::Fail => None,
    };
    if let Some((arguments, end)) = read {
        calls.push(Parsed::new(name, arguments));
        return Ok(end);
    }
    if !context.marked || context.close.is_empty() {
        return Err(Step::Reject);
    }
    Err(match find_any(text, open, context.close) {
        Some((begin, end)) => {
            let torn = Parsed::new(name, text[open..begin].trim());
            Step::Torn { whole: Vec::new(), torn, why: "keys and values do not fit together", end }
        }
        None if context.end => cut(None),
        None => Step::More,
    })
}

/// Whether what precedes a name is here.
fn is_announced(text: &str, lax: &Lax) -> bool {
    lax.open.iter().any(|open| text.trim_start().starts_with(open.as_str()))
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
fn arguments(items: Vec<Item>, place: Place<'_>) -> Option<String> {
    if let [(None, Node::Dict(members))] = items.as_slice() {
        return Some(object(place, members.clone()));
    }
    let members: Option<Vec<(String, Node)>> = items.into_iter().map(|(key, value)| Some((key?, value))).collect();
    Some(object(place, members?))
}
