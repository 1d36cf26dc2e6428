//! The reader's grammar outside of strings: which token may stand where, and what is made of one that may not.

use super::super::lex::{Gap, Quote};
use super::{Bracket, Ending, Frame, Key, Scan, Search, State, Step, StepKind, Want, cost};

type Rule = (&'static str, &'static str, bool);

const EXTRA_COMMA: Rule = ("S1", "superfluous comma dropped", false);
const NO_COMMA: Rule = ("S2", "missing comma added", false);
const NO_COLON: Rule = ("S3", "missing colon added", false);
const OTHER_COLON: Rule = ("S3", "a colon was meant", true);
const BARE_KEY: Rule = ("S4", "key quoted", false);
const ODD_KEY: Rule = ("S4", "unquoted key of several words quoted", true);
const WORD: Rule = ("S9", "literal of another language", false);
const COMMENT: Rule = ("S10", "comment dropped", false);
const NUMBER: Rule = ("S11", "number respelled", false);
const ODD_NUMBER: Rule = ("S11", "hexadecimal, octal-looking or unfinished number", true);
const EXTRA_CLOSER: Rule = ("S12", "superfluous or wrong closing bracket", false);
const NO_CLOSER: Rule = ("S12", "missing closing bracket added", false);
const UNCLOSED: Rule = ("S12", "array closed before the next key", true);
const DOUBLE_OPENER: Rule = ("S12", "superfluous opening bracket dropped", true);
const REOPENED: Rule = ("S12", "object was closed too early", true);
const ODD_SPACE: Rule = ("S13", "typographic space or punctuation between tokens", false);
const JOINED: Rule = ("S15", "concatenated strings joined", false);
const UNQUOTED: Rule = ("S16", "unquoted string", true);
const ELLIPSIS: Rule = ("S17", "ellipsis dropped", true);
const ESCAPED_SPACE: Rule = ("S18", "literal \\n or \\t between tokens", false);
const HALF_QUOTED: Rule = ("S19", "opening quote missing", true);
const STRAY_QUOTE: Rule = ("S19", "stray quote dropped", true);
const STRAY_WORD: Rule = ("S10", "word between members dropped", true);
const PREFIXED: Rule = ("S9", "string prefix of another language dropped", true);
const PARENS: Rule = ("S19", "parentheses", true);
const FENCE_INSIDE: Rule = ("E1", "code fence inside the object dropped", true);
const SEMICOLON: Rule = ("S2", "semicolon instead of a comma", true);

impl Search<'_, '_> {
    /// Skips to the next token and notes what was in between.
    fn token(&mut self, state: &mut State) -> usize {
        let start = state.at as usize;
        let (at, gap) = self.text.gap(start);
        if at != start {
            self.worked(at - start);
            if gap != (Gap { newline: gap.newline, ..Gap::default() }) {
                for (there, rule) in [(gap.comment, COMMENT), (gap.odd_space, ODD_SPACE), (gap.escaped_space, ESCAPED_SPACE)] {
                    if there {
                        self.repair(state, rule, start, at);
                    }
                }
            }
            state.at = at as u32;
        }
        at
    }

    /// A value after a colon, or the root.
    pub(super) fn value(&mut self, mut state: State) -> Option<State> {
        let at = self.token(&mut state);
        let Some(byte) = self.text.at(at) else {
            return self.over(state, Ending::AfterColon, cost::OPEN);
        };
        match byte {
            b',' | b'}' | b']' => {
                self.note(&mut state, StepKind::Void("a value is missing"), at, at);
                state.cost += cost::NO_VALUE;
                state.want = Want::Next;
                Some(state)
            }
            b':' => {
                self.repair(&mut state, OTHER_COLON, at, at + 1);
                state.at += 1;
                state.cost += cost::ODDITY;
                Some(state)
            }
            b'<' if self.closing_tag(at) => self.over(state, Ending::AfterColon, cost::OPEN),
            _ => self.some_value(state, at, byte),
        }
    }

    /// An item of an array, or its end.
    pub(super) fn item(&mut self, mut state: State) -> Option<State> {
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
            b']' | b'}' | b')' => {
                if state.comma {
                    self.repair(&mut state, EXTRA_COMMA, at, at);
                }
                self.closer(state, at, byte)
            }
            b'.' if self.text.starts(at, "...") => self.ellipsis(state, at),
            b'<' if self.closing_tag(at) => self.tag(state),
            b':' => self.dead(at, "a colon in an array"),
            b'"' | b'\'' if self.unclosed_before_key(&state, at) => {
                let comma = state.comma;
                self.repair(&mut state, UNCLOSED, at, at);
                state.cost += cost::ODDITY;
                state = self.close(state, at, at)?;
                state.comma = comma;
                state.want = Want::Member;
                Some(state)
            }
            _ => self.some_value(state, at, byte),
        }
    }

    /// Whether the next member of the object around this array stands here: the array was not closed.
    pub(super) fn unclosed_before_key(&self, state: &State, at: usize) -> bool {
        let around = self.frames.get(state.frame as usize).and_then(|frame| self.frames.get(frame.parent as usize));
        around.is_some_and(|around| {
            around.bracket == Bracket::Object && self.text.key(at).is_some_and(|key| self.fresh(around, key.name).is_some())
        })
    }

    fn some_value(&mut self, mut state: State, at: usize, byte: u8) -> Option<State> {
        match byte {
            b'{' => return self.open(state, Bracket::Object, at),
            b'[' => return self.open(state, Bracket::Array, at),
            b'(' => {
                self.repair(&mut state, PARENS, at, at + 1);
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
            && !self.goes_on(&state, number.end, true)
        {
            self.note(&mut state, StepKind::Number, at, number.end);
            if !number.strict {
                self.repair(&mut state, if number.guess { ODD_NUMBER } else { NUMBER }, at, number.end);
            }
            state.at = number.end as u32;
            state.want = Want::Next;
            return Some(state);
        }
        let end = self.text.word(at + usize::from(byte == b'-'));
        if matches!(&self.text.source[at..end], "r" | "b" | "u" | "f" | "R" | "B" | "rb" | "br")
            && let Some((quote, length)) = self.text.quote(end)
            && !matches!(self.text.at(self.text.skip(end + length)), None | Some(b',' | b':' | b'}' | b']'))
        {
            self.repair(&mut state, PREFIXED, at, end);
            state.cost += cost::ODDITY;
            return self.begin_string(state, end, length, quote, false);
        }
        if let Some((kind, repaired)) = literal(&self.text.source[at..end])
            && !self.goes_on(&state, end, false)
        {
            if let StepKind::Void(_) = kind {
                state.cost += cost::NO_VALUE;
            }
            self.note(&mut state, kind, at, end);
            if repaired {
                self.repair(&mut state, WORD, at, end);
            }
            state.at = end as u32;
            state.want = Want::Next;
            return Some(state);
        }
        self.bare(state, at)
    }

    /// Whether the number or word that ends here is only the beginning of an unquoted text.
    fn goes_on(&self, state: &State, end: usize, number: bool) -> bool {
        let object = self.frames.get(state.frame as usize).is_some_and(|frame| frame.bracket == Bracket::Object);
        match self.text.at(end) {
            None => return false,
            Some(b'"' | b'\'') => {
                let (quote, behind) = (end, self.text.skip(end + 1));
                let ends = matches!(self.text.at(behind), None | Some(b',' | b'}' | b']'));
                return !ends && self.text.key(quote).is_none() && object;
            }
            Some(b',') if object && number => {
                let next = self.text.skip(end + 1);
                let thousands = next == end + 1
                    && (0..3).all(|digit| self.text.at(next + digit).is_some_and(|byte| byte.is_ascii_digit()))
                    && self.text.key(next).is_none();
                return thousands;
            }
            Some(_) => {}
        }
        let (next, gap) = self.text.gap(end);
        let Some(byte) = self.text.at(next) else { return false };
        if gap.newline || gap.comment || (next == end && number) {
            return false;
        }
        match byte {
            b',' | b'}' | b']' | b')' | b':' | b';' | b'<' | b'"' | b'\'' | b'`' | b'/' => false,
            b'{' | b'[' | b'0'..=b'9' | b'-' | b'+' | b'.' => object && next != end,
            _ => self.text.quote(next).is_none() && self.text.comma(next).is_none() && self.text.key(next).is_none(),
        }
    }

    /// A text without quotes: up to what can only be structure.
    fn bare(&mut self, mut state: State, at: usize) -> Option<State> {
        let object = self.frames.get(state.frame as usize).is_some_and(|frame| frame.bracket == Bracket::Object);
        let mut nested: u32 = 0;
        let mut i = at;
        let mut rule = UNQUOTED;
        let mut after = None;
        while let Some(byte) = self.text.at(i) {
            match byte {
                b'(' | b'[' | b'{' => nested += 1,
                b')' if nested > 0 => nested -= 1,
                b']' | b'}' if nested > 0 => nested -= 1,
                b']' | b'}' | b')' => break,
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
                    if !object || self.text.at(next).is_none() || self.text.key(next).is_some() {
                        break;
                    }
                    if matches!(self.text.at(next), Some(b'}' | b']')) {
                        break;
                    }
                    i = next;
                    continue;
                }
                b'/' if matches!(self.text.at(i + 1), Some(b'/' | b'*')) && i > at && self.text.bytes[i - 1].is_ascii_whitespace() => {
                    break;
                }
                b'<' if self.closing_tag(i) => break,
                b'"' | b'\'' if i > at => {
                    let behind = self.text.skip(i + 1);
                    let ends = match self.text.at(behind) {
                        None | Some(b'}' | b']') => true,
                        Some(b',') => {
                            let next = self.text.skip(behind + 1);
                            !object || self.text.at(next).is_none_or(|byte| byte == b'}') || self.text.key(next).is_some()
                        }
                        _ => false,
                    };
                    if ends && byte == b'"' {
                        rule = HALF_QUOTED;
                        after = Some(i + 1);
                        break;
                    }
                    if self.text.key(i).is_some() && self.text.bytes[i - 1].is_ascii_whitespace() {
                        break;
                    }
                }
                _ => {}
            }
            i += 1;
        }
        self.worked((i - at) * 8);
        let end = at + self.text.source[at..i].trim_end().len();
        if end == at {
            return self.dead(at, "no value can start here");
        }
        if rule == HALF_QUOTED && self.text.number(at).is_some_and(|number| number.end == end) {
            self.note(&mut state, StepKind::Number, at, end);
            rule = STRAY_QUOTE;
        } else {
            self.note(&mut state, StepKind::Text(Quote::Bare), at, end);
        }
        self.repair(&mut state, rule, at, i);
        state.cost += cost::UNQUOTED;
        state.at = after.unwrap_or(end) as u32;
        state.want = Want::Next;
        Some(state)
    }

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
                    self.repair(&mut found, ("T3", "unescaped quotes in a key", true), at, after);
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
                self.repair(&mut found, NO_COLON, after, next);
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
        let next = self.text.skip(end);
        (end > at && next > end && self.text.quote(next).is_some() && self.text.key(next).is_some()).then_some(next)
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

    /// Whether a value can start here.
    pub(super) fn value_ahead(&self, at: usize) -> bool {
        match self.text.at(at) {
            Some(b'{' | b'[' | b'-' | b'0'..=b'9') => true,
            Some(_) => self.text.quote(at).is_some() || literal(&self.text.source[at..self.text.word(at)]).is_some(),
            None => false,
        }
    }

    /// What follows a value inside of a container.
    pub(super) fn next(&mut self, mut state: State) -> Option<State> {
        let ended = state.at as usize;
        let at = self.token(&mut state);
        let frame = *self.frames.get(state.frame as usize)?;
        let Some(byte) = self.text.at(at) else {
            let ending = match self.steps.get(state.step as usize).map(|step| (step.kind, step.end as usize)) {
                Some((StepKind::Number | StepKind::True | StepKind::False | StepKind::Null | StepKind::Text(Quote::Bare), end)) if end == at => {
                    Ending::InWord
                }
                Some((StepKind::Repair("S9" | "S11" | "S16", ..), end)) if end == at => Ending::InWord,
                _ => Ending::Open,
            };
            return self.over(state, ending, cost::OPEN);
        };
        if let Some(length) = self.text.comma(at) {
            if length > 1 {
                self.repair(&mut state, ODD_SPACE, at, at + length);
            }
            return Some(self.after_comma(state, &frame, length));
        }
        match byte {
            b'}' | b']' | b')' => return self.closer(state, at, byte),
            b';' => {
                self.repair(&mut state, SEMICOLON, at, at + 1);
                state.cost += cost::ODDITY;
                return Some(self.after_comma(state, &frame, 1));
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
        if frame.bracket == Bracket::Object {
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

    fn after_comma(&mut self, mut state: State, frame: &Frame, length: usize) -> State {
        state.at += length as u32;
        state.comma = true;
        state.want = if frame.bracket == Bracket::Object { Want::Member } else { Want::Item };
        state
    }

    fn after_string(&self, state: &State) -> bool {
        let mut step = self.steps.get(state.step as usize);
        while let Some(Step { kind: StepKind::Repair(..), previous, .. }) = step {
            step = self.steps.get(*previous as usize);
        }
        matches!(step.map(|step| step.kind), Some(StepKind::Text(_) | StepKind::MoreText(_)))
    }

    /// A closing bracket, the right one or not.
    fn closer(&mut self, mut state: State, at: usize, byte: u8) -> Option<State> {
        let frame = *self.frames.get(state.frame as usize)?;
        let bracket = match byte {
            b'}' => Bracket::Object,
            b']' => Bracket::Array,
            _ => Bracket::Paren,
        };
        if frame.bracket == bracket {
            if frame.parent == super::NONE && bracket == Bracket::Object && self.reopens(&frame, at + 1) {
                // The rest of the members stands behind the bracket: one reading leaves it out.
                let mut open = state;
                self.repair(&mut open, REOPENED, at, at + 1);
                open.cost += cost::REOPENED;
                open.at = (at + 1) as u32;
                open.want = Want::Next;
                self.push(open, None);
            }
            return self.close(state, at, at + 1);
        }
        let mut around = frame.parent;
        while let Some(outer) = self.frames.get(around as usize).copied() {
            if outer.bracket == bracket {
                while let Some(inner) = self.frames.get(state.frame as usize).copied() {
                    if inner.bracket == bracket {
                        break;
                    }
                    self.repair(&mut state, NO_CLOSER, at, at);
                    state.cost += 1;
                    state = self.close(state, at, at)?;
                }
                return self.close(state, at, at + 1);
            }
            around = outer.parent;
        }
        // Nothing of this kind is open: it is too much where the right one follows, otherwise it is the wrong kind.
        self.repair(&mut state, EXTRA_CLOSER, at, at + 1);
        state.cost += cost::ODDITY;
        let next = self.text.skip(at + 1);
        let right = match frame.bracket {
            Bracket::Object => b'}',
            Bracket::Array => b']',
            Bracket::Paren => b')',
        };
        let too_much = self.text.at(next) == Some(right)
            || (frame.parent == super::NONE && self.text.comma(next).is_some() && self.text.closer_ahead(next));
        if too_much {
            state.at = (at + 1) as u32;
            state.want = Want::Next;
            return Some(state);
        }
        self.close(state, at, at + 1)
    }

    /// Whether the members of a root object go on behind its closing bracket.
    pub(super) fn reopens(&self, frame: &Frame, at: usize) -> bool {
        let comma = self.text.skip(at);
        let Some(length) = self.text.comma(comma) else { return false };
        let key = self.text.skip(comma + length);
        self.text.closer_ahead(key)
            && self.text.key(key).is_some_and(|key| matches!(self.fresh(frame, key.name), Some(Key::Known(_) | Key::Open)))
    }

    fn ellipsis(&mut self, mut state: State, at: usize) -> Option<State> {
        let end = at + self.text.bytes[at..].iter().take_while(|byte| **byte == b'.').count();
        self.repair(&mut state, ELLIPSIS, at, end);
        state.cost += cost::ODDITY;
        state.at = end as u32;
        let comma = self.text.skip(end);
        if let Some(length) = self.text.comma(comma) {
            state.at = (comma + length) as u32;
            if state.want == Want::Next {
                let object = self.frames.get(state.frame as usize)?.bracket == Bracket::Object;
                state.want = if object { Want::Member } else { Want::Item };
            }
        }
        state.comma = false;
        Some(state)
    }

    /// A closing tag of the call stands where the container should go on.
    fn tag(&mut self, mut state: State) -> Option<State> {
        state.tagged = true;
        let ending = if state.comma { Ending::AfterComma } else { Ending::Open };
        self.over(state, ending, cost::OPEN)
    }

    /// Whether a closing tag or a special token stands here.
    pub(super) fn closing_tag(&self, at: usize) -> bool {
        matches!(self.text.at(at + 1), Some(b'/' | b'|')) || self.text.starts(at, "<\u{ff5c}")
    }

    /// Behind the root.
    pub(super) fn end(&mut self, mut state: State) -> Option<State> {
        state.cost += self.tail(state.at as usize);
        state.want = Want::Over(Ending::Complete);
        Some(state)
    }

    /// What it costs that the root has ended and this follows.
    pub(super) fn tail(&self, at: usize) -> u32 {
        let mut at = self.text.skip(at);
        while let Some(byte) = self.text.at(at) {
            match byte {
                b'}' | b']' | b')' | b';' | b',' => at = self.text.skip(at + 1),
                b'`' | b'<' => return 0,
                b'{' | b'[' => return cost::ODDITY,
                _ if self.text.more_json(at) => return cost::SPILT,
                _ => return cost::PROSE,
            }
        }
        0
    }

    /// Starts to look for the end of the string that opens at `at`.
    fn begin_string(&mut self, state: State, at: usize, length: usize, quote: Quote, more: bool) -> Option<State> {
        let start = (at + length) as u32;
        let scan = Scan {
            open: at as u32,
            start,
            quote,
            at: start,
            inner: 0,
            passed: 0,
            brackets: [0; 3],
            balanced: start,
            crossed: false,
            more,
        };
        self.scan(state, scan)
    }
}

/// The literal that a word is, and whether JSON spells it differently.
fn literal(word: &str) -> Option<(StepKind, bool)> {
    Some(match word {
        "true" => (StepKind::True, false),
        "false" => (StepKind::False, false),
        "null" => (StepKind::Null, false),
        "True" | "TRUE" => (StepKind::True, true),
        "False" | "FALSE" => (StepKind::False, true),
        "None" | "NONE" | "Null" | "NULL" | "undefined" | "nil" => (StepKind::Null, true),
        "NaN" | "Infinity" | "-Infinity" | "-NaN" => (StepKind::Void("NaN and Infinity have no JSON form"), false),
        _ => return None,
    })
}
