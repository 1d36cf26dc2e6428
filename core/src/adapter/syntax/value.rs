//! Finds the end of one JSON-like value inside a call. The value itself determines it. A closing marker ends the value only
//! outside its strings: such a text is never JSON, so the model forgot a brace.

use super::{Start, members::comment, starts_with_any};
use crate::json::extent::{Extent, Halt, PlainExtent};

/// Extra braces, separators and whitespace after a value.
pub(crate) const FRAMING: fn(char) -> bool = |c| c.is_whitespace() || matches!(c, '}' | ']' | ';' | ',');

/// How much of the text after a value shows whether it goes on there, in bytes.
const LOOKED_AT_BYTES: usize = 1024;

/// Follows one value, which begins with a bracket, through a growing text.
#[derive(Debug, Default)]
pub(crate) struct ValueReader {
    extent: Extent,
    /// The offset up to which the text was scanned.
    seen: usize,
}

/// How far the value was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Got {
    More,
    /// Its brackets are balanced at this offset.
    Balanced(usize),
    /// A closing marker is where the value cannot continue: its start and end.
    Closed(usize, usize),
}

impl ValueReader {
    pub(crate) fn at(start: usize) -> ValueReader {
        ValueReader { extent: Extent::default(), seen: start }
    }

    /// Reads on. `text` is everything from the start of the call's body.
    pub(crate) fn read(&mut self, text: &str, close: &[String], over: bool) -> Got {
        let mut leads = [false; 256];
        for byte in close.iter().filter_map(|marker| marker.bytes().next()) {
            if let Some(lead) = leads.get_mut(usize::from(byte)) {
                *lead = true;
            }
        }
        let starts_marker = |byte: u8| leads.get(usize::from(byte)).copied().unwrap_or_default();
        loop {
            let rest = &text.as_bytes()[self.seen..];
            match self.extent.feed_until(rest, starts_marker) {
                None => {
                    self.seen = text.len();
                    return Got::More;
                }
                Some(Halt::Complete(length)) => return Got::Balanced(self.seen + length),
                Some(Halt::Before(offset)) => self.seen += offset,
            }
            match starts_with_any(&text[self.seen..], close, over) {
                Start::Yes(length) if ends_value(&text[..self.seen]) => match is_quoted(text, self.seen, length, over) {
                    None => return Got::More,
                    Some(false) => return Got::Closed(self.seen, self.seen + length),
                    Some(true) => {}
                },
                Start::Maybe => return Got::More,
                Start::Yes(_) | Start::No => {}
            }
            let byte = &text.as_bytes()[self.seen..=self.seen];
            self.seen += 1;
            if self.extent.feed(byte).is_some() {
                return Got::Balanced(self.seen);
            }
        }
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
    More,
    /// A closing marker that ends at this offset. Extra braces and separators before it are framing.
    Marker(usize),
    /// Nothing that belongs to the call.
    Nothing,
}

/// Scans the text after a value whose brackets are balanced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trail {
    /// The end of the value.
    pub(crate) end: usize,
    /// The end of the extra braces, separators and whitespace after it.
    seen: usize,
}

impl Trail {
    /// The value ended at `end`.
    pub(crate) fn after(end: usize) -> Trail {
        Trail { end, seen: end }
    }

    /// Whether a code fence closes here. If so, it becomes part of the value.
    pub(crate) fn fence(&mut self, text: &str, fence: &str, over: bool) -> Start {
        self.skip(text);
        let found = starts_with_any(&text[self.seen..], [fence], over);
        if let Start::Yes(length) = found {
            *self = Trail::after(self.seen + length);
        }
        found
    }

    fn skip(&mut self, text: &str) {
        let rest = text[self.seen..].trim_start_matches(FRAMING);
        self.seen = text.len() - rest.len();
    }

    /// What follows the value.
    pub(crate) fn read(&mut self, text: &str, close: &[String], over: bool) -> After {
        if close.is_empty() {
            return After::Nothing;
        }
        self.skip(text);
        let mut rest = &text[self.seen..];
        while let Some(end) = comment(rest) {
            match end {
                Some(end) => rest = rest[end..].trim_start_matches(FRAMING),
                None if !over => return After::More,
                None => break,
            }
        }
        self.seen = text.len() - rest.len();
        // An incomplete comment sign.
        if !over && matches!(rest, "/" | "#") {
            return After::More;
        }
        match starts_with_any(rest, close, over) {
            Start::Yes(length) => After::Marker(self.seen + length),
            Start::Maybe => After::More,
            Start::No => After::Nothing,
        }
    }
}

/// Searches for the closing marker of a value with broken quotes, whose brackets say nothing: the first marker after a closing
/// bracket.
#[derive(Debug)]
pub(crate) struct TornReader {
    /// Where the value seemed to end.
    pub(crate) end: usize,
    seen: usize,
}

impl TornReader {
    /// The value seemed to end at `end`.
    pub(crate) fn after(end: usize) -> TornReader {
        TornReader { end, seen: end }
    }

    /// Whether the value that begins at `start` goes on after its seeming end, now that no marker comes: a bracket of its text is
    /// open there, a quote follows, which prose between calls rarely has, or a limit `cut` the text that follows.
    pub(crate) fn goes_on(&self, text: &str, start: usize, cut: bool) -> bool {
        let after = &text[self.end..];
        after.contains(['"', '\u{201c}', '\u{201d}'])
            || cut && !after.trim_matches(FRAMING).is_empty()
            || !PlainExtent::closes(&text[start..self.end])
    }

    /// The start and end of the marker. `None`: it is not there yet.
    pub(crate) fn read(&mut self, text: &str, close: &[String]) -> Option<(usize, usize)> {
        while self.seen < text.len() {
            let rest = &text[self.seen..];
            let first = |c: char| close.iter().any(|marker| marker.starts_with(c));
            let Some(offset) = rest.find(first) else {
                self.seen = text.len();
                return None;
            };
            let at = self.seen + offset;
            match starts_with_any(&text[at..], close, false) {
                Start::Maybe => {
                    self.seen = at;
                    return None;
                }
                Start::Yes(length) if text[..at].trim_end().ends_with(['}', ']']) => return Some((at, at + length)),
                Start::Yes(_) | Start::No => self.seen = at + text[at..].chars().next().map_or(1, char::len_utf8),
            }
        }
        None
    }
}

/// The end of a value with broken quotes ([`PlainExtent`]), before a closing marker or at the end of the text; and the end of the
/// marker.
pub(crate) fn plain_end(text: &str, close: &[String]) -> Option<(usize, usize)> {
    let (mut extent, mut end) = (PlainExtent::default(), None);
    for (at, byte) in text.bytes().enumerate() {
        // A fence around the value is framing.
        if end.is_some() && byte == b'`' {
            continue;
        }
        if let (Some(end), Start::Yes(length)) = (end, starts_with_any(text.get(at..).unwrap_or_default(), close, true)) {
            return Some((end, at + length));
        }
        extent.feed(byte);
        if !byte.is_ascii_whitespace() {
            end = extent.is_closed().then_some(at + 1);
        }
    }
    end.map(|end| (end, text.len()))
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
        (true, Some('"')) => match closing_quote(inside, 1, b'"').map(|end| inside[end..].trim_start().chars().next()) {
            Ok(Some(':')) => Start::No,
            Ok(Some(_)) => Start::Yes(0),
            Ok(None) | Err(_) => undecided,
        },
        (true, Some(_)) => Start::No,
    }
}

/// The offset after the quote that closes a string. `Err` has the offset up to which there is none.
pub(crate) fn closing_quote(text: &str, from: usize, quote: u8) -> Result<usize, usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(quote, b'\\', rest)) {
        at += found;
        match bytes.get(at..) {
            Some([b'\\']) => return Err(at),
            Some([b'\\', ..]) => at += 2,
            _ => return Ok(at + 1),
        }
    }
    Err(bytes.len().max(at))
}

/// Whether the text is strict JSON.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
