//! Calls as JSON: an object with name and arguments, an array of them, OpenAI's wrappers, several objects in a row. The end
//! is found by the value, never by searching the closing marker: a marker inside of a string is content.

use super::{
    Context, Parsed, Start, Step, WORD_BYTES, Word, blank,
    members::{elements, is_closed, members, unquote},
    unclosed,
    value::{Behind, Got, TornReader, Trail, ValueReader, sound},
    word,
};
use crate::{adapter::JsonKeys, event::ToolChoice};

const NESTED_WRAPPERS: usize = 3;
/// A longer word behind the ticks of a fence is no language.
const FENCE_WORD_BYTES: usize = 32;
/// Keys of what calls may be wrapped in.
const WRAPPERS: [&str; 3] = ["tool_calls", "tool_call", "function_call"];
/// Keys that a call may begin with besides those of name and arguments.
const OTHER_KEYS: [&str; 8] = ["type", "id", "tool_calls", "tool_call", "function_call", "call_id", "tool_call_id", "index"];

/// Reads one or more JSON values in a row.
#[derive(Debug, Default)]
pub(crate) struct JsonReader {
    calls: Vec<Parsed>,
    /// Where the current value begins.
    start: usize,
    /// How many calls stood before it.
    before: usize,
    /// A code fence stands between the marker and the values.
    fenced: bool,
    phase: Phase,
}

#[derive(Debug, Default)]
enum Phase {
    /// Before the header, if the form has one.
    #[default]
    Header,
    /// Before a value.
    Before,
    /// Inside a value.
    Inside(ValueReader),
    /// Behind a value that ended there.
    Behind(usize, Trail),
    Torn(TornReader),
}

// === impl JsonReader ===

impl JsonReader {
    pub(crate) fn read(&mut self, text: &str, keys: &JsonKeys, context: Context<'_>) -> Step {
        loop {
            match &mut self.phase {
                Phase::Header if keys.header.is_empty() => self.phase = Phase::Before,
                Phase::Header => match word(text, keys.header.iter().map(String::as_str), context.end) {
                    Word::Ends { at, length, .. } => (self.start, self.phase) = (at + length, Phase::Before),
                    Word::Maybe => return Step::More,
                    Word::No => return Step::Reject,
                },
                Phase::Before => {
                    self.start += blank(&text[self.start..]);
                    let rest = &text[self.start..];
                    if context.marked && !self.fenced && self.calls.is_empty() && rest.starts_with('`') {
                        match opening_fence(rest, context.end) {
                            Start::Yes(length) => (self.fenced, self.start) = (true, self.start + length),
                            Start::Maybe => return Step::More,
                            Start::No => return Step::Reject,
                        }
                        continue;
                    }
                    let first = rest.as_bytes().first();
                    match plausible(rest, keys, context) {
                        None if !context.end => return Step::More,
                        None if !self.calls.is_empty() || first.is_none() => return self.leave(self.start),
                        Some(false) => return self.leave(self.start),
                        _ => {}
                    }
                    (self.before, self.phase) = (self.calls.len(), Phase::Inside(ValueReader::at(self.start)));
                }
                Phase::Inside(value) => match value.read(text, context.close, context.end) {
                    Got::More if context.end => return self.cut(text, keys, context),
                    Got::More => return Step::More,
                    Got::Closed(begin, end) if self.take(text, begin, keys, context) => return self.leave(end),
                    Got::Closed(..) => return self.leave(self.start),
                    Got::Balanced(end) => match self.take(text, end, keys, context) {
                        true => self.phase = Phase::Behind(end, Trail::behind(end)),
                        false if !context.close.is_empty() && !sound(&text[self.start..end]) => {
                            self.phase = Phase::Torn(TornReader::behind(end));
                        }
                        false if self.calls.is_empty() => {
                            return Step::Passed { end, sound: sound(&text[self.start..end]) };
                        }
                        false => return self.leave(self.start),
                    },
                },
                Phase::Behind(end, trail) => {
                    if self.fenced && trail.end == *end && trail.fence(text, context.end) == Start::Maybe {
                        return Step::More;
                    }
                    let (value_end, end) = (*end, trail.end);
                    match trail.read(text, context.close, context.end) {
                        Behind::More => return Step::More,
                        Behind::Marker(at) => return self.leave(at),
                        // A tag in prose before somebody's code block.
                        Behind::Nothing if self.fenced && !text[end..].trim().is_empty() => return Step::Reject,
                        Behind::Nothing if context.close.is_empty() => return self.leave(end),
                        Behind::Nothing => {}
                    }
                    // Several values may stand in a row.
                    let next =
                        text.len() - text[end..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ',')).len();
                    match text.as_bytes().get(next) {
                        Some(b'{' | b'[') => (self.start, self.phase) = (next, Phase::Before),
                        // What follows cannot stand behind a value: it lost step.
                        Some(_) if !sound(&text[self.start..value_end]) => self.phase = Phase::Torn(TornReader::behind(end)),
                        _ => return self.leave(end),
                    }
                }
                Phase::Torn(torn) => {
                    let behind = torn.end;
                    return match torn.read(text, context.close) {
                        Some((begin, end)) if self.retake(text, begin, keys, context) => self.leave(end),
                        Some(_) => self.leave(self.start),
                        None if context.end => self.leave(behind),
                        None => Step::More,
                    };
                }
            }
        }
    }

    /// The name that the value has so far, if it can be seen: decides whether a large candidate is worth holding.
    pub(crate) fn name(&self, text: &str, keys: &JsonKeys) -> Option<String> {
        written_name(&text[self.start..], keys, 0)
    }

    /// Reads the calls of the value that ends at `end`; `false` if there are none in it.
    fn take(&mut self, text: &str, end: usize, keys: &JsonKeys, context: Context<'_>) -> bool {
        match calls(&text[self.start..end], keys, context, 0, false) {
            Some(found) => {
                self.calls.extend(found.into_iter().map(|found| found.call));
                true
            }
            None => false,
        }
    }

    /// The same for a value that was torn: what was read of it before is replaced.
    fn retake(&mut self, text: &str, end: usize, keys: &JsonKeys, context: Context<'_>) -> bool {
        self.calls.truncate(self.before);
        self.take(text, end, keys, context)
    }

    /// What was read so far is all; nothing at all is no call.
    fn leave(&mut self, end: usize) -> Step {
        match self.calls.is_empty() {
            true => Step::Reject,
            false => Step::Done { calls: std::mem::take(&mut self.calls), end },
        }
    }

    /// The text is over inside of a value.
    fn cut(&mut self, text: &str, keys: &JsonKeys, context: Context<'_>) -> Step {
        let mut found = calls(&text[self.start..], keys, context, 0, true).unwrap_or_default();
        let Found { call: cut, closed } = found.pop().unwrap_or_default();
        let mut whole = std::mem::take(&mut self.calls);
        whole.extend(found.into_iter().map(|found| found.call));
        Step::Cut { whole, cut, closed }
    }
}

/// The head of a code fence: ticks and a language.
fn opening_fence(text: &str, over: bool) -> Start {
    let bare = text.trim_start_matches('`');
    let word = bare.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(bare.len());
    match text.len() - bare.len() {
        3 if word < bare.len() && word <= FENCE_WORD_BYTES => Start::Yes(3 + word),
        ..=3 if !over && word == bare.len() && word <= FENCE_WORD_BYTES => Start::Maybe,
        _ => Start::No,
    }
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

/// A call in a value, and whether the model closed its name and its arguments.
#[derive(Default)]
struct Found {
    call: Parsed,
    closed: bool,
}

/// The calls in one value; `None` if it is not made like a call. `open`: the text may be over inside of it, and of the last
/// call only what was ended is there.
fn calls(value: &str, keys: &JsonKeys, context: Context<'_>, depth: usize, open: bool) -> Option<Vec<Found>> {
    if depth > NESTED_WRAPPERS {
        return None;
    }
    if let Some(list) = elements(value) {
        let last = list.len().wrapping_sub(1);
        let found: Option<Vec<Vec<Found>>> = list
            .into_iter()
            .enumerate()
            .map(|(at, element)| {
                let unread = || (open && at == last).then(|| vec![Found::default()]);
                calls(element, keys, context, depth + 1, open && at == last).or_else(unread)
            })
            .collect();
        return found.map(|found| found.into_iter().flatten().collect::<Vec<_>>()).filter(|found| !found.is_empty());
    }
    let members = members(value)?;
    let get = |key: &str| members.iter().find(|(known, _)| known == key).map(|(_, value)| *value);
    if let Some(wrapped) = WRAPPERS.into_iter().find_map(get).filter(|value| value.starts_with(['{', '['])) {
        return calls(wrapped, keys, context, depth + 1, open);
    }
    let id = ["id", "tool_call_id", "call_id"].into_iter().find_map(get);
    let id = id.filter(|id| keys.keep_id && id.starts_with('"') && is_closed(id)).map(unquote);
    if let Some(name) = find(&members, &keys.name) {
        if name.starts_with('{') {
            let mut inner = calls(name, keys, context, depth + 1, open)?;
            inner.iter_mut().for_each(|found| found.call.id = found.call.id.take().or_else(|| id.clone()));
            return Some(inner);
        }
        if name.starts_with('[') || name.len() > WORD_BYTES {
            return None;
        }
        if open && !is_closed(name) {
            return Some(vec![Found::default()]);
        }
        let written = unquote(name);
        let (arguments, closed) = match find(&members, &keys.arguments) {
            Some(arguments) => (arguments.to_owned(), is_closed(arguments)),
            None if open && !is_closed(value) => (unclosed(&flattened(&members, keys)), false),
            None => (flattened(&members, keys), true),
        };
        return (!written.is_empty()).then(|| vec![Found { call: Parsed { name: written, id, arguments }, closed }]);
    }
    if let [(name, arguments)] = members.as_slice()
        && arguments.starts_with('{')
        && (keys.name_is_key || context.tools.get(name).is_some())
    {
        let call = Parsed { name: name.clone(), id: None, arguments: (*arguments).to_owned() };
        return Some(vec![Found { call, closed: is_closed(arguments) }]);
    }
    match &context.tools.choice {
        ToolChoice::Named(name) if !context.marked => {
            let call = Parsed { name: name.clone(), id: None, arguments: value.to_owned() };
            Some(vec![Found { call, closed: is_closed(value) }])
        }
        _ => None,
    }
}

/// The name in a value that may not have ended.
fn written_name(value: &str, keys: &JsonKeys, depth: usize) -> Option<String> {
    let members = members(value.trim_start_matches(|c: char| c.is_whitespace() || c == '['))?;
    let wrapped = WRAPPERS.into_iter().find_map(|key| members.iter().find(|(known, _)| known == key).map(|(_, value)| *value));
    match wrapped.or_else(|| find(&members, &keys.name)) {
        Some(inner) if inner.starts_with(['{', '[']) => {
            (depth < NESTED_WRAPPERS).then(|| written_name(inner, keys, depth + 1))?
        }
        Some(name) => (name.len() <= WORD_BYTES).then(|| unquote(name)),
        None => {
            let wraps = |(key, value): &(String, &str)| value.starts_with('{') && !keys.arguments.contains(key);
            members.into_iter().next().filter(wraps).map(|(name, _)| name)
        }
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
