//! Reads a name, then a brace dictionary with bare keys and special string delimiters: `f{city:<|"|>Oslo<|"|>,days:3}`. Also the
//! variations that models write: plain quotes, `=`, parentheses, missing or extra delimiters, and `f{city:Oslo,days:3}` if a
//! backend strips special tokens.

use super::{
    Context, Parsed, Start, Step, WORD_BYTES, blank,
    literal::{self, Dialect, Read},
    markdown::name_length,
    place::arguments,
    starts_with_any, torn, unclosed,
};
use crate::{
    adapter::Lax,
    fix::{
        View,
        name::{is_known, known_tool},
    },
};

/// What is between calls and their closing marker.
const JUNK: fn(char) -> bool = |c| c.is_whitespace() || matches!(c, '}' | ')' | ']' | ',' | ';' | '`');

/// What precedes the arguments.
struct Head {
    name: String,
    /// Where they open. `None`: the closing marker follows the name.
    open: Option<usize>,
    /// The offset after that marker.
    end: usize,
}

/// Reads one call.
pub(crate) fn read(text: &str, lax: &Lax, context: Context<'_>) -> Step {
    whole(text, lax, context).unwrap_or_else(|step| step)
}

/// The same. The error says why the call is not whole.
fn whole(text: &str, lax: &Lax, context: Context<'_>) -> Result<Step, Step> {
    let Head { name, open, end } = match head(text, lax, context) {
        Err(Step::More) if context.end => return Err(Step::nameless()),
        head => head?,
    };
    // A word between the tags is no name.
    if !is_known(context.tools, &name) && (!context.marked || open.is_none()) {
        return Err(Step::Reject);
    }
    let Some(open) = open else { return Ok(Step::done(Parsed::new(name, "{}"), end)) };
    let (call, end) = call(text, name, open, lax, context)?;
    let at = end + blank(&text[end..]);
    let rest = text[at..].trim_start_matches(JUNK);
    if rest.is_empty() && !context.end {
        return Err(Step::More);
    }
    let closed = starts_with_any(rest, context.close, context.end).sure()?;
    Ok(Step::done(call, closed.map_or(at, |length| text.len() - rest.len() + length)))
}

/// Reads the call whose brackets open at `open`, and its end.
fn call(text: &str, name: String, open: usize, lax: &Lax, context: Context<'_>) -> Result<(Parsed, usize), Step> {
    let view = View::of(known_tool(context.tools, &name));
    let ends = |rest: &str| ends(rest, lax, context);
    let dialect = Dialect { delimiters: &lax.strings, loose: Some(&ends), place: view.root(), end: context.end, lenient: false };
    let read = match literal::read(text, open, dialect) {
        Read::Done { items, end } => arguments(items, view.root()).map(|arguments| (arguments, end)),
        Read::More(_) if !context.end => return Err(Step::More),
        Read::More(items) => {
            let so_far = items.filter(|_| context.marked).and_then(|items| arguments(items, view.root()));
            return Err(Step::cut(Parsed::new(name, unclosed(&so_far.unwrap_or_default()))));
        }
        Read::Fail => None,
    };
    if let Some((arguments, end)) = read {
        return Ok((Parsed::new(name, arguments), end));
    }
    if !context.marked || context.close.is_empty() {
        return Err(Step::Reject);
    }
    Err(torn(text, open, Vec::new(), &name, "keys and values do not fit together", context))
}

/// Reads what precedes the arguments. The error says that more text decides, or that nothing of a call is here.
fn head(text: &str, lax: &Lax, context: Context<'_>) -> Result<Head, Step> {
    let mut at = blank(text);
    at += starts_with_any(&text[at..], &lax.open, context.end).sure()?.unwrap_or(0);
    at += blank(&text[at..]);
    let rest = &text[at..];
    let length = name_length(rest, "_-.:/").ok_or(if rest.len() > WORD_BYTES { Step::Reject } else { Step::More })?;
    if length == 0 || length > WORD_BYTES {
        return Err(Step::Reject);
    }
    let (name, tail) = rest.split_at(length);
    let name = name.to_owned();
    if !context.end && tail.is_empty() {
        return Err(Step::More);
    }
    let end = text.len() - tail.len() + blank(tail);
    match text.as_bytes().get(end) {
        Some(b'{' | b'(') if end + tail.len() == text.len() || context.marked => Ok(Head { name, open: Some(end), end }),
        None => Err(Step::More),
        Some(_) => match starts_with_any(&text[end..], context.close, context.end).sure()? {
            Some(length) if context.marked => Ok(Head { name, open: None, end: end + length }),
            _ => Err(Step::Reject),
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
