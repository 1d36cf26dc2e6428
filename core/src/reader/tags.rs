//! Reads arguments written as tags, or as one JSON object in their place, into JSON text. One reader serves all forms of tags: they
//! differ only in their markers ([`Form`]).
//!
//! A value is raw text and may contain anything. Its closing tag ends it only if another argument or the end of the body follows;
//! nested pairs of tags are balanced. Where that leaves a doubt about a value's end, the arguments are damaged.

use crate::{
    adapter::syntax::{
        Start,
        ahead::gap,
        tagged::markers::Markers,
        typing::{Hint, Types},
    },
    fix::Role,
    json::extent::Extent,
};

mod cutter;
mod members;
mod tag;

use super::lead;
pub(crate) use cutter::{Cut, Got, cut};
use members::Members;
pub(crate) use tag::{Between, Tag, hint_of, is_label};
use tag::{known_key, loses_text};

/// The marks around a section of text.
const CDATA: [&str; 2] = ["<![CDATA[", "]]>"];

/// A body that is to be read.
#[derive(Clone, Copy)]
pub(crate) struct Body<'t> {
    pub(crate) text: &'t str,
    /// Where the arguments begin.
    pub(crate) start: usize,
    /// Whether the text is complete, and whether a limit truncated it.
    pub(crate) end: bool,
    pub(crate) cut: bool,
    /// The closing marker is a special token, which no value contains.
    pub(crate) special: bool,
}

/// The arguments of one body, and what it ends in.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    members: Members,
    between: Between,
    /// The end of a value is a guess, or a tag has text that was not read.
    damaged: bool,
    /// A value contains a closing tag of its own: content, or the remains of the tags of a missing parameter.
    doubtful: bool,
    /// The key's tag has more text than the key. It may be the value.
    loses_text: bool,
    /// A value has a closing tag of another name, or holds an opening tag that closes nowhere.
    foreign: bool,
    unbalanced: bool,
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
    pub(crate) fn read(
        text: &str,
        at: usize,
        key: Option<&str>,
        given: &[(String, String)],
        form: &Markers<'_>,
        types: &Types,
    ) -> Arguments {
        let mut arguments = Arguments::default();
        arguments.members.given(given.to_vec());
        if let Some(key) = key {
            arguments.members.expect(key.to_owned(), Hint::None);
        }
        let leads = form.leads();
        Reader { arguments, text, form, types, leads: &leads, unclosed_from: usize::MAX }.run(at)
    }

    /// Whether no argument was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether the model probably means something else than these arguments.
    pub(crate) fn is_damaged(&self, types: &Types) -> bool {
        self.damaged || self.doubtful && !self.has_all(types)
    }

    /// Whether the tag that closes a value has another name than the one that opens it.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Whether a value holds an opening tag that closes nowhere.
    pub(crate) fn is_unbalanced(&self) -> bool {
        self.unbalanced
    }

    /// Whether every parameter of the tool was given.
    pub(crate) fn has_all(&self, types: &Types) -> bool {
        types.keys().all(|key| self.members.has(key))
    }

    /// Whether the text ended after a closed value, and no parameter is missing that could follow. A value of several lines may
    /// itself contain the tag that seems to close it. A schema that requires nothing may not name all parameters.
    pub(crate) fn are_closed(&self, types: &Types) -> bool {
        let has_all = types.required().next().is_some() && self.has_all(types);
        self.state == State::Between && !self.has_lines && has_all && !self.is_damaged(types)
    }

    /// The arguments so far as JSON text.
    pub(crate) fn object(&self) -> String {
        match &self.state {
            State::Json { object, .. } => object.clone(),
            _ => format!("{{{}}}", self.members.text()),
        }
    }
}

/// Whether the value of a parameter is a path or a command.
fn is_bare(key: &str) -> bool {
    let role = Role::of(key, false);
    role.path || role.command
}

struct Reader<'r> {
    arguments: Arguments,
    text: &'r str,
    form: &'r Markers<'r>,
    types: &'r Types,
    leads: &'r [u8],
    /// From here on, no value has its own closing tag.
    unclosed_from: usize,
}

/// Where a value ends, and where the text goes on.
struct Stop {
    at: usize,
    next: usize,
    closed: bool,
    /// The arguments and calls inside the value are closed too.
    balanced: bool,
    /// Another end is as good.
    damaged: bool,
    /// The value contains a closing tag that opens nowhere.
    doubtful: bool,
    /// Its closing tag has another name than the one that opened it.
    foreign: bool,
}

impl Reader<'_> {
    fn run(mut self, from: usize) -> Arguments {
        let mut at = from;
        loop {
            let next = at + self.form.gap(&self.text[at..]);
            let rest = &self.text[next..];
            let (fresh, waiting) = (self.arguments.members.is_empty(), self.arguments.members.waiting());
            if rest.is_empty() {
                self.arguments.state = if waiting > 0 { State::Tag } else { State::Between };
                return self.arguments;
            }
            if fresh && rest.starts_with('{') {
                return self.json(next);
            }
            let value_open = self.form.value_open(rest).filter(|_| waiting > 0);
            // Between two arguments, one that was given before is a second value.
            let tag = self.form.argument(rest).filter(|tag| tag.own || self.form.takes_any() || self.types.has(&tag.key));
            let value = match (value_open, tag) {
                (Some(length), _) => Some((next, next + length)),
                (None, Some(tag)) => {
                    if fresh {
                        self.arguments.between = Between::of(&self.text[at..next]);
                    }
                    let has_value = tag.value.is_some();
                    let end = next + tag.length;
                    self.expect(tag);
                    (!self.form.opens_values() && !has_value).then_some((next, end)).or_else(|| {
                        at = end;
                        None
                    })
                }
                (None, None) => match self.type_tag(next, waiting) {
                    Some(end) => {
                        at = end;
                        None
                    }
                    None if waiting == 1 => {
                        // The tag that opens the value is missing, or misspelt.
                        self.arguments.damaged |= rest.starts_with(['<', '>']);
                        Some((next, next))
                    }
                    None => {
                        self.arguments.state = State::Junk;
                        return self.arguments;
                    }
                },
            };
            if let Some((tag, start)) = value {
                match self.value(tag, start) {
                    Some(end) => at = end,
                    None => return self.arguments,
                }
            }
        }
    }

    /// Reads an object in place of the tags, which is the whole rest of the body.
    fn json(mut self, at: usize) -> Arguments {
        let text = &self.text[at..];
        let end = Extent::default().feed(text.as_bytes()).filter(|&end| text[end..].trim().is_empty());
        let whole = text.trim_end();
        // With broken quotes, its last brace may still be the end of the text.
        let closed = end.is_some() || whole.ends_with('}');
        self.arguments.state = State::Json { object: end.map_or(whole, |end| &text[..end]).to_owned(), closed };
        self.arguments
    }

    fn expect(&mut self, tag: Tag) {
        let key = known_key(&tag.key, self.types);
        self.arguments.loses_text = !self.types.has(&tag.key) && loses_text(&tag.key, &key);
        // A quote in the remains of a tag: the value may begin there.
        self.arguments.damaged |= tag.torn || (self.arguments.loses_text && tag.key.contains('"'));
        self.arguments.members.expect(key, tag.hint);
        if let Some(value) = tag.value {
            self.take(&value, true);
        }
    }

    /// Reads a type between a key and its value. Returns its end.
    fn type_tag(&mut self, at: usize, waiting: usize) -> Option<usize> {
        let [open, close] = self.form.type_tag().filter(|_| waiting > 0)?;
        let written = self.text[at..].strip_prefix(open.as_str())?;
        let stop = written.find(close.as_str()).filter(|&stop| !written[..stop].contains('<'))?;
        self.arguments.members.hint(hint_of(written[..stop].trim()));
        Some(at + open.len() + stop + close.len())
    }

    /// Reads the value that begins at `start`, after the tag at `tag`. Returns its end. `None`: it has none.
    fn value(&mut self, tag: usize, start: usize) -> Option<usize> {
        let opened = &self.text[tag..start];
        // `build/command>` ends in the remains of a tag.
        let plain = |value: &str| !value.trim().contains(['\n', '<']) && !value.trim().ends_with('>');
        let mut found = self.value_stop(start, opened).map(|stop| (start, stop));
        // The tag may be written twice.
        let again = start + gap(&self.text[start..]);
        let is_twin = !opened.is_empty() && self.text[again..].starts_with(opened);
        if is_twin && !found.as_ref().is_some_and(|(_, stop)| stop.closed && stop.balanced) {
            let again = again + opened.len();
            let empty = |stop: Stop| Stop { damaged: stop.damaged || self.text[again..stop.at].trim().is_empty(), ..stop };
            found = self.value_stop(again, opened).map(|stop| (again, empty(stop))).or(found);
        }
        let Some((start, stop)) = found else {
            let value = &self.text[start..];
            let before = format!("{{{}}}", self.arguments.members.text());
            self.take(value.trim_end(), plain(value));
            self.arguments.state = State::Value { before, plain: plain(value) && !value.trim().is_empty() };
            return None;
        };
        self.arguments.damaged |= stop.damaged;
        self.arguments.doubtful |= stop.doubtful;
        self.arguments.foreign |= stop.foreign;
        self.arguments.unbalanced |= !stop.balanced;
        let value = &self.text[start..stop.at];
        self.arguments.damaged |= (stop.foreign || !stop.closed) && value.trim().is_empty();
        // A path or a command has no tags.
        let key = self.arguments.members.awaited();
        self.arguments.damaged |= is_bare(key) && value.contains(&format!("</{key}>"));
        let value = if stop.closed { value } else { value.trim_end() };
        self.take(value, stop.closed || plain(value));
        (self.arguments.state != State::Junk).then_some(stop.next)
    }

    /// Whether another argument or the end of the body is at `at`.
    fn stop_after(&self, at: usize) -> bool {
        let rest = &self.text[at + self.form.gap(&self.text[at..])..];
        rest.is_empty() || self.argument(rest).is_some()
    }

    /// The argument's tag that `text` begins with.
    fn argument(&self, text: &str) -> Option<Tag> {
        let members = &self.arguments.members;
        let counts = |tag: &Tag| tag.own || self.types.has(&tag.key) && (!members.has(&tag.key) || tag.key == members.awaited());
        self.form.argument(text).filter(counts)
    }

    /// Where the value ends: at its own closing tag, or at another one in its place.
    fn value_stop(&mut self, start: usize, opened: &str) -> Option<Stop> {
        let mut own = None;
        if start < self.unclosed_from {
            let (stop, unseen) = self.value_end(start, opened, true);
            if stop.as_ref().is_some_and(|stop| stop.closed) {
                return stop;
            }
            if unseen && stop.is_none() {
                self.unclosed_from = start;
            }
            own = stop;
        }
        let (stop, _) = self.value_end(start, opened, false);
        stop.filter(|stop| stop.closed || own.is_none()).map(|stop| Stop { foreign: stop.closed, ..stop }).or(own)
    }

    /// Where the value ends, and whether no closing tag was seen. `own`: only at a tag of the same name as the one that opened it.
    fn value_end(&self, start: usize, opened: &str, own: bool) -> (Option<Stop>, bool) {
        let (text, form) = (self.text, self.form);
        let key = self.arguments.members.awaited();
        let Some(mut at) = self.past_cdata(start, key, opened) else { return (None, false) };
        let mut unseen = true;
        // Calls and arguments inside the value that are open.
        let (mut calls, mut arguments) = (0_usize, 0_usize);
        let (mut unbalanced, mut doubtful, mut damaged) = (None, false, false);
        let same = form.opening(key);
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
                let stop = Stop { at: place, next, closed: true, balanced: true, damaged, doubtful, foreign: false };
                if arguments > 0 {
                    arguments -= 1;
                    unbalanced = text[next..].trim_start().is_empty().then_some(Stop { balanced: false, ..stop });
                    continue;
                }
                if self.stop_after(next) {
                    return (Some(stop), unseen);
                }
                let again = next + gap(&text[next..]);
                let closes_again = form.value_close(&text[again..], key, opened, own);
                damaged |= closes_again.is_some() && is_bare(key);
                // The value may close twice.
                let is_same = text[again..].starts_with(&text[place..next]);
                let twice = closes_again.filter(|_| bracket == place && is_same);
                if let Some(next) = twice.map(|length| again + length).filter(|&next| self.stop_after(next)) {
                    // If it is empty, the first of the two tags may be the value.
                    return (Some(Stop { next, damaged: text[start..place].trim().is_empty(), ..stop }), unseen);
                }
                let quote = text[..place].chars().next_back().filter(|c| matches!(c, '"' | '\'' | '`'));
                doubtful |= quote.is_none_or(|quote| !text[next..].starts_with(quote));
                continue;
            }
            if rest.starts_with(&same) {
                arguments += 1;
            } else if let Some(tag) = form.argument(rest).filter(|tag| !form.is_nested() && (tag.own || !form.takes_any())) {
                let alone =
                    self.arguments.between != Between::Lines || text[start..place].trim_end_matches([' ', '\t']).ends_with('\n');
                // The value's own closing tag is missing.
                if alone && tag.own && arguments == 0 && self.types.has(&tag.key) && !self.arguments.members.has(&tag.key) {
                    let stop = Stop { at: place, next: place, closed: false, balanced: true, damaged, doubtful, foreign: false };
                    return (Some(stop), unseen);
                }
                arguments += 1;
                at = place + tag.length;
            } else if opens_again(rest) {
                arguments += 1;
            }
        }
        (unbalanced, unseen)
    }

    /// Where the search for the end of a value begins: at the end of the CDATA section that it begins with, which is before a
    /// closing tag. `None`: it has no end.
    fn past_cdata(&self, start: usize, key: &str, opened: &str) -> Option<usize> {
        let [open, close] = CDATA;
        let text = self.text;
        if !self.form.cdata() || !text[start..].trim_start().starts_with(open) {
            return Some(start);
        }
        let closes = |&at: &usize| {
            let next = at + gap(&text[at..]);
            self.form.value_close(&text[next..], key, opened, false).is_some()
        };
        text[start..]
            .match_indices(close)
            .map(|(at, _)| start + at + close.len())
            .find(closes)
            .or_else(|| text[start..].contains(close).then_some(start))
    }

    /// Adds the value of the oldest key without one. `sure`: its end is certain. Malformed elements inside of it are junk.
    fn take(&mut self, text: &str, sure: bool) {
        let (form, types, arguments) = (self.form, self.types, &mut self.arguments);
        let Some((key, hint)) = arguments.members.arrived() else { return };
        arguments.damaged |= !sure || (arguments.loses_text && text.trim().is_empty());
        let text = form.value(text, &key, arguments.between);
        arguments.has_lines |= text.contains('\n');
        let json = |is_item: bool| form.json(types, &key, &text, hint, is_item);
        let Some(value) = json(false) else {
            arguments.state = State::Junk;
            return;
        };
        let place = types.parameter(&key);
        let fits = || serde_json::from_str(&value).is_ok_and(|value| place.allows(&value));
        let wants_list = place.is_list() && !value.starts_with('[') && !fits();
        let value = if wants_list { json(true).unwrap_or(value) } else { value };
        arguments.damaged |= arguments.members.add(key, value, wants_list);
    }
}
