//! What comes between values: keys, colons, commas, and what models write in their place.

use super::super::super::code::Code;
use super::super::super::lex::Quote;
use super::super::rules::{
    BARE_KEY, DOUBLE_OPENER, EXTRA_COMMA, FENCE_INSIDE, HALF_QUOTED, JOINED, KEY_QUOTES, NO_COLON, NO_COLON_EXTRA, NO_COMMA,
    ODD_KEY, ODD_SPACE, OTHER_COLON, SEMICOLON, STRAY_QUOTE, STRAY_WORD,
};
use super::super::state::{Bracket, State, Step, StepKind, Want};
use super::super::{Ending, Key, cost};
use super::Grammar;

impl Grammar<'_, '_> {
    /// Where the next member or item begins, and its first byte. The error is what was read instead: a comma, the end of the
    /// container, an ellipsis, a closing tag.
    pub(super) fn begins(&mut self, state: &mut State) -> Result<(usize, u8), Option<()>> {
        let at = self.token(state);
        let Some(byte) = self.text.at(at) else {
            let ending = if state.comma { Ending::AfterComma } else { Ending::Open };
            return Err(self.over(state, ending, cost::OPEN));
        };
        if let Some(length) = self.text.comma(at) {
            self.repair(state, EXTRA_COMMA, at, at + length);
            state.at += length as u32;
            state.comma = true;
            return Err(Some(()));
        }
        match byte {
            b'}' | b']' | b')' => {
                if state.comma {
                    self.repair(state, EXTRA_COMMA, at, at);
                }
                Err(self.closer(state, at, byte))
            }
            b'.' if self.text.starts(at, "...") => Err(self.ellipsis(state, at)),
            b'<' if self.closing_tag(at) => Err(self.tag(state, at)),
            _ => Ok((at, byte)),
        }
    }

    /// Reads a key, or the end of the object.
    pub(super) fn member(&mut self, state: &mut State) -> Option<()> {
        let (at, byte) = match self.begins(state) {
            Ok(found) => found,
            Err(read) => return read,
        };
        match byte {
            b'`' if self.text.starts(at, "```") => {
                let end = self.text.word(at + 3).max(at + 3);
                self.repair(state, FENCE_INSIDE, at, end);
                state.cost += cost::ODDITY;
                state.at = end as u32;
                return Some(());
            }
            b'{' if self.unclosed_before_item(state) => return self.close_before_item(state, at),
            b'{' if !state.comma => {
                self.repair(state, DOUBLE_OPENER, at, at + 1);
                state.cost += cost::REOPENED;
                state.at += 1;
                return Some(());
            }
            _ => {}
        }
        if let Some(next) = self.stray_word(at) {
            self.repair(state, STRAY_WORD, at, next);
            state.cost += cost::ODDITY;
            state.at = next as u32;
            return Some(());
        }
        match self.text.quote(at) {
            Some((quote, length)) => {
                let stray = self.text.stray_quote(at);
                if stray > 0 {
                    self.repair(state, STRAY_QUOTE, at, at + stray);
                    state.cost += cost::ODDITY;
                }
                self.quoted_key(state, at + stray, length, quote)
            }
            None => self.bare_key(state, at),
        }
    }

    /// Reads a key in quotes. It may contain unescaped quotes or lack its colon.
    fn quoted_key(&mut self, state: &mut State, at: usize, length: usize, quote: Quote) -> Option<()> {
        let start = at + length;
        let mut from = start;
        let mut inner = false;
        let mut best: Option<State> = None;
        for _ in 0..8 {
            let Some((end, after)) = self.text.delimiter(from, quote).filter(|(end, _)| end - start <= 4096) else { break };
            let stray = if inner || end == start { 0 } else { self.text.stray_quote_after(after) };
            if stray > 0 {
                self.repair(state, STRAY_QUOTE, after, after + stray);
                state.cost += cost::ODDITY;
            }
            let after = after + stray;
            let next = self.text.skip(after);
            if self.text.colon(next) || self.text.at(next) == Some(b'=') {
                if !inner {
                    self.key(state, (start, end), after, quote);
                    self.colon(state);
                    return Some(());
                }
                let mut found = *state;
                self.key(&mut found, (start, end), after, quote);
                self.repair(&mut found, KEY_QUOTES, at, after);
                // A colon or comma inside means that this is more than a key.
                let several = self.text.bytes[start..end].iter().any(|byte| matches!(byte, b':' | b','));
                found.cost += cost::INNER_QUOTES + cost::ODDITY + u32::from(several) * cost::UNBALANCED;
                self.colon(&mut found);
                self.branch(found);
                break;
            }
            if !inner && self.value_ahead(next) && (next > after || self.text.quote(next).is_some()) {
                let mut found = *state;
                self.key(&mut found, (start, end), after, quote);
                let name = &self.text.source[start..end];
                let expected = self.frame(state).is_none_or(|frame| self.guide.key(frame.shape, name) != Key::Extra);
                self.repair(&mut found, if expected { NO_COLON } else { NO_COLON_EXTRA }, after, next);
                found.cost += cost::ODDITY;
                best = Some(found);
            }
            inner = true;
            from = after;
        }
        // `"key: value`: the closing quote of the key is missing, or comes after the value.
        let word = self.text.word(start);
        if word > start && self.text.at(word) == Some(b':') {
            let mut found = *state;
            self.key(&mut found, (start, word), word, quote);
            self.repair(&mut found, STRAY_QUOTE, at, word);
            found.cost += cost::FORGOTTEN;
            self.colon(&mut found);
            match best {
                None => best = Some(found),
                Some(_) => self.branch(found),
            }
        }
        if !inner && self.text.delimiter(start, quote).is_none() {
            let mut over = *state;
            over.at = self.text.bytes.len() as u32;
            let empty = self.text.skip(start) == self.text.bytes.len();
            let ending = if empty { Ending::AfterComma } else { Ending::InKey };
            self.over(&mut over, ending, if empty { cost::OPEN } else { cost::SPILT });
            self.branch(over);
        }
        match best {
            Some(best) => {
                *state = best;
                Some(())
            }
            None => self.dead(at, "a key without a colon"),
        }
    }

    /// The end of a surplus word between members: a key follows it.
    pub(super) fn stray_word(&self, at: usize) -> Option<usize> {
        let end = self.text.word(at);
        if end == at {
            return None;
        }
        let next = self.text.skip(end);
        (next > end && self.text.quote(next).is_some() && self.text.key(next).is_some()).then_some(next)
    }

    /// Reads a key without quotes.
    fn bare_key(&mut self, state: &mut State, at: usize) -> Option<()> {
        let end = self.text.word(at);
        let next = self.text.skip(end);
        if end > at && self.text.colon(next) {
            self.key(state, (at, end), end, Quote::Bare);
            self.repair(state, BARE_KEY, at, end);
            self.colon(state);
            return Some(());
        }
        if end > at && matches!(self.text.at(end), Some(b'"' | b'\'')) && self.text.colon(self.text.skip(end + 1)) {
            self.key(state, (at, end), end + 1, Quote::Bare);
            self.repair(state, HALF_QUOTED, at, end + 1);
            state.cost += cost::ODDITY;
            self.colon(state);
            return Some(());
        }
        let line = &self.text.bytes[at..self.text.bytes.len().min(at + 256)];
        let stop = line.iter().position(|byte| matches!(byte, b':' | b'\n' | b'"' | b',' | b'{' | b'}' | b'[' | b']' | b'='));
        if let Some(stop) = stop.filter(|stop| *stop > 0 && matches!(line[*stop], b':' | b'='))
            && let Some(name) = self.text.source.get(at..at + stop)
        {
            self.key(state, (at, at + name.trim_end().len()), at + stop, Quote::Bare);
            self.repair(state, if name.trim().contains(' ') { ODD_KEY } else { BARE_KEY }, at, at + stop);
            state.cost += cost::UNQUOTED;
            self.colon(state);
            return Some(());
        }
        if end > at && self.value_ahead(next) && next > end {
            self.key(state, (at, end), end, Quote::Bare);
            self.repair(state, BARE_KEY, at, end);
            self.repair(state, NO_COLON, end, next);
            state.cost += cost::UNQUOTED;
            return Some(());
        }
        if self.text.at(next).is_none() && end > at {
            state.at = next as u32;
            return self.over(state, Ending::InKey, cost::OPEN);
        }
        self.dead(at, "a key is missing")
    }

    /// Notes a key; its value is next.
    fn key(&mut self, state: &mut State, (start, end): (usize, usize), after: usize, quote: Quote) {
        self.note(state, StepKind::Key(quote), start, end);
        self.trail.learn(state, &self.text.source[start..end], self.guide);
        if !matches!(quote, Quote::Double | Quote::Bare) {
            self.repair(state, super::strings::quote_rule(quote), start, end);
        }
        state.at = after as u32;
        state.comma = false;
        state.want = Want::Value;
    }

    /// Reads the colon, or what is in its place.
    fn colon(&mut self, state: &mut State) {
        let at = self.token(state);
        let length = match self.text.at(at) {
            Some(b':') => 1,
            Some(b'=') => {
                self.repair(state, OTHER_COLON, at, at + 1);
                state.cost += cost::ODDITY;
                1 + usize::from(self.text.at(at + 1) == Some(b'>'))
            }
            _ => {
                self.repair(state, ODD_SPACE, at, at + 3);
                3
            }
        };
        state.at += length as u32;
    }

    /// Reads what follows a value inside a container.
    pub(super) fn next(&mut self, state: &mut State) -> Option<()> {
        let ended = state.at as usize;
        let at = self.token(state);
        let bracket = self.frame(state)?.bracket;
        let Some(byte) = self.text.at(at) else {
            let ending = match self.trail.step(state.step).map(|step| (step.kind, step.end as usize)) {
                Some((
                    StepKind::Number | StepKind::True | StepKind::False | StepKind::Null | StepKind::Text(Quote::Bare),
                    end,
                )) if end == at => Ending::InWord,
                Some((StepKind::Repair((Code::S9 | Code::S11 | Code::S16, ..)), end)) if end == at => Ending::InWord,
                _ => Ending::Open,
            };
            return self.over(state, ending, cost::OPEN);
        };
        if let Some(length) = self.text.comma(at) {
            if length > 1 {
                self.repair(state, ODD_SPACE, at, at + length);
            }
            after_comma(state, bracket, length);
            return Some(());
        }
        match byte {
            b'}' | b']' | b')' => return self.closer(state, at, byte),
            b';' => {
                self.repair(state, SEMICOLON, at, at + 1);
                state.cost += cost::ODDITY;
                after_comma(state, bracket, 1);
                return Some(());
            }
            b'<' if self.closing_tag(at) => return self.tag(state, at),
            b'.' if self.text.starts(at, "...") => return self.ellipsis(state, at),
            b'+' if self.after_string(state) => {
                let next = self.text.skip(at + 1);
                if let Some((quote, length)) = self.text.quote(next) {
                    // Any number of joined strings is one oddity; the quotes between them are not content.
                    state.cost += if self.is_joined(state) { 0 } else { cost::ODDITY };
                    self.repair(state, JOINED, at, next);
                    return self.begin_string(state, next, length, quote, true);
                }
            }
            b'`' if self.text.starts(at, "```") => {
                self.repair(state, FENCE_INSIDE, at, at + 3);
                state.cost += cost::ODDITY;
                state.at += 3;
                return Some(());
            }
            _ => {}
        }
        if byte == b'{' && self.unclosed_before_item(state) {
            return self.close_before_item(state, at);
        }
        if bracket == Bracket::Object {
            if let Some(key) = self.text.key(at) {
                self.repair(state, NO_COMMA, at, at);
                if !key.quoted {
                    state.cost += cost::ODDITY;
                }
                state.want = Want::Member;
                return Some(());
            }
        } else if self.value_ahead(at) || (at > ended && self.text.word(at) > at) {
            self.repair(state, NO_COMMA, at, at);
            state.cost += 1;
            state.want = Want::Item;
            return Some(());
        }
        if let Some((_, length)) = self.text.quote(at)
            && matches!(self.text.at(self.text.skip(at + length)), None | Some(b',' | b'}' | b']'))
        {
            self.repair(state, STRAY_QUOTE, at, at + length);
            state.cost += cost::ODDITY;
            state.at += length as u32;
            return Some(());
        }
        self.dead(at, "a comma or a closing bracket is missing")
    }

    fn after_string(&self, state: &State) -> bool {
        matches!(self.last_value(state), Some(StepKind::Text(_) | StepKind::MoreText(_)))
    }

    /// Whether the last value is a string joined to the one before it.
    fn is_joined(&self, state: &State) -> bool {
        matches!(self.last_value(state), Some(StepKind::MoreText(_)))
    }

    /// The last step that is not a repair.
    fn last_value(&self, state: &State) -> Option<StepKind> {
        let mut step = self.trail.step(state.step);
        while let Some(Step { kind: StepKind::Repair(..), previous, .. }) = step {
            step = self.trail.step(*previous);
        }
        step.map(|step| step.kind)
    }
}

fn after_comma(state: &mut State, bracket: Bracket, length: usize) {
    state.at += length as u32;
    state.comma = true;
    state.want = if bracket == Bracket::Object { Want::Member } else { Want::Item };
}
