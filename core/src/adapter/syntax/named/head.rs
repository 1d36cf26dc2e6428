//! The name, with what surrounds it up to the arguments.

use crate::{
    adapter::{
        Named,
        syntax::{
            Context, Step, WORD_BYTES,
            ahead::{Seen, Word, word},
            begins_with_a_name, blank, starts_with_any,
        },
    },
    event::Tools,
};

/// The fence around arguments.
pub(super) const FENCE: &str = "```";

/// What precedes the arguments.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Head {
    pub(super) name: String,
    pub(super) id: Option<String>,
    /// Start of the arguments.
    pub(super) body: usize,
    /// Whether they are in a code fence.
    pub(super) fenced: bool,
    /// Whether one of `Named::skip` precedes them.
    pub(super) announced: bool,
    /// Whether a marker says that arguments follow.
    pub(super) opened: bool,
    /// What ends the name, if it ends with its word, its line or its tag.
    pub(super) ended: Option<char>,
}

/// Reads what precedes the arguments.
pub(super) fn head(text: &str, named: &Named, context: Context<'_>) -> Result<Head, Step> {
    let (mut head, mut at) = (Head::default(), blank(text));
    let (first, last) = if named.id_first { (named.id.as_ref(), None) } else { (None, named.id.as_ref()) };
    if let Some([open, close]) = first {
        let (found, length) = id(&text[at..], open, close, context.end).sure()?.ok_or(Step::Reject)?;
        (head.id, at) = (Some(found), at + length);
    }
    match starts_with_any(&text[at..], &named.open, context.end).sure()? {
        Some(length) => at += length,
        None if named.open.iter().any(String::is_empty) || named.open.is_empty() => {}
        None => return Err(Step::Reject),
    }
    if context.call.whole_answer && !begins_with_a_name(&text[at..], &named.close, context) {
        return Err(Step::Reject);
    }
    // An id after the name and the markers without information end the name too. They are read again below.
    let brace = named.close.iter().any(String::is_empty).then_some("{");
    let ends = named.close.iter().filter(|end| !end.is_empty()).chain(last.map(|[open, _]| open)).chain(context.close);
    let ends = ends.map(String::as_str).chain(brace);
    let Word { name: written, at: end, length } = word(&text[at..], ends, context.end).sure()?.ok_or(Step::Reject)?;
    let written = &text[at + written.start..at + written.end];
    let (name, written_id) = name(unglued(written, named, context.tools), named).ok_or(Step::Reject)?;
    head.name = name;
    head.id = head.id.or(written_id);
    at += end;
    let marker = &text[at..at + length];
    if named.close.iter().any(|close| close == marker) {
        at += length;
        head.opened = !marker.trim().is_empty();
        head.ended = [' ', '\n', '>'].into_iter().find(|end| marker == end.to_string());
    }
    if let Some([open, close]) = last
        && text[at..].starts_with(open.as_str())
    {
        let (found, length) = id(&text[at..], open, close, context.end).sure()?.ok_or(Step::Reject)?;
        (head.id, at) = (Some(found), at + length);
    }
    loop {
        let gap = blank(&text[at..]);
        let Some(length) = starts_with_any(&text[at + gap..], &named.skip, context.end).sure()? else { break };
        (head.announced, at) = (true, at + gap + length);
    }
    (head.body, head.fenced) = (at, text[..at].contains(FENCE));
    Ok(head)
}

/// The id that `text` begins with, and its length including the markers. Without a closing marker, the id ends with its letters
/// and digits.
fn id(text: &str, open: &str, close: &str, over: bool) -> Seen<(String, usize)> {
    if !text.starts_with(open) {
        return if !over && open.starts_with(text) { Seen::Maybe } else { Seen::No };
    }
    let tail = &text[open.len()..];
    let stop =
        if close.is_empty() { tail.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-') } else { tail.find(close) };
    match stop {
        Some(stop) if stop <= WORD_BYTES => Seen::Yes((tail[..stop].trim().to_owned(), open.len() + stop + close.len())),
        None if !over && tail.len() < WORD_BYTES + close.len().max(1) => Seen::Maybe,
        _ => Seen::No,
    }
}

/// Removes a word that ends names from the end of a name, where a stripped marker was between them (`fcommentary json{...}`).
fn unglued<'t>(written: &'t str, named: &Named, tools: &Tools) -> &'t str {
    let ends = named.close.iter().filter(|end| end.chars().all(char::is_alphabetic) && !end.is_empty());
    ends.filter_map(|end| written.strip_suffix(end.as_str())).find(|bare| tools.get(bare).is_some()).unwrap_or(written)
}

/// Splits the text in place of the name into name and id. `None`: it cannot be a name.
fn name(written: &str, named: &Named) -> Option<(String, Option<String>)> {
    let mut name = written;
    for prefix in &named.prefix {
        name = name.strip_prefix(prefix.as_str()).unwrap_or(name);
    }
    let mut id = None;
    if named.name_is_id {
        id = Some(written.to_owned());
        if let Some((before, number)) = name.rsplit_once(':')
            && number.chars().all(|c| c.is_ascii_digit())
        {
            name = before;
        }
    }
    (!name.is_empty()).then(|| (name.to_owned(), id))
}
