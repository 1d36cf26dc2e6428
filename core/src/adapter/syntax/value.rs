//! Finds the end of one JSON-like value inside a call. The value itself determines it. A closing marker ends the value only
//! outside its strings: such a text is never JSON, so the model forgot a brace.

use super::{Context, Occurrences, Start, Step, members::comment, starts_with_any};
use crate::{
    json::extent::{Extent, Halt, PlainExtent},
    reader::End,
};

/// Extra braces, separators and whitespace after a value.
pub(crate) const FRAMING: fn(char) -> bool = |c| c.is_whitespace() || matches!(c, '}' | ']' | ';' | ',');

/// How much of the text after a value shows whether it goes on there, in bytes.
const LOOKED_AT_BYTES: usize = 1024;

/// Where the brackets of a value lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// The text ends inside of it.
    Open,
    /// They are balanced at this offset.
    Balanced(usize),
    /// A closing marker is where the value cannot continue.
    Closed(End),
}

/// Follows the brackets of the value that begins at `from`. `None`: more text is needed.
pub(crate) fn bounds(text: &str, from: usize, close: &[String], over: bool) -> Option<Bounds> {
    let mut leads = [false; 256];
    for byte in close.iter().filter_map(|marker| marker.bytes().next()) {
        if let Some(lead) = leads.get_mut(usize::from(byte)) {
            *lead = true;
        }
    }
    let starts_marker = |byte: u8| leads.get(usize::from(byte)).copied().unwrap_or_default();
    let (mut extent, mut at) = (Extent::default(), from);
    loop {
        match extent.feed_until(&text.as_bytes()[at..], starts_marker) {
            None => return over.then_some(Bounds::Open),
            Some(Halt::Complete(length)) => return Some(Bounds::Balanced(at + length)),
            Some(Halt::Before(offset)) => at += offset,
        }
        match starts_with_any(&text[at..], close, over) {
            Start::Yes(length) if ends_value(&text[..at]) && !is_quoted(text, at, length, over)? => {
                return Some(Bounds::Closed(End { begin: at, next: at + length }));
            }
            Start::Maybe => return None,
            Start::Yes(_) | Start::No => {}
        }
        if extent.feed(&text.as_bytes()[at..=at]).is_some() {
            return Some(Bounds::Balanced(at + 1));
        }
        at += 1;
    }
}

/// Whether quotes directly surround the marker at `at`. It is in a string whose quotes are not escaped then: `"echo "</f>" >> x"`.
/// A fence directly after a quote is, too: a closing one begins a line or follows a bracket. `None`: more text is needed.
fn is_quoted(text: &str, at: usize, length: usize, over: bool) -> Option<bool> {
    let quote = text[..at].chars().next_back().filter(|quote| matches!(quote, '"' | '\''));
    match text[at + length..].chars().next() {
        _ if quote.is_some() && text[at..].starts_with('`') => Some(true),
        None if quote.is_some() && !over => None,
        // An escape: a line break of the string.
        after => Some(quote.is_some() && (after == quote || after == Some('\\'))),
    }
}

/// Whether the last character of this text may be outside strings in JSON. If not, the marker after it is most likely part of a
/// string with broken quotes.
fn ends_value(text: &str) -> bool {
    text.trim_end().ends_with(|c: char| "}]{[\"',:el".contains(c) || c.is_ascii_digit())
}

/// What follows a value whose brackets are balanced.
pub(crate) enum After {
    /// A closing marker. Extra braces and separators before it are framing.
    Marker(End),
    /// Nothing that belongs to the call.
    Nothing,
}

/// The offset after the closing fence, if one is open, behind a value that ends at `end`; `end` itself if there is none. `None`: more
/// text is needed.
pub(crate) fn past_fence(text: &str, end: usize, fence: Option<&str>, over: bool) -> Option<usize> {
    let Some(fence) = fence else { return Some(end) };
    let at = past_framing(text, end);
    match starts_with_any(&text[at..], [fence], over) {
        Start::Yes(length) => Some(at + length),
        Start::No => Some(end),
        Start::Maybe => None,
    }
}

fn past_framing(text: &str, from: usize) -> usize {
    text.len() - text[from..].trim_start_matches(FRAMING).len()
}

/// What follows a value that ends at `end`. `None`: more text is needed.
pub(crate) fn after(text: &str, end: usize, close: &[String], over: bool) -> Option<After> {
    if close.is_empty() {
        return Some(After::Nothing);
    }
    let mut at = past_framing(text, end);
    while let Some(length) = comment(&text[at..]) {
        match length {
            Some(length) => at = past_framing(text, at + length),
            None if !over => return None,
            None => break,
        }
    }
    let rest = &text[at..];
    match starts_with_any(rest, close, over) {
        // An incomplete comment sign.
        _ if !over && matches!(rest, "/" | "#") => None,
        Start::Yes(length) => Some(After::Marker(End { begin: at, next: at + length })),
        Start::Maybe => None,
        Start::No => Some(After::Nothing),
    }
}

/// The first closing marker after a closing bracket from `from` on: where a value with broken quotes ends, whose brackets say
/// nothing.
pub(crate) fn torn_end(text: &str, from: usize, close: &[String], over: bool) -> Option<End> {
    let (mut markers, mut at) = (Occurrences::of(close), from);
    loop {
        let (begin, _) = markers.next(text, at)?;
        match starts_with_any(&text[begin..], close, over) {
            Start::Yes(length) if text[..begin].trim_end().ends_with(['}', ']']) => {
                return Some(End { begin, next: begin + length });
            }
            Start::Maybe => return None,
            Start::Yes(_) | Start::No => at = text.ceil_char_boundary(begin + 1),
        }
    }
}

/// Whether the value `start..end` goes on after its seeming end, now that no marker comes: a bracket of its text is open there, a
/// quote follows, which prose between calls rarely has, or a limit `cut` the text that follows.
pub(crate) fn goes_on(text: &str, start: usize, end: usize, cut: bool) -> bool {
    let after = &text[end..];
    after.contains(['"', '\u{201c}', '\u{201d}'])
        || cut && !after.trim_matches(FRAMING).is_empty()
        || !PlainExtent::closes(&text[start..end])
}

/// Where the value that begins at `from` ends, and what closes the call. `Ok(None)`: the text ends inside of it. `Err`: more text is
/// needed. `fence`: a fence is open around the value. `plain`: what follows it need not be a closing marker.
pub(crate) fn whole(
    text: &str,
    from: usize,
    fence: Option<&str>,
    plain: bool,
    context: Context<'_>,
) -> Result<Option<End>, Step> {
    let Context { close, end: over, cut, .. } = context;
    let end = match bounds(text, from, close, over).ok_or(Step::More)? {
        Bounds::Open => return Ok(plain_end(text, from, close)),
        Bounds::Closed(end) => return Ok(Some(end)),
        Bounds::Balanced(end) => end,
    };
    let next = past_fence(text, end, fence, over).ok_or(Step::More)?;
    if let After::Marker(marker) = after(text, next, close, over).ok_or(Step::More)? {
        return Ok(Some(End { begin: end, ..marker }));
    }
    let as_it_is = Some(End { begin: end, next });
    match runs_on(&text[end..], over) {
        Start::Maybe => return Err(Step::More),
        Start::No if plain || close.is_empty() || is_json(text[from..end].trim()) => return Ok(as_it_is),
        Start::Yes(_) | Start::No => {}
    }
    // Only the rest of the text shows where it ends.
    match torn_end(text, end, close, over) {
        Some(end) => Ok(Some(end)),
        None if !over => Err(Step::More),
        None if goes_on(text, from, end, cut) => Ok(plain_end(text, from, close)),
        None => Ok(as_it_is),
    }
}

/// The end of the value with broken quotes that begins at `from` ([`PlainExtent`]), before a closing marker or at the end of the text;
/// and the end of the marker.
pub(crate) fn plain_end(text: &str, from: usize, close: &[String]) -> Option<End> {
    let (mut extent, mut end) = (PlainExtent::default(), None);
    for (at, byte) in text.bytes().enumerate().skip(from) {
        // A fence around the value is framing.
        if end.is_some() && byte == b'`' {
            continue;
        }
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

/// The offset after the quote that closes a string whose content begins at `from`.
pub(crate) fn closing_quote(text: &str, from: usize, quote: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at += memchr::memchr2(quote, b'\\', bytes.get(at..)?)?;
        if bytes[at] == quote {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Whether the text is strict JSON.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
