//! Reads a tag named after the tool: `<read_file><uri>src/main.rs</uri></read_file>`, or with JSON inside.

use super::{
    Context, Seen, Start, Step, blank,
    tagged::{
        head::Head,
        markers::{Keys, Markers},
        read_after,
    },
};
use crate::{
    adapter::Tagged,
    event::{Tool, Tools},
    fix::View,
};

#[cfg(test)]
mod tests;

/// Maximum length of the attributes of a tag, in bytes.
const HEAD_BYTES: usize = 1024;

/// Reads one call. The body begins at the tag.
pub(crate) fn read(text: &str, tagged: &Tagged, context: Context<'_>) -> Step {
    let keys = if context.lenient { Keys::Any } else { Keys::Elements };
    match opened(text, context) {
        Ok((tool, head)) => {
            let view = View::of(Some(tool));
            let form = Markers { name: &tool.name, parameters: view.root(), keys, ..Markers::new(tagged, context) };
            read_after(text, &head, form)
        }
        Err(Step::More) if !context.end => Step::More,
        Err(_) => Step::Reject,
    }
}

/// The tool whose opening tag `text` begins with.
fn opened<'t>(text: &str, context: Context<'t>) -> Result<(&'t Tool, Head), Step> {
    let at = blank(text);
    let Some(inside) = text[at..].strip_prefix('<') else {
        return Err(if at == text.len() { Step::More } else { Step::Reject });
    };
    let (tool, length) = named(inside, context.tools, context.end).sure()?.ok_or(Step::Reject)?;
    let after = &inside[length..];
    let stop = attributes_end(after, context.end).sure()?.ok_or(Step::Reject)?;
    let attributes = after[..stop].strip_suffix('/').unwrap_or(&after[..stop]).trim().to_owned();
    let closed = after[..stop].ends_with('/');
    Ok((tool, Head { name: tool.name.clone(), key: None, body: at + length + stop + 2, closed, attributes }))
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
