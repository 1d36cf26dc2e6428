//! Reads a name, then JSON: `get_weather[ARGS]{...}`, `functions.f:0<|tool_call_argument_begin|>{...}`, `f\n{...}`. An id may
//! precede the name, follow it, or take its place.

use super::{
    Context, Parsed, Step, UNFINISHED, blank, find_any,
    members::{is_closed, members},
    starts_with_any,
    typing::takes,
    value::{closed, whole},
};
use crate::{
    adapter::{Named, asides::ends},
    event::{Tool, Tools},
    fix::{View, name::known_tool},
};

pub(in crate::adapter::syntax) mod bare;
mod head;

use head::{FENCE, Head, head};

/// Reads one call.
pub(crate) fn read(text: &str, named: &Named, context: Context<'_>) -> Step {
    let head = match head(text, named, context) {
        Ok(head) => head,
        Err(Step::Reject) if context.end && head(text, named, Context { end: false, ..context }) == Err(Step::More) => {
            return Step::nameless();
        }
        Err(step) => return step,
    };
    let from = head.body + blank(&text[head.body..]);
    Arguments { head: &head, from, text, named, context }.read().unwrap_or_else(|step| step)
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

impl Arguments<'_> {
    /// Reads them. The error ends the reading before their end is known.
    fn read(self) -> Result<Step, Step> {
        let Arguments { head, from, text, context, .. } = self;
        let rest = &text[from..];
        let empty = || self.done(self.up_to(from), from);
        if starts_with_any(rest, self.ends(), context.end).sure()?.is_some() {
            return Ok(empty());
        }
        let is_line = self.named.line && head.announced;
        match rest.bytes().next() {
            None if !context.end => Err(Step::More),
            None if context.close.is_empty() && head.opened && !context.cut => Ok(empty()),
            None => Err(self.unfinished()),
            Some(b'{') => self.value(),
            Some(_) if is_line => self.line(),
            Some(b'[' | b'"' | b'\'') => self.value(),
            Some(_) => match starts_with_any(rest, context.close, context.end).sure()? {
                // A name alone in a fence is a command or a list item.
                Some(_) if context.call.whole_answer => Err(Step::Reject),
                Some(length) => Ok(self.done(self.up_to(from), from + length)),
                None if is_bare(head, context) => self.bare(),
                None => Err(Step::Reject),
            },
        }
    }

    /// What ends a call of a form without a closing marker, which may have no arguments: the token at the end of an answer, or the
    /// next call.
    fn ends(&self) -> impl Iterator<Item = &str> {
        let Context { call, close, marked, .. } = self.context;
        call.open.iter().map(String::as_str).chain(ends()).filter(move |_| marked && close.is_empty() && !call.fallback)
    }

    /// The arguments begin with a bracket or a quote.
    fn value(self) -> Result<Step, Step> {
        let Arguments { head, from, text, context, .. } = self;
        let (end, _) = whole(text, from, head.fenced.then_some(FENCE), context)?.ok_or_else(|| self.unfinished())?;
        Ok(self.done(self.up_to(end.begin), end.next))
    }

    /// A line of text, or the content of a fence. Without its end, it may have been cut, unless a value shows its own.
    fn line(self) -> Result<Step, Step> {
        let Arguments { head, from, text, context, .. } = self;
        let stop = text[from..].find(if head.fenced { FENCE } else { "\n" });
        let shows_end = || context.end && !context.cut && !head.fenced && is_closed(&text[from..]);
        let length = stop.or_else(|| shows_end().then_some(text.len() - from)).ok_or_else(|| self.unfinished())?;
        let end = from + text[from..from + length].trim_end().len();
        let (next, _) = closed(text, end, head.fenced.then_some(FENCE), context)?;
        let call = self.up_to(end);
        let tool = known_tool(context.tools, &call.name);
        let arguments = match serde_json::from_str::<String>(&call.arguments) {
            Ok(string) => tool.and_then(|tool| bare::arguments(&string, tool, false)),
            Err(_) => tool.and_then(|tool| bare::text(&call.arguments, tool, false)),
        };
        let arguments = arguments.unwrap_or(call.arguments);
        Ok(self.done(Parsed { arguments, ..call }, next.next))
    }

    /// Text in place of the arguments.
    fn bare(self) -> Result<Step, Step> {
        let Arguments { head, from, text, context, .. } = self;
        let tool = known_tool(context.tools, &head.name).ok_or(Step::Reject)?;
        // After the marker of a form that has arguments in JSON, it may be documentation.
        let is_meant = context.marked && context.call.fallback;
        let Some((begin, end)) = find_any(text, from, context.close) else {
            return Err(match context.end {
                true if is_meant => Step::cut(Parsed::new(head.name.as_str(), UNFINISHED)),
                true => Step::Reject,
                false => Step::More,
            });
        };
        // `ls</function>`.
        let body = text[from..begin].trim_end().trim_end_matches("</function>");
        match bare::arguments(body, tool, false) {
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

    /// The call with the arguments up to `end`.
    fn up_to(self, end: usize) -> Parsed {
        let arguments = self.text[self.from..end].trim().to_owned();
        Parsed { name: self.head.name.clone(), id: self.head.id.clone(), arguments }
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
    let mut fitting = tools.iter().filter(|tool| takes(View::of(Some(tool)).root(), given.iter().map(String::as_str)));
    let first = fitting.next().filter(|_| !given.is_empty())?;
    fitting.next().is_none().then_some(first)
}
