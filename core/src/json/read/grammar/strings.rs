//! Decides where a string ends. Each unescaped delimiter is judged by the text after it: only if that may follow a value (a comma
//! with an expected key, matching brackets, the end) may the string end there. All other delimiters are content.

use super::super::super::code::Code;
use super::super::super::lex::Quote;
use super::super::rules::{ESCAPED_END, HALF_QUOTED, INNER_QUOTES, NO_QUOTE, NO_QUOTE_AT_END, OPEN_STRING, Rule};
use super::super::state::{Bracket, Scan, State, StepKind, Want};
use super::super::{Ending, Key, cost};
use super::Grammar;
use super::follow::{Pass, follow};

/// The rule for quotes that are not JSON's.
pub(super) fn quote_rule(quote: Quote) -> Rule {
    match quote {
        Quote::Single => &(Code::S5, "single quotes replaced", false),
        Quote::SmartDouble | Quote::SmartSingle | Quote::Guillemets => &(Code::S6, "typographic quotes replaced", false),
        Quote::Backtick => &(Code::S7, "backticks replaced", false),
        Quote::Thrice(_) => &(Code::S8, "triple quotes replaced", false),
        Quote::Twice(_) => &(Code::S8, "doubled quotes replaced", true),
        Quote::Double | Quote::Bare => &(Code::S16, "unquoted string", true),
    }
}

impl Grammar<'_, '_> {
    /// Looks for the end of a string from `scan.at` on: at the first delimiter, then at the next possible end. Further ends
    /// become branches.
    pub(super) fn scan(&mut self, state: &mut State, mut scan: Scan) -> Option<()> {
        if self.frame(state).is_none() {
            return self.dead(state.at as usize, "not an object");
        }
        loop {
            let Some((end, after)) = self.text.delimiter(scan.at as usize, scan.quote) else {
                return self.unended(state, &scan);
            };
            let clean = scan.inner == 0;
            self.forgotten(*state, &mut scan, end);
            let candidate = match scan.quote {
                Quote::Thrice(_) => follow(0, Pass::Known),
                _ => self.follow(after, state.frame, clean),
            };
            let mut found = None;
            if let Some(candidate) = candidate {
                let mut ended = *state;
                self.ended(&mut ended, &scan, (scan.start as usize, end), after);
                ended.cost += candidate.cost;
                if !clean {
                    ended.cost += self.inner_cost(&mut scan, end);
                    self.repair(&mut ended, INNER_QUOTES, scan.start as usize, end);
                }
                ended.entered = true;
                found = Some(ended);
                match candidate.pass {
                    Pass::Free => {}
                    Pass::Open => scan.passed = scan.passed.max(cost::PASSED_MOST.min(scan.passed + cost::PASSED)),
                    Pass::Known => scan.passed += cost::PASSED,
                }
            }
            // The other branch: the string continues past this delimiter.
            scan.inner += 1;
            scan.at = after as u32;
            let goes_on = !matches!(scan.quote, Quote::Thrice(_)) || found.is_none();
            if goes_on && (clean || found.is_some()) {
                self.branch_in(*state, scan, state.cost + scan.passed + cost::INNER_QUOTES);
            }
            match found {
                Some(found) => {
                    *state = found;
                    return Some(());
                }
                None if clean => return None,
                None => {}
            }
        }
    }

    /// The cost of the unescaped quotes in this string if it ends at `end`.
    fn inner_cost(&self, scan: &mut Scan, end: usize) -> u32 {
        let mut at = scan.balanced as usize;
        self.text.look(end.saturating_sub(at));
        while let Some(found) = self.text.bracket(at, end) {
            at = found + 1;
            let (kind, change) = match self.text.bytes[found] {
                b'(' => (0, 1),
                b')' => (0, -1),
                b'[' => (1, 1),
                b']' => (1, -1),
                b'{' => (2, 1),
                b'}' => (2, -1),
                _ => {
                    at += 1;
                    continue;
                }
            };
            scan.brackets[kind] += change;
            scan.crossed |= scan.brackets[kind] < 0;
        }
        scan.balanced = at.max(end) as u32;
        let unbalanced = scan.crossed || scan.brackets != [0; 3];
        // Single quotes may be apostrophes, so their number means nothing.
        let odd = scan.inner % 2 == 1 && scan.quote == Quote::Double;
        scan.passed + cost::INNER_QUOTES + u32::from(unbalanced) * cost::UNBALANCED + u32::from(odd) * cost::ODD
    }

    /// Notes that the string is `start..end`. The reading continues at `after`.
    fn ended(&mut self, state: &mut State, scan: &Scan, (start, end): (usize, usize), after: usize) {
        let kind = if scan.more { StepKind::MoreText(scan.quote) } else { StepKind::Text(scan.quote) };
        self.note(state, kind, start, end);
        if let Some(step) = self.trail.steps.last_mut() {
            step.after = after as u32;
        }
        if scan.is_half_quoted() {
            self.repair(state, HALF_QUOTED, start, end);
        }
        if scan.quote != Quote::Double {
            self.repair(state, quote_rule(scan.quote), scan.open as usize, after);
        }
        state.at = after as u32;
        state.comma = false;
        state.want = Want::Next;
    }

    /// Branch for a missing closing quote: after a comma or a newline, the delimiter at `quote` opens the next key, or (after
    /// both) the next item.
    fn forgotten(&mut self, state: State, scan: &mut Scan, quote: usize) {
        let Some(frame) = self.frame(&state) else { return };

        let start = scan.start as usize;
        let before = self.text.source[start..quote].trim_end().len() + start;
        let newline = memchr::memchr(b'\n', &self.text.bytes[before..quote]).is_some();
        let comma = before > start && self.text.bytes[before - 1] == b',';
        if !comma && !newline || !matches!(scan.quote, Quote::Double | Quote::Single) {
            return;
        }
        let price = match frame.bracket {
            Bracket::Object => match self.text.key(quote).and_then(|key| self.fresh(frame, key.name)) {
                Some(Key::Known(_) | Key::Open) => 0,
                Some(Key::Extra) => 2 * cost::ODDITY,
                None => return,
            },
            _ if comma && newline => 0,
            _ => return,
        };
        let end = if comma { before - 1 } else { before };
        let end = self.last_character(start, end);
        // The string has its closing quote if one is before the comma, and no other escaped quote comes before that.
        let closed = end > start && self.text.bytes[end - 1] == self.text.bytes[quote];
        let escape = self.text.escaped_quote(start).map(|at| at + 2).filter(|escape| *escape <= end);
        if closed && escape.is_none_or(|escape| escape == end) {
            return;
        }
        let mut found = state;
        self.ended(&mut found, scan, (start, end), if comma { before - 1 } else { before });
        self.repair(&mut found, NO_QUOTE, start, end);
        found.cost += price + cost::FORGOTTEN + u32::from(!comma);
        if scan.inner > 0 {
            found.cost += self.inner_cost(scan, end);
            self.repair(&mut found, INNER_QUOTES, start, end);
        }
        found.entered = true;
        self.branch(found);
    }

    /// Handles a string without further delimiters: it is open at the end of the text, or lacks its quote before the closing
    /// brackets there.
    fn unended(&mut self, state: &mut State, scan: &Scan) -> Option<()> {
        if scan.is_half_quoted() {
            return self.dead(scan.start as usize, "no value can start here");
        }
        let start = scan.start as usize;
        self.text.look(2 * (self.text.bytes.len() - start));
        if scan.inner > 0 {
            state.cost += cost::INNER_QUOTES + scan.passed;
        }
        self.escaped_end(*state, scan);
        match self.closers_at_end(start, state.frame).filter(|closers| self.is_outside(start, *closers)) {
            Some(closers) => {
                let end = self.last_character(start, closers);
                let mut found = *state;
                self.ended(&mut found, scan, (start, end), closers);
                self.repair(&mut found, NO_QUOTE_AT_END, start, end);
                found.cost += cost::FORGOTTEN_AT_END;
                self.branch(found);
            }
            None => {
                let end = self.text.bytes.len();
                let mut found = *state;
                self.ended(&mut found, scan, (start, end), end);
                self.repair(&mut found, OPEN_STRING, start, end);
                self.over(&mut found, Ending::InString, cost::OPEN_STRING);
                self.branch(found);
            }
        }
        None
    }

    /// Whether the bracket at `closer` closes none of those opened in the string from `start` on. A string of code that was
    /// truncated after a brace of its own looks like one that only lost its quote.
    fn is_outside(&self, start: usize, closer: usize) -> bool {
        let open = match self.text.bytes[closer] {
            b'}' => b'{',
            b']' => b'[',
            _ => b'(',
        };
        let count = |byte| memchr::memchr_iter(byte, &self.text.bytes[start..closer]).count();
        count(open) <= count(self.text.bytes[closer])
    }

    /// The end of a string that lost its quote: without trailing whitespace, and without a typographic quote in the place of the
    /// lost one.
    fn last_character(&self, start: usize, end: usize) -> usize {
        let text = self.text.source[start..end].trim_end();
        let smart = |c| matches!(c, '\u{201c}' | '\u{201d}');
        let end = text.strip_suffix(smart).filter(|text| !text.contains(smart)).unwrap_or(text).len();
        start + end
    }

    /// Branch for `"C:\"`: the backslash before the closing quote is content.
    fn escaped_end(&mut self, state: State, scan: &Scan) {
        let start = scan.start as usize;
        // Only the first escaped quote: later ones are escaped on purpose.
        let Some(at) = self.text.escaped_quote(start) else { return };
        if self.follow(at + 2, state.frame, true).is_some() {
            let mut found = state;
            self.ended(&mut found, scan, (start, at + 1), at + 2);
            self.repair(&mut found, ESCAPED_END, start, at + 1);
            found.cost += cost::INNER_QUOTES;
            found.entered = true;
            self.branch(found);
        }
    }

    /// Where the closing brackets at the end of the text begin, as far as they match the open ones.
    fn closers_at_end(&self, start: usize, frame: u32) -> Option<usize> {
        let open: Vec<u8> = self.trail.frames(frame).map(|frame| frame.bracket.closer()).collect();
        let text = self.text.source[start..].trim_end();
        let text = text.strip_suffix("```").unwrap_or(text);
        let places: Vec<usize> = text
            .bytes()
            .enumerate()
            .rev()
            .take_while(|(_, byte)| byte.is_ascii_whitespace() || matches!(byte, b'}' | b']' | b')'))
            .filter(|(_, byte)| !byte.is_ascii_whitespace())
            .map(|(at, _)| at)
            .take(open.len())
            .collect();
        (1..=places.len())
            .rev()
            .find(|count| (0..*count).all(|at| text.as_bytes()[places[count - 1 - at]] == open[at]))
            .map(|count| start + places[count - 1])
    }
}
