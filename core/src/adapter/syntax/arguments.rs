//! Reads arguments written as tags, or as one JSON object in their place, into JSON text. One engine serves all forms of tags:
//! they differ only in their markers ([`Form`]).
//!
//! Values are raw text and may contain anything, their own closing tag included. So a closing tag ends a value only if structure
//! follows it: another argument, the end of the call, or the end of the text. A whole call inside a value is content. What only
//! the end of the text proves is reported as truncated, and the fixer decides by the reason of the end.

use std::ops::Range;

use super::{
    Context, Start,
    ahead::{Seen, gap},
    field::in_cdata,
    typing::{Hint, Types},
    value::is_json,
};
use crate::json::extent::Extent;

mod closing;
mod doubt;
mod form;
mod members;
mod residue;
mod searched;
mod value_end;

use doubt::Values;
pub(super) use form::{Between, Form, Tag, hint_of};
use members::Members;
use residue::{
    begins_as_attribute, closes_by_name, ends_with_lone_tag, is_residue, known_key, loses_text, shortened_tag, without_ends,
};
pub(super) use residue::{is_label, stand_in, torn_tag};
use searched::Searched;
use value_end::{Mark, Place, Spot};

/// The result of reading arguments.
pub(super) enum Outcome {
    More,
    /// This is not a call.
    Reject,
    /// The arguments as JSON text. The text continues at `end`.
    Done {
        arguments: String,
        end: usize,
    },
    /// The text ended. The arguments are as incomplete as the call.
    Cut {
        arguments: String,
    },
}

/// A resumable reader of one call's arguments.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    phase: Phase,
    members: Members,
    between: Between,
    leads: Vec<u8>,
    /// The range of the tag that opened the current value.
    tag: Range<usize>,
    values: Values,
    /// The text ended after a closed value, and no parameter is missing that could follow.
    closed: bool,
    /// A limit truncated the text.
    cut: bool,
    /// A whole call begins inside the value that begins here.
    entered: Option<usize>,
    searched: Searched,
}

#[derive(Debug)]
enum Phase {
    /// Between tags.
    Between { at: usize },
    /// After the tag that opens a value.
    Opened { tag: Range<usize> },
    /// Inside the value that begins at `start`, scanned up to `seen`, where `depth` nested calls that are content are open.
    Value { start: usize, seen: usize, depth: usize },
    /// Inside a JSON object in place of the tags.
    Json { start: usize, seen: usize, extent: Extent },
    /// After that object.
    After { start: usize, stop: usize },
    /// Inside an object with broken quotes: a closing tag of the call after a brace ends it.
    Torn { start: usize, seen: usize },
}

impl Default for Phase {
    fn default() -> Phase {
        Phase::Between { at: 0 }
    }
}

impl Arguments {
    /// Begins after the call's head. `key` is an argument whose tag was read as part of the head.
    pub(super) fn new(at: usize, key: Option<String>, form: &dyn Form) -> Arguments {
        let mut arguments = Arguments { phase: Phase::Between { at }, leads: form.leads(), ..Arguments::default() };
        if let Some(key) = key {
            arguments.members.expect(key, Hint::None);
        }
        arguments
    }

    /// Adds arguments from the call's head, with their values as JSON text.
    pub(super) fn given(&mut self, pairs: Vec<(String, String)>) {
        self.members.given(pairs);
    }

    /// Begins to read at `at` with another form.
    pub(super) fn enter(&mut self, at: usize, form: &dyn Form) {
        (self.phase, self.leads) = (Phase::Between { at }, form.leads());
    }

    /// The start of the value that ends at `to`, after a repeated opening tag. The tag is content if the value also closes twice.
    fn value_start(&mut self, text: &str, start: usize, to: usize, form: &dyn Form) -> usize {
        let next = start + gap(&text[start..to]);
        let tag = self.tag.clone();
        let is_twin = !tag.is_empty() && text[next..to].starts_with(&text[tag.clone()]);
        let key = self.members.awaited().to_owned();
        if !is_twin || self.has_close(text, start, to, &key, form) {
            return start;
        }
        let from = next + tag.len();
        // An empty value may as well be the second of the two tags.
        self.values.damaged |= text[from..to].trim().is_empty();
        from
    }

    /// Reads on.
    pub(super) fn read(&mut self, text: &str, form: &dyn Form, types: &Types, context: Context<'_>) -> Outcome {
        let Context { marked, end, .. } = context;
        self.cut = context.cut;
        loop {
            match &mut self.phase {
                Phase::Between { at } => {
                    let from = *at;
                    if let Some(outcome) = self.between_tags(text, from, form, types, marked, end) {
                        return outcome;
                    }
                }
                Phase::Opened { tag } => {
                    let start = tag.end;
                    (self.tag, self.phase) = (tag.clone(), Phase::Value { start, seen: start, depth: 0 });
                }
                Phase::Value { start, seen, depth } => {
                    let (start, from, depth) = (*start, *seen, *depth);
                    let Some(at) = next(text, from, &self.leads) else {
                        *seen = text.len();
                        return if end { self.torn() } else { Outcome::More };
                    };
                    let (seen, depth) = match self.place(Spot { text, start, at, end }, depth, form, types) {
                        Place::Content => (at + 1, depth),
                        Place::Enter(length) => {
                            self.entered = Some(start);
                            (at + length, depth + 1)
                        }
                        Place::Leave => (at + 1, depth - 1),
                        Place::End(to) => {
                            let value = &text[self.value_start(text, start, at, form)..at];
                            self.values.damaged |= !text[..start].ends_with('>') && begins_as_attribute(value);
                            let value = if to == at { self.without_torn(value, form, types) } else { value };
                            self.take(value, to > at, form, types);
                            self.phase = Phase::Between { at: to };
                            continue;
                        }
                        Place::Cut => {
                            let start = self.value_start(text, start, at, form);
                            let value = self.without_torn(&text[start..at], form, types);
                            self.take(value, false, form, types);
                            return if self.values.damaged { self.torn() } else { self.open(marked) };
                        }
                        Place::Maybe => {
                            self.phase = Phase::Value { start, seen: at, depth };
                            return Outcome::More;
                        }
                    };
                    self.phase = Phase::Value { start, seen, depth };
                }
                Phase::Json { start, seen, extent } => {
                    let start = *start;
                    match extent.feed(&text.as_bytes()[*seen..]) {
                        Some(length) => self.phase = Phase::After { start, stop: *seen + length },
                        None if end => self.phase = Phase::Torn { start, seen: start },
                        None => {
                            *seen = text.len();
                            return Outcome::More;
                        }
                    }
                }
                Phase::After { start, stop } => {
                    let (start, stop) = (*start, *stop);
                    let done = |to: usize| Outcome::Done { arguments: text[start..stop].to_owned(), end: to };
                    match self.mark(text, stop, form, end) {
                        (at, Mark::Close(length)) => return done(at + length),
                        (_, Mark::Outer | Mark::Call) => return done(stop),
                        (_, Mark::End) if form.open_ended() => return done(stop),
                        (_, Mark::End) => return Outcome::Cut { arguments: text[start..stop - 1].to_owned() },
                        (_, Mark::Maybe) => return Outcome::More,
                        (_, Mark::Argument | Mark::ValueOpen(_) | Mark::Other) => self.phase = Phase::Torn { start, seen: stop },
                    }
                }
                Phase::Torn { start, seen } => {
                    let start = *start;
                    let Some(at) = next(text, *seen, &self.leads) else {
                        *seen = text.len();
                        return if end { Outcome::Cut { arguments: text[start..].to_owned() } } else { Outcome::More };
                    };
                    let object = text[start..at].trim_end();
                    match form.close(&text[at..], end) {
                        Start::Yes(length) if object.ends_with('}') => {
                            return Outcome::Done { arguments: object.to_owned(), end: at + length };
                        }
                        Start::Maybe => {
                            *seen = at;
                            return Outcome::More;
                        }
                        _ => *seen = at + 1,
                    }
                }
            }
        }
    }

    /// Reads between tags. `None`: another phase was entered.
    fn between_tags(
        &mut self,
        text: &str,
        from: usize,
        form: &dyn Form,
        types: &Types,
        marked: bool,
        end: bool,
    ) -> Option<Outcome> {
        let (at, mark) = self.mark(text, from, form, end);
        let fresh = self.members.is_empty();
        match mark {
            Mark::Argument => match form.argument(&text[at..], end) {
                Seen::Yes(tag) => {
                    if fresh {
                        self.between = match &text[from..at] {
                            "" => Between::Nothing,
                            " " => Between::Space,
                            _ => Between::Lines,
                        };
                    }
                    let key = known_key(&tag.key, types);
                    self.values.loses_text = !types.has(&tag.key) && loses_text(&tag.key, &key);
                    // A quote in the remains of a tag: the value may begin there.
                    self.values.damaged |= tag.torn || (self.values.loses_text && tag.key.contains('"'));
                    self.members.expect(key, tag.hint);
                    let given = tag.value.is_some();
                    if let Some(value) = tag.value {
                        self.take(&value, false, form, types);
                    }
                    self.phase = if !form.opens_values() && !given {
                        Phase::Opened { tag: at..at + tag.length }
                    } else {
                        Phase::Between { at: at + tag.length }
                    };
                    None
                }
                Seen::Maybe if end => Some(self.torn()),
                Seen::Maybe => Some(Outcome::More),
                Seen::No => Some(Outcome::Reject),
            },
            Mark::ValueOpen(length) => {
                self.phase = Phase::Opened { tag: at..at + length };
                None
            }
            _ if self.members.waiting() > 0 => self.before_value(text, at, &mark, form, end),
            Mark::Close(length) => Some(Outcome::Done { arguments: self.object(), end: at + length }),
            Mark::Outer | Mark::Call => Some(Outcome::Done { arguments: self.object(), end: at }),
            Mark::Maybe => Some(Outcome::More),
            Mark::End if fresh && !marked => Some(Outcome::Reject),
            Mark::End if fresh => Some(self.torn()),
            // No parameter is missing that could follow.
            Mark::End if form.open_ended() && self.has_all(types) => Some(Outcome::Done { arguments: self.object(), end: at }),
            Mark::End => {
                // A value of several lines may itself contain the tag that seems to close it. A schema that requires nothing may not
                // name all parameters.
                let has_all = types.required().next().is_some() && self.has_all(types);
                self.closed = marked && !self.values.has_lines && has_all && self.damage(types).is_none();
                Some(self.open(marked))
            }
            Mark::Other if fresh && text[at..].starts_with('{') => {
                self.phase = Phase::Json { start: at, seen: at, extent: Extent::default() };
                None
            }
            Mark::Other => Some(Outcome::Reject),
        }
    }

    /// Reads between a key and its value, where a type may be and the opening tag of the value may be missing. `None`: another
    /// phase was entered.
    fn before_value(&mut self, text: &str, at: usize, mark: &Mark, form: &dyn Form, end: bool) -> Option<Outcome> {
        let rest = &text[at..];
        if let Some([open, close]) = form.type_tag() {
            if rest.starts_with(open.as_str()) {
                let Some(stop) = rest.find(close.as_str()) else { return Some(if end { self.torn() } else { Outcome::More }) };
                if rest[open.len()..stop].contains('<') {
                    return Some(Outcome::Reject);
                }
                self.members.hint(hint_of(rest[open.len()..stop].trim()));
                self.phase = Phase::Between { at: at + stop + close.len() };
                return None;
            }
            if open.starts_with(rest) && !end {
                return Some(Outcome::More);
            }
        }
        match mark {
            Mark::Maybe => Some(Outcome::More),
            Mark::End => Some(self.torn()),
            Mark::Other if self.members.waiting() == 1 => {
                (self.tag, self.phase) = (at..at, Phase::Value { start: at, seen: at, depth: 0 });
                None
            }
            _ => Some(Outcome::Reject),
        }
    }

    /// A value without its closing tag, and without the misspelt or wrong tag in its place. Such a tag ends a value of one line.
    /// Text of several lines may go on after it.
    fn without_torn<'t>(&mut self, value: &'t str, form: &dyn Form, types: &Types) -> &'t str {
        let key = self.members.awaited();
        let name = form.closing_name(key);
        if let Some(torn) = torn_tag(value, name, key).or_else(|| shortened_tag(value, form.closers())) {
            return &value[..torn];
        }
        let known = types.keys().next().is_some() && in_cdata(value).is_none();
        match stand_in(value, &[name, key]).filter(|_| known) {
            Some(tag) if tag.own || name == key && !value[..tag.at].trim().contains('\n') => &value[..tag.at],
            Some(_) => {
                self.values.damaged = true;
                value
            }
            None => {
                let alone = value.trim_end();
                // The end of a text of several lines is uncertain.
                self.values.damaged |= alone.trim_start().contains('\n');
                if value.contains('\n') { alone } else { value }
            }
        }
    }

    /// Adds the value of the oldest argument that has none. `closed`: its own tag ended it.
    fn take(&mut self, text: &str, closed: bool, form: &dyn Form, types: &Types) {
        let Some((key, hint)) = self.members.arrived() else { return };
        self.values.damaged |= self.values.loses_text && text.trim().is_empty();
        // Any text may be content for an unknown tool, in CDATA, and in elements named after parameters.
        let tag = form.closing_name(&key);
        let checked = tag != key && types.keys().next().is_some() && !(form.cdata() && in_cdata(text).is_some());
        let ends_wrong = !closed && ends_with_lone_tag(text);
        // A tag in an element's content was read as the next parameter.
        self.values.damaged |= self.values.unclosed.iter().any(|element| text.contains(element.as_str()));
        if tag == key && !closed {
            self.values.unclosed.push(format!("</{key}>"));
            self.values.damaged |= self.swallows(text, form, types);
        }
        let holds_residue = |text: &str| checked && is_residue(text, tag, closed, &|key| types.has(key));
        // Inside a closed value it is content, unless a parameter is missing.
        let is_inside = closed && holds_residue(without_ends(text));
        self.values.damaged |= checked && ends_wrong || !is_inside && holds_residue(text);
        self.values.doubtful |= is_inside;
        if checked && closed {
            self.look_into(text, &key, form, types);
            self.values.damaged |= closes_by_name(text, &key);
        }
        // An object of all parameters that is cut: its tag is no parameter.
        self.values.damaged |= checked && !types.has(&key) && text.trim_start().starts_with('{') && !is_json(text.trim());
        let text = form.value(text, &key, self.between);
        self.values.has_lines |= text.contains('\n');
        let (place, value) = (types.parameter(&key), types.value(&key, &text, hint));
        let fits = || serde_json::from_str(&value).is_ok_and(|value| place.allows(&value));
        let wants_list = place.is_list() && !value.starts_with('[') && !fits();
        let value = if wants_list { place.element().value(&text, hint) } else { value };
        self.members.add(key, value, wants_list);
    }
}

/// The next offset from `from` on at which a marker may begin.
fn next(text: &str, from: usize, leads: &[u8]) -> Option<usize> {
    let bytes = text.as_bytes().get(from..)?;
    let found = match *leads {
        [a] => memchr::memchr(a, bytes),
        [a, b] => memchr::memchr2(a, b, bytes),
        [a, b, c] => memchr::memchr3(a, b, c, bytes),
        _ => bytes.iter().position(|byte| leads.contains(byte)),
    };
    found.map(|at| from + at)
}
