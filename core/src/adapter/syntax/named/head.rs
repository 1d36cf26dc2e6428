//! The name, with what surrounds it up to the arguments.

use crate::{
    adapter::{
        Named,
        asides::ENDS,
        syntax::{
            Context, Start, WORD_BYTES,
            ahead::{Seen, Word, word},
            begins_with_a_name, blank, starts_with_any,
            typing::Types,
        },
    },
    event::{Tool, Tools},
    fix::name::is_known,
};

/// The word for a tool after its name.
const TOOL: &str = "tool";
/// Words after a name which say that the tool may not be meant.
const DOUBTS: [&str; 5] = ["not", "no", "or", "if", "unless"];
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
    /// What ends the name, if it ends with its line or its tag.
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
        Seen::No if !named.line => return Seen::No,
        Seen::No => match offered(&text[at..], context.tools).map_or_else(|| titled(&text[at..], context), Seen::Yes) {
            Seen::Yes(name) => (name, at + name.len(), usize::from(text[at + name.len()..].starts_with('\n'))),
            Seen::Maybe => return Seen::Maybe,
            Seen::No => return Seen::No,
        },
    };
    let is_ended = length > 0;
    let Some((name, written_id)) = name(unglued(written, named, context.tools), named) else { return Seen::No };
    head.name = name;
    head.id = head.id.or(written_id);
    let marker = &text[end..end + length];
    let consumed = named.close.iter().any(|close| close == marker);
    at = if consumed { end + length } else { end };
    head.opened = consumed && !marker.trim().is_empty();
    head.ended = if consumed { ['\n', '>'].into_iter().find(|end| marker == end.to_string()) } else { None };
    if let Some([open, close]) = named.id.as_ref().filter(|_| !named.id_first)
        && text[at..].starts_with(open.as_str())
    {
        match id(&text[at..], open, close, context.end) {
            Seen::Yes((found, length)) => (head.id, at) = (Some(found), at + length),
            Seen::Maybe => return Seen::Maybe,
            Seen::No => return Seen::No,
        }
    }
    if named.line {
        match described(&text[at..], named, context) {
            Start::Yes(length) => at += length,
            Start::Maybe => return Seen::Maybe,
            Start::No if is_ended => {}
            Start::No => return Seen::No,
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
    next.chain(ENDS).filter(move |_| is_open)
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

/// The name of an offered tool that `text` begins with, in any case.
fn offered<'t>(text: &'t str, tools: &Tools) -> Option<&'t str> {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || "_-./".contains(c));
    let begins = |tool: &Tool| {
        let name = text.get(..tool.name.len())?;
        (name.eq_ignore_ascii_case(&tool.name) && !goes_on(&text[name.len()..])).then_some(name)
    };
    tools.iter().filter_map(begins).max_by_key(|name| name.len())
}

/// A line of words that mean an offered tool: `Web Search`.
fn titled<'t>(text: &'t str, context: Context<'_>) -> Seen<&'t str> {
    let line = text.find('\n');
    let words = text[..line.unwrap_or(text.len())].trim_end();
    if words.len() > WORD_BYTES || words.contains(|c: char| !(c.is_alphanumeric() || c == ' ')) {
        return Seen::No;
    }
    match line {
        None if !context.end => Seen::Maybe,
        _ if is_known(context.tools, words) => Seen::Yes(words),
        _ => Seen::No,
    }
}

/// Whether a name is described on the rest of its line, above a marker of the arguments: `add (two numbers)`, `add - adds`, `add
/// tool`. `Yes` has the length of the rest.
fn described(text: &str, named: &Named, context: Context<'_>) -> Start {
    let rest = text.trim_start_matches(' ');
    let spaced = rest.len() < text.len();
    let dashed = spaced && (rest.starts_with(['-', '\u{2013}', '\u{2014}']) || rest.starts_with(TOOL));
    if !(dashed || rest.starts_with(['(', ':'])) {
        let may_be = spaced && !rest.is_empty() && TOOL.starts_with(rest) && !context.end;
        return if may_be { Start::Maybe } else { Start::No };
    }
    let Some(line) = text.find('\n') else {
        return if !context.end && text.len() <= WORD_BYTES { Start::Maybe } else { Start::No };
    };
    // What may be a call in Python, or JSON, is not a description; nor is what says that this tool is not meant.
    let doubts = || text[..line].split(|c: char| !c.is_alphabetic()).any(|word| DOUBTS.contains(&word));
    if line > WORD_BYTES || text[..line].contains(['"', '\'', '=', '{']) || doubts() {
        return Start::No;
    }
    let next = &text[line + blank(&text[line..])..];
    match starts_with_any(next, named.skip.iter().filter(|marker| !marker.starts_with('`')), context.end) {
        Start::No if next.is_empty() && !context.end => Start::Maybe,
        Start::Yes(_) => Start::Yes(line),
        start => start,
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
