//! Reads a header that names the recipient, then the body:
//! `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{...}`, `>>>f\n{...}`. The recipient may precede or follow
//! the channel. The kind of the body may be glued to its name.

use super::{
    Context, Parsed, Seen, Start, Step, UNFINISHED, blank, find_any,
    members::object,
    starts_with_any,
    tagged::TaggedReader,
    typing::verbatim,
    unclosed,
    value::{After, Got, TornReader, Trail, ValueReader, is_json, plain_end, runs_on},
};
use crate::{
    adapter::{Parameters, Recipient, Tagged, syntax::place::Document},
    event::{Tool, Tools},
    fix::{
        Types,
        name::{is_known, known_tool},
    },
};

mod header;
mod stripped;
pub(crate) use header::{Header, Kind, begins_inside, header};
pub(crate) use stripped::stripped;

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

impl Parameters {
    /// The tags as a form whose name is elsewhere.
    fn tagged(&self) -> Tagged {
        let pair = |[open, close]: &[String; 2]| [vec![open.clone()], vec![close.clone()]];
        Tagged { argument: pair(&self.argument), value: pair(&self.value), ..Tagged::default() }
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

    /// Reads the header. `Err`: it is not complete, or this is no call.
    fn read_head(&mut self, text: &str, data: &Recipient, context: Context<'_>) -> Result<(), Step> {
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
            Seen::Maybe => return Err(Step::More),
            Seen::Yes(_) | Seen::No => return Err(Step::Reject),
        }
        Ok(())
    }

    /// Reads the header, and one value or element after it.
    fn read_body(&mut self, text: &str, data: &Recipient, context: Context<'_>) -> Step {
        if self.head.is_none()
            && let Err(done) = self.read_head(text, data, context)
        {
            return done;
        }
        let Some(head) = &mut self.head else { return Step::Reject };
        if matches!(self.body, Body::Before) {
            head.body += blank(&text[head.body..]);
        }
        let head = &*head;
        let Head { name, body: from, tags, ends } = head;
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
                    if from == text.len() {
                        return cut(UNFINISHED);
                    }
                    match starts_with_any(&text[from..], ends, context.end) {
                        Start::Yes(length) => return done("", behind_end(from, from + length)),
                        Start::Maybe => return Step::More,
                        Start::No => {}
                    }
                    match body(text, head, data, context) {
                        Some(body) => self.body = body,
                        None => return Step::Reject,
                    }
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
                    let end = trail.end;
                    match (trail.read(text, &data.end, context.end), runs_on(&text[end..], context.end)) {
                        (After::Marker(at), _) => return done(&text[from..end], at),
                        (After::More, _) | (After::Nothing, Start::Maybe) => return Step::More,
                        (After::Nothing, Start::No) if is_json(text[from..end].trim()) => return done(&text[from..end], end),
                        (After::Nothing, _) => self.body = Body::Torn(TornReader::after(end)),
                    }
                }
                Body::Torn(torn) => {
                    return match torn.read(text, ends) {
                        Some((begin, end)) => done(&text[from..begin], behind_end(begin, end)),
                        None if context.end && torn.goes_on(text, from, context.cut) => {
                            ended_anyhow().unwrap_or_else(|| cut(&text[from..]))
                        }
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

/// How the arguments after the header are written. `None`: they are none.
fn body(text: &str, head: &Head, data: &Recipient, context: Context<'_>) -> Option<Body> {
    let (start, arguments) = (head.body, &text[head.body..]);
    let tags = head.tags.as_ref().filter(|tags| arguments.starts_with(tags.argument[0][0].as_str()));
    let parameter = known_tool(context.tools, &head.name).and_then(raw_parameter);
    Some(match (tags, parameter) {
        (Some(_), _) => Body::Tagged(Box::new(TaggedReader::headed(head.name.clone(), start, context))),
        (None, _) if arguments.starts_with('{') => Body::Value(ValueReader::at(start)),
        (None, None) if arguments.starts_with('[') => Body::Value(ValueReader::at(start)),
        (None, None) if data.plain => return None,
        (None, key) => Body::Raw { key, seen: start },
    })
}

/// Longest key that is recognised, in bytes.
const KEY_BYTES: usize = 64;

/// Whether a text begins like the rest of a member: `: "x"`, or `host": "x"` after the opening quote.
fn begins_as_member(text: &str) -> bool {
    let after = text.trim_start().strip_prefix([':', '=']);
    if after.is_some_and(|rest| rest.trim_start().starts_with('"')) {
        return true;
    }
    let word = text.find(|c: char| !(c.is_alphanumeric() || "_-.$".contains(c))).unwrap_or(text.len());
    let rest = text[word..].trim_start();
    word > 0 && word <= KEY_BYTES && rest.strip_prefix('"').is_some_and(|rest| rest.trim_start().starts_with([':', '=']))
}

/// The arguments in a raw text: the value of parameter `key`. The text as it is if there is no such parameter, if only the opening
/// brace of an object is missing, or if the object is in a fence or a JSON string.
fn raw(key: Option<&str>, text: &str) -> String {
    let member = begins_as_member(text.strip_prefix('"').unwrap_or(text)) && text.trim_end().ends_with('}');
    let holds = |key: &str| {
        let inner = match serde_json::from_str::<String>(text.trim()) {
            Ok(inner) => inner,
            Err(_) => {
                text.trim().strip_prefix("```").map_or("", |fenced| fenced.trim_start_matches(char::is_alphanumeric)).to_owned()
            }
        };
        inner.trim_start().starts_with('{') && inner.contains(&format!("\"{key}\""))
    };
    key.filter(|key| !member && !holds(key))
        .map_or_else(|| text.trim().to_owned(), |key| object(&[(key.to_owned(), verbatim(text.trim()))]))
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
