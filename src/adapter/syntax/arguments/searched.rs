//! Searches the text after a position for the tag that ends a value.

use super::{Arguments, Form, next, value_end::Mark};
use crate::adapter::syntax::{
    Start,
    ahead::{Seen, gap},
    marker::starts_with_tag,
    typing::Types,
};

pub(super) const CDATA_END: &str = "]]>";

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

impl Searched {
    /// The first offset at or after `from` that is not whitespace.
    pub(super) fn past_blanks(&mut self, text: &str, from: usize) -> usize {
        let known = if self.blank.0 == from { self.blank.1 } else { from };
        let at = known + gap(&text[known..]);
        self.blank = (from, at);
        at
    }
}

impl Arguments {
    /// Whether the value that begins at `start` holds several elements of its own name: one closes at `at`, and another one begins
    /// at `next`.
    pub(super) fn holds_twins(&mut self, text: &str, start: usize, at: usize, next: usize, end: bool) -> Start {
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

    /// Whether the next tag after `from` is the closing tag of the value and structure follows it; then the text before it is
    /// content. `None`: more text is needed.
    pub(super) fn closes_ahead(&mut self, text: &str, from: usize, key: &str, form: &dyn Form, end: bool) -> Option<bool> {
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
    pub(super) fn owned_ahead(&mut self, text: &str, from: usize, form: &dyn Form, types: &Types, end: bool) -> Option<bool> {
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
    pub(super) fn section_ends(&mut self, text: &str, at: usize, key: &str, form: &dyn Form, end: bool) -> Start {
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
}
