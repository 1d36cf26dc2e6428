//! Reads arguments written as tags, or as one JSON object in their place, into JSON text. One reader serves all forms of tags: they
//! differ only in their markers ([`Form`]).
//!
//! A value is raw text and may contain anything. Its closing tag ends it only if another argument or the end of the body follows;
//! nested pairs of tags are balanced. Where that leaves a doubt about a value's end, the arguments are damaged.

use std::collections::VecDeque;

use crate::{
    adapter::syntax::{Start, ahead::gap, members::object, tagged::markers::Markers, typing::Hint},
    fix::Place,
    json::extent,
};

mod cutter;
mod tag;

use super::lead;
pub(crate) use cutter::{Cut, DAMAGED, Fit, cut};
pub(crate) use tag::{Tag, hint_of, is_label};
use tag::{known_key, loses_text};

/// The arguments of one body, and what it ends in.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    /// Complete members, with their values as JSON text.
    members: Vec<(String, String)>,
    /// All keys, in order.
    keys: Vec<String>,
    /// The keys without a value, oldest first. In some forms all keys precede all values.
    waiting: VecDeque<(String, Hint)>,
    /// The number of spaces between the tags. `None`: something else is between them.
    spaces: Option<usize>,
    /// The end of a value is a guess, or a tag has text that was not read.
    damaged: bool,
    /// A value contains a closing tag of its own: content, or the remains of the tags of a missing parameter.
    doubtful: bool,
    /// The key's tag has more text than the key. It may be the value.
    loses_text: bool,
    /// A value has a closing tag of another name, or holds an opening tag that closes nowhere: a later end may be that of its own
    /// closing tag.
    pub(crate) late: bool,
    /// A value has several lines.
    has_lines: bool,
    pub(crate) state: State,
}

/// What a body ends in.
#[derive(Debug, Default, PartialEq)]
pub(crate) enum State {
    /// Between two arguments, or after the last.
    #[default]
    Between,
    /// After an object in place of the tags, or in it.
    Json { object: String, closed: bool },
    /// In a value that has no closing tag. `plain`: it is one line without tags. `before`: the arguments before it.
    Value { plain: bool, before: String },
    /// In a tag, or before a value.
    Tag,
    /// In text that is no argument.
    Junk,
}

impl Arguments {
    /// Reads `text` from `at` on. `key`: an argument whose tag was read as part of the head. `given`: arguments from the head.
    pub(crate) fn read(text: &str, at: usize, key: Option<&str>, given: &[(String, String)], form: &Markers<'_>) -> Arguments {
        let mut arguments = Arguments { members: given.to_vec(), ..Arguments::default() };
        if let Some(key) = key {
            arguments.expect(key.to_owned(), Hint::None);
        }
        let leads = form.leads();
        Reader { arguments, text, form, leads: &leads, unclosed_from: usize::MAX }.run(at)
    }

    /// Whether no argument was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether this key was read.
    fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known == key)
    }

    /// The key of the next value. Empty if no value is missing.
    fn awaited(&self) -> &str {
        self.waiting.front().map_or("", |(key, _)| key)
    }

    /// Adds a key whose value follows.
    fn expect(&mut self, key: String, hint: Hint) {
        if !self.has(&key) {
            self.keys.push(key.clone());
        }
        self.waiting.push_back((key, hint));
    }

    /// Whether the model probably means something else than these arguments.
    pub(crate) fn is_damaged(&self, parameters: Place<'_>) -> bool {
        self.damaged || self.doubtful && !self.has_all(parameters)
    }

    /// Whether every parameter of the tool was given.
    pub(crate) fn has_all(&self, parameters: Place<'_>) -> bool {
        parameters.keys().all(|key| self.has(key))
    }

    /// Whether the text ended after a closed value, and no parameter is missing that could follow. A value of several lines may
    /// itself contain the tag that seems to close it. A schema that requires nothing may not name all parameters.
    pub(crate) fn are_closed(&self, parameters: Place<'_>) -> bool {
        let has_all = parameters.required().next().is_some() && self.has_all(parameters);
        self.state == State::Between && !self.has_lines && has_all && !self.is_damaged(parameters)
    }

    /// The arguments so far as JSON text.
    pub(crate) fn object(&self) -> String {
        match &self.state {
            State::Json { object, .. } => object.clone(),
            _ => object(&self.members),
        }
    }
}

/// What an object in place of the tags is, which is the whole rest of the body.
fn json(text: &str) -> State {
    let end = extent::end(text).filter(|&end| text[end..].trim().is_empty());
    let whole = text.trim_end();
    // With broken quotes, its last brace may still be the end of the text.
    let closed = end.is_some() || whole.ends_with('}');
    State::Json { object: end.map_or(whole, |end| &text[..end]).to_owned(), closed }
}

struct Reader<'r> {
    arguments: Arguments,
    text: &'r str,
    form: &'r Markers<'r>,
    leads: &'r [u8],
    /// From here on, no value has its own closing tag.
    unclosed_from: usize,
}

/// What ends a value.
#[derive(Clone, Copy, PartialEq)]
enum By {
    /// A tag of the name that opened it.
    Own,
    /// Two such tags. If the value is empty, the first of them may be the value.
    Twice,
    /// The same, but an argument or a call inside the value is open.
    Unbalanced,
    /// A tag of another name.
    Foreign,
    /// The next argument.
    Nothing,
}

/// Where a value ends, and where the text goes on.
#[derive(Clone, Copy)]
struct Stop {
    at: usize,
    next: usize,
    by: By,
    /// The value contains a closing tag that opens nowhere.
    doubtful: bool,
}

impl Reader<'_> {
    fn run(mut self, mut at: usize) -> Arguments {
        while let Some(next) = self.step(at) {
            at = next;
        }
        self.arguments
    }

    /// Reads what begins at `at`. Returns its end. `None`: nothing more can be read.
    fn step(&mut self, at: usize) -> Option<usize> {
        let next = at + self.form.gap(&self.text[at..]);
        let rest = &self.text[next..];
        let (fresh, waiting) = (self.arguments.is_empty(), self.arguments.waiting.len());
        if rest.is_empty() {
            self.arguments.state = if waiting > 0 { State::Tag } else { State::Between };
            return None;
        }
        if fresh && rest.starts_with('{') {
            self.arguments.state = json(rest);
            return None;
        }
        if let Some(length) = self.form.value_open(rest).filter(|_| waiting > 0) {
            return self.value(next, next + length);
        }
        // Between two arguments, one that was given before is a second value.
        let tag = self.form.argument(rest).filter(|tag| tag.own || self.form.takes_any() || self.form.has(&tag.key));
        if let Some(tag) = tag {
            if fresh {
                self.arguments.spaces = matches!(&self.text[at..next], "" | " ").then_some(next - at);
            }
            let (end, has_value) = (next + tag.length, tag.value.is_some());
            self.expect(tag);
            return if has_value || self.form.opens_values() { Some(end) } else { self.value(next, end) };
        }
        if let Some(end) = self.type_tag(next, waiting) {
            return Some(end);
        }
        if waiting == 1 {
            // The tag that opens the value is missing, or misspelt.
            self.arguments.damaged |= rest.starts_with(['<', '>']);
            return self.value(next, next);
        }
        self.arguments.state = State::Junk;
        None
    }

    fn expect(&mut self, tag: Tag) {
        let key = known_key(&tag.key, self.form);
        self.arguments.loses_text = !self.form.has(&tag.key) && loses_text(&tag.key, &key);
        // A quote in the remains of a tag: the value may begin there.
        self.arguments.damaged |= tag.torn || (self.arguments.loses_text && tag.key.contains('"'));
        self.arguments.expect(key, tag.hint);
        if let Some(value) = tag.value {
            self.take(&value, true);
        }
    }

    /// Reads a type between a key and its value. Returns its end.
    fn type_tag(&mut self, at: usize, waiting: usize) -> Option<usize> {
        let [open, close] = self.form.type_tag().filter(|_| waiting > 0)?;
        let written = self.text[at..].strip_prefix(open.as_str())?;
        let stop = written.find(close.as_str()).filter(|&stop| !written[..stop].contains('<'))?;
        if let Some((_, hint)) = self.arguments.waiting.back_mut() {
            *hint = hint_of(written[..stop].trim());
        }
        Some(at + open.len() + stop + close.len())
    }

    /// Reads the value that begins at `start`, after the tag at `tag`. Returns its end. `None`: it has none.
    fn value(&mut self, tag: usize, start: usize) -> Option<usize> {
        let opened = &self.text[tag..start];
        // `build/command>` ends in the remains of a tag.
        let plain = |value: &str| !value.trim().contains(['\n', '<']) && !value.trim().ends_with('>');
        let Some(stop) = self.value_stop(start, opened) else {
            let value = &self.text[start..];
            let before = object(&self.arguments.members);
            self.take(value.trim_end(), plain(value));
            self.arguments.state = State::Value { before, plain: plain(value) && !value.trim().is_empty() };
            return None;
        };
        self.arguments.doubtful |= stop.doubtful;
        self.arguments.late |= matches!(stop.by, By::Unbalanced | By::Foreign);
        let value = &self.text[start..stop.at];
        self.arguments.damaged |= stop.by != By::Own && value.trim().is_empty();
        let closed = stop.by != By::Nothing;
        let value = if closed { value } else { value.trim_end() };
        self.take(value, closed || plain(value));
        (self.arguments.state != State::Junk).then_some(stop.next)
    }

    /// Whether another argument or the end of the body is at `at`.
    fn stop_after(&self, at: usize) -> bool {
        let rest = &self.text[at + self.form.gap(&self.text[at..])..];
        rest.is_empty() || self.argument(rest).is_some()
    }

    /// The argument's tag that `text` begins with.
    fn argument(&self, text: &str) -> Option<Tag> {
        let arguments = &self.arguments;
        let is_due = |key: &str| !arguments.has(key) || key == arguments.awaited();
        let counts = |tag: &Tag| tag.own || self.form.has(&tag.key) && is_due(&tag.key);
        self.form.argument(text).filter(counts)
    }

    /// Where the value ends: at its own closing tag, or at another one in its place.
    fn value_stop(&mut self, start: usize, opened: &str) -> Option<Stop> {
        let mut own = None;
        if start < self.unclosed_from {
            let (stop, unseen) = self.value_end(start, opened, true);
            if stop.is_some_and(|stop| stop.by != By::Nothing) {
                return stop;
            }
            if unseen && stop.is_none() {
                self.unclosed_from = start;
            }
            own = stop;
        }
        let (stop, _) = self.value_end(start, opened, false);
        let foreign = |stop: Stop| if matches!(stop.by, By::Own | By::Twice) { Stop { by: By::Foreign, ..stop } } else { stop };
        stop.filter(|stop| stop.by != By::Nothing || own.is_none()).map(foreign).or(own)
    }

    /// Where the value ends, and whether no closing tag was seen. `own`: only at a tag of the same name as the one that opened it.
    fn value_end(&self, start: usize, opened: &str, own: bool) -> (Option<Stop>, bool) {
        let (text, form) = (self.text, self.form);
        let key = self.arguments.awaited();
        let Some(section) = form.section(&text[start..]) else { return (None, false) };
        let (mut at, mut unseen) = (start + section, true);
        // Calls and arguments inside the value that are open.
        let (mut calls, mut arguments) = (0_usize, 0_usize);
        let (mut unbalanced, mut doubtful) = (None, false);
        // The name of the tag that opened it, for pairs of the same name inside.
        let name = opened.strip_prefix('<').and_then(|tag| tag.split(|c: char| !c.is_alphanumeric()).next()).unwrap_or_default();
        let opens_again = |text: &str| {
            let rest = text.strip_prefix('<').and_then(|text| text.strip_prefix(name));
            !name.is_empty() && rest.is_some_and(|rest| rest.starts_with(['>', ' ']))
        };
        let bracket = text[start..].find('<').map_or(text.len(), |at| start + at);
        while let Some(place) = lead(text, at, self.leads) {
            let rest = &text[place..];
            at = place + 1;
            if let Some(length) = form.nested(rest) {
                calls += 1;
                at = place + length;
                continue;
            }
            if calls > 0 {
                calls -= usize::from(matches!(form.close(rest, true), Start::Yes(_)));
                continue;
            }
            if let Some(length) = form.value_close(rest, key, opened, own && arguments == 0) {
                unseen = false;
                let next = place + length;
                at = next;
                let stop = Stop { at: place, next, by: By::Own, doubtful };
                if arguments > 0 {
                    arguments -= 1;
                    unbalanced = text[next..].trim_start().is_empty().then_some(Stop { by: By::Unbalanced, ..stop });
                    continue;
                }
                if self.stop_after(next) {
                    return (Some(stop), unseen);
                }
                let again = next + gap(&text[next..]);
                let closes_again = form.value_close(&text[again..], key, opened, own);
                // The value may close twice.
                let is_same = text[again..].starts_with(&text[place..next]);
                let twice = closes_again.filter(|_| bracket == place && is_same);
                if let Some(next) = twice.map(|length| again + length).filter(|&next| self.stop_after(next)) {
                    return (Some(Stop { next, by: By::Twice, ..stop }), unseen);
                }
                let quote = text[..place].chars().next_back().filter(|c| matches!(c, '"' | '\'' | '`'));
                doubtful |= quote.is_none_or(|quote| !text[next..].starts_with(quote));
                continue;
            }
            if let Some(tag) = form.argument(rest).filter(|tag| !form.is_nested() && (tag.own || !form.takes_any())) {
                let alone = self.arguments.spaces.is_some() || text[start..place].trim_end_matches([' ', '\t']).ends_with('\n');
                // The value's own closing tag is missing.
                if alone && tag.own && arguments == 0 && self.form.has(&tag.key) && !self.arguments.has(&tag.key) {
                    return (Some(Stop { at: place, next: place, by: By::Nothing, doubtful }), unseen);
                }
                arguments += 1;
                at = place + tag.length;
            } else if opens_again(rest) {
                arguments += 1;
            }
        }
        (unbalanced, unseen)
    }

    /// Adds the value of the oldest key without one. `sure`: its end is certain. Malformed elements inside of it are junk.
    fn take(&mut self, text: &str, sure: bool) {
        let (form, arguments) = (self.form, &mut self.arguments);
        let Some((key, hint)) = arguments.waiting.pop_front() else { return };
        arguments.damaged |= !sure || (arguments.loses_text && text.trim().is_empty());
        let text = form.value(text, arguments.spaces == Some(1));
        arguments.has_lines |= text.contains('\n');
        match form.json(&key, &text, hint) {
            Some(value) => {
                // A key with two values.
                arguments.damaged |= arguments.members.iter().any(|(known, other)| *known == key && *other != value);
                arguments.members.push((key, value));
            }
            None => arguments.state = State::Junk,
        }
    }
}
