//! Finds the end of one JSON-like value inside a call. The value itself determines it. A closing marker ends the value only
//! outside its strings: such a text is never JSON, so the model forgot a brace.

use super::{Context, Start, Step, starts_with_any};
use crate::{
    json::extent::{self, PlainExtent, closing_quote},
    reader::End,
};

/// Extra brackets, separators and whitespace after a value.
const FRAMING: fn(char) -> bool = |c| c.is_whitespace() || matches!(c, '}' | ']' | ';' | ',');

/// How much of the text after a value shows whether it goes on there, in bytes.
const LOOKED_AT_BYTES: usize = 1024;

/// Where the value that begins at `from` ends and where the text goes on, and whether a closing marker is between them.
/// `Ok(None)`: the text ends inside of it. `Err`: more text is needed. `fence`: a fence is open around the value.
pub(crate) fn whole(text: &str, from: usize, fence: Option<&str>, context: Context<'_>) -> Result<Option<(End, bool)>, Step> {
    let Context { close, end: over, .. } = context;
    if let Some(quote @ (b'"' | b'\'')) = text.as_bytes().get(from) {
        return closing_quote(text, from + 1, *quote).map(|end| closed(text, end, fence, context)).transpose();
    }
    let before_marker = |end| Some((end, true));
    let end = match bounds(text, from, close, over)? {
        None => return Ok(plain_end(text, from, close).and_then(before_marker)),
        Some((end, true)) => return Ok(before_marker(end)),
        Some((end, false)) => end.begin,
    };
    let as_it_is = closed(text, end, fence, context)?;
    match runs_on(&text[end..], over) {
        Start::No => Ok(Some(as_it_is)),
        // Its end is inside of one of its strings, and nobody knows where it really ends.
        Start::Yes(_) if over => Ok(None),
        Start::Yes(_) | Start::Maybe => Err(Step::More),
    }
}

/// Follows the brackets of the value that begins at `from` to where they are balanced, or to a closing marker where it cannot continue
/// (and whether it is that). `Ok(None)`: the text ends inside of it.
fn bounds(text: &str, from: usize, close: &[String], over: bool) -> Result<Option<(End, bool)>, Step> {
    let begins_marker = |at: usize| close.iter().any(|marker| marker.as_bytes().first() == text.as_bytes().get(at));
    let mut closed = Ok(None);
    let end = extent::end_or(&text[from..], |at| {
        if begins_marker(from + at) {
            closed = closes_at(text, from + at, close, over);
        }
        !matches!(closed, Ok(None))
    });
    match (closed?, end) {
        (Some(end), _) => Ok(Some((end, true))),
        (None, Some(length)) => Ok(Some((End { begin: from + length, next: from + length }, false))),
        (None, None) if over => Ok(None),
        (None, None) => Err(Step::More),
    }
}

/// The closing marker at `at`, outside the strings of a value, if it ends the value.
fn closes_at(text: &str, at: usize, close: &[String], over: bool) -> Result<Option<End>, Step> {
    match starts_with_any(&text[at..], close, over).sure()? {
        Some(length) if ends_value(&text[..at]) && !is_quoted(text, at, length, over)? => {
            Ok(Some(End { begin: at, next: at + length }))
        }
        _ => Ok(None),
    }
}

/// Whether quotes directly surround the marker at `at`. It is in a string whose quotes are not escaped then: `"echo "</f>" >> x"`.
/// A fence directly after a quote is, too: a closing one begins a line or follows a bracket.
fn is_quoted(text: &str, at: usize, length: usize, over: bool) -> Result<bool, Step> {
    let quote = text[..at].chars().next_back().filter(|quote| matches!(quote, '"' | '\''));
    match text[at + length..].chars().next() {
        _ if quote.is_some() && text[at..].starts_with('`') => Ok(true),
        None if quote.is_some() && !over => Err(Step::More),
        // An escape: a line break of the string.
        after => Ok(quote.is_some() && (after == quote || after == Some('\\'))),
    }
}

/// Whether the last character of this text may be outside strings in JSON. If not, the marker after it is most likely part of a
/// string with broken quotes.
fn ends_value(text: &str) -> bool {
    text.trim_end().ends_with(|c: char| "}]{[\"',:el".contains(c) || c.is_ascii_digit())
}

/// Where the text goes on after a value that ends at `end`: after the closing fence if one is open, and after a closing marker. And
/// whether there is such a marker. Extra brackets and separators before it are framing.
pub(crate) fn closed(text: &str, end: usize, fence: Option<&str>, context: Context<'_>) -> Result<(End, bool), Step> {
    let Context { close, end: over, .. } = context;
    let past_framing = |at: usize| text.len() - text[at..].trim_start_matches(FRAMING).len();
    let mut next = end;
    if let Some(fence) = fence {
        let at = past_framing(end);
        next = starts_with_any(&text[at..], [fence], over).sure()?.map_or(end, |length| at + length);
    }
    let at = past_framing(next);
    let marker = starts_with_any(&text[at..], close, over).sure()?;
    Ok((End { begin: end, next: marker.map_or(next, |length| at + length) }, marker.is_some()))
}

/// The end of the value with broken quotes that begins at `from` ([`PlainExtent`]), before a closing marker or at the end of the text;
/// and the end of the marker.
fn plain_end(text: &str, from: usize, close: &[String]) -> Option<End> {
    let (mut extent, mut end) = (PlainExtent::default(), None);
    for (at, byte) in text.bytes().enumerate().skip(from) {
        if let (Some(end), Start::Yes(length)) = (end, starts_with_any(text.get(at..).unwrap_or_default(), close, true)) {
            return Some(End { begin: end, next: at + length });
        }
        extent.feed(byte);
        if !byte.is_ascii_whitespace() {
            end = extent.is_closed().then_some(at + 1);
        }
    }
    end.map(|end| End { begin: end, next: text.len() })
}

/// Whether the text after a value whose brackets are balanced shows that its end is inside of one of its strings, whose quotes are
/// not escaped: a quote or an escape follows (`"echo "}" >> a"`), or an object whose first string is no key (`"join("}, {")"`).
pub(crate) fn runs_on(text: &str, over: bool) -> Start {
    // Only the beginning is looked at, so that a long text is not searched again for each of its pieces.
    let window = &text[..text.floor_char_boundary(LOOKED_AT_BYTES)];
    let over = over || window.len() < text.len();
    let rest = window.trim_start_matches(|c: char| FRAMING(c) || c == ')');
    let inside = rest.trim_start_matches(|c: char| c == '{' || c.is_whitespace());
    let undecided = if over { Start::Yes(0) } else { Start::Maybe };
    match (rest.len() > inside.len(), inside.chars().next()) {
        (false, None) if !over => Start::Maybe,
        (false, Some('"' | '\\' | '\u{201c}' | '\u{201d}')) => Start::Yes(0),
        (false, _) => Start::No,
        _ if rest[1..].trim_start().starts_with('{') => Start::Yes(0),
        (true, None) => undecided,
        (true, Some('"')) => match closing_quote(inside, 1, b'"').and_then(|end| inside[end..].trim_start().chars().next()) {
            Some(':') => Start::No,
            Some(_) => Start::Yes(0),
            None => undecided,
        },
        (true, Some(_)) => Start::No,
    }
}

/// Whether the text is strict JSON.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
