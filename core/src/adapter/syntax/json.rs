//! Reads calls as JSON: an object with name and arguments, a list of them, OpenAI's wrappers, several objects in a row. The value
//! itself determines its end, not a search for the closing marker: a marker inside a string is content.

use std::ops::ControlFlow;

use super::{
    Context, Parsed, Step, WORD_BYTES,
    members::members,
    typing::Types,
    value::{TornReader, Trail, ValueReader, is_json, plain_end},
};
use crate::{
    adapter::JsonKeys,
    event::Tools,
    fix::name::{is_known, known_tool},
};

mod begins;
mod calls;
mod described;
mod flags;
mod keys;
mod phases;

use calls::{Found, calls, repaired, written_name};
pub(super) use calls::{bundled, introduced};

/// Reads one or more JSON values in a row.
#[derive(Debug, Default)]
pub(crate) struct JsonReader {
    calls: Vec<Parsed>,
    /// Start of the current value.
    start: usize,
    /// Number of calls before it.
    before: usize,
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
                Phase::After(end, trail) => self.after_value(end, trail, text, context),
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

    /// Reads the calls of a torn value again, and replaces those read before.
    fn retake(&mut self, text: &str, end: usize, keys: &JsonKeys, context: Context<'_>) -> bool {
        self.calls.truncate(self.before);
        self.take(text, end, keys, context)
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
