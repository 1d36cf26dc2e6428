//! Reads calls as JSON: an object with name and arguments, a list of them, OpenAI's wrappers, several objects in a row. The value
//! itself determines its end, not a search for the closing marker: a marker inside a string is content.

use std::ops::ControlFlow;

use super::{
    Context, Parsed, Step, WORD_BYTES,
    members::members,
    typing::Types,
    value::{TornReader, Trail, ValueReader, is_json, plain_end, reopened, reopened_to_end},
};
use crate::{
    adapter::JsonKeys,
    event::Tools,
    fix::name::{is_known, known_tool},
    json::extent::PlainExtent,
};

mod begins;
mod calls;
mod described;
mod flags;
mod keys;
mod phases;
mod seam;

use calls::{Found, calls, repaired, written_name};
pub(super) use calls::{bundled, introduced};
pub(super) use keys::IDS;
use seam::{Seam, seam};

/// Reads one or more JSON values in a row.
#[derive(Debug, Default)]
pub(crate) struct JsonReader {
    calls: Vec<Parsed>,
    /// Start of the current value.
    start: usize,
    /// Number of calls before it.
    before: usize,
    /// Where it seemed to end although it continues.
    seeming_end: Option<usize>,
    /// Whether it continues although its brackets are balanced, once that was decided.
    torn: Option<bool>,
    /// The code fence between the marker and the values.
    fence: Option<String>,
    /// Whether the header is the name of an offered tool.
    titled: bool,
    phase: Phase,
}

#[derive(Debug, Default)]
enum Phase {
    /// Before the header, if the form has one.
    #[default]
    Header,
    /// Before a value.
    Before,
    Inside(ValueReader),
    /// Inside a string that contains the value, scanned up to this offset.
    Quoted(usize),
    /// After a value that ended at this offset.
    After(usize, Trail),
    Torn(TornReader),
}

impl JsonReader {
    pub(crate) fn read(&mut self, text: &str, keys: &JsonKeys, context: Context<'_>) -> Step {
        loop {
            let is_in_value = matches!(self.phase, Phase::Inside(_) | Phase::After(..) | Phase::Torn(_));
            let read = match std::mem::take(&mut self.phase) {
                Phase::Header => self.at_header(text, keys, context),
                Phase::Before => self.before_value(text, keys, context),
                Phase::Quoted(seen) => self.in_string(seen, text, keys, context),
                Phase::Inside(value) => self.in_value(value, text, keys, context),
                Phase::After(end, trail) => self.after_value(end, trail, text, keys, context),
                Phase::Torn(torn) => self.in_torn_value(torn, text, keys, context),
            };
            if let ControlFlow::Break(step) = read {
                let is_unread = matches!(step, Step::Reject | Step::Passed { is_json: false, .. });
                let unreadable = if is_in_value && is_unread { self.unreadable(text, keys, context) } else { None };
                return unreadable.unwrap_or(step);
            }
        }
    }

    /// The name that the value contains so far. It decides whether a large candidate is worth holding.
    pub(crate) fn name(&self, text: &str, keys: &JsonKeys) -> Option<String> {
        written_name(&text[self.start..], keys, 0)
    }

    /// Reads the calls of the value that ends at `end`. Returns `false` if it contains none.
    fn take(&mut self, text: &str, end: usize, keys: &JsonKeys, context: Context<'_>) -> bool {
        let value = &text[self.start..end];
        let whole = self.seeming_end.and_then(|end| reopened(value, end - self.start));
        let value = whole.as_deref().unwrap_or(value);
        match calls(value, keys, context, false).or_else(|| repaired(value, keys, context)) {
            // The value after a tool's name is its arguments, which may have a member `name`.
            Some(found) if self.titled && !found.iter().all(|found| is_known(context.tools, &found.call.name)) => false,
            Some(found) => {
                self.calls.extend(found.into_iter().map(|found| found.call));
                true
            }
            None => self.complete_last(value, keys, context),
        }
    }

    /// Takes a value after a call without arguments as the arguments: `{"name": "f"} {"arguments": {..}}`.
    fn complete_last(&mut self, value: &str, keys: &JsonKeys, context: Context<'_>) -> bool {
        let is_single = self.calls.len() == 1 && self.before == 1;
        let Some(last) = self.calls.last_mut().filter(|call| is_single && call.arguments == "{}") else { return false };
        let (Some(tool), Some(members)) = (known_tool(context.tools, &last.name), members(value)) else { return false };
        let types = Types::new(Some(tool));
        let arguments = match members.as_slice() {
            [(key, arguments)] if keys.arguments.contains(key) && arguments.starts_with('{') => *arguments,
            [_, ..] if members.iter().all(|(key, _)| types.has(key)) => value,
            _ => return false,
        };
        last.arguments = arguments.to_owned();
        true
    }

    /// Reads the calls before the seam of a value that contains two.
    fn split(&mut self, text: &str, end: usize, keys: &JsonKeys, context: Context<'_>) -> Option<Seam> {
        let value = &text[self.start..end];
        if is_json(value) {
            return None;
        }
        let seam = seam(value, keys, context)?;
        let seam = Seam { end: self.start + seam.end, next: self.start + seam.next, ..seam };
        self.take(text, seam.end, keys, context).then_some(seam)
    }

    /// Whether a value continues after `end` although its brackets are balanced: its call is open, or is open once its syntax is
    /// repaired.
    fn is_torn(&self, text: &str, end: usize, keys: &JsonKeys, context: Context<'_>) -> bool {
        let value = &text[self.start..end];
        let open = |found: Vec<Found>| found.iter().any(|found| !found.closed);
        !is_json(value)
            && match calls(value, keys, context, false) {
                Some(found) => open(found) && !PlainExtent::closes(value),
                None => repaired(value, keys, context).is_some_and(open),
            }
    }

    /// Reads the calls of a torn value again, and replaces those read before.
    fn retake(&mut self, text: &str, end: usize, keys: &JsonKeys, context: Context<'_>) -> bool {
        self.calls.truncate(self.before);
        self.take(text, end, keys, context)
    }

    /// Adds braces right after a value with broken quotes to it. Returns how many there are.
    fn widen(&mut self, text: &str, end: usize, keys: &JsonKeys, context: Context<'_>) -> usize {
        let braces = text[end..].bytes().take_while(|&byte| byte == b'}').count();
        if braces > 0
            && !is_json(&text[self.start..end])
            && let Some(found) = calls(&text[self.start..end + braces], keys, context, false)
        {
            self.calls.truncate(self.before);
            self.calls.extend(found.into_iter().map(|found| found.call));
        }
        braces
    }

    /// Finishes at `end`. `Reject` if no call was read.
    fn leave(&mut self, end: usize) -> Step {
        if self.calls.is_empty() { Step::Reject } else { Step::Done { calls: std::mem::take(&mut self.calls), end } }
    }

    /// A call of an offered tool after a marker, with quotes so broken that no reading has its members. It is refused: as text it
    /// would be lost.
    fn unreadable(&self, text: &str, keys: &JsonKeys, context: Context<'_>) -> Option<Step> {
        let value = text.get(self.start..).filter(|_| context.marked && self.calls.is_empty())?;
        // The name comes first, so most values are passed over at once.
        let head = value[..value.floor_char_boundary(WORD_BYTES)].split(',').next()?;
        let name = written_name(head, keys, 0).filter(|name| is_known(context.tools, name))?;
        let (end, past) = plain_end(value, context.close)?;
        let value = &value[..end];
        let has_arguments = keys.arguments.iter().any(|key| value.contains(&format!("\"{key}\"")));
        (has_arguments && !is_json(value)).then(|| Step::Torn {
            whole: Vec::new(),
            torn: Parsed::new(&name, value),
            why: "quotes in it are not escaped",
            end: self.start + past,
        })
    }

    /// The text ended before the value did, or its quotes are broken.
    fn end_anyhow(&mut self, text: &str, keys: &JsonKeys, context: Context<'_>) -> Step {
        let goes_on = self.seeming_end.and_then(|end| reopened_to_end(&text[self.start..], end - self.start));
        if goes_on.is_some() && self.take(text, text.len(), keys, context) {
            return self.leave(text.len());
        }
        match plain_end(&text[self.start..], context.close) {
            Some((begin, end)) if self.take(text, self.start + begin, keys, context) => self.leave(self.start + end),
            _ => self.cut(text, keys, context),
        }
    }

    /// The text ended inside a value.
    fn cut(&mut self, text: &str, keys: &JsonKeys, context: Context<'_>) -> Step {
        let mut found = calls(&text[self.start..], keys, context, true).unwrap_or_default();
        let Found { call: cut, closed } = found.pop().unwrap_or_default();
        let mut whole = std::mem::take(&mut self.calls);
        whole.extend(found.into_iter().map(|found| found.call));
        Step::Cut { whole, cut, closed }
    }
}

/// Whether a call has every parameter that its tool requires.
fn complete(call: &Parsed, tools: &Tools) -> bool {
    let Some(tool) = known_tool(tools, &call.name) else { return true };
    let given = members(&call.arguments).unwrap_or_default();
    Types::new(Some(tool)).required().all(|key| given.iter().any(|(known, _)| known == key))
}
