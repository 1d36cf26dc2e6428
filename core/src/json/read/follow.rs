//! Judges a delimiter by the text after it. Only what may follow a value makes it a possible end of its string.

use super::Key;
use super::rules::{ODDITY, PASSED};
use super::search::Search;
use super::trail::Frame;

/// A possible end: what it costs to end the string there, and what it costs to continue past it.
type End = Option<(u32, u32)>;

/// A plausible end.
const fn likely(cost: u32) -> End {
    Some((cost, PASSED))
}

/// An end that is hardly plausible: continuing is free.
const fn free(cost: u32) -> End {
    Some((cost, 0))
}

impl Search<'_, '_> {
    /// Judges the delimiter before `after`; `None` if the string cannot end there. `clean`: it is the string's first delimiter.
    /// With quotes inside the string, `"a" # the "b"` is code, not an end and a comment; and so is `"a "//" b"`.
    pub(super) fn follow(&self, after: usize, frame: u32, clean: bool) -> End {
        let ((mut at, gap), mut open) = (self.text.gap(after), frame);
        // A literal `\n`, then a quote that opens no key: the string continues.
        if gap.escaped_space && !(clean && (self.text.quote(at).is_none() || self.text.key(at).is_some())) {
            return None;
        }
        let is_code = !clean || matches!(self.text.at(after), Some(b'/' | b'#'));
        if is_code && gap.comment && memchr::memchr(self.text.bytes[after - 1], &self.text.bytes[after..at]).is_some() {
            return None;
        }
        loop {
            let Some(frame) = self.trail.frame(open) else {
                return if self.tail(at) == 0 { likely(0) } else { free(0) };
            };
            let Some(byte) = self.text.at(at) else {
                return likely(0);
            };
            if byte == frame.closer {
                open = frame.parent;
                at = self.text.skip(at + 1);
                continue;
            }
            let object = frame.closer == b'}';
            return match byte {
                _ if let Some(length) = self.text.comma(at) => {
                    let next = self.text.skip(at + length);
                    match self.text.at(next) {
                        None | Some(b'}' | b']' | b')') => free(0),
                        Some(b'<') if self.closing_tag(next) => free(0),
                        Some(_) if clean && (self.text.comma(next).is_some() || self.text.starts(next, "...")) => free(0),
                        Some(_) if object => self.follow_member(next, frame, clean),
                        Some(byte) => self.follow_item(next, byte, clean),
                    }
                }
                b'}' | b']' | b')' if self.trail.frames(frame.parent).any(|outer| outer.closer == byte) => {
                    free(if clean { 0 } else { 2 * ODDITY })
                }
                b'<' if self.closing_tag(at) => free(0),
                b'}' | b']' | b')' | b';' | b'.' | b'`' if clean => free(0),
                b'}' | b']' | b')' | b':' => None,
                _ if object => self.follow_member_at_once(at, at > after, frame, clean),
                _ => self.follow_item_at_once(at, at > after, clean),
            };
        }
    }

    /// The next member, after a comma.
    fn follow_member(&self, at: usize, frame: &Frame, clean: bool) -> End {
        if let Some(key) = self.text.key(at) {
            return match self.fresh(frame, key.name) {
                Some(Key::Known(_)) => likely(0),
                Some(Key::Open) if key.quoted => likely(0),
                Some(_) if clean => likely(u32::from(!key.quoted)),
                Some(_) => None,
                None => free(2).filter(|_| clean),
            };
        }
        let word = self.text.word(at);
        match self.text.at(word) {
            _ if !clean => None,
            _ if word == at => free(1).filter(|_| self.text.quote(at).is_some()),
            Some(b'"') if self.text.colon(self.text.skip(word + 1)) => likely(0),
            _ => free(ODDITY),
        }
    }

    /// The next member, without a comma. `apart`: whitespace is before it.
    fn follow_member_at_once(&self, at: usize, apart: bool, frame: &Frame, clean: bool) -> End {
        if let Some(key) = self.text.key(at) {
            return match (self.fresh(frame, key.name)?, key.quoted) {
                (Key::Known(_), true) => likely(u32::from(!clean)),
                (Key::Open, true) => likely(if clean { 0 } else { 2 }),
                (Key::Extra, true) => likely(1).filter(|_| clean),
                (_, false) => free(2).filter(|_| clean && apart),
            };
        }
        // A surplus quote.
        let (_, length) = self.text.quote(at).filter(|_| clean)?;
        free(2).filter(|_| self.ends_item(at + length))
    }

    /// The next item, after a comma.
    fn follow_item(&self, at: usize, byte: u8, clean: bool) -> End {
        let word = self.text.word(at);
        match byte {
            _ if self.value_ahead(at) => likely(0),
            _ if word == at => None,
            _ if clean && self.text.at(word) == Some(b'"') => likely(0),
            _ => free(if clean { 2 } else { 4 }),
        }
    }

    /// The next item, without a comma. `apart`: whitespace is before it.
    fn follow_item_at_once(&self, at: usize, apart: bool, clean: bool) -> End {
        match (self.value_ahead(at), apart) {
            (true, true) if clean => free(0),
            (true, true) => free(if self.text.quote(at).is_some() { 2 } else { 4 }),
            (true, false) => None,
            (false, apart) => free(4).filter(|_| apart && self.text.word(at) > at),
        }
    }
}
