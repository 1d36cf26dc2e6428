//! What is right around a call may show that it is only spoken of: quotes, the sentence that goes on after it, a comment.

use super::{Scanner, candidate::Candidate, framing::GAP_BYTES};
use crate::adapter::syntax::{Start, starts_with_any};

/// What encloses text that is spoken of. Backticks come in runs of any length, and so do quotes in code.
const QUOTES: [[&str; 2]; 15] = [
    ["\"", "\""],
    ["'", "'"],
    ["`", "`"],
    ["“", "”"],
    ["„", "“"],
    ["‘", "’"],
    ["«", "»"],
    ["[", "]("],
    ["<code>", "</code>"],
    ["<pre>", "</pre>"],
    ["<samp>", "</samp>"],
    ["<textarea>", "</textarea>"],
    ["<kbd>", "</kbd>"],
    ["<del>", "</del>"],
    ["~~", "~~"],
];
/// What comes after an unmarked call in a line of code.
const COMMENTS: [&str; 4] = ["//", "# ", "/*", "<!--"];

/// What says of the call before it that it was not meant.
const TAKEN_BACK: [&str; 11] = [
    "an example",
    "not run",
    "not been run",
    "not execut",
    "not been execut",
    "i meant",
    "if you agree",
    "please confirm",
    "ignore the call",
    "the format",
    "the content",
];

impl Scanner {
    /// Whether the quotes around a call that nothing else closes end after one of its brackets.
    pub(super) fn closes_quotes(&self, candidate: &Candidate) -> bool {
        let before = self.line_head(candidate.at);
        let quote = before.chars().next_back().filter(|quote| matches!(quote, '"' | '\'' | '`'));
        let text = &self.buf[candidate.at..];
        quote.is_some_and(|quote| text.match_indices(['}', ')']).any(|(at, _)| text[at + 1..].starts_with(quote)))
    }

    /// Whether the sentence after an unmarked call says that it is an example or must not run. `None`: it is not all there yet.
    fn is_taken_back(&self, to: usize, open: bool) -> Option<bool> {
        let text = self.buf[to..self.buf.floor_char_boundary(to + GAP_BYTES)].trim_start();
        let sentence = match text.find(['.', '!', '?', ':', '{', '[', '<', '`']) {
            Some(stop) => &text[..stop],
            None if open => text,
            None => return None,
        };
        let sentence = sentence.to_lowercase().replace('’', "'");
        Some(TAKEN_BACK.iter().any(|words| sentence.contains(words)))
    }

    /// Whether the call of `candidate`, which ends at `to`, is only spoken of. `None`: more text is needed to know.
    pub(super) fn is_spoken_of(&self, candidate: &Candidate, to: usize, marked: bool, end: bool) -> Option<bool> {
        let at = candidate.at;
        let open = end || self.buf.len() - to > GAP_BYTES;
        if candidate.fence.is_some() {
            return if marked { Some(false) } else { self.is_taken_back(to, open) };
        }
        let after = &self.buf[to..self.buf.floor_char_boundary(to + GAP_BYTES)];
        // The tag around a call may close after it.
        let inner = after.trim_start_matches("\\n").trim_start();
        let rest = match starts_with_any(inner, self.adapter.triggers.closers(), open) {
            Start::Maybe => return None,
            Start::Yes(length) => &inner[length..],
            Start::No => after,
        };
        let may_be = |text: &str, sign: &str| !open && sign.starts_with(text);
        let in_line = !self.at_line_start(at);
        let before = self.line_head(at);
        if let Some([quote, close]) = QUOTES.into_iter().find(|[quote, _]| in_line && before.ends_with(quote)) {
            // Quotes around the whole answer are a slip.
            let is_first = self.buf.in_answer(at) == before.len() && before.trim_end_matches(quote).is_empty();
            // A string in code, which may never end.
            let code = before.trim_end_matches(quote).trim_end();
            if code.ends_with(['=', '(', '+']) || code.ends_with("return") {
                return Some(true);
            }
            if may_be(rest, close) {
                return None;
            }
            // A slip that the form allows at its end may be the quote.
            if rest.starts_with(close) || self.buf[at..to].ends_with(close) {
                let after = rest.trim_start_matches(close).trim_start();
                return if !is_first || !after.is_empty() { Some(true) } else { open.then_some(false) };
            }
        }
        let line = rest.trim_start_matches([' ', '\t']);
        if !marked {
            let line = line.trim_start_matches([',', ';', ' ']);
            if COMMENTS.iter().any(|sign| line.starts_with(sign)) {
                return Some(true);
            }
            if COMMENTS.iter().any(|sign| may_be(line, sign)) {
                return None;
            }
            match self.is_taken_back(to, open) {
                Some(false) => {}
                decided => return decided,
            }
        }
        if !in_line || candidate.marker.1 || self.buf[at..to].contains('\n') {
            return Some(false);
        }
        // The sentence goes on, or the row of a table. The name of the next speaker comes without a blank.
        let comma = line.starts_with(',');
        match line.trim_start_matches([',', ' ']).chars().next() {
            None if !open => None,
            Some(c) => Some(c == '|' || (c.is_lowercase() && (comma || line.len() < rest.len()))),
            None => Some(false),
        }
    }
}
