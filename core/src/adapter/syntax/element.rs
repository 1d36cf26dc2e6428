//! Reads a tag named after the tool: `<read_file><uri>src/main.rs</uri></read_file>`, or with JSON inside. If the prompt asks for
//! this form ([`Context::lenient`]), a malformed body is read with the help of the tool's parameters ([`loose`]).

use std::ops::Range;

use self::{foreign::Foreign, form::tag};
use super::{Context, Parsed, Seen, Start, Step, blank, find_any, named::bare, starts_with_any, torn_arguments, typing::Types};
use crate::{
    adapter::Tagged,
    event::Tool,
    fix::{fold, name::known_tool},
    reader::{
        End,
        tags::{self, Arguments, Body, Cut, Got, State},
    },
};

pub(in crate::adapter) mod foreign;
mod form;
mod loose;
mod slips;
#[cfg(test)]
mod tests;
pub(in crate::adapter) mod unbracketed;

/// Maximum length of a malformed body, in bytes.
const LOOSE_BYTES: usize = 4096;
/// Maximum length of the attributes of a tag, in bytes.
const HEAD_BYTES: usize = 1024;

/// Reads one call. The body begins at the tag.
pub(crate) fn read(text: &str, tagged: &Tagged, context: Context<'_>) -> Step {
    let step = match opened(text, context) {
        Seen::Yes((tool, Tag { written, attributes, body, closed })) => {
            let types = Types::new(Some(tool));
            let attributes = &text[attributes];
            if closed {
                let arguments = loose::arguments(attributes, "", &types);
                arguments.map_or(Step::Reject, |arguments| Step::done(Parsed::new(&tool.name, arguments), body))
            } else {
                let name = &text[written];
                let is_loose = (context.lenient && name != tool.name) || !attributes.trim().is_empty();
                Call { text, name, types: &types, tagged, context, body, attributes, is_loose }.read()
            }
        }
        Seen::Maybe if !context.end => Step::More,
        _ if !context.lenient => Step::Reject,
        _ => without_tag(text, context),
    };
    match step {
        Step::Done { calls, end } => done(calls, end, text, context),
        step => step,
    }
}

/// The name, if it is there.
pub(crate) fn name(text: &str, context: Context<'_>) -> Option<String> {
    if let Seen::Yes((_, tag)) = opened(text, context) { Some(text[tag.written].to_owned()) } else { None }
}

/// The tool whose opening tag `text` begins with.
fn opened<'t>(text: &str, context: Context<'t>) -> Seen<(&'t Tool, Tag)> {
    let at = blank(text);
    let mut maybe = false;
    for tool in context.tools.iter() {
        match head(text, at, &tool.name, context) {
            Seen::Yes(tag) => return Seen::Yes((tool, tag)),
            Seen::Maybe => maybe = true,
            Seen::No => {}
        }
    }
    if maybe { Seen::Maybe } else { Seen::No }
}

/// Reads an element whose own tags are missing, and that the code fence around it ends; or one of no offered tool.
fn without_tag(text: &str, context: Context<'_>) -> Step {
    match if is_fenced(context) { unbracketed::head(text, context.tools) } else { Seen::No } {
        Seen::Yes((tool, body)) => {
            let types = Types::new(Some(tool));
            return match find_any(text, body, context.close) {
                Some((begin, end)) => match unbracketed::read(text, body, begin..end, &types, context) {
                    unbracketed::Content::Call(arguments, end) => Step::done(Parsed::new(&tool.name, arguments), end),
                    unbracketed::Content::Maybe => Step::More,
                    unbracketed::Content::No => Step::Reject,
                },
                None if context.end => Step::Reject,
                None => Step::More,
            };
        }
        Seen::Maybe if !context.end => return Step::More,
        Seen::Maybe | Seen::No => {}
    }
    match foreign::read(text, context) {
        Foreign::Call(call, end) => Step::done(call, end),
        Foreign::Maybe => Step::More,
        Foreign::No => Step::Reject,
    }
}

/// A complete call. A code fence around it may close after it.
fn done(calls: Vec<Parsed>, end: usize, text: &str, context: Context<'_>) -> Step {
    let at = end + blank(&text[end..]);
    let fenced = is_fenced(context);
    match starts_with_any(&text[at..], context.close, context.end) {
        Start::Yes(length) if fenced => Step::Done { calls, end: at + length },
        Start::Maybe if fenced => Step::More,
        _ => Step::Done { calls, end },
    }
}

/// An element whose opening tag was read.
#[derive(Clone, Copy)]
struct Call<'a> {
    text: &'a str,
    /// The name as the model spells it.
    name: &'a str,
    types: &'a Types,
    tagged: &'a Tagged,
    context: Context<'a>,
    /// The start of the text between the tags.
    body: usize,
    attributes: &'a str,
    /// The element has attributes, or a name that is spelt differently.
    is_loose: bool,
}

/// The markers of one tool's element, or of elements inside another form whose name was read.
pub(super) struct Element<'a> {
    pub(super) name: &'a str,
    pub(super) types: &'a Types,
    /// The tags that some of the arguments may have in place of elements.
    pub(super) tagged: &'a Tagged,
    pub(super) context: Context<'a>,
}

/// An opening tag.
struct Tag {
    written: Range<usize>,
    attributes: Range<usize>,
    /// Where it ends.
    body: usize,
    /// It closes itself.
    closed: bool,
}

impl Call<'_> {
    fn read(self) -> Step {
        let Call { text, name, types, tagged, context, body, .. } = self;
        let form = Element { name, types, tagged, context };
        let limits = Body { text, start: body, end: context.end, cut: context.cut, special: false };
        match tags::cut(limits, &form, |end| self.read_to(end, &form)) {
            Cut::Read(Got::Whole { arguments, end } | Got::Late { arguments, end }) => {
                Step::done(Parsed::new(name, arguments), end)
            }
            Cut::Read(Got::Damaged { arguments, why, end }) => {
                Step::Torn { whole: Vec::new(), torn: Parsed::new(name, arguments), why, end }
            }
            Cut::More => Step::More,
            Cut::Unread(ends) => self.unread(ends.map(|[first, _]| first), &form),
        }
    }

    /// Reads the element if it ends there.
    fn read_to(self, end: End, form: &Element<'_>) -> Option<Got> {
        let Call { text, name, types, context, body, is_loose, .. } = self;
        let arguments = Arguments::read(&text[..end.begin], body, None, &[], form, types);
        let object = arguments.object();
        let closes = end.next > end.begin;
        let whole = |arguments: String| Got::Whole { arguments, end: end.next };
        let is_read = match arguments.state {
            _ if is_loose => false,
            State::Between if arguments.is_damaged(types) => false,
            State::Between if arguments.is_unbalanced() => return Some(Got::Late { arguments: object, end: end.next }),
            State::Between => (closes || !arguments.is_empty()) && !(context.lenient && arguments.is_unclosed()),
            State::Json { closed, .. } => closed,
            State::Value { plain: true, .. } if !context.lenient && closes => {
                return Some(Got::Late { arguments: object, end: end.next });
            }
            _ => false,
        };
        if is_read {
            return Some(whole(object));
        }
        let inside = &text[body..end.begin];
        // In the middle of a line, a tag is more often mentioned than meant.
        let may_be_loose = context.lenient && closes && inside.len() <= LOOSE_BYTES;
        let may_be_loose = may_be_loose && (context.marked || !inside.contains('\n'));
        let read = may_be_loose.then(|| loose::arguments(self.attributes, inside, types)).flatten().map(whole);
        let strictly = || match arguments.is_damaged(types) {
            true => Got::damaged(object.clone(), end.next),
            false => whole(object.clone()),
        };
        // The text between the tags is the one thing that the tool needs.
        let is_text = !context.lenient && closes && !is_loose && !matches!(arguments.state, State::Between | State::Json { .. });
        let text = || bare::arguments(inside, known_tool(context.tools, name).filter(|_| is_text)?);
        read.or_else(|| text().map(whole)).or_else(|| (arguments.state == State::Between).then(strictly))
    }

    /// The text ended, and at none of its ends the element was read. `first`: the first of them.
    fn unread(self, first: Option<End>, form: &Element<'_>) -> Step {
        let Call { text, name, types, context, body, .. } = self;
        if let Some(arguments) = self.unclosed() {
            return Step::cut(Parsed::new(name, arguments));
        }
        let read = Arguments::read(text, body, None, &[], form, types);
        let is_open = matches!(read.state, State::Value { .. } | State::Tag);
        if let Some(end) = first.filter(|end| end.next > end.begin && !context.cut) {
            let (torn, why) = (Parsed::new(name, &text[body..end.begin]), "its parameters cannot be told apart");
            // What an open value holds is not a call.
            let end = if is_open { text.len() } else { end.next };
            return if context.marked || is_open { Step::Torn { whole: Vec::new(), torn, why, end } } else { Step::Reject };
        }
        if read.state == State::Junk || read.is_empty() && !context.marked {
            return Step::Reject;
        }
        let before = if let State::Value { before, .. } = &read.state { before.clone() } else { read.object() };
        let open = read.object().strip_suffix('}').map(|open| format!("{open} "));
        let open = open.filter(|_| context.marked && !context.lenient && read.state == State::Between && !read.is_empty());
        let arguments = open.unwrap_or_else(|| torn_arguments(&before));
        Step::cut(Parsed::new(name, arguments))
    }

    /// The arguments if the text ends after a closed parameter and only the call's closing tag is missing, or after the opening
    /// tag of a tool that requires nothing. They are as incomplete as the call, so that the reason of the end decides.
    fn unclosed(self) -> Option<String> {
        let Call { types, context, .. } = self;
        let body = self.text[self.body..].trim_end().trim_end_matches('`');
        let last_tag = body.trim_end().rsplit_once("</").and_then(|(_, name)| name.strip_suffix('>'));
        let tagged = body.trim_start().starts_with('<') && last_tag.is_some_and(|name| types.has(name));
        let nothing = body.trim().is_empty() && types.required().next().is_none();
        let arguments = loose::arguments("", body, types).filter(|_| context.lenient && (tagged || nothing))?;
        Some(format!("{} ", arguments.strip_suffix('}')?))
    }
}

/// Whether the element is in a code fence.
fn is_fenced(context: Context<'_>) -> bool {
    context.close != context.call.close
}

/// Whether a tag has this name; `text` follows its bracket. `Yes` has the length of the name. A name of several words may be
/// spelt differently: `read-file`, `Read_File`.
pub(in crate::adapter) fn may_be_named(text: &str, name: &str, end: bool) -> Start {
    let ends = [' ', '\t', '\r', '\n', '/', '>'];
    if let Some(after) = text.strip_prefix(name).filter(|after| after.is_empty() || after.starts_with(ends)) {
        return if !after.is_empty() {
            Start::Yes(name.len())
        } else if end {
            Start::No
        } else {
            Start::Maybe
        };
    }
    let (written, after) = text.split_at(foreign::name_length(text));
    let several = name.contains(['_', '-']);
    let (folded, wanted) = (fold(written), fold(name));
    match after.is_empty() {
        true if !end && (name.starts_with(text) || (several && wanted.starts_with(&folded))) => Start::Maybe,
        false if several && folded == wanted && after.starts_with(ends) => Start::Yes(written.len()),
        _ => Start::No,
    }
}

/// Whether the opening tag of this tool is at `at`. A lenient tag may be spelt differently. Only a lenient or self-closing tag
/// may have attributes.
fn head(text: &str, at: usize, name: &str, context: Context<'_>) -> Seen<Tag> {
    let rest = &text[at..];
    let written = at + 1..at + 1 + name.len();
    match tag(rest, "<", name, context.end) {
        Start::Yes(length) => return Seen::Yes(Tag { written, attributes: 0..0, body: at + length, closed: false }),
        Start::Maybe => return Seen::Maybe,
        Start::No => {}
    }
    let Some(inside) = rest.strip_prefix('<') else { return Seen::No };
    let length = match may_be_named(inside, name, context.end) {
        Start::Yes(length) => length,
        Start::Maybe => return Seen::Maybe,
        Start::No => return Seen::No,
    };
    let (start, after) = (at + 1 + length, &inside[length..]);
    match attributes_end(after, context.end) {
        Start::Yes(stop) if stop <= HEAD_BYTES => {
            let inside = &after[..stop];
            let attributes = inside.strip_suffix('/').unwrap_or(inside);
            let closed = attributes.len() < stop;
            if !context.lenient && !closed && !attributes.trim().is_empty() {
                return Seen::No;
            }
            Seen::Yes(Tag { written: at + 1..start, attributes: start..start + attributes.len(), body: start + stop + 1, closed })
        }
        Start::Maybe if after.len() <= HEAD_BYTES => Seen::Maybe,
        _ => Seen::No,
    }
}

/// Where the attributes that `text` begins with end: at the tag's `>`, outside of quotes. On another line, only an attribute or the
/// end of the tag may follow, because prose may begin like a tag (`a <f`).
fn attributes_end(text: &str, end: bool) -> Start {
    let more = if end { Start::No } else { Start::Maybe };
    let mut at = 0;
    while let Some(found) = text[at..].find(['>', '<', '\n', '"', '\'']) {
        at += found;
        let after = &text[at + 1..];
        match text.as_bytes()[at] {
            b'>' => return Start::Yes(at),
            b'<' => return Start::No,
            b'\n' => {
                let line = after.trim_start();
                let word = line.trim_start_matches(|c: char| c.is_alphanumeric() || "_-.".contains(c));
                match word.trim_start().chars().next() {
                    None => return more,
                    Some('=') if word.len() < line.len() => {}
                    Some('/' | '>') if word.len() == line.len() => {}
                    Some(_) => return Start::No,
                }
                at += 1 + after.len() - line.len();
            }
            quote => {
                if !text[..at].trim_end().ends_with('=') {
                    return Start::No;
                }
                let Some(length) = after.find(char::from(quote)) else { return more };
                at += 1 + length + 1;
                match text[at..].chars().next() {
                    None => return more,
                    Some(c) if c.is_whitespace() || matches!(c, '/' | '>') => {}
                    Some(_) => return Start::No,
                }
            }
        }
    }
    more
}
