//! Reads calls as JSON: an object with name and arguments, a list of them, OpenAI's wrappers, several objects in a row. The value
//! itself determines its end, not a search for the closing marker: a marker inside a string is content.

use super::{
    Context, Parsed, Start, Step,
    ahead::{Seen, Word, word},
    blank,
    members::{comment, members},
    typing::Types,
    value::{After, Got, TornReader, Trail, ValueReader, closing_quote, is_json, plain_end, reopened, reopened_to_end},
};
use crate::{
    adapter::JsonKeys,
    event::Tools,
    fix::name::{is_known, known_tool},
    json::extent::PlainExtent,
};

mod begins;
mod calls;
mod flags;
mod keys;
mod seam;

use begins::{opening_fence, plausible};
use calls::{Found, calls, repaired, written_name};
pub(super) use calls::{bundled, introduced};
use seam::{Seam, next_value, seam};

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
            match &mut self.phase {
                Phase::Header if keys.header.is_empty() => self.phase = Phase::Before,
                Phase::Header => match word(text, keys.header.iter().map(String::as_str), context.end) {
                    Seen::Yes(Word { name, at, length }) => {
                        self.titled = is_known(context.tools, &text[name]);
                        (self.start, self.phase) = (at + length, Phase::Before);
                    }
                    Seen::Maybe => return Step::More,
                    Seen::No => return Step::Reject,
                },
                Phase::Before => {
                    self.start += blank(&text[self.start..]);
                    let rest = &text[self.start..];
                    // After a marker, a fence or comments may precede the value.
                    let entered = context.marked || !context.call.stripped.iter().any(String::is_empty);
                    if entered && self.fence.is_none() && self.calls.is_empty() && rest.starts_with(['`', '~']) {
                        match opening_fence(rest, context.end) {
                            Start::Yes(length) => {
                                let ticks = rest[..length].trim_end_matches(|c| c != '`' && c != '~');
                                (self.fence, self.start) = (Some(ticks.to_owned()), self.start + length);
                            }
                            Start::Maybe => return Step::More,
                            Start::No => return Step::Reject,
                        }
                        continue;
                    }
                    match comment(rest).filter(|_| entered) {
                        Some(Some(end)) => {
                            self.start += end;
                            continue;
                        }
                        Some(None) if !context.end => return Step::More,
                        _ if entered && matches!(rest, "/" | "#") && !context.end => return Step::More,
                        _ => {}
                    }
                    let first = rest.as_bytes().first();
                    match plausible(rest, keys, context) {
                        None if !context.end => return Step::More,
                        None if !self.calls.is_empty() || first.is_none() => return self.leave(self.start),
                        Some(false) => return self.leave(self.start),
                        _ => {}
                    }
                    (self.before, self.seeming_end, self.torn) = (self.calls.len(), None, None);
                    self.phase = match first {
                        Some(b'"' | b'\'') => Phase::Quoted(self.start + 1),
                        _ => Phase::Inside(ValueReader::at(self.start)),
                    };
                }
                Phase::Quoted(seen) => match closing_quote(text, *seen, text.as_bytes()[self.start]) {
                    Ok(end) => {
                        if self.take(text, end, keys, context) {
                            self.phase = Phase::After(end, Trail::after(end))
                        } else {
                            return self.leave(self.start);
                        }
                    }
                    Err(_) if context.end => return self.cut(text, keys, context),
                    Err(looked) => {
                        *seen = looked;
                        return Step::More;
                    }
                },
                Phase::Inside(value) => {
                    let got = value.read(text, context.close, context.end);
                    let end = match got {
                        Got::More if !context.end => return Step::More,
                        Got::More => text.len(),
                        Got::Closed(end, _) | Got::Balanced(end) => end,
                    };
                    if let Some(seam) = self.split(text, end, keys, context) {
                        if seam.marked {
                            return self.leave(seam.next);
                        }
                        (self.start, self.phase) = (seam.next, Phase::Before);
                        continue;
                    }
                    match got {
                        Got::More => return self.end_anyhow(text, keys, context),
                        Got::Closed(begin, end) if self.take(text, begin, keys, context) => return self.leave(end),
                        Got::Closed(..) => return self.leave(self.start),
                        Got::Balanced(end) => match self.take(text, end, keys, context) {
                            true => self.phase = Phase::After(end, Trail::after(end)),
                            false if !context.close.is_empty() && !is_json(&text[self.start..end]) => {
                                self.phase = Phase::Torn(TornReader::after(end));
                            }
                            false if self.calls.is_empty() => {
                                return Step::Passed { end, is_json: is_json(&text[self.start..end]) };
                            }
                            false => return self.leave(self.start),
                        },
                    }
                }
                Phase::After(end, trail) => {
                    if let Some(fence) = &self.fence
                        && trail.end == *end
                        && trail.fence(text, fence, context.end) == Start::Maybe
                    {
                        return Step::More;
                    }
                    let (value_end, end) = (*end, trail.end);
                    let after = trail.read(text, context.close, context.end);
                    let after = after.of_object(&text[end..], context.close, context.end);
                    if matches!(after, After::Nothing) && self.torn.is_none() {
                        self.torn = Some(self.is_torn(text, value_end, keys, context));
                    }
                    if matches!(after, After::Nothing) && self.torn == Some(true) {
                        match next_value(&text[end..], keys, context) {
                            Start::Maybe => return Step::More,
                            Start::Yes(_) => {
                                self.phase = Phase::Torn(TornReader::inside(end));
                                continue;
                            }
                            Start::No => {}
                        }
                    }
                    match after {
                        After::More => return Step::More,
                        After::Marker(at) => {
                            self.widen(text, value_end, keys, context);
                            return self.leave(at);
                        }
                        After::Inside => {
                            self.seeming_end = Some(value_end);
                            self.phase = Phase::Torn(TornReader::inside(end));
                            continue;
                        }
                        // A tag in prose before a code block.
                        After::Nothing if self.fence.is_some() && !text[end..].trim().is_empty() => return Step::Reject,
                        After::Nothing
                            if context.close.is_empty() && self.calls.iter().all(|call| complete(call, context.tools)) =>
                        {
                            let braces = self.widen(text, value_end, keys, context);
                            return self.leave(end.max(value_end + braces));
                        }
                        After::Nothing => {}
                    }
                    // Several values may follow each other.
                    let next =
                        text.len() - text[end..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ',')).len();
                    match text.as_bytes().get(next) {
                        None if context.close.is_empty() && !context.end => return Step::More,
                        Some(b'{' | b'[' | b'"') => (self.start, self.phase) = (next, Phase::Before),
                        // What follows cannot follow a value: its quotes are broken.
                        Some(_) if !context.close.is_empty() && !is_json(&text[self.start..value_end]) => {
                            self.phase = Phase::Torn(TornReader::after(end))
                        }
                        _ => return self.leave(end),
                    }
                }
                Phase::Torn(torn) => {
                    let (seeming_end, inside) = (torn.end, torn.inside);
                    return match torn.read(text, context.close) {
                        Some((begin, end)) if self.retake(text, begin, keys, context) => self.leave(end),
                        Some(_) => self.leave(self.start),
                        None if context.end && inside => {
                            self.calls.truncate(self.before);
                            match self.end_anyhow(text, keys, context) {
                                // It seemed to end; if that is not its end, another value follows.
                                Step::Cut { .. } if !context.marked => {
                                    Step::Passed { end: seeming_end, is_json: is_json(&text[self.start..seeming_end]) }
                                }
                                Step::Cut { whole, cut, .. } => Step::Cut { whole, cut, closed: false },
                                step => step,
                            }
                        }
                        None if context.end => self.leave(seeming_end),
                        None => Step::More,
                    };
                }
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
        match calls(value, keys, context, 0, false).or_else(|| repaired(value, keys, context)) {
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
            && match calls(value, keys, context, 0, false) {
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
            && let Some(found) = calls(&text[self.start..end + braces], keys, context, 0, false)
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
        let mut found = calls(&text[self.start..], keys, context, 0, true).unwrap_or_default();
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
