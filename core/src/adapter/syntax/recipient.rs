//! Reads a header that names the recipient, then the body:
//! `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{...}`, `>>>f\n{...}`. The recipient may precede or follow
//! the channel. The kind of the body may be glued to its name.

use super::{
    Context, Parsed, Start, Step, UNFINISHED, blank, find_any, members::object, starts_with_any, tagged, typing::verbatim,
    unclosed, value::whole,
};
use crate::{
    adapter::{Parameters, Recipient, Tagged},
    event::Tool,
    fix::{Types, View, name::known_tool},
    reader::End,
};

mod header;
pub(crate) use header::{Header, Kind, begins_inside, header, stripped};

/// Reads one message: usually one call. The body begins at the header.
pub(crate) fn read(text: &str, data: &Recipient, context: Context<'_>) -> Step {
    messages(text, data, context).unwrap_or_else(|step| step)
}

/// The same. The error ends the reading before the end of a message is known.
fn messages(text: &str, data: &Recipient, context: Context<'_>) -> Result<Step, Step> {
    let inside = !data.start.iter().any(|marker| text.starts_with(marker.as_str()));
    let header = header(text, data, inside, context.end).sure()?;
    let Some(Header { length: mut from, kind: Kind::Call(name) }) = header else { return Err(Step::Reject) };
    // The next header ends the message too, and is not consumed.
    let ends: Vec<String> = data.end.iter().chain(&data.start).cloned().collect();
    let message = Message { text, name: &name, data, ends: Context { close: &ends, ..context }, context };
    let mut calls: Vec<Parsed> = Vec::new();
    loop {
        from += blank(&text[from..]);
        let (arguments, end) = match message.call(from) {
            Err(Step::Cut { cut, closed, .. }) => return Ok(Step::Cut { whole: calls, cut, closed }),
            call => call?,
        };
        calls.push(Parsed::new(&name, arguments.trim()));
        calls.dedup();
        from = end.next + blank(&text[end.next..]);
        // Another object in the same body: a second call of the tool, or the first one written twice.
        if end.next > end.begin || !text[from..].starts_with('{') {
            return Ok(Step::Done { calls, end: end.next });
        }
    }
}

/// A message to a tool.
struct Message<'a> {
    text: &'a str,
    name: &'a str,
    data: &'a Recipient,
    context: Context<'a>,
    /// The same, with what ends the message as closing markers.
    ends: Context<'a>,
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
    let view = View::of(Some(tool));
    let mut keys = view.root().keys();
    let key = keys.next().filter(|_| keys.next().is_none())?;
    (view.root().member(key).allows(Types::STRING) != Some(false)).then(|| key.to_owned())
}

impl Parameters {
    /// The tags as a form whose name is elsewhere.
    fn tagged(&self) -> Tagged {
        let pair = |[open, close]: &[String; 2]| [vec![open.clone()], vec![close.clone()]];
        Tagged { argument: pair(&self.argument), value: pair(&self.value), ..Tagged::default() }
    }
}

impl Message<'_> {
    /// The arguments of the call whose body begins at `from`, and their end. The error ends the reading.
    fn call(&self, from: usize) -> Result<(String, End), Step> {
        let Message { text, name, data, context, ends } = *self;
        let body = &text[from..];
        let cut = |arguments: &str| {
            if context.end { Step::cut(Parsed::new(name, arguments.trim())) } else { Step::More }
        };
        if body.is_empty() {
            return Err(cut(UNFINISHED));
        }
        match starts_with_any(body, ends.close, context.end) {
            Start::Yes(length) => return Ok((String::new(), self.before_header(from, from + length))),
            Start::Maybe => return Err(Step::More),
            Start::No => {}
        }
        let tags = data.parameters.as_ref().filter(|parameters| body.starts_with(&parameters.argument[0]));
        if let Some(tags) = tags.map(Parameters::tagged) {
            return Err(tagged::headed(text, name, from, &tags, context));
        }
        let parameter = known_tool(context.tools, name).and_then(raw_parameter);
        if body.starts_with('{') || body.starts_with('[') && parameter.is_none() {
            let (end, _) = whole(text, from, None, ends)?.ok_or_else(|| cut(body))?;
            return Ok((text[from..end.begin].to_owned(), self.before_header(end.begin, end.next)));
        }
        let key = parameter.as_deref();
        let (begin, next) = find_any(text, from, ends.close).ok_or_else(|| cut(&unclosed(&raw(key, body))))?;
        Ok((raw(key, &text[from..begin]), self.before_header(begin, next)))
    }

    /// The end of arguments, without the next header if that ends them.
    fn before_header(&self, begin: usize, next: usize) -> End {
        let header = self.data.start.iter().find(|start| self.text[begin..next].ends_with(start.as_str()));
        End { begin, next: next - header.map_or(0, String::len) }
    }
}

/// The arguments in a raw text: the value of parameter `key`. The text as it is if there is no such parameter, or if it ends as an
/// object does.
fn raw(key: Option<&str>, text: &str) -> String {
    let text = text.trim();
    match key.filter(|_| !text.ends_with('}')) {
        Some(key) => object(&[(key.to_owned(), verbatim(text))]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
