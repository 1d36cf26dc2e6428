//! The grammar of nearly-JSON: which token may follow which. A step continues one reading and may leave branches, which the
//! search follows in the order of their cost.

use super::super::lex::Quote;
use super::rules::{
    COMMENT, ELLIPSIS, ESCAPED_SPACE, EXTRA_CLOSER, EXTRA_COMMA, FENCE_INSIDE, LEFT_OUT, MISSING_KEY, NO_CLOSER, NO_COMMA,
    NO_VALUE, ODD_SPACE, ODDITY, OPEN, PROSE, Rule, SEMICOLON, SPILT, STRAY_QUOTE,
};
use super::search::Search;
use super::trail::{Frame, NONE, State, StepKind, Want};
use super::{Ending, Unreadable};

impl Search<'_, '_> {
    /// Reads one token. `None`: this reading ends here, or continues in the branches only.
    pub(super) fn step(&mut self, state: &mut State) -> Option<()> {
        let ended = state.at;
        let at = self.token(state);
        let Some(byte) = self.text.at(at) else { return self.text_ends(state) };
        match (byte, state.want) {
            (b'<', _) if self.closing_tag(at) => self.tag(state),
            (b'.', _) if self.text.starts(at, "...") => self.ellipsis(state, at),
            (b'`', Want::Member | Want::Next) if self.text.starts(at, "```") => {
                self.drop(state, FENCE_INSIDE, at, self.text.word(at + 3))
            }
            (b',' | b'}' | b']' | b')', Want::Value) => self.void(state, NO_VALUE, at, at),
            (b'}' | b']' | b')', _) => {
                if state.comma {
                    self.repair(state, EXTRA_COMMA, at, at);
                }
                self.closer(state, at, byte)
            }
            (b';', Want::Next) => self.separated(state, Some(SEMICOLON), at, at + 1),
            (_, want) => match (self.text.comma(at), want) {
                (Some(1), Want::Next) => self.separated(state, None, at, at + 1),
                (Some(length), Want::Next) => self.separated(state, Some(ODD_SPACE), at, at + length),
                (Some(length), _) => self.separated(state, Some(EXTRA_COMMA), at, at + length),
                (None, Want::Member) => self.member(state, at, byte),
                (None, Want::Next) => self.next(state, ended, at),
                (None, _) => self.value(state, at, byte),
            },
        }
    }

    /// Skips to the next token and notes what was skipped.
    pub(super) fn token(&mut self, state: &mut State) -> usize {
        let start = state.at;
        let (at, gap) = self.text.gap(start);
        for (there, rule) in [(gap.comment, COMMENT), (gap.odd_space, ODD_SPACE), (gap.escaped_space, ESCAPED_SPACE)] {
            if there {
                self.repair(state, rule, start, at);
            }
        }
        state.at = at;
        at
    }

    /// Reads what follows a value inside a container, other than a separator or a closing bracket.
    fn next(&mut self, state: &mut State, ended: usize, at: usize) -> Option<()> {
        if self.is_in(state, b'}') {
            if self.text.key(at).is_some() {
                self.repair(state, NO_COMMA, at, at);
                state.want = Want::Member;
                return Some(());
            }
        } else if self.value_ahead(at) || (at > ended && self.text.word(at) > at) {
            self.repair(state, NO_COMMA, at, at);
            state.want = Want::Item;
            return Some(());
        }
        match self.text.quote(at) {
            Some((_, length)) if self.ends_item(at + length) => self.drop(state, STRAY_QUOTE, at, at + length),
            _ => self.dead(at, "a comma or a closing bracket is missing"),
        }
    }

    /// Whether a comma, a closing bracket or the end of the text follows.
    pub(super) fn ends_item(&self, at: usize) -> bool {
        matches!(self.text.at(self.text.skip(at)), None | Some(b',' | b'}' | b']'))
    }

    /// Reads what separates members or items.
    fn separated(&mut self, state: &mut State, rule: Option<Rule>, start: usize, end: usize) -> Option<()> {
        if let Some(rule) = rule {
            self.repair(state, rule, start, end);
        }
        state.at = end;
        state.comma = true;
        state.want = if self.is_in(state, b'}') { Want::Member } else { Want::Item };
        Some(())
    }

    /// Drops an ellipsis between members, or notes that it is in the place of a value.
    fn ellipsis(&mut self, state: &mut State, at: usize) -> Option<()> {
        let end = at + self.text.bytes[at..].iter().take_while(|byte| **byte == b'.').count();
        if state.want == Want::Value {
            return self.void(state, LEFT_OUT, at, end);
        }
        state.comma = false;
        self.drop(state, ELLIPSIS, at, end)
    }

    /// Reads a closing bracket, matching or not.
    fn closer(&mut self, state: &mut State, at: usize, byte: u8) -> Option<()> {
        let frame = *self.frame(state)?;
        if frame.closer == byte {
            return self.close(state, at, at + 1);
        }
        if self.trail.frames(frame.parent).any(|outer| outer.closer == byte) {
            self.repair(state, NO_CLOSER, at, at);
            self.close(state, at, at)?;
            return self.closer(state, at, byte);
        }
        // No such bracket is open. It is surplus if the matching one follows; otherwise it is of the wrong kind.
        self.drop(state, EXTRA_CLOSER, at, at + 1);
        if self.text.at(self.text.skip(at + 1)) == Some(frame.closer) {
            state.want = Want::Next;
            return Some(());
        }
        if frame.parent == NONE {
            // The text may be truncated here: only a matching bracket closes the root.
            return self.over(state, Ending::Open, self.tail(at + 1));
        }
        self.close(state, at, at + 1)
    }

    /// Whether a closing tag or a special token is here.
    pub(super) fn closing_tag(&self, at: usize) -> bool {
        matches!(self.text.at(at + 1), Some(b'/' | b'|')) || self.text.starts(at, "<\u{ff5c}")
    }

    /// Ends the reading at the closing tag of the call at `at`, with the container open.
    fn tag(&mut self, state: &mut State) -> Option<()> {
        state.tagged = state.want != Want::Value;
        let ending = self.open_ending(state);
        self.over(state, ending, OPEN)
    }

    /// Ends the reading at the end of the text, with the container open.
    fn text_ends(&mut self, state: &mut State) -> Option<()> {
        let is_word = |kind| matches!(kind, StepKind::Number | StepKind::Word(_) | StepKind::Text(Quote::Bare));
        let ending = match self.last_value(state) {
            Some((kind, end)) if state.want == Want::Next && end == state.at && is_word(kind) => Ending::InWord,
            _ => self.open_ending(state),
        };
        self.over(state, ending, OPEN)
    }

    /// The state of an open container between two tokens.
    fn open_ending(&self, state: &State) -> Ending {
        match state.want {
            Want::Value => Ending::AfterColon,
            _ if state.comma => Ending::AfterComma,
            _ => Ending::Open,
        }
    }

    /// The last step that is not a repair: its kind and its end.
    fn last_value(&self, state: &State) -> Option<(StepKind, usize)> {
        let mut steps = self.trail.steps(state.step);
        steps.find(|step| !matches!(step.kind, StepKind::Repair(_))).map(|step| (step.kind, step.end))
    }

    /// The cost of ending the root before `at`, by what follows it.
    pub(super) fn tail(&self, at: usize) -> u32 {
        let mut at = self.text.skip(at);
        while let Some(byte) = self.text.at(at) {
            match byte {
                b'}' | b']' | b')' | b';' | b',' => at = self.text.skip(at + 1),
                b'<' | b'`' if !self.text.more_json(at) => return 0,
                b'{' | b'[' | b'`' => return ODDITY,
                _ if byte.is_ascii_alphabetic() && self.another_object(at) => return PROSE,
                _ if self.text.more_json(at) => return SPILT,
                _ => return PROSE,
            }
        }
        0
    }

    /// Whether prose leads to another object: an opening brace before any quote, not far away.
    fn another_object(&self, at: usize) -> bool {
        let near = &self.text.bytes[at..self.text.bytes.len().min(at + 200)];
        memchr::memchr2(b'{', b'"', near).is_some_and(|found| near[found] == b'{')
    }

    /// Notes a repair.
    pub(super) fn repair(&mut self, state: &mut State, rule: Rule, start: usize, end: usize) {
        self.trail.note(state, StepKind::Repair(rule), start, end);
    }

    /// Drops what is surplus, or in the place of something else.
    pub(super) fn drop(&mut self, state: &mut State, rule: Rule, start: usize, end: usize) -> Option<()> {
        self.repair(state, rule, start, end);
        state.at = end;
        Some(())
    }

    /// Reads a value without quotes.
    pub(super) fn scalar(&mut self, state: &mut State, kind: StepKind, start: usize, end: usize) {
        self.trail.note(state, kind, start, end);
        state.at = end;
        state.comma = false;
        state.want = Want::Next;
    }

    /// Notes that there is no value.
    pub(super) fn void(&mut self, state: &mut State, why: Rule, start: usize, end: usize) -> Option<()> {
        self.scalar(state, StepKind::Void(why), start, end);
        Some(())
    }

    /// Whether this byte closes the innermost open bracket.
    pub(super) fn is_in(&self, state: &State, closer: u8) -> bool {
        self.frame(state).is_some_and(|frame| frame.closer == closer)
    }

    /// Closes the innermost bracket. Its closing bracket is `start..end`, empty if it is missing.
    pub(super) fn close(&mut self, state: &mut State, start: usize, end: usize) -> Option<()> {
        let frame = *self.frame(state)?;
        state.cost += self.missing(&frame);
        self.scalar(state, StepKind::Close, start, end);
        state.frame = frame.parent;
        if frame.parent == NONE {
            state.cost += self.tail(end);
            state.want = Want::Over(Ending::Complete);
        }
        Some(())
    }

    /// The cost of the required keys that this object lacks.
    fn missing(&self, frame: &Frame) -> u32 {
        if frame.closer == b'}' { MISSING_KEY * self.guide.missing(frame.shape, frame.seen) } else { 0 }
    }

    /// Ends this reading as failed.
    pub(super) fn dead(&mut self, at: usize, what: &'static str) -> Option<()> {
        if at >= self.stuck.at {
            self.stuck = Unreadable { at, what };
        }
        None
    }

    /// Ends this reading because the text ended. `extra` is added to the cost of missing keys.
    pub(super) fn over(&mut self, state: &mut State, ending: Ending, extra: u32) -> Option<()> {
        let missing: u32 = self.trail.frames(state.frame).map(|frame| self.missing(frame)).sum();
        state.cost += extra + missing;
        state.want = Want::Over(ending);
        Some(())
    }
}
