//! Searches the text after a position for the tag that ends a value.

use super::{
    Arguments, Form, next,
    value_end::{Mark, Spot},
};
use crate::adapter::syntax::{
    Start,
    ahead::{Seen, gap},
    starts_with_any,
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
    /// Whether the value that begins at the first offset has an argument's opening tag before the second.
    argument: (usize, usize, bool),
    /// The value that begins here contains its own opening tag.
    opened: Option<usize>,
    /// The search for the own closing tag of a value.
    ahead: Search,
    /// From the first offset on, the text was searched for the end of a CDATA section up to the second, and where that end is.
    section: (usize, usize, Option<usize>),
}

/// What follows a tag that seems to end a value, but is not its own closing tag.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Ahead {
    /// More text is needed.
    #[default]
    Maybe,
    /// The value's own closing tag is there, so the text before it is content.
    Closes(usize),
    /// The same after whole calls, which are content or the next calls.
    CloseAfterCall(usize),
    /// At this offset another argument shows that the value has no closing tag, or another call that lacks its tags too.
    Ends(usize),
    /// Nothing up to the end of the text.
    Never,
}

/// The search for the own closing tag of the value that begins at `start`, from the offset `from` on.
#[derive(Debug, Clone, Copy, Default)]
struct Search {
    start: usize,
    /// Where the tag that opened the value begins.
    tag: usize,
    from: usize,
    seen: usize,
    /// The end of the call was passed.
    is_past: bool,
    /// How many calls, or elements of the parameter's name, are open.
    depth: usize,
    /// Whether the arguments of the call that is open have closing tags.
    closes: bool,
    /// A call was passed.
    has_call: bool,
    found: Ahead,
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

    /// What follows `from`, which is after a tag that seems to end the value. `is_past`: the tag ends the call.
    pub(super) fn close_ahead(&mut self, spot: Spot<'_>, from: usize, is_past: bool, form: &dyn Form, types: &Types) -> Ahead {
        let known = self.searched.ahead;
        // Values with the same opening tag have the same closing tag.
        let name = spot.text[self.tag.clone()].split(['=', ' ', '>']).next().unwrap_or_default();
        let is_alike = !form.closes_by_key(self.members.awaited()) && spot.text[known.tag..].starts_with(name);
        match known.found {
            Ahead::Closes(at) | Ahead::CloseAfterCall(at) | Ahead::Ends(at)
                if known.start == spot.start && (known.from..=at).contains(&from) =>
            {
                return known.found;
            }
            Ahead::Never if known.start == spot.start || is_alike => return Ahead::Never,
            _ => {}
        }
        let resumes = (known.start, known.from) == (spot.start, from);
        let fresh = Search { tag: self.tag.start, start: spot.start, from, seen: from, is_past, ..Search::default() };
        let mut search = if resumes { known } else { fresh };
        search.found = self.search(&mut search, spot, form, types);
        self.searched.ahead = search;
        search.found
    }

    fn search(&mut self, search: &mut Search, spot: Spot<'_>, form: &dyn Form, types: &Types) -> Ahead {
        let Spot { text, end, .. } = spot;
        let key = self.members.awaited().to_owned();
        while let Some(at) = next(text, search.seen, &self.leads) {
            let spot = Spot { at, ..spot };
            let step = match form.own_value_close(spot.rest(), &key, &text[self.tag.clone()], end) {
                Start::Yes(length) => self.step_close(search, spot, length, &key, form),
                Start::Maybe => Some(Ahead::Maybe),
                Start::No => None,
            };
            let step = step.or_else(|| if search.is_past { None } else { self.step_in_call(search, spot, form, types) });
            let step = step.or_else(|| if search.is_past { self.step_past(search, spot, &key, form) } else { None });
            if let Some(found) = step {
                return found;
            }
            search.seen = search.seen.max(at + 1);
        }
        search.seen = text.len();
        if end { Ahead::Never } else { Ahead::Maybe }
    }

    /// At the value's own closing tag.
    fn step_close(&mut self, search: &mut Search, spot: Spot<'_>, length: usize, key: &str, form: &dyn Form) -> Option<Ahead> {
        if !search.is_past {
            return Some(Ahead::Closes(spot.at));
        }
        match self.mark(spot.text, spot.at + length, form, spot.end).1 {
            Mark::Maybe => return Some(Ahead::Maybe),
            Mark::Other => {}
            _ if search.depth == 0 && search.has_call => return Some(Ahead::CloseAfterCall(spot.at)),
            _ if search.depth == 0 => return Some(Ahead::Closes(spot.at)),
            _ if form.closes_by_key(key) => search.depth -= 1,
            _ => search.closes = true,
        }
        None
    }

    /// Before the end of the call.
    fn step_in_call(&mut self, search: &mut Search, spot: Spot<'_>, form: &dyn Form, types: &Types) -> Option<Ahead> {
        let (rest, end) = (spot.rest(), spot.end);
        match form.argument_begins(rest, end) {
            Start::Yes(_) => match form.argument(rest, end) {
                Seen::Yes(tag) if !types.has(&tag.key) || self.members.has(&tag.key) => {}
                Seen::Maybe if !end => return Some(Ahead::Maybe),
                Seen::Maybe | Seen::No => {}
                Seen::Yes(_) => return Some(Ahead::Ends(spot.at)),
            },
            Start::Maybe => return Some(Ahead::Maybe),
            Start::No => {}
        }
        match form.call(rest, end) {
            Start::Yes(_) => search.is_past = true,
            Start::Maybe => return Some(Ahead::Maybe),
            Start::No => {}
        }
        for tag in [form.own_close(rest, end), form.outer(rest, end)] {
            match tag {
                // Text after it shows that it is content.
                Start::Yes(length) => match self.mark(spot.text, spot.at + length, form, end).1 {
                    Mark::Maybe => return Some(Ahead::Maybe),
                    Mark::Other | Mark::Argument | Mark::ValueOpen(_) => {}
                    Mark::Close(_) | Mark::Outer | Mark::Call | Mark::End => search.is_past = true,
                },
                Start::Maybe => return Some(Ahead::Maybe),
                Start::No => {}
            }
        }
        None
    }

    /// After the end of the call, where whole calls may follow. If one of them lacks its closing tags too, the model omits them.
    fn step_past(&mut self, search: &mut Search, spot: Spot<'_>, key: &str, form: &dyn Form) -> Option<Ahead> {
        let (Spot { text, at, end, .. }, rest) = (spot, spot.rest());
        let (tag, by_key) = (&text[self.tag.clone()], form.closes_by_key(key));
        let nested = match form.nested(rest, end) {
            Seen::Maybe if end => Start::No,
            nested => nested,
        };
        search.has_call |= matches!(nested, Start::Yes(_));
        let begins = if by_key { starts_with_any(rest, [tag], end) } else { nested };
        match begins {
            Start::Yes(length) => {
                let body = at + length;
                search.closes = by_key || !matches!(self.mark(text, body, form, end).1, Mark::Argument);
                search.depth += 1;
                search.seen = body;
                return None;
            }
            Start::Maybe => return Some(Ahead::Maybe),
            Start::No if nested == Start::Maybe => return Some(Ahead::Maybe),
            Start::No if search.depth == 0 => return None,
            Start::No => {}
        }
        match form.close(rest, end) {
            Start::Yes(length) => match self.mark(text, at + length, form, end).1 {
                Mark::Maybe => return Some(Ahead::Maybe),
                Mark::Other if !search.closes => {}
                _ if by_key || !search.closes => return Some(Ahead::Ends(at)),
                _ => search.depth -= 1,
            },
            Start::Maybe => return Some(Ahead::Maybe),
            Start::No => {}
        }
        None
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
        let closes = |rest: &str| matches!(form.value_close(rest, key, &text[self.tag.clone()], true), Start::Yes(_));
        self.searched.closed = sought(self.searched.closed, start, &text[..at], &self.leads, closes);
        self.searched.closed.2
    }

    /// Whether an argument's opening tag is in the value that begins at `start`, before `at`.
    pub(super) fn has_argument(&mut self, text: &str, start: usize, at: usize, form: &dyn Form) -> bool {
        let begins = |rest: &str| matches!(form.argument_begins(rest, true), Start::Yes(_));
        self.searched.argument = sought(self.searched.argument, start, &text[..at], &self.leads, begins);
        self.searched.argument.2
    }
}

/// Searches the value from `start` to the end of `text` for a tag, from where `known` ended if that was about the same value.
fn sought(
    known: (usize, usize, bool),
    start: usize,
    text: &str,
    leads: &[u8],
    is_tag: impl Fn(&str) -> bool,
) -> (usize, usize, bool) {
    let (begun, seen, found) = known;
    let (mut seen, mut found) = if begun == start { (seen.max(start), found) } else { (start, false) };
    while let Some(place) = next(text, seen, leads).filter(|_| !found) {
        found = is_tag(&text[place..]);
        seen = place + 1;
    }
    (start, seen, found)
}
