//! Text after a marker that announces the arguments (`Action Input: ls -l`): a JSON value, a line, or the content of a fence.

use super::{bare, head::FENCE};
use crate::{
    adapter::syntax::{Context, typing::Types, value::closing_quote},
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
    let rest = &text[from..];
    let stop = rest.find(if fenced { FENCE } else { "\n" });
    let line = rest[..stop.unwrap_or(rest.len())].trim_end();
    // Without its end, a text may have been cut; a value shows its own.
    let shows_end = is_value(line) && context.end && !context.cut && !fenced;
    if stop.is_none() && !shows_end {
        return Line::Open;
    }
    let inside = line.strip_prefix(['"', '\'', '[']).map(str::trim_start);
    // A string or a list may hold an object of several lines.
    let holds = |inside: &str| inside.is_empty() || inside.starts_with(['{', '[']);
    if is_value(line) || inside.is_some_and(holds) { Line::Value } else { Line::Ends(from + line.len()) }
}

/// The arguments that the text is. `None`: it fits no parameter.
pub(super) fn arguments(text: &str, tool: &Tool) -> Option<String> {
    // The fixer knows what a text is if there is only one parameter.
    let has_several = Types::new(Some(tool)).keys().nth(1).is_some();
    let as_written = || Some(text.to_owned());
    if is_value(text) {
        let string = serde_json::from_str::<String>(text).ok().filter(|_| has_several);
        return string.and_then(|string| bare::arguments(&string, tool)).or_else(as_written);
    }
    if text.starts_with(['"', '\'', '[']) {
        return bare::text(text, tool);
    }
    Some(text).filter(|_| has_several).and_then(|text| bare::arguments(text, tool)).or_else(as_written)
}

/// Whether a text is one string, list or object, and nothing else.
fn is_value(text: &str) -> bool {
    match text.bytes().next() {
        Some(quote @ (b'"' | b'\'')) => closing_quote(text, 1, quote) == Some(text.len()),
        Some(b'{') => true,
        Some(b'[') => Extent::default().feed(text.as_bytes()) == Some(text.len()),
        _ => false,
    }
}
