//! Reads a name, then a brace dictionary with bare keys and special string delimiters: `f{city:<|"|>Oslo<|"|>,days:3}`. Also the
//! variations that models write: plain quotes, `=`, parentheses, missing or extra delimiters, and `f{city:Oslo,days:3}` if a
//! backend strips special tokens.

use super::{
    Context, Parsed, Step, UNFINISHED, WORD_BYTES, blank, find_any,
    literal::{self, Arguments, Dialect, Stop},
    markdown::name_length,
    starts_with_any, torn,
};
use crate::adapter::Lax;
use crate::fix::{
    View,
    name::{is_known, known_tool},
};

/// At how many closing markers arguments may end. All but one are in strings.
const MOST_ENDS: usize = 16;
/// What is between calls and their closing marker.
const JUNK: fn(char) -> bool = |c| c.is_whitespace() || matches!(c, '}' | ')' | ']' | ',' | ';' | '`');

/// Reads one call.
pub(crate) fn read(text: &str, lax: &Lax, context: Context<'_>) -> Step {
    whole(text, lax, context).unwrap_or_else(|step| step)
}

/// The same. The error says why the call is not whole.
fn whole(text: &str, lax: &Lax, context: Context<'_>) -> Result<Step, Step> {
    let mut at = blank(text);
    at += starts_with_any(&text[at..], &lax.open, context.end).sure()?.unwrap_or(0);
    at += blank(&text[at..]);
    let length = name_length(&text[at..], "_-.:/").unwrap_or(text.len() - at);
    if length > WORD_BYTES {
        return Err(Step::Reject);
    }
    let (name, tail) = text[at..].split_at(length);
    let open = text.len() - tail.len() + blank(tail);
    let is_tool = is_known(context.tools, name);
    match text.as_bytes().get(open) {
        None => Err(if context.end { Step::nameless() } else { Step::More }),
        _ if length == 0 => Err(Step::Reject),
        Some(b'{' | b'(') if context.marked || is_tool && open == at + length => arguments(text, name, open, lax, context),
        Some(_) => Err(Step::Reject),
    }
}

/// Reads the arguments, whose bracket opens at `open`, and the end of the call. Only a closing marker or the end of the answer
/// shows that unquoted text is whole.
fn arguments(text: &str, name: &str, open: usize, lax: &Lax, context: Context<'_>) -> Result<Step, Step> {
    let view = View::of(known_tool(context.tools, name));
    let dialect = Dialect { place: view.root(), delimiters: Some(&lax.strings), names: false, variables: &[], lenient: false };
    let markers = std::iter::successors(find_any(text, open, context.close), |(_, end)| find_any(text, *end, context.close));
    let ends = markers.map(|(begin, _)| begin).take(MOST_ENDS).chain(context.end.then_some(text.len()));
    let mut reads = ends.map(|end| literal::read(&text[..end], open, dialect));
    match reads.find(|read| !matches!(read, Err(Stop::More))).unwrap_or(Err(Stop::More)) {
        Ok(Arguments { text: Some(arguments), end, is_open, .. }) => {
            if let Some(end) = call_end(text, end, is_open, lax, context)? {
                return Ok(Step::done(Parsed::new(name, arguments), end));
            }
        }
        Err(Stop::More) if context.end => return Err(Step::cut(Parsed::new(name, UNFINISHED))),
        Err(Stop::More) => return Err(Step::More),
        Ok(_) | Err(Stop::Fail) => {}
    }
    if !context.marked || context.close.is_empty() {
        return Err(Step::Reject);
    }
    Err(torn(text, open, Vec::new(), name, "keys and values do not fit together", context))
}

/// The end of the call whose arguments end at `end`. `None`: the last one is unquoted text (`is_open`) that goes on.
fn call_end(text: &str, end: usize, is_open: bool, lax: &Lax, context: Context<'_>) -> Result<Option<usize>, Step> {
    let at = end + blank(&text[end..]);
    let rest = if is_open { &text[at..] } else { text[at..].trim_start_matches(JUNK) };
    if rest.is_empty() && !context.end {
        return Err(Step::More);
    }
    if let Some(length) = starts_with_any(rest, context.close, context.end).sure()? {
        return Ok(Some(text.len() - rest.len() + length));
    }
    let next = context.call.open.iter().chain(&context.call.stripped).chain(&lax.open);
    let goes_on = is_open && !rest.is_empty() && starts_with_any(rest, next, context.end).sure()?.is_none();
    Ok((!goes_on).then_some(at))
}
