//! Text after a marker that announces the arguments (`Action Input: ls -l`): a line, or the content of a fence. A quote, a
//! bracket or a backtick at its start encloses the whole of it, or is part of it.

use super::{bare, head::FENCE};
use crate::{
    adapter::syntax::{
        Context, Start, starts_with_any,
        typing::Types,
        value::{FRAMING, closing_quote},
    },
    event::Tool,
    json::extent::Extent,
};

/// What stands after the marker.
pub(super) enum Line {
    /// Text that ends at this offset.
    Ends(usize),
    /// A string or a list that holds the arguments.
    Value,
    /// The end of the text is not there yet, or it is unknown.
    Open,
}

/// Reads what begins at `from`, after the markers. `fenced`: a code fence is among them.
pub(super) fn read(text: &str, from: usize, fenced: bool, context: Context<'_>) -> Line {
    let upto = |length: usize| Line::Ends(from + text[from..from + length].trim_end().len());
    if fenced {
        return text[from..].find(FENCE).map_or(Line::Open, upto);
    }
    let newline = text[from..].find('\n');
    if newline.is_none() && (!context.end || context.cut) {
        return Line::Open;
    }
    let line = text[from..newline.map_or(text.len(), |length| from + length)].trim_end();
    let ticked = &text[start(text, from)..from + line.len()];
    let (first, quote) = (line.as_bytes().first(), quote(line));
    let inside = line.get(1..).unwrap_or_default().trim_start();
    let opened = inside.is_empty() || inside.starts_with(['{', '[']);
    let stop = match (quote, first) {
        (Some(quote), _) => closing_quote(line, 1, quote).ok(),
        (None, Some(b'[')) => Extent::default().feed(line.as_bytes()),
        _ if within_ticks(text, from, line).is_some() => return upto(line.len()),
        _ if ticked.starts_with('`') && ticked.matches('`').count() % 2 == 1 => return Line::Open,
        _ if newline.is_some_and(|length| is_continued(line, &text[from + length + 1..], context.end)) => return Line::Open,
        _ => return newline.map_or(Line::Open, upto),
    };
    let Some(stop) = stop else { return if quote.is_none() || opened { Line::Value } else { Line::Open } };
    let rest = line[stop..].trim_start();
    let follows = || context.close.iter().chain(&context.call.transcript);
    let is_last = || matches!(starts_with_any(rest, follows(), true), Start::Yes(_));
    let escaped = |at: usize| line.as_bytes()[..at].ends_with(b"\\");
    let quotes = |quote: u8| line.bytes().enumerate().filter(|&(at, byte)| byte == quote && !escaped(at)).count();
    // The string goes on in the next line, or it has three quotes on each side.
    let goes_on = |quote: u8| quotes(quote) % 2 == 1 || line.as_bytes().starts_with(&[quote; 3]);
    match quote {
        // Members without their brace, or an object whose quotes are not escaped.
        Some(_) if rest.starts_with(':') || inside.starts_with('{') => Line::Value,
        _ if rest.trim_matches(|c| FRAMING(c) || c == '.').is_empty() || is_last() => Line::Value,
        None if rest.starts_with('{') => Line::Open,
        Some(quote) if goes_on(quote) => Line::Open,
        _ => newline.map_or(Line::Open, upto),
    }
}

/// Whether a command goes on in the lines `below`: `cat > a <<EOF`, `make && \`.
fn is_continued(line: &str, below: &str, over: bool) -> bool {
    let here = line.rsplit_once("<<").map(|(_, word)| word.trim_start_matches(['-', '"', '\'']));
    let is_here = here.is_some_and(|word| word.starts_with(char::is_alphabetic));
    let is_open = line.ends_with(['\\', '|', '{', '(']) || ["&&", " do", " then"].iter().any(|end| line.ends_with(end));
    (is_here || is_open) && !below.starts_with(['\n', '\r']) && !(below.is_empty() && over)
}

/// Whether the line goes on after a string or a list with something other than a marker. `text` begins after it.
pub(super) fn goes_on(text: &str, context: Context<'_>) -> Start {
    let rest = text.trim_start_matches([' ', '\t', '}', ']', ')', ';', ',', '.', '`']);
    let begins_tag = |c: char| c.is_alphabetic() || matches!(c, '/' | '|' | '｜');
    match rest.strip_prefix('<').map(|inside| inside.chars().next()) {
        Some(None) if !context.end => return Start::Maybe,
        Some(Some(c)) if begins_tag(c) => return Start::No,
        _ => {}
    }
    match starts_with_any(rest, context.call.open.iter().chain(&context.call.section), context.end) {
        _ if rest.is_empty() && !context.end => Start::Maybe,
        Start::No if !rest.is_empty() && !rest.starts_with(['\n', '\r']) => Start::Yes(0),
        Start::Maybe => Start::Maybe,
        _ => Start::No,
    }
}

/// The text between `from` and its end, without a fence's language or the backticks around it.
pub(super) fn content(text: &str, from: usize, end: usize, fenced: bool) -> &str {
    let line = text[from..end].trim();
    if is_value(line) {
        return line;
    }
    if fenced {
        let is_language = |(first, _): &(&str, &str)| first.trim_end().bytes().all(|byte| byte.is_ascii_alphanumeric());
        let after_language =
            line.split_once('\n').filter(is_language).filter(|_| text[..from].trim_end_matches(' ').ends_with(FENCE));
        return after_language.map_or(line, |(_, inside)| inside.trim());
    }
    within_ticks(text, from, line).unwrap_or_else(|| text[start(text, from)..end].trim())
}

/// The arguments that the text is. `None`: it fits no parameter.
pub(super) fn arguments(text: &str, tool: &Tool) -> Option<String> {
    let has_several = Types::new(Some(tool)).keys().nth(1).is_some();
    let as_written = || Some(text.to_owned());
    if is_value(text) {
        // The fixer knows what a string is if there is only one parameter.
        let string = serde_json::from_str::<String>(text).ok().filter(|_| has_several);
        return string.and_then(|string| bare::arguments(&string, tool)).or_else(as_written);
    }
    if !text.starts_with(['"', '\'', '[', '`']) {
        return Some(text).filter(|_| has_several).and_then(|text| bare::arguments(text, tool)).or_else(as_written);
    }
    // Several strings may be several parameters.
    let is_list =
        quote(text).and_then(|quote| closing_quote(text, 1, quote).ok()).is_some_and(|end| text[end..].starts_with(','));
    bare::text(text, tool).filter(|_| !(is_list && has_several))
}

/// Whether a text is one string, list or object, and nothing else.
pub(super) fn is_value(text: &str) -> bool {
    match quote(text) {
        Some(quote) => closing_quote(text, 1, quote) == Ok(text.len()),
        None => text.starts_with('{') || text.starts_with('[') && Extent::default().feed(text.as_bytes()) == Some(text.len()),
    }
}

fn quote(text: &str) -> Option<u8> {
    text.bytes().next().filter(|quote| matches!(quote, b'"' | b'\''))
}

/// Where the backticks before the text begin that were read as markers, or the text.
fn start(text: &str, from: usize) -> usize {
    let before = text[..from].trim_end();
    let start = before.trim_end_matches('`').len();
    if start < before.len() { start } else { from }
}

/// The line without the backticks around it. `None`: they are not around the whole line.
fn within_ticks<'t>(text: &str, from: usize, line: &'t str) -> Option<&'t str> {
    let ticks = text[start(text, from)..from].trim_end();
    line.strip_suffix(ticks).filter(|inside| !ticks.is_empty() && !inside.contains('`'))
}
