//! Whether reasoning closes after a call although nothing opened it: then the call was a draft. It is held until that is decided.

use std::sync::Arc;

use super::Scanner;
use crate::adapter::{
    Call, Inside,
    asides::{ASIDES, THINK},
    syntax::{Occurrences, find_any},
};

impl Scanner {
    /// Whether this closing marker of reasoning closes nothing else.
    pub(super) fn proves_thoughts(&self, marker: &str) -> bool {
        let is_marker = |known: &String| known == marker;
        let ends = |call: &Arc<Call>| call.close.iter().chain(&call.section_close).any(is_marker);
        !self.adapter.framing.drop.iter().any(is_marker) && !self.adapter.calls.iter().any(ends)
    }

    /// Whether reasoning that nothing opened closes after `to`. If so, the prompt opened it, and everything before its end is
    /// reasoning. `None`: more text is needed.
    pub(super) fn closes_thoughts(&mut self, to: usize, end: bool) -> Option<bool> {
        let adapter = Arc::clone(&self.adapter);
        if self.inside() == Inside::Parse || self.draft.began.is_some() || !self.options.framing {
            return Some(false);
        }
        let proves = |marker: &String| self.proves_thoughts(marker);
        let own = adapter.framing.reasoning.as_ref().filter(|reasoning| reasoning.close.iter().all(proves));
        // A fine-tuned model may think in the usual tags, whatever its family.
        let [mut open, mut close] = THINK.map(|tag| vec![tag.to_owned()]);
        open.extend(own.iter().flat_map(|own| &own.open).cloned());
        close.extend(own.iter().flat_map(|own| &own.close).cloned());
        // A model that invents another speaker's turn also writes the reasoning of the next answer.
        open.extend(ASIDES.ended_turns.iter().cloned());
        let anywhere = own.is_some_and(|own| own.anywhere);
        let mut from = to.max(self.emitted.searched.saturating_sub(self.buf.in_answer(0)));
        let mut closing = Occurrences::of(&close);
        while let Some((at, past)) = closing.next(&self.buf, from) {
            if find_any(&self.buf[..at], from, &open).is_some() {
                return Some(false);
            }
            match self.ends_line(past, end) {
                None => return None,
                Some(ends_line) if anywhere || ends_line || at == to || self.at_line_start(at) || self.ends_words(at, past) => {
                    return Some(true);
                }
                Some(_) => from = past,
            }
        }
        if find_any(&self.buf, from, &open).is_some() {
            return Some(false);
        }
        let longest = open.iter().chain(&close).map(String::len).max().unwrap_or_default();
        let searched = self.buf.floor_char_boundary(self.buf.len().saturating_sub(longest)).max(from);
        self.emitted.searched = self.buf.in_answer(searched);
        end.then_some(false)
    }

    /// Whether a marker ends the words before it: one side has no space, or only its family has this token. A tag that is only
    /// mentioned has spaces on both sides.
    fn ends_words(&self, at: usize, past: usize) -> bool {
        let before = self.buf[..at].chars().next_back();
        let after = self.buf[past..].chars().next();
        let is_spoken_of = before.is_some_and(|c| "`'\"".contains(c));
        let glued = before.is_some_and(|c| c.is_alphanumeric() || ".!?".contains(c)) || after.is_some_and(char::is_alphanumeric);
        !is_spoken_of && (glued || self.buf[at..past] != *THINK[1])
    }
}
