//! Decides where a string ends. Each unescaped delimiter is judged by the text after it: only if that may follow a value (a comma
//! with an expected key, matching brackets, the end) may the string end there. All other delimiters are content.

use super::super::code::Code;
use super::super::lex::Quote;
use super::rules::{HALF_QUOTED, INNER_QUOTES, NO_QUOTE, NO_QUOTE_AT_END, OPEN_STRING, PASSED, Rule, UNBALANCED};
use super::search::Search;
use super::trail::{State, StepKind};
use super::{Ending, Key};

/// A string whose end is being looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan {
    open: usize,
    start: usize,
    quote: Quote,
    /// Where the search continues.
    at: usize,
    /// Delimiters passed so far, and the cost of passing them.
    inner: u32,
    passed: u32,
    /// Open brackets before `balanced`.
    brackets: i32,
    balanced: usize,
    /// A closing bracket came before its opening one.
    crossed: bool,
}

impl Scan {
    /// A scan for the end of the string that opens at `open` and whose content begins at `start`. Both are equal if the opening
    /// quote is missing.
    pub(super) fn new(open: usize, start: usize, quote: Quote) -> Scan {
        Scan { open, start, quote, at: start, inner: 0, passed: 0, brackets: 0, balanced: start, crossed: false }
    }
}

/// The rule for quotes that are not JSON's.
pub(super) fn quote_rule(quote: Quote) -> Rule {
    match quote {
        Quote::Single => &(Code::S5, "single quotes replaced", false, 0),
        Quote::SmartDouble | Quote::SmartSingle => &(Code::S6, "typographic quotes replaced", false, 0),
        Quote::Backtick => &(Code::S7, "backticks replaced", false, 0),
        Quote::Thrice(_) => &(Code::S8, "triple quotes replaced", false, 0),
        Quote::Twice(_) => &(Code::S8, "doubled quotes replaced", true, 0),
        Quote::Double | Quote::Bare => &(Code::S16, "unquoted string", true, 0),
    }
}

impl Search<'_, '_> {
    /// Looks for the next possible end of a string from `scan.at` on. That the string continues past it is another branch.
    pub(super) fn scan(&mut self, state: &mut State, mut scan: Scan) -> Option<()> {
        while !self.is_exhausted() {
            let Some((end, after)) = self.text.delimiter(scan.at, scan.quote) else {
                return self.unended(state, &scan);
            };
            self.forgotten(*state, &mut scan, end);
            let clean = scan.inner == 0;
            let thrice = matches!(scan.quote, Quote::Thrice(_));
            let candidate = if thrice { Some((0, PASSED)) } else { self.follow(after, state.frame, clean) };
            let mut ended = *state;
            if let Some((cost, passing)) = candidate {
                self.ended(&mut ended, &mut scan, end, after);
                ended.cost += cost;
                scan.passed += passing;
            }
            scan.inner += 1;
            scan.at = after;
            if candidate.is_some() {
                if !thrice {
                    self.branch_in(*state, scan, state.cost + scan.passed + INNER_QUOTES.3);
                }
                *state = ended;
                return Some(());
            }
        }
        None
    }

    /// Notes that the string ends at `end`. The reading continues at `after`.
    fn ended(&mut self, state: &mut State, scan: &mut Scan, end: usize, after: usize) {
        state.entered = Some(self.trail.state_id(after, state.frame));
        self.scalar(state, StepKind::Text(scan.quote), scan.start, end);
        state.at = after;
        if scan.open == scan.start {
            self.repair(state, HALF_QUOTED, scan.start, end);
        }
        if scan.quote != Quote::Double {
            self.repair(state, quote_rule(scan.quote), scan.open, after);
        }
        if scan.inner > 0 {
            self.repair(state, INNER_QUOTES, scan.start, end);
            // Single quotes may be apostrophes, so their number means nothing.
            let odd = scan.inner % 2 == 1 && scan.quote == Quote::Double;
            state.cost += scan.passed + u32::from(odd) + if self.is_balanced(scan, end) { 0 } else { UNBALANCED };
        }
    }

    /// Whether the brackets in a string balance if it ends at `end`.
    fn is_balanced(&self, scan: &mut Scan, end: usize) -> bool {
        self.text.look(end.saturating_sub(scan.balanced));
        let mut at = scan.balanced;
        while at < end {
            match self.text.bytes[at] {
                b'(' | b'[' | b'{' => scan.brackets += 1,
                b')' | b']' | b'}' => scan.brackets -= 1,
                // It escapes the next byte.
                b'\\' => at += 1,
                _ => {}
            }
            scan.crossed |= scan.brackets < 0;
            at += 1;
        }
        scan.balanced = at.max(scan.balanced);
        !scan.crossed && scan.brackets == 0
    }

    /// Branch for a missing closing quote: after a comma or a newline, the delimiter at `quote` opens the next key, or (after
    /// both) the next item.
    fn forgotten(&mut self, state: State, scan: &mut Scan, quote: usize) {
        let start = scan.start;
        let before = self.text.source[start..quote].trim_end().len() + start;
        let newline = memchr::memchr(b'\n', &self.text.bytes[before..quote]).is_some();
        let comma = before > start && self.text.bytes[before - 1] == b',';
        let Some(frame) = self.frame(&state).filter(|_| matches!(scan.quote, Quote::Double | Quote::Single)) else { return };
        let opens = match frame.closer {
            b'}' if comma || newline => {
                let key = self.text.key(quote).and_then(|key| self.fresh(frame, key.name));
                matches!(key, Some(Key::Known(_) | Key::Open))
            }
            _ => comma && newline,
        };
        let after = if comma { before - 1 } else { before };
        let end = self.last_character(start, after);
        // A string with a quote before the comma has its closing quote.
        if !opens || end > start && self.text.bytes[end - 1] == self.text.bytes[quote] {
            return;
        }
        let mut found = state;
        self.ended(&mut found, scan, end, after);
        self.repair(&mut found, NO_QUOTE, start, end);
        self.branch(found);
    }

    /// Handles a string without further delimiters: it is open at the end of the text, or lacks its quote before the closing
    /// brackets there.
    fn unended(&mut self, state: &mut State, scan: &Scan) -> Option<()> {
        let (start, mut scan) = (scan.start, *scan);
        if scan.open == start {
            return self.dead(start, "no value can start here");
        }
        self.text.look(2 * (self.text.bytes.len() - start));
        // The brackets of a string that was cut mean nothing.
        scan.inner = 0;
        match self.closers_at_end(start, state.frame).filter(|closers| self.is_outside(start, *closers)) {
            Some(closers) => {
                let end = self.last_character(start, closers);
                self.ended(state, &mut scan, end, closers);
                state.entered = None;
                self.repair(state, NO_QUOTE_AT_END, start, end);
            }
            None => {
                let end = self.text.bytes.len();
                self.ended(state, &mut scan, end, end);
                state.entered = None;
                self.repair(state, OPEN_STRING, start, end);
                self.over(state, Ending::InString, 0);
            }
        }
        Some(())
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
        start + text.strip_suffix(['\u{201c}', '\u{201d}']).unwrap_or(text).len()
    }

    /// Where the closing brackets at the end of the text begin, as far as they match the open ones.
    fn closers_at_end(&self, start: usize, frame: u32) -> Option<usize> {
        let text = self.text.source[start..].trim_end();
        let text = text.strip_suffix("```").unwrap_or(text);
        let open: Vec<char> = self.trail.frames(frame).map(|frame| char::from(frame.closer)).collect();
        let without = |count| {
            let mut closers = open[..count].iter().rev();
            closers.try_fold(text, |text, closer| text.trim_end().strip_suffix(*closer))
        };
        (1..=open.len()).rev().find_map(without).map(|text| start + text.len())
    }
}
