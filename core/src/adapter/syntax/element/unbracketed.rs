//! Reads an element without its own tags, as the whole content of a code fence: the tool's name, then its parameters as elements,
//! as lines, or as JSON. Small models write it if the prompt asks for elements. A bare name proves less than a tag, so the fence
//! may contain nothing but parameters of the tool, with all required ones.

use std::ops::Range;

use super::loose;
use crate::{
    adapter::syntax::{
        Context, Seen,
        assignments::{Values, assignments},
        blank,
        members::object,
        typing::Types,
    },
    event::{Tool, Tools},
};

pub(super) enum Content {
    /// The arguments as JSON text, and the end of the closing fence.
    Call(String, usize),
    Maybe,
    No,
}

/// Whether a fence may begin with the name of a tool.
pub(in crate::adapter) fn may_begin(text: &str, tools: &Tools) -> bool {
    head(text, tools) != Seen::No
}

/// The tool whose name begins a fence, alone or before parameters, and the start of these.
pub(super) fn head<'t>(text: &str, tools: &'t Tools) -> Seen<(&'t Tool, usize)> {
    let at = blank(text);
    let mut maybe = false;
    for tool in tools.iter() {
        match text[at..].strip_prefix(tool.name.as_str()) {
            Some(after) if after.starts_with(char::is_whitespace) => return Seen::Yes((tool, at + tool.name.len())),
            Some(after) => maybe |= after.is_empty(),
            None => maybe |= tool.name.starts_with(&text[at..]),
        }
    }
    if maybe { Seen::Maybe } else { Seen::No }
}

/// Reads a fence whose closing ticks are at `close`.
pub(super) fn read(text: &str, body: usize, close: Range<usize>, types: &Types, context: Context<'_>) -> Content {
    let after = text[close.end..].trim_start_matches([' ', '\t', '\r']);
    if after.is_empty() && !context.end {
        return Content::Maybe;
    }
    let begins_line = text[..close.start].trim_end_matches([' ', '\t']).ends_with('\n');
    let alone = after.is_empty() || after.starts_with('\n');
    match arguments(&text[body..close.start], types).filter(|_| begins_line && alone) {
        Some(arguments) => Content::Call(arguments, close.end),
        None => Content::No,
    }
}

/// The parameters as JSON text. `None`: one of them is unknown or missing.
fn arguments(written: &str, types: &Types) -> Option<String> {
    let body = written.trim();
    if let Ok(object) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(body) {
        return types.take(object.keys().map(String::as_str)).then(|| body.to_owned());
    }
    let members = match body.starts_with('<') {
        true => loose::values(&loose::elements(body, types)?, types),
        false => quoted(body, types).or_else(|| assignments(written, types, Values::Lines).ok())?,
    };
    let known = !members.is_empty() && types.take(members.iter().map(|(key, _)| key.as_str()));
    known.then(|| object(&members))
}

/// Reads the only possible parameter, quoted after the name: `run_command "cargo test"`.
fn quoted(body: &str, types: &Types) -> Option<Vec<(String, String)>> {
    let inner = ['"', '\''].into_iter().find_map(|quote| {
        let inner = body.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains([quote, '\n'])).then_some(inner)
    })?;
    Some(loose::values(&vec![(loose::only(types)?.to_owned(), inner.to_owned())], types))
}
