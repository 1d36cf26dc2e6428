//! Reads the name, then JSON: `get_weather[ARGS]{...}`, `functions.f:0<|tool_call_argument_begin|>{...}`, `f\n{...}`. An id may
//! precede the name, follow it, or take its place.

use std::ops::ControlFlow::{self, Break, Continue};

use super::{
    Closing, Context, Parsed, Start, Step, UNFINISHED,
    ahead::Seen,
    blank,
    json::introduced,
    members::members,
    starts_with_any,
    typing::Types,
    value::{After, Got, TornReader, Trail, ValueReader, closing_quote, is_json, plain_end, runs_on},
};
use crate::{
    adapter::Named,
    event::{Tool, Tools},
    fix::name::known_tool,
};

pub(in crate::adapter::syntax) mod bare;
mod head;
mod line;

use head::{FENCE, Head, Without, head, takes_nothing, without_arguments};
use line::Line;

/// The arguments of a call that ends before them, as incomplete as the call.
const NO_ARGUMENTS: &str = "{ ";

/// Reads one call.
#[derive(Debug, Default)]
pub(crate) struct NamedReader {
    head: Option<Head>,
    body: Body,
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
        let arguments = Arguments { head, from: head.body, text, named, context };
        loop {
            let read = match &mut self.body {
                Body::Before => arguments.begin(),
                Body::Value(value) => arguments.value(value),
                Body::Quoted { quote, seen } => arguments.quoted(*quote, seen),
                Body::Torn(torn) => Break(arguments.torn(torn)),
                Body::Bare(closing) => Break(arguments.bare(closing)),
                Body::Ended { end, trail } => arguments.end(*end, trail),
            };
            match read {
                Continue(body) => self.body = body,
                Break(step) => return step,
            }
        }
    }

    /// The name, if it was seen.
    pub(crate) fn name(&self) -> Option<String> {
        self.head.as_ref().map(|head| head.name.clone())
    }
}

/// The arguments, after the head.
#[derive(Clone, Copy)]
struct Arguments<'a> {
    head: &'a Head,
    /// Where they begin.
    from: usize,
    text: &'a str,
    named: &'a Named,
    context: Context<'a>,
}

/// What is read next, or how it ends.
type Read = ControlFlow<Step, Body>;

impl Arguments<'_> {
    fn begin(self) -> Read {
        let Arguments { head, from, text, context, .. } = self;
        let without = |arguments: &str| Parsed { arguments: arguments.to_owned(), ..self.up_to(from) };
        match without_arguments(&text[from..], head, context) {
            Without::Maybe => return Break(Step::More),
            Without::Whole => return Break(self.done(without("{}"), from)),
            Without::Torn => {
                let why = "there are none, and the tool needs some";
                return Break(Step::Torn { whole: Vec::new(), torn: without(""), why, end: from });
            }
            Without::No => {}
        }
        Continue(match text.as_bytes().get(from) {
            Some(b'"' | b'\'' | b'[') if self.takes_line() => return self.line(),
            Some(b'{' | b'[' | b'"' | b'\'') => self.opened(),
            None if !context.end => return Break(Step::More),
            None if !head.opened && takes_nothing(&head.name, context) => {
                return Break(Step::cut(without(NO_ARGUMENTS)));
            }
            None => return Break(self.unfinished()),
            Some(_) => match starts_with_any(&text[from..], context.close, context.end) {
                // A name alone in a fence is a command or a list item.
                Start::Yes(_) if context.call.whole_answer => return Break(Step::Reject),
                Start::Yes(_) => Body::ended(from),
                Start::Maybe => return Break(Step::More),
                Start::No if is_bare(head, context) => Body::Bare(Closing::after(from)),
                Start::No if self.takes_line() => return self.line(),
                Start::No => return Break(Step::Reject),
            },
        })
    }

    /// Whether the arguments may be a line of text.
    fn takes_line(self) -> bool {
        self.named.line && self.head.announced
    }

    fn line(self) -> Read {
        match line::read(self.text, self.from, self.head.fenced, self.context) {
            Line::Ends(end) => Continue(Body::ended(end)),
            Line::Value => Continue(self.opened()),
            Line::Open => Break(self.unfinished()),
        }
    }

    /// The arguments begin with a bracket or a quote.
    fn opened(self) -> Body {
        match self.text.as_bytes().get(self.from) {
            Some(&quote @ (b'"' | b'\'')) => Body::Quoted { quote, seen: self.from + 1 },
            _ => Body::Value(ValueReader::at(self.from)),
        }
    }

    fn value(self, value: &mut ValueReader) -> Read {
        match value.read(self.text, self.context.close, self.context.end) {
            Got::More if self.context.end => Break(self.ended_anyhow()),
            Got::More => Break(Step::More),
            Got::Closed(begin, end) => Break(self.done(self.up_to(begin), end)),
            Got::Balanced(end) => Continue(Body::ended(end)),
        }
    }

    /// A string, scanned up to `seen`.
    fn quoted(self, quote: u8, seen: &mut usize) -> Read {
        match closing_quote(self.text, *seen, quote) {
            Ok(end) => Continue(Body::ended(end)),
            Err(looked) => {
                *seen = looked;
                Break(self.unfinished())
            }
        }
    }

    fn torn(self, torn: &mut TornReader) -> Step {
        match torn.read(self.text, self.context.close) {
            Some((begin, end)) => self.done(self.up_to(begin), end),
            None if !self.context.end => Step::More,
            None if torn.goes_on(self.text, self.from, self.context.cut) => self.ended_anyhow(),
            None => self.done(self.up_to(torn.end), torn.end),
        }
    }

    fn bare(self, closing: &mut Closing) -> Step {
        let Arguments { head, from, text, context, .. } = self;
        let Some(tool) = known_tool(context.tools, &head.name) else { return Step::Reject };
        // After the marker of a form that has arguments in JSON, it may be documentation.
        let is_meant = context.marked && context.call.fallback;
        let Some((begin, end)) = closing.find(text, context.close) else {
            return match context.end {
                true if is_meant => Step::cut(Parsed::new(head.name.as_str(), UNFINISHED)),
                true => Step::Reject,
                false => Step::More,
            };
        };
        let body = bare::without_tag(&text[from..begin]);
        let in_brackets = context.marked && !is_meant && body.trim_start().starts_with(['[', '(']);
        match if in_brackets { bare::text(body, tool) } else { bare::arguments(body, tool) } {
            Some(arguments) => Step::done(Parsed::new(head.name.as_str(), arguments), end),
            None if !is_meant => Step::Reject,
            None => Step::Torn {
                whole: Vec::new(),
                torn: Parsed::new(head.name.as_str(), body.trim()),
                why: "its parameters have no names",
                end,
            },
        }
    }

    /// After arguments that end at `end`.
    fn end(self, end: usize, trail: &mut Trail) -> Read {
        let Arguments { head, from, text, context, .. } = self;
        // A fence around the arguments is framing.
        if head.fenced && trail.end == end && trail.fence(text, FENCE, context.end) == Start::Maybe {
            return Break(Step::More);
        }
        match trail.read(text, context.close, context.end) {
            After::More => Break(Step::More),
            After::Marker(at) => Break(self.announced(end, at)),
            After::Nothing if text[from..].starts_with('{') => match runs_on(&text[end..], context.end) {
                Start::Maybe => Break(Step::More),
                Start::No if self.takes_line() || context.close.is_empty() || is_json(text[from..end].trim()) => {
                    Break(self.announced(end, trail.end))
                }
                // Only the rest of the text shows where the object ends.
                Start::Yes(_) | Start::No => Continue(Body::Torn(TornReader::after(end))),
            },
            // A limit may have cut a text that only begins with a string or a list.
            After::Nothing if context.end && context.cut && text[end..].trim().is_empty() => Break(Step::cut(self.up_to(end))),
            // A string or a list may be the beginning of a text.
            After::Nothing if end > from && !context.close.is_empty() && !self.takes_line() => {
                Continue(Body::Bare(Closing::after(end)))
            }
            After::Nothing => Break(self.announced(end, trail.end)),
        }
    }

    /// The call with the arguments up to `end`.
    fn up_to(self, end: usize) -> Parsed {
        let arguments = self.text[self.from..end].trim().to_owned();
        Parsed { name: self.head.name.clone(), id: self.head.id.clone(), arguments }
    }

    /// The call with the arguments up to `end`, which may be text. The call ends at `to`.
    fn announced(self, end: usize, to: usize) -> Step {
        let call = self.up_to(end);
        if !self.takes_line() {
            return self.done(call, to);
        }
        let arguments = match known_tool(self.context.tools, &call.name) {
            Some(tool) => line::arguments(&call.arguments, tool),
            None => Some(call.arguments.clone()),
        };
        arguments.map_or_else(|| self.unfinished(), |arguments| self.done(Parsed { arguments, ..call }, to))
    }

    fn unfinished(self) -> Step {
        if self.context.end { Step::cut(self.up_to(self.text.len())) } else { Step::More }
    }

    /// The quotes of a value without a visible end may be broken.
    fn ended_anyhow(self) -> Step {
        match plain_end(&self.text[self.from..], self.context.close) {
            Some((begin, end)) => self.done(self.up_to(self.from + begin), self.from + end),
            None => self.unfinished(),
        }
    }

    /// A call was read up to `end`.
    fn done(self, call: Parsed, end: usize) -> Step {
        if let Some(calls) = introduced(&call.name, &call.arguments, self.context) {
            return Step::Done { calls, end };
        }
        if !(self.named.name_from_arguments && call.name.bytes().all(|byte| byte.is_ascii_digit())) {
            return Step::done(call, end);
        }
        match fitting(&call.arguments, self.context.tools) {
            Some(tool) => Step::done(Parsed::new(&tool.name, call.arguments), end),
            None => Step::Reject,
        }
    }
}

/// Whether text may take the place of the arguments: between the marker before them and that after the call, after any marker, or
/// in a tag that contains the name (`<function=f>`).
fn is_bare(head: &Head, context: Context<'_>) -> bool {
    let tag = !context.marked && !context.call.whole_answer && context.close == context.call.close && head.ended == Some('>');
    let given = head.ended.is_some() || !context.call.fallback && head.opened;
    !context.close.is_empty() && (tag || context.marked && given)
}

/// The only offered tool that has all of these parameters and requires no other.
fn fitting<'t>(arguments: &str, tools: &'t Tools) -> Option<&'t Tool> {
    let given: Vec<String> = members(arguments)?.into_iter().map(|(key, _)| key).collect();
    let mut fitting = tools.iter().filter(|tool| Types::new(Some(tool)).take(given.iter().map(String::as_str)));
    let first = fitting.next().filter(|_| !given.is_empty())?;
    fitting.next().is_none().then_some(first)
}
