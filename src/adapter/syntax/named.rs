//! Reads the name, then JSON: `get_weather[ARGS]{...}`, `functions.f:0<|tool_call_argument_begin|>{...}`, `f\n{...}`. An id may
//! precede the name, follow it, or take its place.

use super::{
    Closing, Context, Parsed, Start, Step, UNFINISHED, WORD_BYTES,
    ahead::{Seen, Word, word},
    begins_with_a_name, blank,
    json::introduced,
    members::members,
    starts_with_any,
    typing::Types,
    value::{After, Got, TornReader, Trail, ValueReader, goes_on, is_json, plain_end, reopened, reopened_to_end},
};
use crate::{
    adapter::Named,
    event::{Tool, Tools},
    fix::name::known_tool,
};

mod bare;

const FENCE: &str = "```";
/// The arguments of a call that ends before them, as incomplete as the call.
const NO_ARGUMENTS: &str = "{ ";

/// Reads one call.
#[derive(Debug, Default)]
pub(crate) struct NamedReader {
    head: Option<Head>,
    body: Body,
}

/// What precedes the arguments.
#[derive(Debug, Clone, Default)]
struct Head {
    name: String,
    id: Option<String>,
    /// Start of the arguments.
    body: usize,
    /// Whether they are in a code fence.
    fenced: bool,
    /// Whether one of `Named::skip` precedes them.
    announced: bool,
    /// Whether a marker says that arguments follow.
    opened: bool,
    /// What ends the name, if it ends with its line or its tag.
    ended: Option<char>,
}

#[derive(Debug, Default)]
enum Body {
    #[default]
    Before,
    /// An object or array.
    Value(ValueReader),
    /// JSON inside a string, scanned up to `seen`.
    Quoted {
        quote: u8,
        seen: usize,
    },
    Torn(TornReader),
    /// Text in place of the arguments, up to the closing marker.
    Bare(Closing),
    /// The arguments end here.
    Ended {
        end: usize,
        trail: Trail,
    },
}

impl Body {
    fn ended(end: usize) -> Body {
        Body::Ended { end, trail: Trail::after(end) }
    }
}

impl NamedReader {
    pub(crate) fn read(&mut self, text: &str, named: &Named, context: Context<'_>) -> Step {
        if self.head.is_none() {
            match head(text, named, context) {
                Seen::Maybe => return Step::More,
                Seen::No if context.end && matches!(head(text, named, Context { end: false, ..context }), Seen::Maybe) => {
                    return Step::nameless();
                }
                Seen::No => return Step::Reject,
                Seen::Yes(head) => self.head = Some(head),
            }
        }
        let Some(head) = &mut self.head else { return Step::Reject };
        if matches!(self.body, Body::Before) {
            head.body += blank(&text[head.body..]);
        }
        let (head, from) = (&*head, head.body);
        let parsed =
            |end: usize| Parsed { name: head.name.clone(), id: head.id.clone(), arguments: text[from..end].trim().to_owned() };
        let in_line = |end: usize| {
            let call = parsed(end);
            let line = named.line && head.announced && !call.arguments.starts_with(['{', '[', '"', '\'']);
            // The fixer knows what the line is if there is only one parameter.
            let several = |tool: &&Tool| Types::new(Some(tool)).keys().nth(1).is_some();
            let tool = known_tool(context.tools, &head.name).filter(|_| line).filter(several);
            let object = tool.and_then(|tool| bare::arguments(&call.arguments, tool));
            Parsed { arguments: object.unwrap_or(call.arguments), ..call }
        };
        let unfinished = || if context.end { Step::cut(parsed(text.len())) } else { Step::More };
        // The quotes of a value without a visible end may be broken.
        let ended_anyhow = || {
            let (begin, end) = plain_end(&text[from..], context.close)?;
            Some(done(parsed(from + begin), from + end, named, context))
        };
        loop {
            match &mut self.body {
                Body::Before => {
                    self.body = match text.as_bytes().get(from) {
                        Some(b'{' | b'[') => Body::Value(ValueReader::at(from)),
                        Some(&quote @ (b'"' | b'\'')) => Body::Quoted { quote, seen: from + 1 },
                        None if !context.end => return Step::More,
                        None if !head.opened && takes_nothing(&head.name, context) => {
                            return Step::cut(Parsed { arguments: NO_ARGUMENTS.to_owned(), ..parsed(from) });
                        }
                        None => return unfinished(),
                        Some(_) => match starts_with_any(&text[from..], context.close, context.end) {
                            // A name alone in a fence is a command or a list item.
                            Start::Yes(_) if context.call.whole_answer => return Step::Reject,
                            Start::Yes(_) => Body::ended(from),
                            Start::Maybe => return Step::More,
                            Start::No if is_bare(head.ended, context) => Body::Bare(Closing::after(from)),
                            Start::No if !(named.line && head.announced) => return Step::Reject,
                            Start::No => match text[from..].find('\n') {
                                Some(length) => Body::ended(from + length),
                                None => return unfinished(),
                            },
                        },
                    };
                }
                Body::Value(value) => match value.read(text, context.close, context.end) {
                    Got::More if context.end => return ended_anyhow().unwrap_or_else(unfinished),
                    Got::More => return Step::More,
                    Got::Closed(begin, end) => return done(parsed(begin), end, named, context),
                    Got::Balanced(end) => self.body = Body::ended(end),
                },
                Body::Quoted { quote, seen } => {
                    let rest = text.as_bytes().get(*seen..).unwrap_or_default();
                    match memchr::memchr2(*quote, b'\\', rest) {
                        Some(found) if rest.get(found) == Some(quote) => {
                            let end = *seen + found + 1;
                            match text[end..].trim_start().as_bytes().first() {
                                None if !context.end => return Step::More,
                                // Members without their brace.
                                Some(b':') => self.body = Body::Torn(TornReader::inside(end)),
                                _ => self.body = Body::ended(end),
                            }
                        }
                        Some(found) => *seen += found + 2,
                        None => {
                            *seen = (*seen).max(text.len());
                            return unfinished();
                        }
                    }
                }
                Body::Torn(torn) => {
                    let (seeming_end, inside) = (torn.end, torn.inside);
                    let goes_on = |end: usize| {
                        let call = parsed(end);
                        let whole = reopened(&call.arguments, seeming_end - from).filter(|_| inside);
                        Parsed { arguments: whole.unwrap_or(call.arguments), ..call }
                    };
                    return match torn.read(text, context.close) {
                        Some((begin, end)) => done(goes_on(begin), end, named, context),
                        None if context.end && inside => match reopened_to_end(&text[from..], seeming_end - from) {
                            Some(whole) => done(Parsed { arguments: whole, ..parsed(text.len()) }, text.len(), named, context),
                            None => ended_anyhow().unwrap_or_else(unfinished),
                        },
                        None if context.end => done(parsed(torn.end), torn.end, named, context),
                        None => Step::More,
                    };
                }
                Body::Bare(closing) => {
                    let Some(tool) = known_tool(context.tools, &head.name) else { return Step::Reject };
                    let Some((begin, end)) = closing.find(text, context.close) else {
                        return match context.end {
                            true if context.marked => Step::cut(Parsed::new(head.name.as_str(), UNFINISHED)),
                            true => Step::Reject,
                            false => Step::More,
                        };
                    };
                    let body = bare::without_tag(&text[from..begin]);
                    return match bare::arguments(body, tool) {
                        Some(arguments) => Step::done(Parsed::new(head.name.as_str(), arguments), end),
                        None if !context.marked => Step::Reject,
                        None => Step::Torn {
                            whole: Vec::new(),
                            torn: Parsed::new(head.name.as_str(), body.trim()),
                            why: "its parameters have no names",
                            end,
                        },
                    };
                }
                Body::Ended { end, trail } => {
                    // A fence around the arguments is framing.
                    if head.fenced && trail.end == *end && trail.fence(text, FENCE, context.end) == Start::Maybe {
                        return Step::More;
                    }
                    let end = *end;
                    let after = match trail.read(text, context.close, context.end) {
                        after if text[from..].starts_with('{') => after.of_object(&text[end..], context.close, context.end),
                        after => after,
                    };
                    match after {
                        After::More => return Step::More,
                        After::Marker(at) => return done(in_line(end), at, named, context),
                        After::Inside => self.body = Body::Torn(TornReader::inside(end)),
                        After::Nothing if text[from..].starts_with(['{', '[', '"', '\'']) && !is_json(text[from..end].trim()) => {
                            match goes_on(&text[end..]) {
                                _ if !context.close.is_empty() => self.body = Body::Torn(TornReader::after(end)),
                                Start::Maybe if !context.end => return Step::More,
                                Start::Yes(_) => self.body = Body::Torn(TornReader::inside(end)),
                                Start::Maybe | Start::No => return done(parsed(end), trail.end, named, context),
                            }
                        }
                        After::Nothing => return done(in_line(end), trail.end, named, context),
                    }
                }
            }
        }
    }

    /// The name, if it was seen.
    pub(crate) fn name(&self) -> Option<String> {
        self.head.as_ref().map(|head| head.name.clone())
    }
}

/// Whether text may take the place of the arguments: after any marker, or in a tag that contains the name (`<function=f>`).
fn is_bare(ended: Option<char>, context: Context<'_>) -> bool {
    let tag = !context.marked && !context.call.whole_answer && context.close == context.call.close && ended == Some('>');
    !context.close.is_empty() && (tag || context.call.fallback && ended.is_some())
}

/// A call was read up to `end`.
fn done(call: Parsed, end: usize, named: &Named, context: Context<'_>) -> Step {
    if let Some(calls) = introduced(&call.name, &call.arguments, context) {
        return Step::Done { calls, end };
    }
    if !(named.name_from_arguments && call.name.bytes().all(|byte| byte.is_ascii_digit())) {
        return Step::done(call, end);
    }
    match fitting(&call.arguments, context.tools) {
        Some(tool) => Step::done(Parsed::new(&tool.name, call.arguments), end),
        None => Step::Reject,
    }
}

/// Whether a marked call at the end of the text may lack only empty arguments: an offered tool has exactly this name and takes no
/// parameters, and no other tool's name continues it. The model may have meant to write some, so it is asked again.
fn takes_nothing(name: &str, context: Context<'_>) -> bool {
    let longer = |tool: &Tool| tool.name.len() > name.len() && tool.name.starts_with(name);
    context.end
        && context.marked
        && !context.call.fallback
        && !context.tools.iter().any(longer)
        && context.tools.get(name).is_some_and(|tool| Types::new(Some(tool)).is_empty())
}

/// The only offered tool that has all of these parameters and requires no other.
fn fitting<'t>(arguments: &str, tools: &'t Tools) -> Option<&'t Tool> {
    let given: Vec<String> = members(arguments)?.into_iter().map(|(key, _)| key).collect();
    let mut fitting = tools.iter().filter(|tool| Types::new(Some(tool)).take(given.iter().map(String::as_str)));
    let first = fitting.next().filter(|_| !given.is_empty())?;
    fitting.next().is_none().then_some(first)
}

fn head(text: &str, named: &Named, context: Context<'_>) -> Seen<Head> {
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
