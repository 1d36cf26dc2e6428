//! Decides what follows a tag, and whether a position inside a value is content or the value's end.

use super::{
    Arguments, Between, Form, Tag,
    searched::{Ahead, CDATA_END},
};
use crate::adapter::syntax::{
    Start, WORD_BYTES,
    ahead::{Seen, may_be_gap},
    typing::Types,
};

const CDATA: &str = "<![CDATA[";

/// Whether a value begins with a CDATA section, and the last section in it is still open.
fn in_open_cdata(value: &str) -> bool {
    value.trim_start().starts_with(CDATA) && value.rfind(CDATA) > value.rfind(CDATA_END)
}

/// Whether `text` begins with an argument that the tool does not have.
fn is_unknown_argument(text: &str, form: &dyn Form, types: &Types, end: bool) -> bool {
    let is_unknown = |tag: &Tag| types.keys().next().is_some() && !types.has(&tag.key);
    matches!(&form.argument(text, end), Seen::Yes(tag) if is_unknown(tag))
}

pub(super) enum Mark {
    Argument,
    ValueOpen(usize),
    Close(usize),
    Outer,
    Call,
    /// The end of the text.
    End,
    Maybe,
    Other,
}

/// What a position inside a value is.
pub(super) enum Place {
    Content,
    /// A nested call begins, which is content. Has the length of its head.
    Enter(usize),
    /// A nested call ends.
    Leave,
    /// The value ends here, and the text continues at this offset.
    End(usize),
    /// The value ends here if the text does.
    Cut,
    Maybe,
}

/// A position inside a value.
#[derive(Clone, Copy)]
pub(super) struct Spot<'t> {
    pub(super) text: &'t str,
    /// The start of the value.
    pub(super) start: usize,
    pub(super) at: usize,
    /// Whether the text is complete.
    pub(super) end: bool,
}

impl<'t> Spot<'t> {
    pub(super) fn rest(self) -> &'t str {
        &self.text[self.at..]
    }
}

impl Arguments {
    /// What the position `spot` is in its value, inside `depth` nested calls.
    pub(super) fn place(&mut self, spot: Spot<'_>, depth: usize, form: &dyn Form, types: &Types) -> Place {
        let (rest, end) = (spot.rest(), spot.end);
        let nested = form.nested(rest, end);
        if depth > 0 {
            return match (nested, form.close(rest, end)) {
                (Seen::Yes(length), _) => Place::Enter(length),
                (_, Start::Yes(_)) => Place::Leave,
                (Seen::Maybe, _) | (_, Start::Maybe) => Place::Maybe,
                _ => Place::Content,
            };
        }
        let tag = self
            .in_section(spot, form)
            .or_else(|| self.at_close(spot, form, types))
            .or_else(|| self.at_end_of_call(spot, form, types))
            .or_else(|| self.at_argument(spot, form, types));
        match (tag, nested) {
            (Some(place), _) => place,
            (None, Seen::Yes(length)) => Place::Enter(length),
            (None, Seen::Maybe) if !end => Place::Maybe,
            _ => Place::Content,
        }
    }

    /// Inside a CDATA section that is still open. `None`: `spot` is not in one, or the section is never closed. Then its mark is a
    /// part of the text, unless the text itself ends in the section.
    fn in_section(&mut self, spot: Spot<'_>, form: &dyn Form) -> Option<Place> {
        let Spot { text, start, at, end } = spot;
        if !(form.cdata() && in_open_cdata(&text[start..at])) {
            return None;
        }
        let key = self.members.awaited().to_owned();
        match self.section_ends(text, at, &key, form, end) {
            Start::Yes(_) => Some(Place::Content),
            Start::Maybe => Some(Place::Maybe),
            Start::No => {
                let closed = form.value_close(spot.rest(), &key, &text[self.tag.clone()], end);
                let is_last =
                    matches!(closed, Start::Yes(length) if matches!(self.mark(text, at + length, form, end).1, Mark::End));
                is_last.then_some(Place::Content)
            }
        }
    }

    /// At a tag that closes the value, if structure follows it. `None`: there is no such tag.
    fn at_close(&mut self, spot: Spot<'_>, form: &dyn Form, types: &Types) -> Option<Place> {
        let Spot { text, start, at, end } = spot;
        let (key, tag) = (self.members.awaited().to_owned(), self.tag.clone());
        let closes = |at: usize| form.value_close(&text[at..], &key, &text[tag.clone()], end);
        let mut stop = match closes(at) {
            Start::Yes(length) => at + length,
            Start::Maybe => return Some(Place::Maybe),
            Start::No => return None,
        };
        // Another tag than the form's own belongs to the content if the own one closes the value.
        let is_own = matches!(form.own_value_close(spot.rest(), &key, &text[tag.clone()], true), Start::Yes(_));
        if !is_own && let Some(place) = self.unless_own_close(spot, stop, false, form, types) {
            return Some(place);
        }
        let (mut next, mut mark) = self.mark(text, stop, form, end);
        // The value may close twice. If it is empty, the first of the two tags may be the value.
        let value = &text[start..at];
        if matches!(mark, Mark::Other) && !value.contains('<') {
            match closes(next) {
                Start::Yes(length) => {
                    self.values.damaged |= value.trim().is_empty();
                    stop = next + length;
                    (next, mark) = self.mark(text, stop, form, end);
                }
                Start::Maybe => return Some(Place::Maybe),
                Start::No => {}
            }
        }
        Some(match mark {
            // The value holds a call, of which this closes one argument.
            Mark::Argument
                if is_unknown_argument(&text[next..], form, types, end) && self.has_argument(text, start, at, form) =>
            {
                Place::Content
            }
            Mark::Argument => match self.holds_twins(text, start, at, next, end) {
                Start::Yes(_) => Place::Content,
                Start::Maybe => Place::Maybe,
                Start::No => Place::End(stop),
            },
            Mark::Close(_) | Mark::Outer => {
                let from = match self.line_goes_on(text, next, form, end) {
                    Start::Yes(from) => Some(from),
                    Start::Maybe => return Some(Place::Maybe),
                    Start::No => self.has_argument(text, start, at, form).then_some(next),
                };
                from.and_then(|from| self.unless_own_close(spot, from, true, form, types)).unwrap_or(Place::End(stop))
            }
            // Neither the value nor the call has its own closing tag: the next call may be content.
            Mark::Call if !is_own => {
                self.values.damaged = true;
                Place::Content
            }
            Mark::Call | Mark::End => Place::End(stop),
            Mark::ValueOpen(_) if self.members.waiting() > 1 => Place::End(stop),
            Mark::ValueOpen(_) => Place::Content,
            Mark::Maybe => Place::Maybe,
            Mark::Other => match self.names_another(&text[next..], types) {
                None if !end => Place::Maybe,
                named => {
                    self.values.damaged |= named == Some(true);
                    Place::Content
                }
            },
        })
    }

    /// Whether something is attached to the last of the closing tags of the call from `at` on: a quote, a bracket or another sign.
    /// Then they may be content, and the text goes on at this offset: `t = "</parameter></function>"`.
    fn line_goes_on(&mut self, text: &str, mut at: usize, form: &dyn Form, end: bool) -> Start {
        loop {
            let length = match [form.close(&text[at..], end), form.outer(&text[at..], end)] {
                [Start::Yes(length), _] | [Start::No, Start::Yes(length)] => length,
                [Start::No, Start::No] => return Start::No,
                _ => return Start::Maybe,
            };
            let past = at + length;
            at = self.searched.past_blanks(text, past);
            match text[at..].chars().next() {
                None if !end => return Start::Maybe,
                Some('<') => {}
                Some(sign) if at == past && !sign.is_alphanumeric() => return Start::Yes(past),
                _ => return Start::No,
            }
        }
    }

    /// At a tag that closes the call or what is around it: the value's own closing tag may be missing. `None`: there is no such tag.
    fn at_end_of_call(&mut self, spot: Spot<'_>, form: &dyn Form, types: &Types) -> Option<Place> {
        let Spot { text, start, at, end } = spot;
        let key = self.members.awaited().to_owned();
        let rest = spot.rest();
        let (own, length) = match [form.close(rest, end), form.outer(rest, end)] {
            [Start::Yes(length), _] => (true, length),
            [Start::No, Start::Yes(length)] => (false, length),
            [Start::No, Start::No] => return None,
            _ => return Some(Place::Maybe),
        };
        let mark = self.mark(text, at + length, form, end).1;
        if matches!(mark, Mark::Call | Mark::Outer)
            && let Some(place) = self.unless_own_close(spot, at + length, true, form, types)
        {
            return Some(place);
        }
        // An empty value that its own tag does not close is as doubtful.
        if text[start..at].trim().is_empty() {
            match self.call_follows(text, at + length, form, end) {
                Start::Yes(_) => {
                    self.values.damaged = true;
                    return Some(Place::Content);
                }
                Start::Maybe => return Some(Place::Maybe),
                Start::No => {}
            }
        }
        Some(match mark {
            // As above.
            Mark::Call if self.values.damaged || own && !matches!(form.own_close(rest, end), Start::Yes(_)) => {
                self.values.damaged = true;
                Place::Content
            }
            Mark::Call => Place::End(at),
            Mark::Outer if own => Place::End(at),
            // The limit may have truncated the value.
            Mark::End if self.cut => Place::Cut,
            // Text on one line that nothing else can close.
            Mark::End if own && !text[start..at].contains(['\n', '<']) => Place::End(at),
            // With a closing tag inside, there are two readings.
            Mark::End | Mark::Outer if self.has_close(text, start, at, &key, form) => Place::Content,
            Mark::Outer => Place::End(at),
            Mark::End => Place::Cut,
            Mark::Maybe => Place::Maybe,
            _ => Place::Content,
        })
    }

    /// Whether a call begins at `at`, or after more tags that close a call or what is around it.
    fn call_follows(&mut self, text: &str, mut at: usize, form: &dyn Form, end: bool) -> Start {
        loop {
            let (next, mark) = self.mark(text, at, form, end);
            at = match (mark, form.outer(&text[next..], end)) {
                (Mark::Call, _) => return Start::Yes(next),
                (Mark::Maybe, _) | (_, Start::Maybe) => return Start::Maybe,
                (Mark::Close(length), _) | (Mark::Outer, Start::Yes(length)) => next + length,
                _ => return Start::No,
            }
        }
    }

    /// What a tag in the place of the value's own closing tag is, unless it ends the value. The text goes on at `from`. The own tag
    /// may still follow, also where the limit truncated the text. `is_past`: the tag ends the call.
    fn unless_own_close(&mut self, spot: Spot<'_>, from: usize, is_past: bool, form: &dyn Form, types: &Types) -> Option<Place> {
        match self.close_ahead(spot, from, is_past, form, types) {
            Ahead::Closes(_) => Some(Place::Content),
            // The calls between are content if others precede them in the value. Otherwise they may be the next calls.
            Ahead::CloseAfterCall(_) => {
                self.values.damaged |= self.entered != Some(spot.start);
                Some(Place::Content)
            }
            Ahead::Maybe => Some(Place::Maybe),
            Ahead::Never if self.cut => Some(Place::Cut),
            Ahead::Ends(_) | Ahead::Never => None,
        }
    }

    /// At the tag of a parameter that is still missing: the value's own closing tag is. `None`: there is no such tag.
    fn at_argument(&mut self, spot: Spot<'_>, form: &dyn Form, types: &Types) -> Option<Place> {
        let Spot { text, start, at, end } = spot;
        let alone = self.between != Between::Lines || text[start..at].trim_end_matches([' ', '\t']).ends_with('\n');
        match form.argument_begins(spot.rest(), end) {
            Start::Maybe => Some(Place::Maybe),
            Start::Yes(_) if alone => match form.argument(spot.rest(), end) {
                Seen::Yes(tag) if types.has(&tag.key) && !self.members.has(&tag.key) => Some(Place::End(at)),
                Seen::Maybe if !end => Some(Place::Maybe),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether `text` is a misspelt tag of a parameter that is still missing. `None`: the end of the tag is not there yet.
    fn names_another(&self, text: &str, types: &Types) -> Option<bool> {
        let Some(inside) = text.strip_prefix('<') else { return Some(false) };
        let Some(stop) = inside.find(['>', '\n']) else { return (inside.len() > WORD_BYTES).then_some(false) };
        let tag = &inside[..inside.floor_char_boundary(stop.min(WORD_BYTES))];
        let mentions = |key: &str| {
            tag.match_indices(key).any(|(at, _)| {
                let (before, after) = (&tag[..at], &tag[at + key.len()..]);
                // `<parameterdays>` too.
                let glued = after.is_empty() && !before.is_empty();
                (glued || !before.ends_with(char::is_alphanumeric))
                    && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            })
        };
        Some(types.keys().any(|key| !self.members.has(key) && mentions(key)))
    }

    /// The first thing at or after `from` that is not whitespace, and its offset.
    pub(super) fn mark(&mut self, text: &str, from: usize, form: &dyn Form, end: bool) -> (usize, Mark) {
        let at = self.searched.past_blanks(text, from);
        let rest = &text[at..];
        if rest.is_empty() {
            return (at, if end { Mark::End } else { Mark::Maybe });
        }
        let mut maybe = may_be_gap(rest, end);
        let value_open = form.value_open(rest, end);
        let own =
            [form.argument_begins(rest, end), form.close(rest, end), form.outer(rest, end), form.call(rest, end), value_open];
        for (index, start) in own.iter().enumerate() {
            match (*start, index) {
                (Start::Yes(_), 0) => return (at, Mark::Argument),
                (Start::Yes(length), 1) => return (at, Mark::Close(length)),
                (Start::Yes(_), 2) => return (at, Mark::Outer),
                (Start::Yes(_), 3) => return (at, Mark::Call),
                (Start::Yes(length), _) if self.members.waiting() > 0 => return (at, Mark::ValueOpen(length)),
                (Start::Maybe, _) => maybe = true,
                _ => {}
            }
        }
        let [argument, close] = form.other(rest, &text[self.tag.clone()], end);
        match (argument, close) {
            (_, Start::Yes(length)) => return (at, Mark::Close(length)),
            (Start::Yes(_), _) => match form.argument(rest, end) {
                Seen::Yes(tag) if !self.members.has(&tag.key) => return (at, Mark::Argument),
                Seen::Maybe => maybe |= !end,
                _ => {}
            },
            (Start::Maybe, _) | (_, Start::Maybe) => maybe = true,
            _ => {}
        }
        (at, if maybe { Mark::Maybe } else { Mark::Other })
    }
}
