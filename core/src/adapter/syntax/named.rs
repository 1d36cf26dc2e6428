//! Reads a name, then JSON: `get_weather[ARGS]{...}`, `functions.f:0<|tool_call_argument_begin|>{...}`, `f\n{...}`. An id may
//! precede the name, follow it, or take its place.

use super::{
    Context, Parsed, Start, Step, UNFINISHED,
    ahead::Seen,
    blank, find_any,
    members::members,
    starts_with_any,
    typing::Types,
    value::{After, Bounds, after, bounds, closing_quote, past_fence, plain_end, whole},
};
use crate::{
    adapter::Named,
    event::{Tool, Tools},
    fix::name::known_tool,
    reader::End,
};

pub(in crate::adapter::syntax) mod bare;
mod head;
mod line;

use head::{FENCE, Head, Without, head, takes_nothing, without_arguments};
use line::Line;

/// The arguments of a call that ends before them, as incomplete as the call.
const NO_ARGUMENTS: &str = "{ ";

/// Reads one call.
pub(crate) fn read(text: &str, named: &Named, context: Context<'_>) -> Step {
    let head = match head(text, named, context) {
        Seen::Yes(head) => head,
        Seen::Maybe => return Step::More,
        Seen::No if context.end && matches!(head(text, named, Context { end: false, ..context }), Seen::Maybe) => {
            return Step::nameless();
        }
        Seen::No => return Step::Reject,
    };
    let from = head.body + blank(&text[head.body..]);
    Arguments { head: &head, from, text, named, context }.read().unwrap_or_else(|step| step)
}

/// The name, if it is there.
pub(crate) fn name(text: &str, named: &Named, context: Context<'_>) -> Option<String> {
    if let Seen::Yes(head) = head(text, named, context) { Some(head.name) } else { None }
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

/// How the call ends. The error ends the reading before that is known.
type Read = Result<Step, Step>;

impl Arguments<'_> {
    fn read(self) -> Read {
        let Arguments { head, from, text, context, .. } = self;
        let without = |arguments: &str| Parsed { arguments: arguments.to_owned(), ..self.up_to(from) };
        match without_arguments(&text[from..], head, context) {
            Without::Maybe => return Err(Step::More),
            Without::Whole => return Ok(self.done(without("{}"), from)),
            Without::Torn => {
                let why = "there are none, and the tool needs some";
                return Ok(Step::Torn { whole: Vec::new(), torn: without(""), why, end: from });
            }
            Without::No => {}
        }
        match text.as_bytes().get(from) {
            Some(b'"' | b'\'' | b'[') if self.takes_line() => self.line(),
            Some(b'{' | b'[' | b'"' | b'\'') => self.value(),
            None if !context.end => Err(Step::More),
            None if !head.opened && takes_nothing(&head.name, context) => Ok(Step::cut(without(NO_ARGUMENTS))),
            None => Err(self.unfinished()),
            Some(_) => match starts_with_any(&text[from..], context.close, context.end) {
                // A name alone in a fence is a command or a list item.
                Start::Yes(_) if context.call.whole_answer => Err(Step::Reject),
                Start::Yes(_) => self.end(from),
                Start::Maybe => Err(Step::More),
                Start::No if is_bare(head, context) => self.bare(from),
                Start::No if self.takes_line() => self.line(),
                Start::No => Err(Step::Reject),
            },
        }
    }

    /// Whether the arguments may be a line of text.
    fn takes_line(self) -> bool {
        self.named.line && self.head.announced
    }

    fn line(self) -> Read {
        match line::read(self.text, self.from, self.head.fenced, self.context) {
            Line::Ends(end) => self.end(end),
            Line::Value => self.value(),
            Line::Open => Err(self.unfinished()),
        }
    }

    /// The arguments begin with a bracket or a quote.
    fn value(self) -> Read {
        let Arguments { from, text, context, .. } = self;
        match text.as_bytes()[from] {
            b'{' => {
                let fence = self.fence();
                let End { begin, next } =
                    whole(text, from, fence, self.takes_line(), context)?.ok_or_else(|| self.unfinished())?;
                Ok(self.announced(begin, next))
            }
            b'[' => match bounds(text, from, context.close, context.end).ok_or(Step::More)? {
                Bounds::Open => {
                    let End { begin, next } = plain_end(text, from, context.close).ok_or_else(|| self.unfinished())?;
                    Ok(self.done(self.up_to(begin), next))
                }
                Bounds::Closed(end) => Ok(self.done(self.up_to(end.begin), end.next)),
                Bounds::Balanced(end) => self.end(end),
            },
            quote => self.end(closing_quote(text, from + 1, quote).ok_or_else(|| self.unfinished())?),
        }
    }

    /// The fence around the arguments.
    fn fence(self) -> Option<&'static str> {
        self.head.fenced.then_some(FENCE)
    }

    /// Text in place of the arguments, which ends after `after`.
    fn bare(self, after: usize) -> Read {
        let Arguments { head, from, text, context, .. } = self;
        let tool = known_tool(context.tools, &head.name).ok_or(Step::Reject)?;
        // After the marker of a form that has arguments in JSON, it may be documentation.
        let is_meant = context.marked && context.call.fallback;
        let Some((begin, end)) = find_any(text, after, context.close) else {
            return Err(match context.end {
                true if is_meant => Step::cut(Parsed::new(head.name.as_str(), UNFINISHED)),
                true => Step::Reject,
                false => Step::More,
            });
        };
        let body = bare::without_tag(&text[from..begin]);
        let in_brackets = context.marked && !is_meant && body.trim_start().starts_with(['[', '(']);
        match if in_brackets { bare::text(body, tool) } else { bare::arguments(body, tool) } {
            Some(arguments) => Ok(self.done(Parsed::new(head.name.as_str(), arguments), end)),
            None if !is_meant => Err(Step::Reject),
            None => Ok(Step::Torn {
                whole: Vec::new(),
                torn: Parsed::new(head.name.as_str(), body.trim()),
                why: "its parameters have no names",
                end,
            }),
        }
    }

    /// After arguments that are no object and end at `end`.
    fn end(self, end: usize) -> Read {
        let Arguments { from, text, context, .. } = self;
        let past = past_fence(text, end, self.fence(), context.end).ok_or(Step::More)?;
        match after(text, past, context.close, context.end).ok_or(Step::More)? {
            After::Marker(marker) => Ok(self.announced(end, marker.next)),
            // A limit may have cut a text that only begins with a string or a list.
            After::Nothing if context.end && context.cut && text[end..].trim().is_empty() => Ok(Step::cut(self.up_to(end))),
            // A string or a list may be the beginning of a text.
            After::Nothing if end > from && !context.close.is_empty() && !self.takes_line() => self.bare(end),
            After::Nothing => Ok(self.announced(end, past)),
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

    /// A call was read up to `end`.
    fn done(self, call: Parsed, end: usize) -> Step {
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
