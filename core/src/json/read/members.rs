//! Keys, colons, and what models write in their place.

use super::super::lex::Quote;
use super::rules::{BARE_KEY, DOUBLE_OPENER, HALF_QUOTED, NO_COLON, NO_COLON_EXTRA, ODD_KEY, ODD_SPACE, OPEN, SPILT};
use super::search::Search;
use super::trail::{State, StepKind, Want};
use super::{Ending, Key};

/// How long the line of an unquoted key may be.
const KEY_LINE: usize = 256;

impl Search<'_, '_> {
    /// Reads a key.
    pub(super) fn member(&mut self, state: &mut State, at: usize, byte: u8) -> Option<()> {
        match self.text.quote(at) {
            Some((quote, length)) => self.quoted_key(state, at, at + length, quote),
            None if byte == b'{' && !state.comma => self.drop(state, DOUBLE_OPENER, at, at + 1),
            None => self.bare_key(state, at),
        }
    }

    /// Reads a key in quotes. It may lack its closing quote or its colon.
    fn quoted_key(&mut self, state: &mut State, at: usize, start: usize, quote: Quote) -> Option<()> {
        let Some((end, after)) = self.text.delimiter(start, quote) else {
            state.at = self.text.bytes.len();
            let is_empty = self.text.skip(start) == state.at;
            let (ending, cost) = if is_empty { (Ending::AfterComma, OPEN) } else { (Ending::InKey, SPILT) };
            return self.over(state, ending, cost);
        };
        let next = self.text.skip(after);
        let name = &self.text.source[start..end];
        let expected = self.frame(state).is_none_or(|frame| self.guide.key(frame.shape, name) != Key::Extra);
        self.key(state, (start, end), after, quote);
        if self.text.colon(next) {
            self.colon(state);
        } else if self.value_ahead(next) && (next > after || self.text.quote(next).is_some()) {
            self.repair(state, if expected { NO_COLON } else { NO_COLON_EXTRA }, after, next);
        } else {
            return self.dead(at, "a key without a colon");
        }
        Some(())
    }

    /// Reads a key without quotes.
    fn bare_key(&mut self, state: &mut State, at: usize) -> Option<()> {
        let word = self.text.word(at);
        let next = self.text.skip(word);
        let is_word = word > at;
        let (end, after, rule) = if is_word && self.text.colon(next) {
            (word, word, BARE_KEY)
        } else if is_word && matches!(self.text.at(word), Some(b'"' | b'\'')) && self.text.colon(self.text.skip(word + 1)) {
            (word, word + 1, HALF_QUOTED)
        } else if let Some(line) = self.key_line(at) {
            let name = line.trim_end();
            (at + name.len(), at + line.len(), if name.contains(' ') { ODD_KEY } else { BARE_KEY })
        } else if is_word && next > word && self.value_ahead(next) {
            (word, word, NO_COLON)
        } else {
            return self.dead(at, "a key is missing");
        };
        self.key(state, (at, end), after, Quote::Bare);
        if rule == NO_COLON {
            self.repair(state, BARE_KEY, at, end);
            self.repair(state, NO_COLON, end, next);
        } else {
            self.repair(state, rule, at, after);
            self.colon(state);
        }
        Some(())
    }

    /// The text from `at` up to a colon, if nothing of a structure comes before.
    fn key_line(&self, at: usize) -> Option<&str> {
        let line = &self.text.bytes[at..self.text.bytes.len().min(at + KEY_LINE)];
        let stop = line.iter().position(|byte| b":\n\",{}[]".contains(byte))?;
        let line = self.text.source.get(at..at + stop).filter(|line| !line.is_empty())?;
        (self.text.at(at + stop) == Some(b':')).then_some(line)
    }

    /// Notes a key; its value is next.
    fn key(&mut self, state: &mut State, (start, end): (usize, usize), after: usize, quote: Quote) {
        self.trail.note(state, StepKind::Key(quote), start, end);
        let text = self.text.source;
        self.learn(state, &text[start..end]);
        if !matches!(quote, Quote::Double | Quote::Bare) {
            self.repair(state, super::strings::quote_rule(quote), start, end);
        }
        state.at = after;
        state.comma = false;
        state.want = Want::Value;
    }

    /// Reads the colon.
    fn colon(&mut self, state: &mut State) {
        let at = self.token(state);
        let length = if self.text.at(at) == Some(b':') { 1 } else { "\u{ff1a}".len() };
        if length > 1 {
            self.repair(state, ODD_SPACE, at, at + length);
        }
        state.at += length;
    }
}
