//! Judges a delimiter by the text after it. Only what may follow a value makes it a possible end of its string.

use super::super::state::{Bracket, Frame, NONE};
use super::super::{Key, cost};
use super::Grammar;

/// How well a string may end at a delimiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Follow {
    /// The cost of ending the string here.
    pub(super) cost: u32,
    /// How plausible this end is. Continuing past it costs accordingly.
    pub(super) pass: Pass,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// Hardly plausible: continuing is free.
    Free,
    /// Plausible, as far as one can say without knowing the keys.
    Open,
    /// An expected key follows.
    Known,
}

/// A possible end.
pub(super) const fn follow(cost: u32, pass: Pass) -> Option<Follow> {
    Some(Follow { cost, pass })
}

impl Grammar<'_, '_> {
    /// Judges the delimiter before `after`; `None` if the string cannot end there. `clean`: it is the string's first delimiter.
    pub(super) fn follow(&mut self, after: usize, frame: u32, clean: bool) -> Option<Follow> {
        let (at, gap) = self.text.gap(after);
        // A literal `\n`, then a quote that opens no key: the string continues.
        let quote = || self.text.quote(at).is_some() && self.text.key(at).is_none();
        if gap.escaped_space && (!clean || quote()) {
            return None;
        }
        let found = self.follow_token(at, after, frame, clean)?;
        // With quotes inside the string, `"a" # the "b"` is code, not an end and a comment; and so is `"a "//" b"`.
        let delimiter = self.text.bytes[after - 1];
        let is_code = !clean || matches!(self.text.at(after), Some(b'/' | b'#'));
        let quotes = is_code && gap.comment && memchr::memchr(delimiter, &self.text.bytes[after..at]).is_some();
        if quotes { follow(found.cost + cost::QUOTING_COMMENT, Pass::Free) } else { Some(found) }
    }

    /// Judges the delimiter before `after` by the token at `at`.
    fn follow_token(&mut self, mut at: usize, after: usize, frame: u32, clean: bool) -> Option<Follow> {
        let mut open = frame;
        loop {
            let Some(frame) = self.trail.frame(open) else {
                return follow(0, if self.tail(at) == 0 { Pass::Known } else { Pass::Free });
            };
            let Some(byte) = self.text.at(at) else {
                return follow(0, Pass::Known);
            };
            if let Some(length) = self.text.comma(at) {
                return self.follow_comma(at + length, frame, clean);
            }
            if byte == frame.bracket.closer() {
                if frame.parent == NONE && frame.bracket == Bracket::Object && self.reopens(frame, at + 1) {
                    return follow(0, Pass::Open);
                }
                open = frame.parent;
                at = self.text.skip(at + 1);
                continue;
            }
            return match byte {
                b'}' | b']' | b')' => self.follow_wrong_closer(frame, byte, clean),
                b'<' if self.closing_tag(at) => follow(0, Pass::Free),
                b'+' if clean => self.text.quote(self.text.skip(at + 1)).and_then(|_| follow(0, Pass::Free)),
                b';' | b'.' | b'`' if clean => follow(0, Pass::Free),
                b':' => None,
                _ => self.follow_no_comma(at, at > after, frame, clean),
            };
        }
    }

    /// A closing bracket of another kind than the innermost one.
    fn follow_wrong_closer(&self, frame: &Frame, byte: u8, clean: bool) -> Option<Follow> {
        let bracket = Bracket::closed_by(byte);
        if self.trail.frames(frame.parent).any(|outer| outer.bracket == bracket) {
            return follow(if clean { 0 } else { 2 * cost::ODDITY }, Pass::Free);
        }
        clean.then_some(Follow { cost: 0, pass: Pass::Free })
    }

    /// A comma, which ends before `at`.
    fn follow_comma(&self, at: usize, frame: &Frame, clean: bool) -> Option<Follow> {
        let at = self.text.skip(at);
        let Some(byte) = self.text.at(at) else {
            return follow(0, Pass::Free);
        };
        if matches!(byte, b'}' | b']' | b')') || (byte == b'<' && self.closing_tag(at)) {
            return follow(0, Pass::Free);
        }
        if clean && (self.text.comma(at).is_some() || self.text.starts(at, "...")) {
            return follow(0, Pass::Free);
        }
        if frame.bracket != Bracket::Object {
            return match byte {
                _ if self.value_ahead(at) => follow(0, Pass::Open),
                b'(' | b'.' | b'+' => follow(cost::ODDITY, Pass::Free),
                _ if clean && self.text.word(at) > at && self.text.at(self.text.word(at)) == Some(b'"') => follow(0, Pass::Open),
                _ if self.text.word(at) > at => follow(if clean { 2 } else { 4 }, Pass::Free),
                _ => None,
            };
        }
        if clean && byte == b'{' && self.inside_array(frame) {
            return follow(0, Pass::Free);
        }
        if let Some(key) = self.text.key(at) {
            return match self.fresh(frame, key.name) {
                Some(Key::Known(_)) => follow(0, Pass::Known),
                Some(Key::Open) if key.quoted => follow(0, Pass::Open),
                Some(_) if clean => follow(u32::from(!key.quoted), Pass::Open),
                Some(Key::Open) => follow(4, Pass::Free),
                Some(Key::Extra) => None,
                None => clean.then_some(Follow { cost: 2, pass: Pass::Free }),
            };
        }
        if clean && self.text.quote(at).is_some() {
            return follow(1, Pass::Free);
        }
        if clean && self.stray_word(at).is_some() {
            return follow(0, Pass::Open);
        }
        let word = self.text.word(at);
        if clean && word > at && self.text.at(word) == Some(b'"') && self.text.colon(self.text.skip(word + 1)) {
            return follow(0, Pass::Open);
        }
        (clean && word > at).then_some(Follow { cost: cost::ODDITY, pass: Pass::Free })
    }

    /// The next member or item, without a comma. `apart`: whitespace is before it.
    fn follow_no_comma(&self, at: usize, apart: bool, frame: &Frame, clean: bool) -> Option<Follow> {
        if frame.bracket != Bracket::Object {
            if self.value_ahead(at) {
                let quoted = self.text.quote(at).is_some();
                return match (clean, apart) {
                    (true, true) => follow(0, Pass::Free),
                    (false, true) => follow(if quoted { 2 } else { 4 }, Pass::Free),
                    (_, false) => {
                        (clean && matches!(self.text.at(at), Some(b'{' | b'['))).then_some(Follow { cost: 1, pass: Pass::Free })
                    }
                };
            }
            return (apart && self.text.word(at) > at).then_some(Follow { cost: 4, pass: Pass::Free });
        }
        if clean && self.text.at(at) == Some(b'{') && self.inside_array(frame) {
            return follow(0, Pass::Free);
        }
        if let Some(key) = self.text.key(at) {
            return match (self.fresh(frame, key.name)?, key.quoted) {
                (Key::Known(_), true) => follow(u32::from(!clean), Pass::Open),
                (Key::Known(_), false) => apart.then_some(Follow { cost: 2, pass: Pass::Free }),
                (Key::Open, true) => follow(if clean { 0 } else { 2 }, Pass::Open),
                (Key::Extra, true) => clean.then_some(Follow { cost: 1, pass: Pass::Open }),
                (_, false) => (clean && apart).then_some(Follow { cost: 2, pass: Pass::Free }),
            };
        }
        // A surplus quote.
        let (_, length) = self.text.quote(at).filter(|_| clean)?;
        matches!(self.text.at(self.text.skip(at + length)), None | Some(b',' | b'}' | b']'))
            .then_some(Follow { cost: 2, pass: Pass::Free })
    }
}
