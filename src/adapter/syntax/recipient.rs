//! Reads a header that names the recipient, then the body:
//! `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{...}`, `>>>f\n{...}`. The recipient may precede or follow
//! the channel. The kind of the body may be glued to its name.

use super::{
    Context, Parsed, Seen, Start, Step, UNFINISHED, blank, find_any, starts_with_any,
    tagged::TaggedReader,
    unclosed,
    value::{After, Got, TornReader, Trail, ValueReader, is_json, plain_end},
};
use crate::{
    adapter::{Parameters, Recipient, Tagged, Trim, syntax::place::Document},
    event::{Tool, Tools},
    fix::{
        Types, begins_as_member,
        name::{is_known, known_tool},
    },
};

mod stripped;
pub(crate) use stripped::stripped;

/// The recipient of a tool's message.
const ASSISTANT: &str = "assistant";
/// Maximum length of a header, in bytes.
const HEADER_BYTES: usize = 512;

/// A header that was read.
#[derive(Debug, PartialEq)]
pub(crate) struct Header {
    /// Its length, up to the start of the message.
    pub(crate) length: usize,
    pub(crate) kind: Kind,
}

/// What a message is.
#[derive(Debug, PartialEq)]
pub(crate) enum Kind {
    Reasoning,
    Content,
    /// A call of this tool, named as the model wrote it.
    Call(String),
    /// A tool's result, which is not a message of the model.
    Result,
}

/// Reads one message: usually one call. The body begins at the header.
#[derive(Debug, Default)]
pub(crate) struct RecipientReader {
    head: Option<Head>,
    /// The calls that were read from the body so far.
    whole: Vec<Parsed>,
    body: Body,
}

/// The header of the call.
#[derive(Debug)]
struct Head {
    name: String,
    /// Start of the arguments.
    body: usize,
    /// The tags that they may be written in.
    tags: Option<Tagged>,
    /// What ends the message. The next header also ends it, and is not consumed.
    ends: Vec<String>,
}

#[derive(Debug, Default)]
enum Body {
    #[default]
    Before,
    /// One tag for each argument.
    Tagged(Box<TaggedReader>),
    /// An object.
    Value(ValueReader),
    /// After an object whose brackets are balanced.
    Ended(Trail),
    Torn(TornReader),
    /// Text, searched for its end from `seen`: the value of the tool's only parameter (`key`), or whatever the fixer makes of it.
    Raw {
        key: Option<String>,
        seen: usize,
    },
}

/// The header that `text` begins with. `inside`: the text begins after the header's first marker.
pub(crate) fn header(text: &str, data: &Recipient, inside: bool, end: bool) -> Seen<Header> {
    match stripped::stripped_header(text, data, inside, end) {
        Seen::No => {}
        seen => return seen,
    }
    let limit = text.floor_char_boundary(HEADER_BYTES + data.message.len());
    let head = match text[..limit].find(&data.message) {
        Some(at) => &text[..at],
        None if limit < text.len() => return Seen::No,
        None if !end && (!data.plain || name_end(text, data) == text.len()) => return Seen::Maybe,
        // The answer ended inside it.
        None if end && !data.plain && known_words(text, data) => text,
        None => return Seen::No,
    };
    let length = (head.len() + data.message.len()).min(text.len());
    if find_any(head, 0, &data.end).is_some() {
        return Seen::No;
    }
    let last = data
        .start
        .iter()
        .filter(|marker| Some(*marker) != data.channel.as_ref())
        .filter_map(|marker| head.rfind(marker.as_str()))
        .max();
    if data.plain && last.is_some_and(|at| at > 0) {
        return Seen::No;
    }
    let head = &head[last.unwrap_or(0)..];
    let channel = data
        .channel
        .as_ref()
        .and_then(|marker| head.rsplit_once(marker.as_str()))
        .map(|(_, tail)| word(tail))
        .unwrap_or_default();
    let name = match recipient(head, data, inside && last.is_none()) {
        Some(name) => name,
        None if data.plain || inside => return Seen::No,
        None => "",
    };
    let is = |list: &[String], word: &str| list.iter().any(|known| known == word);
    let kind = match name {
        name if is(&data.reasoning, name) => Kind::Reasoning,
        ASSISTANT if !data.prefix.is_empty() && names_a_tool(head, data) => Kind::Result,
        name if !name.is_empty() && !is(&data.content, name) => Kind::Call(name.to_owned()),
        _ if is(&data.reasoning, channel) => Kind::Reasoning,
        _ => Kind::Content,
    };
    Seen::Yes(Header { length, kind })
}

/// Whether the answer begins inside a header.
pub(crate) fn begins_inside(text: &str, data: &Recipient, tools: &Tools, end: bool) -> Seen<()> {
    match stripped::stripped_header(text, data, true, end) {
        Seen::Yes(_) => return Seen::Yes(()),
        Seen::Maybe if !text.is_empty() => return Seen::Maybe,
        _ => {}
    }
    let marker =
        data.to.iter().filter(|marker| !marker.is_empty()).map(|marker| marker.trim_start().to_owned()).collect::<Vec<_>>();
    match starts_with_any(text, &marker, end) {
        Start::Yes(_) => return Seen::Yes(()),
        Start::Maybe if !text.is_empty() => return Seen::Maybe,
        Start::Maybe | Start::No => {}
    }
    if text.is_empty() {
        return if end { Seen::No } else { Seen::Maybe };
    }
    // The prompt may have opened the header up to the recipient.
    if !data.to.iter().any(|marker| {
        marker.is_empty() || data.start.iter().any(|start| marker.ends_with(start.as_str())) || marker.starts_with('<')
    }) {
        return Seen::No;
    }
    let name = word(text);
    let names =
        || data.content.iter().chain(&data.reasoning).map(String::as_str).chain(tools.iter().map(|tool| tool.name.as_str()));
    match text.len() > name.len() {
        true if names().any(|known| known == name) => Seen::Yes(()),
        false if !end && names().any(|known| known.starts_with(name)) => Seen::Maybe,
        _ => Seen::No,
    }
}

/// Whether the body of a message to a tool is its arguments.
pub(crate) fn is_arguments(body: &str, data: &Recipient, tool: Option<&Tool>, end: bool) -> Start {
    let body = body.trim_start();
    let tags = data.parameters.iter().map(|parameters| &parameters.argument[0]);
    match starts_with_any(body, data.end.iter().chain(&data.start).chain(tags), end) {
        Start::No if body.is_empty() || body.starts_with('{') => Start::Yes(0),
        // Whatever is addressed to a tool is not text.
        Start::No if !data.forms && tool.is_some_and(|tool| !data.plain || raw_parameter(tool).is_some()) => Start::Yes(0),
        _ if body.is_empty() && !end => Start::Maybe,
        start => start,
    }
}

/// The parameter that a body without JSON is: the only one, if it may be a string.
pub(crate) fn raw_parameter(tool: &Tool) -> Option<String> {
    let document = Document::new(Some(tool));
    let mut keys = document.root().keys();
    let key = keys.pop().filter(|_| keys.is_empty())?;
    (document.root().member(&key).allows(Types::STRING) != Some(false)).then_some(key)
}

/// The recipient in a header, without prefixes. `None`: there is none.
fn recipient<'t>(head: &'t str, data: &Recipient, inside: bool) -> Option<&'t str> {
    let mut marked = data.to.iter().filter(|marker| !marker.is_empty()).filter_map(|marker| {
        let at = head.rfind(marker.as_str())?;
        // The marker must not end a word.
        let before = head[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric()).then(|| head[at + marker.len()..].trim_start())
    });
    let name = match marked.next_back() {
        Some(tail) => word(tail),
        // The header is the recipient.
        None if inside || data.to.iter().any(String::is_empty) => {
            let start = data.start.iter().filter(|marker| head.starts_with(marker.as_str())).map(String::len).max().unwrap_or(0);
            let tail = head[start..].trim();
            Some(word(tail)).filter(|name| name.len() == tail.len() && !name.is_empty())?
        }
        None => "",
    };
    Some(data.prefix.iter().find_map(|prefix| name.strip_prefix(prefix.as_str())).unwrap_or(name))
}

/// The word that `text` begins with.
fn word(text: &str) -> &str {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '`');
    let end = text.find(|c: char| !(c.is_alphanumeric() || "_-.:/".contains(c))).unwrap_or(text.len());
    &text[..end]
}

/// Whether a tool wrote the message: `<|start|>functions.f to=assistant`.
fn names_a_tool(head: &str, data: &Recipient) -> bool {
    let writer = data.start.iter().find_map(|start| head.strip_prefix(start.as_str())).unwrap_or_default().trim_start();
    data.prefix.iter().any(|prefix| writer.starts_with(prefix.as_str()))
}

/// The offset up to which `text` may be a plain header: marker and name.
fn name_end(text: &str, data: &Recipient) -> usize {
    let start = data.start.iter().filter(|marker| text.starts_with(marker.as_str())).map(String::len).max().unwrap_or(0);
    let tail = &text[start..];
    let name = start + blank(tail) + word(tail).len();
    text.len() - text[name..].trim_start_matches([' ', '\r']).len()
}

/// Whether a truncated header consists only of words of headers.
fn known_words(text: &str, data: &Recipient) -> bool {
    let markers = data.start.iter().chain(&data.channel);
    let bare = markers.fold(text.to_owned(), |text, marker| text.replace(marker.as_str(), " "));
    let known = data.content.iter().chain(&data.reasoning).chain(&data.constraint);
    let known: Vec<&str> = known.map(String::as_str).collect();
    let to = |word: &str| data.to.iter().any(|marker| !marker.trim().is_empty() && word.starts_with(marker.trim()));
    bare.split_whitespace().all(|word| known.contains(&word) || to(word))
}

impl Parameters {
    /// The tags as a form whose name is elsewhere.
    fn tagged(&self) -> Tagged {
        let pair = |[open, close]: &[String; 2]| [vec![open.clone()], vec![close.clone()]];
        Tagged {
            name: [Vec::new(), Vec::new()],
            argument: pair(&self.argument),
            value: pair(&self.value),
            type_attribute: None,
            trim: Trim::OneNewline,
            cdata: false,
            entities: false,
            type_tag: None,
            skip: Vec::new(),
        }
    }
}

impl RecipientReader {
    pub(crate) fn read(&mut self, text: &str, data: &Recipient, context: Context<'_>) -> Step {
        loop {
            match self.read_body(text, data, context) {
                Step::Done { calls, end } => {
                    let next = end + blank(&text[end..]);
                    let is_open = matches!(&self.body, Body::Ended(trail) if trail.end == end);
                    let goes_on = is_open && text[next..].starts_with('{');
                    self.whole.extend(calls);
                    self.whole.dedup();
                    let Some(head) = self.head.as_mut().filter(|_| goes_on) else {
                        return Step::Done { calls: std::mem::take(&mut self.whole), end };
                    };
                    // Another object in the same body: a second call of the tool, or the first one written twice.
                    (head.body, self.body) = (next, Body::Before);
                }
                Step::Cut { whole, cut, closed } => {
                    let whole = std::mem::take(&mut self.whole).into_iter().chain(whole).collect();
                    return Step::Cut { whole, cut, closed };
                }
                step => return step,
            }
        }
    }

    /// Reads the header, and one value or element after it.
    fn read_body(&mut self, text: &str, data: &Recipient, context: Context<'_>) -> Step {
        if self.head.is_none() {
            let inside = !data.start.iter().any(|marker| text.starts_with(marker.as_str()));
            match header(text, data, inside, context.end) {
                Seen::Yes(Header { length, kind: Kind::Call(name) }) => {
                    self.head = Some(Head {
                        name: without_constraint(name, data, context.tools),
                        body: length,
                        tags: data.parameters.as_ref().map(Parameters::tagged),
                        ends: data.end.iter().chain(&data.start).cloned().collect(),
                    });
                }
                Seen::Maybe => return Step::More,
                Seen::Yes(_) | Seen::No => return Step::Reject,
            }
        }
        let Some(head) = &mut self.head else { return Step::Reject };
        if matches!(self.body, Body::Before) {
            head.body += blank(&text[head.body..]);
        }
        let Head { name, body: from, tags, ends } = &*head;
        let from = *from;
        let parsed = |arguments: &str| Parsed::new(name, arguments.trim());
        let done = |arguments: &str, end: usize| Step::done(parsed(arguments), end);
        let cut = |arguments: &str| {
            if context.end { Step::cut(parsed(arguments)) } else { Step::More }
        };
        let behind_end = |begin: usize, end: usize| {
            if data.start.iter().any(|marker| text[begin..].starts_with(marker.as_str())) { begin } else { end }
        };
        // The quotes of a value without a visible end may be broken.
        let ended_anyhow = || {
            let (begin, end) = plain_end(&text[from..], ends)?;
            Some(done(&text[from..from + begin], behind_end(from + begin, from + end)))
        };
        loop {
            match &mut self.body {
                Body::Before => {
                    let start = from;
                    if start == text.len() {
                        return cut(UNFINISHED);
                    }
                    match starts_with_any(&text[start..], ends, context.end) {
                        Start::Yes(length) => return done("", behind_end(start, start + length)),
                        Start::Maybe => return Step::More,
                        Start::No => {}
                    }
                    self.body = match known_tool(context.tools, name).and_then(raw_parameter) {
                        _ if tags.as_ref().is_some_and(|tags| text[start..].starts_with(tags.argument[0][0].as_str())) => {
                            let Some(tags) = tags else { return Step::Reject };
                            Body::Tagged(Box::new(TaggedReader::headed(name.clone(), start, tags, context)))
                        }
                        _ if text[start..].starts_with('{') => Body::Value(ValueReader::at(start)),
                        None if text[start..].starts_with('[') => Body::Value(ValueReader::at(start)),
                        None if data.plain => return Step::Reject,
                        key => Body::Raw { key, seen: start },
                    };
                }
                Body::Tagged(tagged) => {
                    let Some(tags) = tags else { return Step::Reject };
                    return tagged.read(text, tags, context);
                }
                Body::Value(value) => match value.read(text, ends, context.end) {
                    Got::More if context.end => return ended_anyhow().unwrap_or_else(|| cut(&text[from..])),
                    Got::More => return Step::More,
                    Got::Closed(begin, end) => return done(&text[from..begin], behind_end(begin, end)),
                    Got::Balanced(end) => self.body = Body::Ended(Trail::after(end)),
                },
                Body::Ended(trail) => {
                    let after = trail.read(text, &data.end, context.end);
                    match after.of_object(&text[trail.end..], ends, context.end) {
                        After::More => return Step::More,
                        After::Marker(at) => return done(&text[from..trail.end], at),
                        After::Inside => self.body = Body::Torn(TornReader::inside(trail.end)),
                        After::Nothing if is_json(text[from..trail.end].trim()) => {
                            return done(&text[from..trail.end], trail.end);
                        }
                        After::Nothing => self.body = Body::Torn(TornReader::after(trail.end)),
                    }
                }
                Body::Torn(torn) => {
                    return match torn.read(text, ends) {
                        Some((begin, end)) => done(&text[from..begin], behind_end(begin, end)),
                        None if context.end && torn.inside => ended_anyhow().unwrap_or_else(|| cut(&text[from..])),
                        None if context.end => done(&text[from..torn.end], torn.end),
                        None => Step::More,
                    };
                }
                Body::Raw { key, seen } => match find_any(text, *seen, ends) {
                    Some((begin, end)) => {
                        let arguments = raw(key.as_deref(), &text[from..begin]);
                        return done(&arguments, behind_end(begin, end));
                    }
                    None => {
                        let longest = ends.iter().map(String::len).max().unwrap_or(1);
                        *seen = text.floor_char_boundary(text.len().saturating_sub(longest)).max(*seen);
                        if !context.end {
                            return Step::More;
                        }
                        return cut(&unclosed(&raw(key.as_deref(), &text[from..])));
                    }
                },
            }
        }
    }

    /// The name, or `None` if it was not read yet.
    pub(crate) fn name(&self) -> Option<String> {
        self.head.as_ref().map(|head| head.name.clone())
    }
}

/// The arguments in a raw text: the value of parameter `key`. The text as it is if there is no such parameter, or if only the
/// opening brace of an object is missing.
fn raw(key: Option<&str>, text: &str) -> String {
    let member = begins_as_member(text.strip_prefix('"').unwrap_or(text), &['"']) && text.trim_end().ends_with('}');
    key.filter(|_| !member).map_or_else(|| text.trim().to_owned(), |key| serde_json::json!({ key: text.trim() }).to_string())
}

/// Removes the kind of body from the end of a name, if only the rest names a tool.
fn without_constraint(name: String, data: &Recipient, tools: &Tools) -> String {
    let known = |name: &str| is_known(tools, name);
    let bare =
        data.constraint.iter().filter_map(|word| name.strip_suffix(word.as_str())).find(|bare| !known(&name) && known(bare));
    bare.map(str::to_owned).unwrap_or(name)
}

#[cfg(test)]
mod tests;
