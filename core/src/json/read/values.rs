//! Values: numbers, literals of several languages, and text without quotes.

use super::super::lex::Quote;
use super::rules::{NO_JSON_FORM, NUMBER, ODD_NUMBER, PARENS, Rule, UNQUOTED, UNQUOTED_WORD, WORD};
use super::search::Search;
use super::strings::Scan;
use super::trail::{State, StepKind};

impl Search<'_, '_> {
    /// Reads a value that begins with `byte`, or any text in its place.
    pub(super) fn value(&mut self, state: &mut State, at: usize, byte: u8) -> Option<()> {
        match byte {
            b':' => return self.dead(at, "a value is missing"),
            b'{' => return self.open(state, b'}', at),
            b'[' => return self.open(state, b']', at),
            b'(' => {
                self.repair(state, PARENS, at, at + 1);
                return self.open(state, b')', at);
            }
            _ => {}
        }
        if let Some((quote, length)) = self.text.quote(at) {
            return self.scan(state, Scan::new(at, at + length, quote));
        }
        if let Some(number) = self.text.number(at)
            && !self.goes_on(state, number.end, true)
        {
            self.scalar(state, StepKind::Number, at, number.end);
            if !number.strict {
                self.repair(state, if number.guess { ODD_NUMBER } else { NUMBER }, at, number.end);
            }
            return Some(());
        }
        let end = self.text.word(at + usize::from(byte == b'-'));
        if let Some((kind, rule)) = literal(&self.text.source[at..end])
            && !self.goes_on(state, end, false)
        {
            self.scalar(state, kind, at, end);
            if let Some(rule) = rule {
                self.repair(state, rule, at, end);
            }
            return Some(());
        }
        self.bare(state, at)
    }

    /// Whether the number or word that ends at `end` is only the beginning of a text without quotes.
    fn goes_on(&self, state: &State, end: usize, number: bool) -> bool {
        let object = self.is_in(state, b'}');
        let (next, gap) = self.text.gap(end);
        let glued = next == end;
        match self.text.at(next) {
            None => false,
            Some(b'"' | b'\'') if glued => object && self.text.key(end).is_none() && !self.ends_item(end + 1),
            // Groups of thousands: `1,000`.
            Some(b',') if glued && number && object => {
                let group = self.text.bytes[end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                group == 3 && self.text.key(end + 1).is_none()
            }
            Some(_) if gap.newline || gap.comment || (glued && number) => false,
            Some(b'0'..=b'9' | b'-' | b'+' | b'.') => object && !glued,
            Some(byte) => {
                !b",}]):;<\"'`/{[".contains(&byte)
                    && self.text.quote(next).is_none()
                    && self.text.comma(next).is_none()
                    && self.text.key(next).is_none()
            }
        }
    }

    /// Reads a text without quotes. A quote after it may be the closing one of a string whose opening quote is missing.
    fn bare(&mut self, state: &mut State, at: usize) -> Option<()> {
        let stop = self.bare_end(state, at);
        let quoted = self.text.at(stop) == Some(b'"') && self.follow(stop + 1, state.frame, true).is_some();
        let end = at + self.text.source[at..stop].trim_end().len();
        self.text.look(8 * (stop - at));
        if end == at {
            return self.dead(at, "no value can start here");
        }
        let mut half_quoted = *state;
        half_quoted.cost += UNQUOTED.3;
        let cost = half_quoted.cost + u32::from(!quoted);
        self.branch_in(half_quoted, Scan::new(at, at, Quote::Double), cost);
        if quoted {
            return None;
        }
        self.scalar(state, StepKind::Text(Quote::Bare), at, end);
        let is_word = self.text.source[at..end].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte));
        self.repair(state, if is_word { UNQUOTED_WORD } else { UNQUOTED }, at, end);
        Some(())
    }

    /// Where the text without quotes that begins at `at` ends: before the next byte that can only be structure, or at a quote that
    /// closes a string.
    fn bare_end(&mut self, state: &State, at: usize) -> usize {
        let object = self.is_in(state, b'}');
        let (mut i, mut nested, mut in_quotes) = (at, 0_u32, false);
        while let Some(byte) = self.text.at(i) {
            let spaced = i > at && self.text.bytes[i - 1].is_ascii_whitespace();
            match byte {
                b'(' | b'[' | b'{' => nested += 1,
                b')' | b']' | b'}' if nested > 0 => nested -= 1,
                b']' | b'}' => break,
                b',' if nested == 0 && self.separates(i + 1, object) => break,
                b'\n' => {
                    let next = self.text.skip(i);
                    if !object || self.ends_item(next) && self.text.at(next) != Some(b',') || self.text.key(next).is_some() {
                        break;
                    }
                    i = next;
                    continue;
                }
                b'<' if self.closing_tag(i) => break,
                b'"' | b'\'' if spaced && self.text.key(i).is_some() => break,
                // The second quote of a pair belongs to the text: `git commit -m "fix"`.
                b'"' if i > at && !in_quotes && self.follow(i + 1, state.frame, true).is_some() => break,
                b'"' => in_quotes = !in_quotes,
                _ => {}
            }
            i += 1;
        }
        i.min(self.text.bytes.len())
    }

    /// Whether what follows a comma shows that it separates members or items, and is no part of a text.
    fn separates(&self, at: usize, object: bool) -> bool {
        let next = self.text.skip(at);
        !object || self.ends_item(next) || self.text.starts(next, "...") || self.text.key(next).is_some()
    }

    /// Whether a value can begin here.
    pub(super) fn value_ahead(&self, at: usize) -> bool {
        match self.text.at(at) {
            Some(b'{' | b'[' | b'-' | b'0'..=b'9') => true,
            Some(_) => self.text.quote(at).is_some() || literal(&self.text.source[at..self.text.word(at)]).is_some(),
            None => false,
        }
    }
}

/// The literal that a word means, and what is to be repaired.
fn literal(word: &str) -> Option<(StepKind, Option<Rule>)> {
    Some(match word {
        "true" => (StepKind::Word(Some(true)), None),
        "false" => (StepKind::Word(Some(false)), None),
        "null" => (StepKind::Word(None), None),
        "True" | "TRUE" => (StepKind::Word(Some(true)), Some(WORD)),
        "False" | "FALSE" => (StepKind::Word(Some(false)), Some(WORD)),
        "None" | "NONE" | "Null" | "NULL" | "undefined" | "nil" => (StepKind::Word(None), Some(WORD)),
        "NaN" | "Infinity" | "-Infinity" | "-NaN" => (StepKind::Void(NO_JSON_FORM), None),
        _ => return None,
    })
}
