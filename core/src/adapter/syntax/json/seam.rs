//! Finds the seam between two calls that the reader took for one value because a quote is missing.

use super::super::{
    Context, WORD_BYTES,
    ahead::Start,
    starts_with_any,
    value::{FRAMING, is_json},
};
use crate::{adapter::JsonKeys, fix::name::is_known};

/// How much of a value is searched for the name of a tool, in bytes.
const WINDOW: usize = 2 * WORD_BYTES;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seam {
    pub(super) end: usize,
    /// The start of the next call, including its marker.
    pub(super) next: usize,
    /// Whether a marker is between them.
    pub(super) marked: bool,
}

/// The first seam after a damaged call in a value with broken quotes. Brackets count even inside strings. Only where all of them
/// are closed may a seam be, and only if the form's markers or a call of an offered tool follow.
pub(super) fn seam(value: &str, keys: &JsonKeys, context: Context<'_>) -> Option<Seam> {
    let (mut braces, mut brackets) = (0_i64, 0_i64);
    let list = i64::from(value.starts_with('['));
    let mut from = value.find('{')?;
    for (at, byte) in value.bytes().enumerate() {
        match byte {
            b'{' => braces += 1,
            b'[' => brackets += 1,
            b']' => brackets -= 1,
            b'}' => {
                braces -= 1;
                if braces == 0
                    && (brackets == list || brackets == 0)
                    && let Some((next, marked)) = next(value, at + 1, keys, context)
                {
                    if marked || !is_json(&value[from..=at]) {
                        return Some(Seam { end: at + 1, next, marked });
                    }
                    from = next;
                }
            }
            _ => {}
        }
    }
    None
}

/// The start of the next call after `at`, and whether a marker precedes it. Only separators and the form's markers may precede
/// it.
fn next(value: &str, at: usize, keys: &JsonKeys, context: Context<'_>) -> Option<(usize, bool)> {
    let beyond = |at: usize| value.len() - value[at..].trim_start_matches(|c: char| c.is_whitespace() || ",;]".contains(c)).len();
    let marker = |at: usize, markers: &[String]| match starts_with_any(&value[at..], markers, true) {
        Start::Yes(length) => length,
        Start::Maybe | Start::No => 0,
    };
    let at = beyond(at);
    let closed = marker(at, context.close);
    let begin = beyond(at + closed);
    let opened = marker(begin, &context.call.open);
    let body = beyond(begin + opened);
    let list = value[body..].strip_prefix('[').map_or(&value[body..], str::trim_start);
    let certain = closed > 0 && opened > 0;
    (certain || calls_an_offered_tool(list, keys, context))
        .then_some((if opened > 0 { begin } else { body }, closed + opened > 0))
}

/// Whether another value follows that calls no offered tool: an element of a list that did not end there.
pub(super) fn next_value(text: &str, keys: &JsonKeys, context: Context<'_>) -> Start {
    let rest = text.trim_start_matches(FRAMING);
    let window = &rest[..rest.floor_char_boundary(WINDOW)];
    match window.as_bytes().first() {
        _ if window.len() == rest.len() && rest.len() < WINDOW && !context.end => Start::Maybe,
        Some(b'{' | b'[' | b'"') if !calls_an_offered_tool(window, keys, context) => Start::Yes(0),
        _ => Start::No,
    }
}

/// Whether `text` begins with an object whose first member names an offered tool.
fn calls_an_offered_tool(text: &str, keys: &JsonKeys, context: Context<'_>) -> bool {
    let word = |text: &'_ str| {
        let inside = text.trim_start().strip_prefix('"')?;
        let length = inside.bytes().take(WORD_BYTES).position(|byte| byte == b'"')?;
        Some((inside[..length].to_owned(), text.len() - inside.len() + length + 1))
    };
    let Some(members) = text.strip_prefix('{') else { return false };
    let Some((key, length)) = word(members) else { return false };
    let Some(value) = members[length..].trim_start().strip_prefix(':') else { return false };
    keys.name.contains(&key) && word(value).is_some_and(|(name, _)| is_known(context.tools, &name))
}
