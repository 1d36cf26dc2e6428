//! Reads a tag named after the tool: `<read_file><uri>src/main.rs</uri></read_file>`, or with JSON inside; and, if the prompt asks for
//! this form ([`Context::lenient`]), one of no offered tool. No client executes that, and a user would see the markup, so the model
//! is told about it, as with an unknown name in JSON.

use super::{
    Context, Seen, Start, Step, blank,
    tagged::{
        head::Head,
        markers::{Keys, Markers, opens_element, tag},
        read_after,
    },
    typing,
};
use crate::{
    adapter::{Tagged, asides::CLIENT_RESULT},
    event::{Tool, Tools},
    fix::View,
};

#[cfg(test)]
mod tests;

/// Maximum length of the attributes of a tag, in bytes.
const HEAD_BYTES: usize = 1024;
/// Maximum length of the name of an unknown tool, in bytes.
const NAME_BYTES: usize = 64;
/// Maximum length of the element of an unknown tool, in bytes.
const ELEMENT_BYTES: usize = 4096;

/// Reads one call. The body begins at the tag.
pub(crate) fn read(text: &str, tagged: &Tagged, context: Context<'_>) -> Step {
    let keys = if context.lenient { Keys::Any } else { Keys::Elements };
    match opened(text, context) {
        Seen::Yes((tool, head)) => {
            let view = View::of(Some(tool));
            let form = Markers { name: &tool.name, parameters: view.root(), keys, ..Markers::new(tagged, context) };
            read_after(text, &head, form)
        }
        Seen::Maybe if !context.end => Step::More,
        _ if context.lenient => unknown(text, tagged, context),
        _ => Step::Reject,
    }
}

/// Reads an element in the form of a call whose tool is not offered. It begins with a parameter of an offered tool; or it is empty,
/// and its name has several words.
fn unknown(text: &str, tagged: &Tagged, context: Context<'_>) -> Step {
    let at = blank(text);
    let undecided = if context.end || text.len() > ELEMENT_BYTES { Step::Reject } else { Step::More };
    let Some((name, length)) = opens_element(&text[at..], "") else {
        return if may_begin(text[at..].strip_prefix('<').unwrap_or(">"), context.end) { undecided } else { Step::Reject };
    };
    // The result of a call, which the model repeats.
    let is_result =
        name.strip_suffix(&CLIENT_RESULT[..CLIENT_RESULT.len() - 1]).is_some_and(|name| context.tools.get(name).is_some());
    let inside = &text[at + length..];
    let rest = &inside[blank(inside)..];
    let takes = |key: &str| context.tools.iter().any(|tool| typing::has(View::of(Some(tool)).root(), key));
    let is_call = match (opens_element(rest, ""), tag(rest, ["", "</"], name, context.end)) {
        (_, Start::Maybe) => return undecided,
        (Some((key, _)), _) => takes(key),
        (None, Start::Yes(_)) => name.contains('_'),
        (None, Start::No) if rest.strip_prefix('<').is_some_and(|rest| may_begin(rest, context.end)) => return undecided,
        (None, Start::No) => false,
    };
    if is_result || !is_call {
        return Step::Reject;
    }
    let form = Markers { name, keys: Keys::Any, ..Markers::new(tagged, context) };
    let head =
        Head { name: name.to_owned(), key: None, body: at + length, closed: false, attributes: String::new(), lone: false };
    match read_after(text, &head, form) {
        Step::More => undecided,
        Step::Done { calls, end } => Step::Done { calls, end },
        _ => Step::Reject,
    }
}

/// Whether a tag may have a tool's name: an identifier without attributes. `text` follows the bracket.
pub(in crate::adapter) fn may_begin(text: &str, end: bool) -> bool {
    let length = name_length(text);
    let is_name = length <= NAME_BYTES && text.starts_with(|c: char| c.is_ascii_alphabetic());
    if length == text.len() { !end && (is_name || text.is_empty()) } else { is_name && text[length..].starts_with('>') }
}

/// The tool whose opening tag `text` begins with.
fn opened<'t>(text: &str, context: Context<'t>) -> Seen<(&'t Tool, Head)> {
    let at = blank(text);
    let Some(inside) = text[at..].strip_prefix('<') else {
        return if at == text.len() { Seen::Maybe } else { Seen::No };
    };
    let (tool, length) = match named(inside, context.tools, context.end) {
        Seen::Yes(found) => found,
        Seen::Maybe => return Seen::Maybe,
        Seen::No => return Seen::No,
    };
    let after = &inside[length..];
    match attributes_end(after, context.end) {
        Start::Yes(stop) => {
            let attributes = after[..stop].strip_suffix('/').unwrap_or(&after[..stop]).trim().to_owned();
            let closed = after[..stop].ends_with('/');
            if !context.lenient && !closed && !attributes.is_empty() {
                return Seen::No;
            }
            let body = at + 1 + length + stop + 1;
            Seen::Yes((tool, Head { name: tool.name.clone(), key: None, body, closed, attributes, lone: false }))
        }
        Start::Maybe => Seen::Maybe,
        Start::No => Seen::No,
    }
}

/// The tool whose name a tag has, and the length of the name. `text` follows the bracket.
pub(in crate::adapter) fn named<'t>(text: &str, tools: &'t Tools, end: bool) -> Seen<(&'t Tool, usize)> {
    let mut maybe = false;
    for tool in tools.iter() {
        match may_be_named(text, &tool.name, end) {
            Start::Yes(length) => return Seen::Yes((tool, length)),
            start => maybe |= start == Start::Maybe,
        }
    }
    if maybe { Seen::Maybe } else { Seen::No }
}

/// Whether a tag has this name; `text` follows its bracket. `Yes` has the length of the name.
pub(super) fn may_be_named(text: &str, name: &str, end: bool) -> Start {
    match text.strip_prefix(name) {
        Some(after) if after.starts_with([' ', '\t', '\r', '\n', '/', '>']) => Start::Yes(name.len()),
        _ if !end && name.starts_with(text) => Start::Maybe,
        _ => Start::No,
    }
}

/// The length of a tag's name, which may be escaped for Markdown.
fn name_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '\\'))).unwrap_or(text.len())
}

/// Where the attributes that `text` begins with end: at the tag's `>`, outside of quotes.
fn attributes_end(text: &str, end: bool) -> Start {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in text.char_indices().take(HEAD_BYTES) {
        match (quote, c) {
            (Some(open), _) if c == open => (quote, before) = (None, c),
            (Some(_), _) => {}
            (None, '>') => return Start::Yes(at),
            (None, '"' | '\'') if before == '=' => quote = Some(c),
            (None, '<' | '"' | '\'') => return Start::No,
            // The quote of a value is not followed by more of it.
            (None, _) if matches!(before, '"' | '\'') && !(c.is_whitespace() || c == '/') => return Start::No,
            (None, _) => before = c,
        }
    }
    if end || text.len() > HEAD_BYTES { Start::No } else { Start::Maybe }
}
