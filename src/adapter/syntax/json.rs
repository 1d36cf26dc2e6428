//! Calls as JSON: an object with name and arguments, an array of them, OpenAI's wrappers, several objects in a row. The end
//! is found by the value, never by searching the closing marker: a marker inside of a string is content.

use super::{
    Context, Parsed, Start, Step, blank,
    members::{elements, members, unquote},
    starts_with_any,
};
use crate::{adapter::JsonKeys, event::ToolChoice, json::extent::Extent};

const NESTED_WRAPPERS: usize = 3;
/// Keys that a call may begin with besides those of name and arguments.
const OTHER_KEYS: [&str; 8] = ["type", "id", "tool_calls", "tool_call", "function_call", "call_id", "tool_call_id", "index"];

/// Reads one or more JSON values in a row.
#[derive(Debug, Default)]
pub(crate) struct JsonReader {
    calls: Vec<Parsed>,
    /// Where the current value begins.
    start: usize,
    phase: Phase,
}

#[derive(Debug, Default)]
enum Phase {
    /// Before a value.
    #[default]
    Before,
    /// Inside a value, looked at up to `seen`. A closing marker was met at `marker` (begin, end).
    Inside { extent: Extent, seen: usize, marker: Option<(usize, usize)> },
    /// Behind a value.
    Behind { end: usize },
    /// The value lost step (quotes inside of it are not escaped): only a closing marker can end it, searched from `seen`.
    Torn { seen: usize },
}

// === impl JsonReader ===

impl JsonReader {
    pub(crate) fn read(&mut self, text: &str, keys: &JsonKeys, context: Context<'_>) -> Step {
        loop {
            match &mut self.phase {
                Phase::Before => {
                    self.start += blank(&text[self.start..]);
                    let rest = &text[self.start..];
                    let first = rest.as_bytes().first();
                    match plausible(rest, keys, context) {
                        None if !context.end => return Step::More,
                        None if !self.calls.is_empty() || first.is_none() => return self.leave(self.start),
                        Some(false) => return self.leave(self.start),
                        _ => {}
                    }
                    self.phase = Phase::Inside { extent: Extent::default(), seen: self.start, marker: None };
                }
                Phase::Inside { extent, seen, marker } => {
                    let from = *seen;
                    if let Some(length) = extent.feed(&text.as_bytes()[from..]) {
                        let end = from + length;
                        match self.take(text, end, keys, context) {
                            true => self.phase = Phase::Behind { end },
                            false if self.calls.is_empty() && !context.close.is_empty() && !sound(&text[self.start..end]) => {
                                self.phase = Phase::Torn { seen: end }
                            }
                            false => return self.leave(self.start),
                        }
                        continue;
                    }
                    if marker.is_none() {
                        *marker = find_any(text, from, context.close);
                    }
                    *seen = text.len();
                    if !context.end {
                        return Step::More;
                    }
                    let marker = *marker;
                    return self.end_inside(text, marker, keys, context);
                }
                Phase::Behind { end } => {
                    let end = *end;
                    match self.behind(text, end, context) {
                        Behind::More => return Step::More,
                        Behind::Next(at) => (self.start, self.phase) = (at, Phase::Before),
                        Behind::Junk => self.phase = Phase::Torn { seen: end },
                        Behind::End(at) => return self.leave(at),
                    }
                }
                Phase::Torn { seen } => {
                    let from = *seen;
                    *seen = text.len();
                    if let Some((begin, end)) = find_any(text, from, context.close) {
                        if text[..begin].trim_end().ends_with(['}', ']']) && self.retake(text, begin, keys, context) {
                            return self.leave(end);
                        }
                        *self.seen() = end;
                        continue;
                    }
                    if !context.end {
                        // The beginning of a marker may stand at the end of the text.
                        let longest = context.close.iter().map(String::len).max().unwrap_or(1);
                        *self.seen() = floor(text, text.len().saturating_sub(longest - 1)).max(from);
                        return Step::More;
                    }
                    return match text.trim_end().ends_with('}') && self.retake(text, text.len(), keys, context) {
                        true => self.leave(text.len()),
                        false => self.leave(self.start),
                    };
                }
            }
        }
    }

    /// The name that the value has so far, if it can be seen: decides whether a large candidate is worth holding.
    pub(crate) fn name(&self, text: &str, keys: &JsonKeys) -> Option<String> {
        let rest = text[self.start..].trim_start().trim_start_matches('[');
        find(&members(rest)?, &keys.name).map(unquote)
    }

    fn seen(&mut self) -> &mut usize {
        match &mut self.phase {
            Phase::Torn { seen } | Phase::Inside { seen, .. } => seen,
            Phase::Before | Phase::Behind { .. } => &mut self.start,
        }
    }

    /// Reads the calls of the value that ends at `end`; `false` if there are none in it.
    fn take(&mut self, text: &str, end: usize, keys: &JsonKeys, context: Context<'_>) -> bool {
        match calls(&text[self.start..end], keys, context, 0) {
            Some(found) => {
                self.calls.extend(found);
                true
            }
            None => false,
        }
    }

    /// The same for a value that was torn: what was read of it before is replaced.
    fn retake(&mut self, text: &str, end: usize, keys: &JsonKeys, context: Context<'_>) -> bool {
        self.calls.clear();
        self.take(text, end, keys, context)
    }

    /// What was read so far is all; nothing at all is no call.
    fn leave(&mut self, end: usize) -> Step {
        match self.calls.is_empty() {
            true => Step::Reject,
            false => Step::Done { calls: std::mem::take(&mut self.calls), end },
        }
    }

    fn behind(&self, text: &str, end: usize, context: Context<'_>) -> Behind {
        if context.close.is_empty() {
            return Behind::End(end);
        }
        let at = end + blank(&text[end..]);
        let rest = &text[at..];
        // Braces too many and separators are not content when the closing marker or another value follows them.
        let junk = rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '}' | ']' | ';' | ',')).len();
        match starts_with_any(&rest[junk..], context.close, context.end) {
            Start::Yes(length) => return Behind::End(at + junk + length),
            Start::Maybe => return Behind::More,
            Start::No => {}
        }
        let separators = rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ',')).len();
        match rest.as_bytes().get(separators) {
            Some(b'{' | b'[') => Behind::Next(at + separators),
            Some(_)
                if !sound(&text[self.start..end])
                    && find_any(text, at, context.close).is_some_and(|(begin, _)| text[..begin].trim_end().ends_with('}')) =>
            {
                Behind::Junk
            }
            Some(_) if !sound(&text[self.start..end]) && !context.end => Behind::Junk,
            _ => Behind::End(end),
        }
    }

    /// The text is over inside of a value.
    fn end_inside(&mut self, text: &str, marker: Option<(usize, usize)>, keys: &JsonKeys, context: Context<'_>) -> Step {
        if let Some((begin, end)) = marker
            && text[self.start..begin].trim_end().ends_with(['}', ']'])
            && self.take(text, begin, keys, context)
        {
            return self.leave(end);
        }
        let rest = &text[self.start..];
        let object = elements(rest).and_then(|list| list.last().copied()).unwrap_or(rest);
        let mut whole = std::mem::take(&mut self.calls);
        if rest.starts_with('[') {
            let list = elements(rest).unwrap_or_default();
            for element in list.iter().take(list.len().saturating_sub(1)) {
                whole.extend(calls(element, keys, context, 0).unwrap_or_default());
            }
        }
        let cut = calls(object, keys, context, 0).and_then(|mut found| found.pop()).unwrap_or_default();
        // The last character of complete arguments inside of an incomplete call proves nothing: it is left away, so that
        // the arguments are as unfinished as the call is.
        let mut arguments = cut.arguments.trim_end().to_owned();
        if sound(&arguments) {
            arguments.pop();
        }
        Step::Cut { whole, cut: Parsed { arguments, ..cut } }
    }
}

enum Behind {
    More,
    Next(usize),
    /// What follows cannot stand behind a value: the value is torn.
    Junk,
    End(usize),
}

/// Whether a value begins here that may be a call: `None` while that cannot be seen.
fn plausible(text: &str, keys: &JsonKeys, context: Context<'_>) -> Option<bool> {
    let rest = text.trim_start();
    let object = match rest.as_bytes().first()? {
        b'{' => &rest[1..],
        b'[' => {
            let inner = rest[1..].trim_start();
            match inner.as_bytes().first()? {
                b'{' => &inner[1..],
                _ => return Some(false),
            }
        }
        _ => return Some(false),
    };
    if context.marked || context.tools.choice != ToolChoice::Auto {
        return Some(true);
    }
    let key = object.trim_start();
    let quote = key.chars().next()?;
    let bare = key.trim_start_matches(['"', '\'']);
    let end = bare.find(|c: char| !(c.is_alphanumeric() || "_-./:".contains(c)));
    let Some(end) = end else { return (bare.len() > 128).then_some(false) };
    let key = &bare[..end];
    let known = keys.name.iter().chain(&keys.arguments).any(|known| known == key)
        || OTHER_KEYS.contains(&key)
        || context.tools.iter().any(|tool| tool.name == key);
    Some(known && (matches!(quote, '"' | '\'') || quote.is_alphabetic()))
}

/// The calls in one value; `None` if it is not made like a call.
fn calls(value: &str, keys: &JsonKeys, context: Context<'_>, depth: usize) -> Option<Vec<Parsed>> {
    if depth > NESTED_WRAPPERS {
        return None;
    }
    if let Some(list) = elements(value) {
        let found: Option<Vec<Vec<Parsed>>> = list.into_iter().map(|element| calls(element, keys, context, depth + 1)).collect();
        return found.map(|found| found.concat()).filter(|found| !found.is_empty());
    }
    let members = members(value)?;
    let get = |key: &str| members.iter().find(|(known, _)| known == key).map(|(_, value)| *value);
    if let Some(wrapped) =
        ["tool_calls", "tool_call", "function_call"].into_iter().find_map(get).filter(|value| value.starts_with(['{', '[']))
    {
        return calls(wrapped, keys, context, depth + 1);
    }
    let id = ["id", "tool_call_id", "call_id"].into_iter().find_map(get).filter(|id| id.starts_with('"')).map(unquote);
    if let Some(name) = find(&members, &keys.name) {
        if name.starts_with('{') {
            let inner = calls(name, keys, context, depth + 1)?;
            return Some(inner.into_iter().map(|call| Parsed { id: call.id.or_else(|| id.clone()), ..call }).collect());
        }
        let written = unquote(name);
        let arguments = find(&members, &keys.arguments).map(str::to_owned).unwrap_or_else(|| flattened(&members, keys));
        return (!written.is_empty()).then(|| vec![Parsed { name: written, id, arguments }]);
    }
    if let [(name, arguments)] = members.as_slice()
        && arguments.starts_with('{')
        && (keys.name_is_key || context.tools.get(name).is_some())
    {
        return Some(vec![Parsed { name: name.clone(), id: None, arguments: (*arguments).to_owned() }]);
    }
    match &context.tools.choice {
        ToolChoice::Named(name) if !context.marked => {
            Some(vec![Parsed { name: name.clone(), id: None, arguments: value.to_owned() }])
        }
        _ => None,
    }
}

/// The value of the first of these keys that is there and is an object or a string.
fn find<'t>(members: &[(String, &'t str)], keys: &[String]) -> Option<&'t str> {
    keys.iter().find_map(|key| members.iter().find(|(known, _)| known == key).map(|(_, value)| *value))
}

/// Arguments that stand beside the name instead of in an object of their own.
fn flattened(members: &[(String, &str)], keys: &JsonKeys) -> String {
    let name = keys.name.iter().find(|key| members.iter().any(|(known, _)| known == *key));
    let rest: Vec<String> = members
        .iter()
        .filter(|(key, _)| Some(key) != name && !OTHER_KEYS.contains(&key.as_str()))
        .map(|(key, value)| format!("{}: {value}", serde_json::Value::from(key.as_str())))
        .collect();
    format!("{{{}}}", rest.join(", "))
}

/// Whether it is strict JSON.
fn sound(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The first of the markers behind `from`: where it begins and ends.
fn find_any(text: &str, from: usize, markers: &[String]) -> Option<(usize, usize)> {
    markers.iter().filter_map(|marker| text[from..].find(marker.as_str()).map(|at| (from + at, from + at + marker.len()))).min()
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
