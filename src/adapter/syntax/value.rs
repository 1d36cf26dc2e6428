//! One JSON-like value inside a call: where it ends. The value itself says so; a closing marker ends it only where it is
//! outside of the value's strings, because such a text is never JSON: the model forgot a brace.

use super::{Start, members::comment, starts_with_any};
use crate::json::extent::{Extent, Halt, PlainExtent};

/// Braces too many, separators and whitespace after a value.
pub(crate) const FRAMING: fn(char) -> bool = |c| c.is_whitespace() || matches!(c, '}' | ']' | ';' | ',');

/// Longest key of a member after an object that was closed too early, in bytes.
const KEY_BYTES: usize = 64;

/// Follows one value, which begins with a bracket, through a growing text.
#[derive(Debug, Default)]
pub(crate) struct ValueReader {
    extent: Extent,
    /// Up to where the text was looked at.
    seen: usize,
}

/// How far the value has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Got {
    /// It goes on.
    More,
    /// Its brackets are balanced here.
    Balanced(usize),
    /// A closing marker is where the value cannot go on: it begins and ends here.
    Closed(usize, usize),
}

// === impl ValueReader ===

impl ValueReader {
    /// The value begins at `start`.
    pub(crate) fn at(start: usize) -> ValueReader {
        ValueReader { extent: Extent::default(), seen: start }
    }

    /// Reads on; `text` is everything from where the body of the call begins.
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
                Start::Yes(length) if ends_value(&text[..self.seen]) => return Got::Closed(self.seen, self.seen + length),
                Start::Maybe => return Got::More,
                Start::Yes(_) | Start::No => {
                    let byte = &text.as_bytes()[self.seen..=self.seen];
                    self.seen += 1;
                    if self.extent.feed(byte).is_some() {
                        return Got::Balanced(self.seen);
                    }
                }
            }
        }
    }
}

/// Whether the last character of this text may be outside of strings in JSON: elsewhere the marker is most likely part of
/// a string whose quotes are broken.
fn ends_value(text: &str) -> bool {
    text.trim_end().ends_with(|c: char| "}]{[\"',:el".contains(c) || c.is_ascii_digit())
}

/// What follows a value whose brackets are balanced.
pub(crate) enum Behind {
    /// More text is needed to know.
    More,
    /// A closing marker that ends here; braces too many and separators before it are framing.
    Marker(usize),
    /// More of the value: what seemed to be its end is in one of its strings.
    Inside,
    /// Nothing that belongs to the call.
    Nothing,
}

/// Follows the text after a value whose brackets are balanced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trail {
    /// Where the value ended.
    pub(crate) end: usize,
    /// Braces too many, separators and whitespace stand up to here.
    seen: usize,
}

// === impl Trail ===

impl Trail {
    /// The value ended at `end`.
    pub(crate) fn behind(end: usize) -> Trail {
        Trail { end, seen: end }
    }

    /// Whether a code fence closes there: it is part of the value then.
    pub(crate) fn fence(&mut self, text: &str, fence: &str, over: bool) -> Start {
        self.skip(text);
        let found = starts_with_any(&text[self.seen..], [&fence.to_owned()], over);
        if let Start::Yes(length) = found {
            *self = Trail::behind(self.seen + length);
        }
        found
    }

    fn skip(&mut self, text: &str) {
        let rest = text[self.seen..].trim_start_matches(FRAMING);
        self.seen = text.len() - rest.len();
    }

    /// What is there.
    pub(crate) fn read(&mut self, text: &str, close: &[String], over: bool) -> Behind {
        if close.is_empty() {
            return Behind::Nothing;
        }
        self.skip(text);
        let mut rest = &text[self.seen..];
        while let Some(end) = comment(rest) {
            match end {
                Some(end) => rest = rest[end..].trim_start_matches(FRAMING),
                None if !over => return Behind::More,
                None => break,
            }
        }
        self.seen = text.len() - rest.len();
        // Half the sign of a comment.
        if !over && matches!(rest, "/" | "#") {
            return Behind::More;
        }
        match starts_with_any(rest, close, over) {
            Start::Yes(length) => Behind::Marker(self.seen + length),
            Start::Maybe => Behind::More,
            Start::No => Behind::Nothing,
        }
    }
}

impl Behind {
    /// The same after an object: where nothing of the call follows, the object itself may go on. `text` begins after it, and `close`
    /// may end it.
    pub(crate) fn of_object(self, text: &str, close: &[String], over: bool) -> Behind {
        match self {
            Behind::Nothing => match ends_inside(text, close, over) {
                Start::Maybe => Behind::More,
                Start::Yes(_) => Behind::Inside,
                Start::No => Behind::Nothing,
            },
            behind => behind,
        }
    }
}

/// Looks for a closing marker after a value that lost its place (quotes inside of it are not escaped, so that its brackets say
/// nothing): the first one that comes after a closing bracket.
#[derive(Debug)]
pub(crate) struct TornReader {
    /// Where the value seemed to end.
    pub(crate) end: usize,
    /// It certainly did not end there.
    pub(crate) inside: bool,
    seen: usize,
}

impl TornReader {
    /// The value seemed to end at `end`.
    pub(crate) fn behind(end: usize) -> TornReader {
        TornReader { end, inside: false, seen: end }
    }

    /// The value seemed to end at `end`, inside one of its strings.
    pub(crate) fn inside(end: usize) -> TornReader {
        TornReader { end, inside: true, seen: end }
    }

    /// Where the marker begins and ends; `None` if it is not there yet.
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

/// Where a value ends whose quotes are broken ([`PlainExtent`]): before a closing marker, or at the end of the text; and where the
/// marker ends.
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

/// Whether a quote follows a value at once, or escapes that are no layout: what seemed to be the value's end is in one of its
/// strings. The same if another member follows: the value was closed too early.
fn ends_inside(text: &str, close: &[String], over: bool) -> Start {
    let rest = text.trim_start_matches(['}', ']', ')']);
    let mut behind = rest.trim_start();
    while let Some(next) = ["\\n", "\\t", "\\r"].iter().find_map(|escape| behind.strip_prefix(escape)) {
        behind = next.trim_start();
    }
    let escapes = behind.len() < rest.trim_start().len() || rest.starts_with(['"', '\\']);
    match member(behind, over) {
        Start::No => {}
        found => return found,
    }
    match starts_with_any(behind, close, over) {
        _ if matches!(behind, "" | "\\") && !over => Start::Maybe,
        Start::No if escapes && !behind.is_empty() => Start::Yes(0),
        Start::Maybe => Start::Maybe,
        _ => Start::No,
    }
}

/// Whether a list goes on after a value: a comma, and the next element.
pub(crate) fn goes_on(text: &str) -> Start {
    let rest = text.trim_start();
    match rest.strip_prefix(',').map(str::trim_start) {
        Some("") => Start::Maybe,
        Some(next) if next.starts_with(['{', '[', '"']) => Start::Yes(0),
        None if rest.is_empty() => Start::Maybe,
        _ => Start::No,
    }
}

/// Whether another member follows, after a comma or without one: a bracket closed the object before it too early.
fn member(text: &str, over: bool) -> Start {
    let rest = text.strip_prefix(',').unwrap_or(text).trim_start();
    let Some(key) = rest.strip_prefix('"') else {
        return if rest.is_empty() && !text.is_empty() && !over { Start::Maybe } else { Start::No };
    };
    match key.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))) {
        Some(length) if length == 0 || length > KEY_BYTES || !key[length..].starts_with('"') => Start::No,
        Some(length) => match key[length + 1..].trim_start().chars().next() {
            Some(':') => Start::Yes(0),
            None if !over => Start::Maybe,
            _ => Start::No,
        },
        None if key.len() <= KEY_BYTES && !over => Start::Maybe,
        None => Start::No,
    }
}

/// An object without the brackets that close it at `end` although another member follows them.
pub(crate) fn reopened(value: &str, end: usize) -> Option<String> {
    let before = value.get(..end)?.strip_suffix(['}', ']'])?;
    let rest = value[end..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '}' | ']'));
    (member(rest, true) != Start::No).then(|| format!("{before}{}{rest}", if rest.starts_with(',') { "" } else { ", " }))
}

/// The same at the end of the text: only if all of it belongs to the object then.
pub(crate) fn reopened_to_end(value: &str, end: usize) -> Option<String> {
    let whole = reopened(value, end)?;
    let stop = Extent::default().feed(whole.as_bytes())?;
    whole[stop..].trim_matches(FRAMING).is_empty().then_some(whole)
}

/// After the quote that closes a string. `Err`: it does not close up to there.
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

/// Whether it is strict JSON.
pub(crate) fn sound(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
