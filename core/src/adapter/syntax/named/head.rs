//! The name, with what surrounds it up to the arguments.

use crate::{
    adapter::{
        Named,
        asides::ends,
        syntax::{
            Context, Start, WORD_BYTES,
            ahead::{Seen, Word, word},
            begins_with_a_name, blank, starts_with_any,
            typing::Types,
        },
    },
    event::{Tool, Tools},
};

/// The fence around arguments.
pub(super) const FENCE: &str = "```";

/// What precedes the arguments.
#[derive(Debug, Clone, Default)]
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
pub(super) fn head(text: &str, named: &Named, context: Context<'_>) -> Seen<Head> {
    let mut head = Head::default();
    let mut at = blank(text);
    if named.id_first
        && let Some([open, close]) = &named.id
    {
        match id(&text[at..], open, close, context.end) {
            Seen::Yes((found, length)) => (head.id, at) = (Some(found), at + length),
            Seen::Maybe => return Seen::Maybe,
            Seen::No => return Seen::No,
        }
    }
    match starts_with_any(&text[at..], &named.open, context.end) {
        Start::Yes(length) => at += length,
        Start::Maybe => return Seen::Maybe,
        Start::No if named.open.iter().any(String::is_empty) || named.open.is_empty() => {}
        Start::No => return Seen::No,
    }
    if context.call.whole_answer && !begins_with_a_name(&text[at..], &named.close, context) {
        return Seen::No;
    }
    // An id after the name and the markers without information end the name too. They are read again below.
    let id_marker = named.id.as_ref().filter(|_| !named.id_first).map(|[open, _]| open);
    let brace = named.close.iter().any(String::is_empty).then_some("{");
    let ends = named.close.iter().map(String::as_str).filter(|end| !end.is_empty());
    // The arguments of a tool without parameters may be missing, with everything before them.
    let ends = ends.chain(id_marker.map(String::as_str)).chain(brace).chain(context.close.iter().map(String::as_str));
    let ends = ends.chain(followers(context));
    let (written, end, length) = match word(&text[at..], ends, context.end) {
        Seen::Yes(Word { name, at: end, length }) => (&text[at + name.start..at + name.end], at + end, length),
        Seen::Maybe | Seen::No if takes_nothing(text[at..].trim(), context) => (text[at..].trim(), text.len(), 0),
        Seen::Maybe => return Seen::Maybe,
        Seen::No => return Seen::No,
    };
    let Some((name, written_id)) = name(unglued(written, named, context.tools), named) else { return Seen::No };
    head.name = name;
    head.id = head.id.or(written_id);
    let marker = &text[end..end + length];
    let consumed = named.close.iter().any(|close| close == marker);
    at = if consumed { end + length } else { end };
    head.opened = consumed && !marker.trim().is_empty();
    head.ended = if consumed { [' ', '\n', '>'].into_iter().find(|end| marker == end.to_string()) } else { None };
    if let Some([open, close]) = named.id.as_ref().filter(|_| !named.id_first)
        && text[at..].starts_with(open.as_str())
    {
        match id(&text[at..], open, close, context.end) {
            Seen::Yes((found, length)) => (head.id, at) = (Some(found), at + length),
            Seen::Maybe => return Seen::Maybe,
            Seen::No => return Seen::No,
        }
    }
    loop {
        let gap = blank(&text[at..]);
        match starts_with_any(&text[at + gap..], &named.skip, context.end) {
            Start::Yes(length) => (head.announced, at) = (true, at + gap + length),
            Start::Maybe => return Seen::Maybe,
            Start::No => {
                (head.body, head.fenced) = (at, text[..at].contains(FENCE));
                return Seen::Yes(head);
            }
        }
    }
}

/// Whether a marked call at the end of the text may lack only empty arguments: an offered tool has exactly this name and takes no
/// parameters, and no other tool's name continues it. The model may have meant to write some, so it is asked again.
pub(super) fn takes_nothing(name: &str, context: Context<'_>) -> bool {
    let longer = |tool: &Tool| tool.name.len() > name.len() && tool.name.starts_with(name);
    context.end
        && context.marked
        && !context.call.fallback
        && !context.tools.iter().any(longer)
        && context.tools.get(name).is_some_and(|tool| Types::new(Some(tool)).is_empty())
}

/// What follows a call of a form without a closing marker: the token at the end of an answer, or the next call. Empty for other forms.
fn followers(context: Context<'_>) -> impl Iterator<Item = &str> + Clone {
    let is_open = context.marked && context.close.is_empty() && !context.call.fallback;
    let next = context.call.open.iter().map(String::as_str).filter(|open| !open.is_empty());
    next.chain(ends()).filter(move |_| is_open)
}

/// What follows the name in place of the arguments.
pub(super) enum Without {
    /// There are arguments, or it is not clear whether there are.
    No,
    Maybe,
    /// The call ends here, and its tool needs no arguments.
    Whole,
    /// The call ends here without the arguments that its tool needs.
    Torn,
}

/// Whether a call of a form without a closing marker ends at `text`, right after its name. At the end of the answer, more than a name
/// must say so: a marker that arguments follow, or that the tool takes none and the name cannot go on.
pub(super) fn without_arguments(text: &str, head: &Head, context: Context<'_>) -> Without {
    let Some(types) = context.tools.get(&head.name).map(|tool| Types::new(Some(tool))) else { return Without::No };
    let requires_none = || types.keys().next().is_some() && types.required().next().is_none();
    let needs_none = types.is_empty() || head.opened && requires_none();
    let over = text.is_empty() && context.end && !context.cut && followers(context).next().is_some();
    match starts_with_any(text, followers(context), context.end) {
        Start::Maybe => Without::Maybe,
        Start::Yes(_) if needs_none => Without::Whole,
        Start::Yes(_) => Without::Torn,
        Start::No if over && needs_none && (head.opened || takes_nothing(&head.name, context)) => Without::Whole,
        Start::No => Without::No,
    }
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
    if tools.get(written).is_some() {
        return written;
    }
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
