//! Calls in a form so damaged that no reader takes them (`<|tool_call_begin|>functions.bash:0<tool_call_argument|{"command": ..}`).
//! As text they would be lost. If the answer ends with one, the model is asked to write it again.

use std::cmp::Reverse;

use serde::de::IgnoredAny;

use super::{Scanner, candidate::Candidate, options::Wanted};
use crate::{
    adapter::syntax::{Parsed, Seen, typing::Types},
    event::{Sink, Tool, Why},
};

/// How far after the marker the tool's name is searched, in bytes.
const NAME_BYTES: usize = 96;
/// How many words may precede the name: `commentary to=functions.`, `<invoke name="`.
const WORDS_BEFORE: usize = 3;

impl Scanner {
    /// The offered tool that a candidate calls although no form could read it: after a marker or at the start of the answer, it
    /// names the tool and one of its parameters. `Maybe`: the answer goes on, so the parameter may follow.
    pub(super) fn unread(&self, candidate: &Candidate, end: bool) -> Seen<String> {
        let text = &self.buf[candidate.at..];
        let may_ask = self.refuses_strays() && self.options.answer == Wanted::Text;
        let is_damaged = candidate.tried.is_unread && !candidate.tried.is_cut && !candidate.mentions;
        if !is_damaged || !may_ask || self.is_drafting() || text.len() > self.options.held_bytes {
            return Seen::No;
        }
        match self.named_at_head(text) {
            None if end || text.len() >= NAME_BYTES => Seen::No,
            _ if !self.at_line_start(candidate.at) => Seen::No,
            _ if !end => Seen::Maybe,
            Some((tool, length)) if holds_a_parameter(&text[length..], tool) && !holds_json(&text[..length], text) => {
                Seen::Yes(tool.name.clone())
            }
            _ => Seen::No,
        }
    }

    /// Refuses such a call of the tool `name`, which the rest of the answer belongs to.
    pub(super) fn refuse_unread(&mut self, name: &str, candidate: &Candidate, out: &mut dyn Sink) {
        let text = self.buf[candidate.at..].to_owned();
        self.leave_region(candidate.at, out);
        self.accept_tentative(out);
        self.refuse(&Parsed::new(name, &text), &Why::Unread(text.clone()), out);
        self.buf.skip_to(self.buf.len());
    }

    /// The offered tool that is named first at the head of `text`, and where its name ends.
    fn named_at_head(&self, text: &str) -> Option<(&Tool, usize)> {
        let head = &text[..text.floor_char_boundary(NAME_BYTES)];
        let found = self.tools.iter().filter_map(|tool| Some((word_in(head, &tool.name)?, tool)));
        let (at, tool) = found.min_by_key(|(at, tool)| (*at, Reverse(tool.name.len())))?;
        (head[..at].split_whitespace().count() <= WORDS_BEFORE).then_some((tool, at + tool.name.len()))
    }
}

/// Whether a value without a marker begins as calls do: an object, a list of objects, or a list of Python calls.
pub(super) fn begins_as_calls(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('[').map(str::trim_start) else { return text.starts_with('{') };
    let after = inside.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
    after.starts_with(if after.len() < inside.len() { '(' } else { '{' })
}

/// Whether `text` is valid JSON from the first bracket of `head` on. Then it says something else than a call.
fn holds_json(head: &str, text: &str) -> bool {
    let Some(at) = head.find(['{', '[']) else { return false };
    let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<IgnoredAny>();
    values.next().is_some_and(|value| value.is_ok())
}

/// Whether one of the tool's parameters is a word of `text`.
fn holds_a_parameter(text: &str, tool: &Tool) -> bool {
    Types::new(Some(tool)).keys().any(|key| word_in(text, key).is_some())
}

/// Where `word` is in `text`, with no letter, digit or `_` beside it.
fn word_in(text: &str, word: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |at: usize| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part);
    text.match_indices(word).map(|(at, _)| at).find(|&at| is_whole(at))
}
