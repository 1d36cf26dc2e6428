//! Tests for the beginning of a text of which more may come.

use std::ops::Range;

use super::{Step, markdown};
use crate::json::lex::is_odd_space;

/// Maximum length of a name, a key, an id or a tag, in bytes.
pub(in crate::adapter) const WORD_BYTES: usize = 256;

/// Whether something is at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen<T> {
    Yes(T),
    Maybe,
    No,
}

impl<T> Seen<T> {
    /// What is there. The error says that more text decides.
    pub(super) fn sure(self) -> Result<Option<T>, Step> {
        match self {
            Seen::Yes(found) => Ok(Some(found)),
            Seen::No => Ok(None),
            Seen::Maybe => Err(Step::More),
        }
    }
}

/// Whether a marker is there. `Yes` has its length.
pub(crate) type Start = Seen<usize>;

/// A word (`name`), and the start (`at`) and length of what ends it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) name: Range<usize>,
    pub(super) at: usize,
    pub(super) length: usize,
}

/// Whether `text` begins with one of the markers. `Yes` has the length of the longest one.
pub(in crate::adapter) fn starts_with_any(text: &str, markers: impl IntoIterator<Item: AsRef<str>>, end: bool) -> Start {
    let (mut found, mut longer) = (None, false);
    for marker in markers {
        let marker = marker.as_ref();
        if marker.len() > text.len() {
            longer |= marker.starts_with(text);
        } else if !marker.is_empty() && text.starts_with(marker) {
            found = found.max(Some(marker.len()));
        }
    }
    match found {
        _ if longer && !end => Start::Maybe,
        Some(length) => Start::Yes(length),
        None => Start::No,
    }
}

/// The word that `text` begins with, if only whitespace separates it from one of `ends`. Decided at the first character that
/// cannot be in a name, so that prose is held no longer than that.
pub(super) fn word<'e>(text: &str, ends: impl Iterator<Item = &'e str> + Clone, over: bool) -> Seen<Word> {
    let lead = blank(text);
    let length = markdown::name_length(&text[lead..], "_-.:/").unwrap_or(text.len() - lead);
    let after = lead + length;
    if length > WORD_BYTES {
        return Seen::No;
    }
    let gap = blank(&text[after..]);
    for at in (after..=after + gap.min(WORD_BYTES)).filter(|&at| text.is_char_boundary(at)) {
        let rest = &text[at..];
        if !over && ends.clone().any(|end| end.len() > rest.len() && end.starts_with(rest)) {
            return Seen::Maybe;
        }
        if let Some(end) = ends.clone().filter(|end| rest.starts_with(end)).max_by_key(|end| end.len()) {
            return Seen::Yes(Word { name: lead..after, at, length: end.len() });
        }
    }
    if after + gap == text.len() && !over && gap <= WORD_BYTES { Seen::Maybe } else { Seen::No }
}

/// The length of the whitespace that `text` begins with.
pub(in crate::adapter) fn blank(text: &str) -> usize {
    text.len() - text.trim_start_matches(is_odd_space).len()
}

/// Whether a text has nothing but whitespace, and characters that are not seen.
pub(in crate::adapter) fn is_blank(text: &str) -> bool {
    text.chars().all(is_odd_space)
}

/// Whether the rest of a text may continue the [`gap`] before it.
pub(crate) fn may_be_gap(text: &str, end: bool) -> bool {
    !end && text == "\\"
}

/// The length of the whitespace that `text` begins with. Between tags it may also be written as a backslash and an `n`, or with
/// the characters that byte-level tokenizers use for space and newline.
pub(crate) fn gap(text: &str) -> usize {
    let blank = |text: &'_ str| text.len() - text.trim_start_matches(|c: char| is_odd_space(c) || matches!(c, 'Ġ' | 'Ċ')).len();
    let mut at = blank(text);
    while text[at..].starts_with("\\n") {
        at += 2 + blank(&text[at + 2..]);
    }
    at
}

/// The start and end of the first of the markers after `from`.
pub(in crate::adapter) fn find_any(text: &str, from: usize, markers: &[String]) -> Option<(usize, usize)> {
    markers.iter().filter_map(|marker| text[from..].find(marker.as_str()).map(|at| (from + at, from + at + marker.len()))).min()
}
