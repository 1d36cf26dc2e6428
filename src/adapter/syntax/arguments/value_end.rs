//! Decides what follows a tag, and whether a position inside a value is content or the value's end.

use super::{Arguments, Between, Form, next};
use crate::adapter::syntax::{
    Start, WORD_BYTES,
    ahead::{Seen, gap, may_be_gap},
    marker::starts_with_tag,
    typing::Types,
};

/// At most this many characters after a closing tag may be the remains of another tag.
const TAG_SIGNS: usize = 3;

const CDATA: &str = "<![CDATA[";
const CDATA_END: &str = "]]>";

/// Whether a value begins with a CDATA section, and the last section in it is still open.
fn in_open_cdata(value: &str) -> bool {
    value.trim_start().starts_with(CDATA) && value.rfind(CDATA) > value.rfind(CDATA_END)
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

/// How far the text was searched, so that every position is scanned once.
#[derive(Debug, Default)]
pub(super) struct Searched {
    /// The whitespace from the first offset on extends to the second.
    blank: (usize, usize),
    /// Whether the value that begins at the first offset has a closing tag before the second.
    closed: (usize, usize, bool),
    /// The value that begins here contains its own opening tag.
    opened: Option<usize>,
    /// From the first offset on, the text was searched for a value's closing tag up to the second.
    ahead: (usize, usize),
    /// The same for the closing tag of the form after one that is named after the parameter.
    owned: (usize, usize),
    /// The same for the end of a CDATA section, and where that end is.
    section: (usize, usize, Option<usize>),
}

impl Arguments {
    /// What the position `at` is in the value that begins at `start`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn place(
        &mut self,
        text: &str,
        start: usize,
        at: usize,
        depth: usize,
        form: &dyn Form,
        types: &Types,
        end: bool,
    ) -> Place {
        let rest = &text[at..];
        let nested = form.nested(rest, end);
        let close = form.close(rest, end);
        if depth > 0 {
            return match (nested, close) {
                (Seen::Yes(length), _) => Place::Enter(length),
                (_, Start::Yes(_)) => Place::Leave,
                (Seen::Maybe, _) | (_, Start::Maybe) => Place::Maybe,
                _ => Place::Content,
            };
        }
        let key = self.members.awaited().to_owned();
        let tag = self.tag.clone();
        let opened = &text[tag];
        if form.cdata() && in_open_cdata(&text[start..at]) {
            match self.section_ends(text, at, &key, form, end) {
                Start::Yes(_) => return Place::Content,
                Start::Maybe => return Place::Maybe,
                // The section is never closed: its mark is a part of the text, unless the text itself ends in the section.
                Start::No => {
                    let closed = form.value_close(rest, &key, opened, end);
                    if matches!(closed, Start::Yes(length) if matches!(self.mark(text, at + length, form, end).1, Mark::End)) {
                        return Place::Content;
                    }
                }
            }
        }
        match form.value_close(rest, &key, opened, end) {
            Start::Maybe => return Place::Maybe,
            Start::Yes(length) => {
                // A tag named after the parameter belongs to the content if the form's own tag closes the value.
                if form.is_named_close(rest) {
                    match self.owned_ahead(text, at + length, form, types, end) {
                        Some(true) => return Place::Content,
                        None => return Place::Maybe,
                        Some(false) => {}
                    }
                }
                let mut stop = at + length;
                let (mut next, mut mark) = self.mark(text, stop, form, end);
                // The value may close twice. If it is empty, the first of the two tags may be the value.
                let value = &text[start..at];
                if matches!(mark, Mark::Other) && !value.contains('<') {
                    match form.value_close(&text[next..], &key, opened, end) {
                        Start::Yes(length) => {
                            self.damaged |= value.trim().is_empty();
                            stop = next + length;
                            (next, mark) = self.mark(text, stop, form, end);
                        }
                        Start::Maybe => return Place::Maybe,
                        Start::No => {}
                    }
                }
                return match mark {
                    Mark::Argument => match self.holds_twins(text, start, at, next, end) {
                        Start::Yes(_) => Place::Content,
                        Start::Maybe => Place::Maybe,
                        Start::No => Place::End(stop),
                    },
                    Mark::Close(_) | Mark::Outer | Mark::Call | Mark::End => Place::End(stop),
                    Mark::ValueOpen(_) if self.members.waiting() > 1 => Place::End(stop),
                    Mark::Maybe => Place::Maybe,
                    Mark::Other => match self.names_another(&text[next..], types) {
                        None if !end => Place::Maybe,
                        named => {
                            self.damaged |= named == Some(true);
                            Place::Content
                        }
                    },
                    Mark::ValueOpen(_) => Place::Content,
                };
            }
            Start::No => {}
        }
        // The value's own closing tag may be missing: the end of the call, or a tag of another parameter, shows that.
        let outer = form.outer(rest, end);
        for (tag, own) in [(close, true), (outer, false)] {
            match tag {
                Start::Maybe => return Place::Maybe,
                Start::No => {}
                Start::Yes(length) => {
                    let mark = self.mark(text, at + length, form, end).1;
                    if own && matches!(mark, Mark::Call | Mark::Outer) {
                        match self.closes_ahead(text, at + length, &key, form, end) {
                            Some(true) => return Place::Content,
                            None => return Place::Maybe,
                            Some(false) => {}
                        }
                    }
                    return match mark {
                        Mark::Call => Place::End(at),
                        Mark::Outer if own => Place::End(at),
                        // Text on one line that nothing else can close.
                        Mark::End if own && !text[start..at].contains(['\n', '<']) => Place::End(at),
                        // With a closing tag inside, there are two readings.
                        Mark::End | Mark::Outer if self.has_close(text, start, at, &key, form) => Place::Content,
                        Mark::Outer => Place::End(at),
                        Mark::End => Place::Cut,
                        Mark::Maybe => Place::Maybe,
                        _ => Place::Content,
                    };
                }
            }
        }
        match form.argument_begins(rest, end) {
            Start::Maybe => return Place::Maybe,
            Start::Yes(_) if self.between != Between::Lines || text[start..at].trim_end_matches([' ', '\t']).ends_with('\n') => {
                match form.argument(rest, end) {
                    Seen::Yes(tag) if types.has(&tag.key) && !self.members.has(&tag.key) => return Place::End(at),
                    Seen::Maybe if !end => return Place::Maybe,
                    _ => {}
                }
            }
            _ => {}
        }
        match nested {
            Seen::Yes(length) => Place::Enter(length),
            Seen::Maybe if !end => Place::Maybe,
            _ => Place::Content,
        }
    }

    /// Whether the value that begins at `start` holds several elements of its own name: one closes at `at`, and another one begins
    /// at `next`.
    fn holds_twins(&mut self, text: &str, start: usize, at: usize, next: usize, end: bool) -> Start {
        let (tag, rest) = (&text[self.tag.clone()], &text[next..]);
        if tag.is_empty() || (self.searched.opened != Some(start) && !text[start..at].contains(tag)) {
            return Start::No;
        }
        self.searched.opened = Some(start);
        match rest.strip_prefix(tag) {
            Some(_) => Start::Yes(tag.len()),
            None if tag.starts_with(rest) && !end => Start::Maybe,
            None => Start::No,
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

    /// Whether the next tag after `from` is the closing tag of the value and structure follows it; then the text before it is
    /// content. `None`: more text is needed.
    fn closes_ahead(&mut self, text: &str, from: usize, key: &str, form: &dyn Form, end: bool) -> Option<bool> {
        let (begun, seen) = self.searched.ahead;
        let mut seen = if begun == from { seen.max(from) } else { from };
        while let Some(place) = next(text, seen, &self.leads) {
            let rest = &text[place..];
            let begins = [form.argument_begins(rest, end), form.call(rest, end)];
            let closes = form.value_close(rest, key, &text[self.tag.clone()], end);
            self.searched.ahead = (from, place);
            match closes {
                _ if begins.iter().any(|begins| matches!(begins, Start::Yes(_))) => return Some(false),
                Start::Yes(length) => match self.mark(text, place + length, form, end).1 {
                    Mark::Maybe => return None,
                    Mark::Other => {}
                    _ => return Some(true),
                },
                _ if closes == Start::Maybe || begins.contains(&Start::Maybe) => return None,
                _ => {}
            }
            seen = place + 1;
        }
        self.searched.ahead = (from, text.len());
        end.then_some(false)
    }

    /// Whether the form's own closing tag comes before another argument or the end of the call, after a closing tag at `from` that
    /// is named after the parameter. `None`: more text is needed.
    fn owned_ahead(&mut self, text: &str, from: usize, form: &dyn Form, types: &Types, end: bool) -> Option<bool> {
        let (begun, seen) = self.searched.owned;
        let mut seen = if begun == from { seen.max(from) } else { from };
        while let Some(place) = next(text, seen, &self.leads) {
            let rest = &text[place..];
            self.searched.owned = (from, place);
            match starts_with_tag(rest, form.closers(), end) {
                Start::Yes(_) => return Some(true),
                Start::Maybe => return None,
                Start::No => {}
            }
            match form.argument_begins(rest, end) {
                Start::Yes(_) => match form.argument(rest, end) {
                    Seen::Yes(tag) if !types.has(&tag.key) || self.members.has(&tag.key) => {}
                    Seen::Maybe if !end => return None,
                    _ => return Some(false),
                },
                Start::Maybe => return None,
                Start::No => {}
            }
            let ends = [form.own_close(rest, end), form.outer(rest, end), form.call(rest, end)];
            for (index, tag) in ends.into_iter().enumerate() {
                match tag {
                    Start::Yes(_) if index == 2 => return Some(false),
                    // Text after it shows that it is content.
                    Start::Yes(length) => match self.mark(text, place + length, form, end).1 {
                        Mark::Maybe => return None,
                        Mark::Other | Mark::Argument | Mark::ValueOpen(_) => {}
                        Mark::Close(_) | Mark::Outer | Mark::Call | Mark::End => return Some(false),
                    },
                    Start::Maybe => return None,
                    Start::No => {}
                }
            }
            seen = place + 1;
        }
        self.searched.owned = (from, text.len());
        end.then_some(false)
    }

    /// Whether the CDATA section around `at` ends before a closing tag of the value.
    fn section_ends(&mut self, text: &str, at: usize, key: &str, form: &dyn Form, end: bool) -> Start {
        let (begun, seen, found) = self.searched.section;
        if begun <= at && found.is_some_and(|found| at < found) {
            return Start::Yes(0);
        }
        let mut seen = if begun <= at { seen.max(at) } else { at };
        while let Some(found) = text[seen..].find(CDATA_END) {
            let after = seen + found + CDATA_END.len();
            let closing = after + gap(&text[after..]);
            match form.value_close(&text[closing..], key, &text[self.tag.clone()], end) {
                Start::Yes(_) => {
                    self.searched.section = (at, seen, Some(seen + found));
                    return Start::Yes(0);
                }
                Start::Maybe => return Start::Maybe,
                Start::No if closing == text.len() && !end => return Start::Maybe,
                Start::No => seen = after,
            }
        }
        seen = text.floor_char_boundary(text.len().saturating_sub(CDATA_END.len() - 1)).max(seen);
        self.searched.section = (at, seen, None);
        if end { Start::No } else { Start::Maybe }
    }

    /// Searches a value that its own tag ended for more closing tags. A quoted one is content. Any other makes the value
    /// doubtful: it may have closed there, with the remains of another parameter after it.
    pub(super) fn look_into(&mut self, value: &str, form: &dyn Form) {
        // `<parameter>` too, although it opens none of the form's tags.
        let names = || form.closers().iter().filter_map(|closer| closer.strip_prefix("</")?.strip_suffix('>'));
        let opens = |rest: &str| {
            let named = |name: &str| rest.strip_prefix('<')?.strip_prefix(name);
            names().filter_map(named).any(|after| after.starts_with(['>', ' ', '=']))
                || matches!(form.argument_begins(rest, true), Start::Yes(_))
        };
        let (mut at, mut depth) = (0, 0_usize);
        while let Some(place) = next(value, at, &self.leads) {
            let rest = &value[place..];
            at = place + 1;
            depth += usize::from(opens(rest));
            let Start::Yes(length) = starts_with_tag(rest, form.closers(), true) else { continue };
            let (before, after) = (&value[..place], &rest[length..]);
            let is_quoted = before.chars().next_back().is_some_and(|c| matches!(c, '"' | '\'' | '`') && after.starts_with(c));
            if depth > 0 || is_quoted {
                depth = depth.saturating_sub(1);
                continue;
            }
            self.doubtful = true;
            // Text that short was part of a tag.
            let after = after.trim();
            self.damaged |= after.len() < TAG_SIGNS && !after.contains(char::is_alphanumeric);
        }
    }

    /// Whether a closing tag of the value that begins at `start` precedes `at`.
    pub(super) fn has_close(&mut self, text: &str, start: usize, at: usize, key: &str, form: &dyn Form) -> bool {
        let (begun, seen, found) = self.searched.closed;
        let (mut seen, mut found) = if begun == start { (seen.max(start), found) } else { (start, false) };
        while let Some(place) = next(text, seen, &self.leads).filter(|&place| place < at && !found) {
            found = matches!(form.value_close(&text[place..at], key, &text[self.tag.clone()], true), Start::Yes(_));
            seen = place + 1;
        }
        self.searched.closed = (start, seen, found);
        found
    }

    /// The first thing at or after `from` that is not whitespace, and its offset.
    pub(super) fn mark(&mut self, text: &str, from: usize, form: &dyn Form, end: bool) -> (usize, Mark) {
        let known = if self.searched.blank.0 == from { self.searched.blank.1 } else { from };
        let at = known + gap(&text[known..]);
        self.searched.blank = (from, at);
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
