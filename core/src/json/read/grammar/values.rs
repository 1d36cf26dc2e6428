//! Values: strings, numbers, literals of several languages, and text without quotes.

use super::super::super::lex::Quote;
use super::super::rules::{
    COMMENT, ESCAPED_SPACE, LEFT_OUT, NO_JSON_FORM, NO_VALUE, NUMBER, ODD_NUMBER, ODD_SPACE, OTHER_COLON, PARENS, PREFIXED,
    STRAY_QUOTE, UNCLOSED, UNQUOTED, UNQUOTED_WORD, WORD,
};
use super::super::state::{Bracket, Scan, State, StepKind, Want};
use super::super::{Ending, cost};
use super::Grammar;

impl Grammar<'_, '_> {
    /// Skips to the next token and notes what was skipped.
    #[inline]
    pub(super) fn token(&mut self, state: &mut State) -> usize {
        let start = state.at as usize;
        if self.text.token(start) {
            return start;
        }
        self.token_after_gap(state, start)
    }

    #[inline(never)]
    fn token_after_gap(&mut self, state: &mut State, start: usize) -> usize {
        let (at, gap) = self.text.gap(start);
        if at != start {
            for (there, rule) in [(gap.comment, COMMENT), (gap.odd_space, ODD_SPACE), (gap.escaped_space, ESCAPED_SPACE)] {
                if there {
                    self.repair(state, rule, start, at);
                }
            }
            state.at = at as u32;
        }
        at
    }

    /// Reads a value after a colon, or the root.
    pub(super) fn value(&mut self, state: &mut State) -> Option<()> {
        let at = self.token(state);
        let Some(byte) = self.text.at(at) else {
            return self.over(state, Ending::AfterColon, cost::OPEN);
        };
        match byte {
            b',' | b'}' | b']' => {
                self.note(state, StepKind::Void(NO_VALUE), at, at);
                state.cost += cost::NO_VALUE;
                state.want = Want::Next;
                Some(())
            }
            b':' => {
                self.repair(state, OTHER_COLON, at, at + 1);
                state.at += 1;
                state.cost += cost::ODDITY;
                Some(())
            }
            b'<' if self.closing_tag(at) => self.over(state, Ending::AfterColon, cost::OPEN),
            b'.' if self.text.starts(at, "...") => {
                let dots = self.text.bytes[at..].iter().take_while(|byte| **byte == b'.').count();
                self.note(state, StepKind::Void(LEFT_OUT), at, at + dots);
                state.cost += cost::NO_VALUE;
                state.at += dots as u32;
                state.want = Want::Next;
                Some(())
            }
            _ => self.some_value(state, at, byte),
        }
    }

    /// Reads an item of an array, or the end of the array.
    pub(super) fn item(&mut self, state: &mut State) -> Option<()> {
        let (at, byte) = match self.begins(state) {
            Ok(found) => found,
            Err(read) => return read,
        };
        match byte {
            b':' => self.dead(at, "a colon in an array"),
            b'"' | b'\'' if self.unclosed_before_key(state, at) => {
                let comma = state.comma;
                self.repair(state, UNCLOSED, at, at);
                state.cost += cost::ODDITY;
                self.close(state, at, at)?;
                state.comma = comma;
                state.want = Want::Member;
                Some(())
            }
            _ => self.some_value(state, at, byte),
        }
    }

    /// Whether the next member of the object around this array begins here, so that the array lacks its bracket.
    pub(super) fn unclosed_before_key(&self, state: &State, at: usize) -> bool {
        let around = self.trail.frames(state.frame).nth(1);
        around.is_some_and(|around| {
            around.bracket == Bracket::Object && self.text.key(at).is_some_and(|key| self.fresh(around, key.name).is_some())
        })
    }

    /// Reads a value that begins with `byte`, or any text in its place.
    fn some_value(&mut self, state: &mut State, at: usize, byte: u8) -> Option<()> {
        match byte {
            b'{' | b'[' if self.text.starts(self.text.skip(at + 1), "\\\"") => return self.half_quoted(state, at, 0),
            b'{' => return self.open(state, Bracket::Object, at),
            b'[' => return self.open(state, Bracket::Array, at),
            b'(' => {
                let mut text = *state;
                if self.bare(&mut text, at).is_some() {
                    self.branch(text);
                }
                self.repair(state, PARENS, at, at + 1);
                state.cost += cost::ODDITY;
                return self.open(state, Bracket::Paren, at);
            }
            _ => {}
        }
        if let Some((quote, length)) = self.text.quote(at) {
            return self.begin_string(state, at, length, quote, false);
        }
        if matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.')
            && let Some(number) = self.text.number(at)
            && !self.goes_on(state, number.end, true)
        {
            self.note(state, StepKind::Number, at, number.end);
            if !number.strict {
                self.repair(state, if number.guess { ODD_NUMBER } else { NUMBER }, at, number.end);
            }
            state.at = number.end as u32;
            state.want = Want::Next;
            return Some(());
        }
        let end = self.text.word(at + usize::from(byte == b'-'));
        if matches!(&self.text.source[at..end], "r" | "b" | "u" | "f" | "R" | "B" | "rb" | "br")
            && let Some((quote, length)) = self.text.quote(end)
            && !matches!(self.text.at(self.text.skip(end + length)), None | Some(b',' | b':' | b'}' | b']'))
        {
            self.repair(state, PREFIXED, at, end);
            state.cost += cost::ODDITY;
            return self.begin_string(state, end, length, quote, false);
        }
        if let Some((kind, repaired)) = literal(&self.text.source[at..end])
            && !self.goes_on(state, end, false)
        {
            if let StepKind::Void(_) = kind {
                state.cost += cost::NO_VALUE;
            }
            self.note(state, kind, at, end);
            if repaired {
                self.repair(state, WORD, at, end);
            }
            state.at = end as u32;
            state.want = Want::Next;
            return Some(());
        }
        self.bare(state, at)
    }

    /// Whether the number or word that ends at `end` is only the beginning of a text without quotes.
    fn goes_on(&self, state: &State, end: usize, number: bool) -> bool {
        let object = self.is_in(state, Bracket::Object);
        match self.text.at(end) {
            None => return false,
            Some(b'"' | b'\'') => {
                let ends = matches!(self.text.at(self.text.skip(end + 1)), None | Some(b',' | b'}' | b']'));
                return !ends && self.text.key(end).is_none() && object;
            }
            Some(b',') if object && number => {
                let next = self.text.skip(end + 1);
                // Groups of thousands: `1,000`.
                return next == end + 1
                    && (0..3).all(|digit| self.text.at(next + digit).is_some_and(|byte| byte.is_ascii_digit()))
                    && self.text.key(next).is_none();
            }
            Some(_) => {}
        }
        let (next, gap) = self.text.gap(end);
        let Some(byte) = self.text.at(next) else { return false };
        if gap.newline || gap.comment || (next == end && number) {
            return false;
        }
        match byte {
            b',' | b'}' | b']' | b')' | b':' | b';' | b'<' | b'"' | b'\'' | b'`' | b'/' | b'{' | b'[' => false,
            b'0'..=b'9' | b'-' | b'+' | b'.' => object && next != end,
            _ => self.text.quote(next).is_none() && self.text.comma(next).is_none() && self.text.key(next).is_none(),
        }
    }

    /// Reads a text without quotes, up to the next byte that can only be structure.
    fn bare(&mut self, state: &mut State, at: usize) -> Option<()> {
        let object = self.is_in(state, Bracket::Object);
        let mut nested: u32 = 0;
        let mut i = at;
        let paren = self.is_in(state, Bracket::Paren);
        let mut half_quoted = false;
        let mut pairs = Pairs { read: at, ..Pairs::default() };
        while let Some(byte) = self.text.at(i) {
            match byte {
                b'(' | b'[' | b'{' => nested += 1,
                b')' | b']' | b'}' if nested > 0 => nested -= 1,
                b']' | b'}' => break,
                b')' if paren => break,
                b',' if nested == 0 => {
                    let next = self.text.skip(i + 1);
                    let structure = !object
                        || matches!(self.text.at(next), None | Some(b'}' | b']' | b','))
                        || self.text.starts(next, "...")
                        || self.text.key(next).is_some();
                    if structure {
                        break;
                    }
                }
                b'\n' => {
                    let next = self.text.skip(i);
                    if !object || matches!(self.text.at(next), None | Some(b'}' | b']')) || self.text.key(next).is_some() {
                        break;
                    }
                    i = next;
                    continue;
                }
                b'/' if matches!(self.text.at(i + 1), Some(b'/' | b'*'))
                    && i > at
                    && self.text.bytes[i - 1].is_ascii_whitespace() =>
                {
                    break;
                }
                b'<' if self.closing_tag(i) => break,
                // The second quote of a pair belongs to the text: `git commit -m "fix"`.
                b'"' if i > at && !pairs.are_open(self.text.bytes, i) && self.follow(i + 1, state.frame, true).is_some() => {
                    half_quoted = true;
                    break;
                }
                b'"' | b'\'' if i > at && self.text.bytes[i - 1].is_ascii_whitespace() && self.text.key(i).is_some() => break,
                _ => {}
            }
            i += 1;
        }
        self.text.look(8 * (i - at));
        let end = at + self.text.source[at..i].trim_end().len();
        if end == at {
            return self.dead(at, "no value can start here");
        }
        if half_quoted && self.text.number(at).is_none_or(|number| number.end != end) {
            return self.half_quoted(state, at, 0);
        }
        let mut unquoted = *state;
        if half_quoted {
            self.note(state, StepKind::Number, at, end);
            self.repair(state, STRAY_QUOTE, end, i + 1);
            state.at = (i + 1) as u32;
        } else {
            self.note(state, StepKind::Text(Quote::Bare), at, end);
            let is_word = self.text.source[at..end].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte));
            self.repair(state, if is_word { UNQUOTED_WORD } else { UNQUOTED }, at, end);
            state.at = end as u32;
        }
        state.cost += cost::UNQUOTED;
        state.want = Want::Next;
        self.branch(*state);
        if half_quoted { None } else { self.half_quoted(&mut unquoted, at, 1) }
    }

    /// Branch for a string whose opening quote is missing.
    fn half_quoted(&mut self, state: &mut State, at: usize, more: u32) -> Option<()> {
        state.cost += cost::UNQUOTED + more;
        self.branch_in(*state, Scan::new(at, at, Quote::Double, false), state.cost);
        None
    }

    /// Whether a value can begin here.
    pub(super) fn value_ahead(&self, at: usize) -> bool {
        match self.text.at(at) {
            Some(b'{' | b'[' | b'-' | b'0'..=b'9') => true,
            Some(_) => self.text.quote(at).is_some() || literal(&self.text.source[at..self.text.word(at)]).is_some(),
            None => false,
        }
    }

    /// Starts the search for the end of the string that opens at `at`. `more`: it is joined to the string before it.
    pub(super) fn begin_string(&mut self, state: &mut State, at: usize, length: usize, quote: Quote, more: bool) -> Option<()> {
        if let Quote::Double = quote
            && !more
            && self.text.at(at + 1) == Some(b'"')
        {
            // `""/a/b"`: one quote is surplus.
            let mut single = *state;
            self.repair(&mut single, STRAY_QUOTE, at, at + 1);
            single.cost += cost::ODDITY;
            self.branch_in(single, Scan::new(at + 1, at + 2, Quote::Double, more), single.cost);
        }
        let scan = Scan::new(at, at + length, quote, more);
        self.scan(state, scan)
    }
}

/// The literal that a word means. The flag is set if JSON spells it differently.
fn literal(word: &str) -> Option<(StepKind, bool)> {
    Some(match word {
        "true" => (StepKind::True, false),
        "false" => (StepKind::False, false),
        "null" => (StepKind::Null, false),
        "True" | "TRUE" => (StepKind::True, true),
        "False" | "FALSE" => (StepKind::False, true),
        "None" | "NONE" | "Null" | "NULL" | "undefined" | "nil" => (StepKind::Null, true),
        "NaN" | "Infinity" | "-Infinity" | "-NaN" => (StepKind::Void(NO_JSON_FORM), false),
        _ => return None,
    })
}

/// The pairs of unescaped quotes in a text, read from left to right.
#[derive(Debug, Default)]
struct Pairs {
    read: usize,
    open: bool,
    escaped: bool,
}

impl Pairs {
    /// Whether the quote at `to` is the last of a pair.
    fn are_open(&mut self, bytes: &[u8], to: usize) -> bool {
        for &byte in bytes.get(self.read..to).unwrap_or_default() {
            let escaped = std::mem::take(&mut self.escaped);
            self.escaped = byte == b'\\' && !escaped;
            self.open ^= byte == b'"' && !escaped;
        }
        self.read = to;
        self.open
    }
}
