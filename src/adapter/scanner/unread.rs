//! Calls in a form so damaged that no reader takes them (`<|tool_call_begin|>functions.bash:0<tool_call_argument|{"command": ..}`).
//! As text they would be lost. If the answer ends with one, the model is asked to write it again.

use std::cmp::Reverse;

use serde::de::IgnoredAny;

use super::{Scanner, candidate::Candidate, options::Wanted};
use crate::{
    adapter::syntax::{Parsed, Start, typing::Types},
    event::{Sink, Tool, Why},
};

/// How far after the marker the tool's name is searched, in bytes.
const NAME_BYTES: usize = 96;
/// How many words may precede the name: `commentary to=functions.`, `<invoke name="`.
const WORDS_BEFORE: usize = 3;

impl Scanner {
    /// Whether a candidate that no form could read, after a marker or at the start of the answer, names an offered tool and one of
    /// its parameters. `Maybe`: the answer goes on, so the parameter may follow.
    pub(super) fn is_unread(&self, candidate: &Candidate, end: bool) -> Start {
        let text = &self.buf[candidate.at..];
        let may_ask = self.refuses_strays() && self.options.answer == Wanted::Text;
        let is_damaged = candidate.is_unread && !candidate.is_cut && !candidate.mentions;
        if !is_damaged || !may_ask || self.is_drafting() || text.len() > self.options.held_bytes {
            return Start::No;
        }
        match self.named_at_head(text) {
            None if end || text.len() >= NAME_BYTES => Start::No,
            _ if !self.at_line_start(candidate.at) => Start::No,
            _ if !end => Start::Maybe,
            Some((tool, length)) if holds_a_parameter(&text[length..], tool) && !holds_json(&text[..length], text) => {
                Start::Yes(length)
            }
            _ => Start::No,
        }
    }

    /// Refuses such a call, which the rest of the answer belongs to.
    pub(super) fn refuse_unread(&mut self, candidate: &Candidate, out: &mut dyn Sink) {
        let text = self.buf[candidate.at..].to_owned();
        let name = self.named_at_head(&text).map(|(tool, _)| tool.name.clone()).unwrap_or_default();
        self.leave_region(candidate.at, out);
        self.accept_tentative(out);
        self.refuse(&Parsed::new(&name, &text), &Why::Unread(text.clone()), out);
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
