//! Reads calls as JSON: an object with name and arguments, a list of them, OpenAI's wrappers, several objects in a row. The value
//! itself determines its end, not a search for the closing marker: a marker inside a string is content.

use std::convert::Infallible;

use super::{
    Context, Parsed, Start, Step, WORD_BYTES,
    ahead::{Seen, Word, word},
    blank,
    members::{comment, members},
    torn_arguments,
    typing::Types,
    value::{After, Bounds, after, bounds, closing_quote, goes_on, is_json, past_fence, plain_end, runs_on, torn_end},
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

use begins::{opening_fence, plausible};
pub(super) use calls::bundled;
use calls::{Found, calls, repaired, written_name};

/// Reads one or more JSON values in a row.
pub(crate) fn read(text: &str, keys: &JsonKeys, context: Context<'_>) -> Step {
    let mut values = Values { text, keys, context, calls: Vec::new(), start: 0, before: 0, fence: None, titled: false };
    let Err(step) = values.all();
    step
}

/// The name that the text contains so far. It decides whether a large candidate is worth holding.
pub(crate) fn name(text: &str, keys: &JsonKeys) -> Option<String> {
    // Only a header or a fence precedes the value.
    let window = &text[..text.floor_char_boundary(2 * WORD_BYTES)];
    window.find(['{', '[']).and_then(|at| written_name(&text[at..], keys, 0))
}

/// The values of one body, as far as they were read.
struct Values<'a> {
    text: &'a str,
    keys: &'a JsonKeys,
    context: Context<'a>,
    calls: Vec<Parsed>,
    /// Start of the current value.
    start: usize,
    /// Number of calls before it.
    before: usize,
    /// The code fence between the marker and the values.
    fence: Option<&'a str>,
    /// Whether the header is the name of an offered tool.
    titled: bool,
}

impl<'a> Values<'a> {
    /// Reads value after value. The error says how it ends.
    fn all(&mut self) -> Result<Infallible, Step> {
        self.header()?;
        loop {
            self.begin()?;
            self.value().map_err(|step| match step {
                Step::Reject | Step::Passed { is_json: false, .. } => self.unreadable().unwrap_or(step),
                step => step,
            })?;
        }
    }

    fn header(&mut self) -> Result<(), Step> {
        if self.keys.header.is_empty() {
            return Ok(());
        }
        match word(self.text, self.keys.header.iter().map(String::as_str), self.context.end) {
            Seen::Yes(Word { name, at, length }) => {
                self.titled = is_known(self.context.tools, &self.text[name]);
                self.start = at + length;
                Ok(())
            }
            Seen::Maybe => Err(Step::More),
            Seen::No => Err(Step::Reject),
        }
    }

    /// Goes to the next value.
    fn begin(&mut self) -> Result<(), Step> {
        let context = self.context;
        // After a marker, a fence or comments may precede the value.
        let entered = context.marked || !context.call.stripped.iter().any(String::is_empty);
        loop {
            self.start += blank(&self.text[self.start..]);
            let rest = &self.text[self.start..];
            if entered && self.fence.is_none() && self.calls.is_empty() && rest.starts_with(['`', '~']) {
                match opening_fence(rest, context.end) {
                    Start::Yes(length) => {
                        self.fence = Some(rest[..length].trim_end_matches(|c| c != '`' && c != '~'));
                        self.start += length;
                        continue;
                    }
                    Start::Maybe => return Err(Step::More),
                    Start::No => return Err(Step::Reject),
                }
            }
            match comment(rest).filter(|_| entered) {
                Some(Some(end)) => self.start += end,
                Some(None) if !context.end => return Err(Step::More),
                _ if entered && matches!(rest, "/" | "#") && !context.end => return Err(Step::More),
                _ => break,
            }
        }
        let rest = &self.text[self.start..];
        match plausible(rest, self.keys, context) {
            None if !context.end => return Err(Step::More),
            None if !self.calls.is_empty() || rest.is_empty() => return Err(self.leave(self.start)),
            Some(false) => return Err(self.leave(self.start)),
            _ => {}
        }
        self.before = self.calls.len();
        Ok(())
    }

    /// Reads the value that begins here, and goes behind it.
    fn value(&mut self) -> Result<(), Step> {
        let Values { text, start, context, .. } = *self;
        let is_json = |end: usize| is_json(&text[start..end]);
        if let Some(quote) = text[start..].bytes().next().filter(|byte| matches!(byte, b'"' | b'\'')) {
            return match closing_quote(text, start + 1, quote) {
                Some(end) if self.take(end) => self.after(end),
                Some(_) => Err(self.leave(start)),
                None if context.end => Err(self.cut()),
                None => Err(Step::More),
            };
        }
        match bounds(text, start, context.close, context.end).ok_or(Step::More)? {
            Bounds::Open => Err(self.end_anyhow()),
            Bounds::Closed(end) if self.take(end.begin) => Err(self.leave(end.next)),
            Bounds::Balanced(end) if self.take(end) => self.after(end),
            Bounds::Balanced(end) if !context.close.is_empty() && !is_json(end) => Err(self.torn(end)),
            Bounds::Balanced(end) if self.calls.is_empty() => Err(Step::Passed { end, is_json: is_json(end) }),
            Bounds::Closed(_) | Bounds::Balanced(_) => Err(self.leave(start)),
        }
    }

    /// Goes on after the value that ends at `value_end`. Several values may follow each other.
    fn after(&mut self, value_end: usize) -> Result<(), Step> {
        let Values { text, context, fence, .. } = *self;
        let Context { close, end: over, .. } = context;
        let end = past_fence(text, value_end, fence, over).ok_or(Step::More)?;
        if let After::Marker(marker) = after(text, end, close, over).ok_or(Step::More)? {
            return Err(self.leave(marker.next));
        }
        match runs_on(&text[value_end..], over) {
            Start::Yes(_) => return Err(self.torn(value_end)),
            Start::Maybe => return Err(Step::More),
            Start::No => {}
        }
        // A tag in prose before a code block.
        if fence.is_some() && !text[end..].trim().is_empty() {
            return Err(Step::Reject);
        }
        if close.is_empty() && self.calls.iter().all(|call| complete(call, context.tools)) {
            let braces = text[value_end..].bytes().take_while(|&byte| byte == b'}').count();
            return Err(self.leave(end.max(value_end + braces)));
        }
        let next = text.len() - text[end..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ',')).len();
        match text.as_bytes().get(next) {
            None if close.is_empty() && !over => Err(Step::More),
            Some(b'{' | b'[' | b'"') => {
                self.start = next;
                Ok(())
            }
            // What follows cannot follow a value: its quotes are broken.
            Some(_) if !close.is_empty() && !is_json(&text[self.start..value_end]) => Err(self.torn(end)),
            _ => Err(self.leave(end)),
        }
    }

    /// The value seemed to end at `seeming_end`, but its quotes are broken.
    fn torn(&mut self, seeming_end: usize) -> Step {
        let Values { text, start, context, .. } = *self;
        match torn_end(text, seeming_end, context.close, context.end) {
            Some(end) if self.retake(end.begin) => self.leave(end.next),
            Some(_) => self.leave(start),
            None if !context.end => Step::More,
            None if goes_on(text, start, seeming_end, context.cut) => {
                self.calls.truncate(self.before);
                match self.end_anyhow() {
                    // It seemed to end; if that is not its end, another value follows.
                    Step::Cut { .. } if !context.marked => {
                        Step::Passed { end: seeming_end, is_json: is_json(&text[start..seeming_end]) }
                    }
                    // Nothing may complete it: its last value goes on.
                    Step::Cut { whole, cut, .. } => {
                        let arguments = torn_arguments(&cut.arguments);
                        Step::Cut { whole, cut: Parsed { arguments, ..cut }, closed: false }
                    }
                    step => step,
                }
            }
            None => self.leave(seeming_end),
        }
    }

    /// Reads the calls of the value that ends at `end`. Returns `false` if it contains none.
    fn take(&mut self, end: usize) -> bool {
        let Values { text, keys, context, start, .. } = *self;
        let value = &text[start..end];
        match calls(value, keys, context, false).or_else(|| repaired(value, keys, context)) {
            // The value after a tool's name is its arguments, which may have a member `name`.
            Some(found) if self.titled && !found.iter().all(|found| is_known(context.tools, &found.call.name)) => false,
            Some(found) => {
                self.calls.extend(found.into_iter().map(|found| found.call));
                true
            }
            None => self.complete_last(value),
        }
    }

    /// Takes a value after a call without arguments as the arguments: `{"name": "f"} {"arguments": {..}}`.
    fn complete_last(&mut self, value: &str) -> bool {
        let is_single = self.calls.len() == 1 && self.before == 1;
        let Some(last) = self.calls.last_mut().filter(|call| is_single && call.arguments == "{}") else { return false };
        let (Some(tool), Some(members)) = (known_tool(self.context.tools, &last.name), members(value)) else { return false };
        let types = Types::new(Some(tool));
        let arguments = match members.as_slice() {
            [(key, arguments)] if self.keys.arguments.contains(key) && arguments.starts_with('{') => *arguments,
            [_, ..] if members.iter().all(|(key, _)| types.has(key)) => value,
            _ => return false,
        };
        last.arguments = arguments.to_owned();
        true
    }

    /// Reads the calls of a torn value again, and replaces those read before.
    fn retake(&mut self, end: usize) -> bool {
        self.calls.truncate(self.before);
        self.take(end)
    }

    /// Finishes at `end`. `Reject` if no call was read.
    fn leave(&mut self, end: usize) -> Step {
        if self.calls.is_empty() { Step::Reject } else { Step::Done { calls: std::mem::take(&mut self.calls), end } }
    }

    /// A call of an offered tool after a marker, with quotes so broken that no reading has its members. It is refused: as text it
    /// would be lost.
    fn unreadable(&self) -> Option<Step> {
        let Values { keys, context, start, .. } = *self;
        let value = self.text.get(start..).filter(|_| context.marked && self.calls.is_empty())?;
        // The name comes first, so most values are passed over at once.
        let head = value[..value.floor_char_boundary(WORD_BYTES)].split(',').next()?;
        let name = written_name(head, keys, 0).filter(|name| is_known(context.tools, name))?;
        let end = plain_end(self.text, start, context.close)?;
        let value = &self.text[start..end.begin];
        let has_arguments = keys.arguments.iter().any(|key| value.contains(&format!("\"{key}\"")));
        (has_arguments && !is_json(value)).then(|| Step::Torn {
            whole: Vec::new(),
            torn: Parsed::new(&name, value),
            why: "quotes in it are not escaped",
            end: end.next,
        })
    }

    /// The text ended before the value did, or its quotes are broken.
    fn end_anyhow(&mut self) -> Step {
        match plain_end(self.text, self.start, self.context.close) {
            Some(end) if self.take(end.begin) => self.leave(end.next),
            _ => self.cut(),
        }
    }

    /// The text ended inside a value.
    fn cut(&mut self) -> Step {
        let mut found = calls(&self.text[self.start..], self.keys, self.context, true).unwrap_or_default();
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
