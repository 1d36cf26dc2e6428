//! The reader's grammar between values: keys, colons, commas, and what stands there instead of them.

use super::super::lex::Quote;
use super::rules::{
    BARE_KEY, DOUBLE_OPENER, EXTRA_COMMA, FENCE_INSIDE, HALF_QUOTED, JOINED, KEY_QUOTES, NO_COLON, NO_COLON_EXTRA, NO_COMMA,
    ODD_KEY, ODD_SPACE, OTHER_COLON, SEMICOLON, STRAY_QUOTE, STRAY_WORD,
};
use super::search::Search;
use super::state::{Bracket, State, Step, StepKind, Want, cost};
use super::{Ending, Key};

impl Search<'_, '_> {
    /// A key, or the end of the object.
    pub(super) fn member(&mut self, mut state: State) -> Option<State> {
        let at = self.token(&mut state);
        let Some(byte) = self.text.at(at) else {
            let ending = if state.comma { Ending::AfterComma } else { Ending::Open };
            return self.over(state, ending, cost::OPEN);
        };
        if let Some(length) = self.text.comma(at) {
            self.repair(&mut state, EXTRA_COMMA, at, at + length);
            state.at += length as u32;
            state.comma = true;
            return Some(state);
        }
        match byte {
            b'}' | b']' | b')' => {
                if state.comma {
                    self.repair(&mut state, EXTRA_COMMA, at, at);
                }
                return self.closer(state, at, byte);
            }
            b'.' if self.text.starts(at, "...") => return self.ellipsis(state, at),
            b'<' if self.closing_tag(at) => return self.tag(state),
            b'`' if self.text.starts(at, "```") => {
                let end = self.text.word(at + 3).max(at + 3);
                self.repair(&mut state, FENCE_INSIDE, at, end);
                state.cost += cost::ODDITY;
                state.at = end as u32;
                return Some(state);
            }
            b'{' if self.unclosed_before_item(&state) => return self.close_before_item(state, at),
            b'{' if !state.comma => {
                self.repair(&mut state, DOUBLE_OPENER, at, at + 1);
                state.cost += cost::REOPENED;
                state.at += 1;
                return Some(state);
            }
            _ => {}
        }
        if let Some(next) = self.stray_word(at) {
            self.repair(&mut state, STRAY_WORD, at, next);
            state.cost += cost::ODDITY;
            state.at = next as u32;
            return Some(state);
        }
        match self.text.quote(at) {
            Some((quote, length)) => self.quoted_key(state, at, length, quote),
            None => self.bare_key(state, at),
        }
    }

    /// A key in quotes; unescaped quotes inside of it are possible, a missing colon too.
    fn quoted_key(&mut self, state: State, at: usize, length: usize, quote: Quote) -> Option<State> {
        let start = at + length;
        let mut from = start;
        let mut inner = false;
        let mut best: Option<State> = None;
        for _ in 0..8 {
            let Some((end, after)) = self.text.delimiter(from, quote).filter(|(end, _)| end - start <= 4096) else { break };
            let next = self.text.skip(after);
            if self.text.colon(next) || self.text.at(next) == Some(b'=') {
                let mut found = self.key(state, (start, end), after, quote);
                if inner {
                    self.repair(&mut found, KEY_QUOTES, at, after);
                    // A colon or a comma inside says that this is more than a key.
                    let several = self.text.bytes[start..end].iter().any(|byte| matches!(byte, b':' | b','));
                    found.cost += cost::INNER_QUOTES + cost::ODDITY + u32::from(several) * cost::UNBALANCED;
                }
                let found = self.colon(found);
                if !inner {
                    return Some(found);
                }
                self.push(found, None);
                break;
            }
            if !inner && self.value_ahead(next) && (next > after || self.text.quote(next).is_some()) {
                let mut found = self.key(state, (start, end), after, quote);
                let expected = self
                    .frames
                    .get(state.frame as usize)
                    .is_none_or(|frame| self.guide.key(frame.shape, &self.text.source[start..end]) != Key::Extra);
                self.repair(&mut found, if expected { NO_COLON } else { NO_COLON_EXTRA }, after, next);
                found.cost += cost::ODDITY;
                best = Some(found);
            }
            inner = true;
            from = after;
        }
        // `"key: value`: the closing quote of the key is missing.
        let word = self.text.word(start);
        if word > start && self.text.at(word) == Some(b':') {
            let mut found = self.key(state, (start, word), word, quote);
            self.repair(&mut found, STRAY_QUOTE, at, word);
            found.cost += cost::FORGOTTEN;
            let found = self.colon(found);
            match best {
                None => best = Some(found),
                Some(_) => self.push(found, None),
            }
        }
        if !inner && self.text.delimiter(start, quote).is_none() {
            let mut state = state;
            state.at = self.text.bytes.len() as u32;
            let empty = self.text.skip(start) == self.text.bytes.len();
            let ending = if empty { Ending::AfterComma } else { Ending::InKey };
            if let Some(over) = self.over(state, ending, if empty { cost::OPEN } else { cost::SPILT }) {
                self.push(over, None);
            }
        }
        match best {
            Some(best) if best.cost as usize <= self.cheapest() => Some(best),
            Some(best) => {
                self.push(best, None);
                None
            }
            None => self.dead(at, "a key without a colon"),
        }
    }

    /// A word between members that belongs to none of them: a key follows.
    pub(super) fn stray_word(&self, at: usize) -> Option<usize> {
        let end = self.text.word(at);
        if end == at {
            return None;
        }
        let next = self.text.skip(end);
        (next > end && self.text.quote(next).is_some() && self.text.key(next).is_some()).then_some(next)
    }

    /// A key without quotes.
    fn bare_key(&mut self, state: State, at: usize) -> Option<State> {
        let end = self.text.word(at);
        let next = self.text.skip(end);
        if end > at && self.text.colon(next) {
            let mut found = self.key(state, (at, end), end, Quote::Bare);
            self.repair(&mut found, BARE_KEY, at, end);
            return Some(self.colon(found));
        }
        if end > at && matches!(self.text.at(end), Some(b'"' | b'\'')) && self.text.colon(self.text.skip(end + 1)) {
            let mut found = self.key(state, (at, end), end + 1, Quote::Bare);
            self.repair(&mut found, HALF_QUOTED, at, end + 1);
            found.cost += cost::ODDITY;
            return Some(self.colon(found));
        }
        let line = &self.text.bytes[at..self.text.bytes.len().min(at + 256)];
        let stop = line.iter().position(|byte| matches!(byte, b':' | b'\n' | b'"' | b',' | b'{' | b'}' | b'[' | b']' | b'='));
        if let Some(stop) = stop.filter(|stop| *stop > 0 && matches!(line[*stop], b':' | b'='))
            && let Some(name) = self.text.source.get(at..at + stop)
        {
            let mut found = self.key(state, (at, at + name.trim_end().len()), at + stop, Quote::Bare);
            self.repair(&mut found, ODD_KEY, at, at + stop);
            found.cost += cost::UNQUOTED;
            return Some(self.colon(found));
        }
        if end > at && self.value_ahead(next) && next > end {
            let mut found = self.key(state, (at, end), end, Quote::Bare);
            self.repair(&mut found, BARE_KEY, at, end);
            self.repair(&mut found, NO_COLON, end, next);
            found.cost += cost::UNQUOTED;
            return Some(found);
        }
        if self.text.at(next).is_none() && end > at {
            let mut state = state;
            state.at = next as u32;
            return self.over(state, Ending::InKey, cost::OPEN);
        }
        self.dead(at, "a key is missing")
    }

    /// Notes the key; the value is wanted next.
    fn key(&mut self, mut state: State, (start, end): (usize, usize), after: usize, quote: Quote) -> State {
        self.note(&mut state, StepKind::Key(quote), start, end);
        self.learn(&mut state, &self.text.source[start..end]);
        if !matches!(quote, Quote::Double | Quote::Bare) {
            self.repair(&mut state, super::strings::quote_rule(quote), start, end);
        }
        state.at = after as u32;
        state.comma = false;
        state.want = Want::Value;
        state
    }

    /// Takes the colon that is ahead.
    fn colon(&mut self, mut state: State) -> State {
        let at = self.token(&mut state);
        let length = match self.text.at(at) {
            Some(b':') => 1,
            Some(b'=') => {
                self.repair(&mut state, OTHER_COLON, at, at + 1);
                state.cost += cost::ODDITY;
                1 + usize::from(self.text.at(at + 1) == Some(b'>'))
            }
            _ => {
                self.repair(&mut state, ODD_SPACE, at, at + 3);
                3
            }
        };
        state.at += length as u32;
        state
    }

    /// What follows a value inside of a container.
    pub(super) fn next(&mut self, mut state: State) -> Option<State> {
        let ended = state.at as usize;
        let at = self.token(&mut state);
        let bracket = self.frames.get(state.frame as usize)?.bracket;
        let Some(byte) = self.text.at(at) else {
            let ending = match self.steps.get(state.step as usize).map(|step| (step.kind, step.end as usize)) {
                Some((
                    StepKind::Number | StepKind::True | StepKind::False | StepKind::Null | StepKind::Text(Quote::Bare),
                    end,
                )) if end == at => Ending::InWord,
                Some((StepKind::Repair(("S9" | "S11" | "S16", ..)), end)) if end == at => Ending::InWord,
                _ => Ending::Open,
            };
            return self.over(state, ending, cost::OPEN);
        };
        if let Some(length) = self.text.comma(at) {
            if length > 1 {
                self.repair(&mut state, ODD_SPACE, at, at + length);
            }
            return Some(after_comma(state, bracket, length));
        }
        match byte {
            b'}' | b']' | b')' => return self.closer(state, at, byte),
            b';' => {
                self.repair(&mut state, SEMICOLON, at, at + 1);
                state.cost += cost::ODDITY;
                return Some(after_comma(state, bracket, 1));
            }
            b'<' if self.closing_tag(at) => return self.tag(state),
            b'.' if self.text.starts(at, "...") => return self.ellipsis(state, at),
            b'+' if self.after_string(&state) => {
                let next = self.text.skip(at + 1);
                if let Some((quote, length)) = self.text.quote(next) {
                    self.repair(&mut state, JOINED, at, next);
                    state.cost += cost::ODDITY;
                    return self.begin_string(state, next, length, quote, true);
                }
            }
            b'`' if self.text.starts(at, "```") => {
                self.repair(&mut state, FENCE_INSIDE, at, at + 3);
                state.cost += cost::ODDITY;
                state.at += 3;
                return Some(state);
            }
            _ => {}
        }
        if byte == b'{' && self.unclosed_before_item(&state) {
            return self.close_before_item(state, at);
        }
        if bracket == Bracket::Object {
            if let Some(key) = self.text.key(at) {
                self.repair(&mut state, NO_COMMA, at, at);
                if !key.quoted {
                    state.cost += cost::ODDITY;
                }
                state.want = Want::Member;
                return Some(state);
            }
        } else if self.value_ahead(at) || (at > ended && self.text.word(at) > at) {
            self.repair(&mut state, NO_COMMA, at, at);
            state.cost += 1;
            state.want = Want::Item;
            return Some(state);
        }
        if let Some((_, length)) = self.text.quote(at) {
            let behind = self.text.skip(at + length);
            if matches!(self.text.at(behind), None | Some(b',' | b'}' | b']')) {
                self.repair(&mut state, STRAY_QUOTE, at, at + length);
                state.cost += cost::ODDITY;
                state.at += length as u32;
                return Some(state);
            }
        }
        self.dead(at, "a comma or a closing bracket is missing")
    }

    fn after_string(&self, state: &State) -> bool {
        let mut step = self.steps.get(state.step as usize);
        while let Some(Step { kind: StepKind::Repair(..), previous, .. }) = step {
            step = self.steps.get(*previous as usize);
        }
        matches!(step.map(|step| step.kind), Some(StepKind::Text(_) | StepKind::MoreText(_)))
    }
}

fn after_comma(mut state: State, bracket: Bracket, length: usize) -> State {
    state.at += length as u32;
    state.comma = true;
    state.want = if bracket == Bracket::Object { Want::Member } else { Want::Item };
    state
}
