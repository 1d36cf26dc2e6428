//! An element whose own tags are missing, as the whole content of a code fence: the tool's name, then its parameters as
//! elements, as lines, or as JSON. Small models write it where the prompt asks for elements. The name alone proves less than a
//! tag, so everything in the fence must be a parameter of the tool, and the required ones must be there.

use std::ops::Range;

use super::loose;
use crate::{
    adapter::syntax::{Context, assignments::lines, blank, typing::Types},
    event::{Tool, Tools},
};

/// What a fence begins with.
pub(super) enum Head<'t> {
    /// A tool's name, and where its parameters begin.
    Tool(&'t Tool, usize),
    Maybe,
    No,
}

/// What a fence holds.
pub(super) enum Content {
    /// The arguments as JSON text, and where the text goes on after the closing fence.
    Call(String, usize),
    Maybe,
    No,
}

/// Whether the content of a fence may begin with the name of a tool.
pub(in crate::adapter) fn may_begin(text: &str, tools: &Tools) -> bool {
    !matches!(head(text, tools), Head::No)
}

/// The tool that a fence names first, alone or before its parameters.
pub(super) fn head<'t>(text: &str, tools: &'t Tools) -> Head<'t> {
    let at = blank(text);
    let mut maybe = false;
    for tool in tools.iter() {
        match text[at..].strip_prefix(tool.name.as_str()) {
            Some(after) if after.starts_with(char::is_whitespace) => return Head::Tool(tool, at + tool.name.len()),
            Some(after) => maybe |= after.is_empty(),
            None => maybe |= tool.name.starts_with(&text[at..]),
        }
    }
    if maybe { Head::Maybe } else { Head::No }
}

/// The call of a fence whose closing ticks are at `close`.
pub(super) fn read(text: &str, body: usize, close: Range<usize>, types: &Types, context: Context<'_>) -> Content {
    let behind = text[close.end..].trim_start_matches([' ', '\t', '\r']);
    if behind.is_empty() && !context.end {
        return Content::Maybe;
    }
    let begins_line = text[..close.start].trim_end_matches([' ', '\t']).ends_with('\n');
    let alone = behind.is_empty() || behind.starts_with('\n');
    match arguments(text[body..close.start].trim(), types).filter(|_| begins_line && alone) {
        Some(arguments) => Content::Call(arguments, close.end),
        None => Content::No,
    }
}

/// The parameters as JSON text. `None` if one of them is unknown or missing.
fn arguments(body: &str, types: &Types) -> Option<String> {
    if let Ok(object) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(body) {
        return types.take(object.keys().map(String::as_str)).then(|| body.to_owned());
    }
    let members = match body.starts_with('<') {
        true => loose::values(&loose::elements(body, types)?, types),
        false => quoted(body, types).or_else(|| lines(body, types))?,
    };
    let known = !members.is_empty() && types.take(members.iter().map(|(key, _)| key.as_str()));
    known.then(|| loose::object(&members))
}

/// The one parameter that it can be, in quotes after the name: `run_command "cargo test"`.
fn quoted(body: &str, types: &Types) -> Option<Vec<(String, String)>> {
    let inner = ['"', '\''].into_iter().find_map(|quote| {
        let inner = body.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains([quote, '\n'])).then_some(inner)
    })?;
    Some(loose::values(&vec![(loose::only(types)?.to_owned(), inner.to_owned())], types))
}
