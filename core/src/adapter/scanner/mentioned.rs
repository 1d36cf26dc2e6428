//! Whether the text around a call shows that the call is only mentioned: quotes, a sentence that continues after it, a comment.

use std::sync::Arc;

use super::{
    GAP_BYTES, Scanner,
    candidate::Candidate,
    closers::closer,
    words::{OPENERS, Written, follows_a_subject, offers_choice, takes_back},
};
use crate::adapter::{
    Call,
    syntax::{Seen, Start},
};

/// Delimiters of mentioned text. Backticks come in runs of any length, and so do quotes in code.
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
/// Comment signs after an unmarked call in a line of code.
const COMMENTS: [&str; 4] = ["//", "# ", "/*", "<!--"];

/// Quotes that are alone on the lines around a quoted block.
const BLOCK_QUOTES: [&str; 2] = ["\"\"\"", "'''"];
/// Maximum length of a block that is scanned, in bytes.
const BLOCK_BYTES: usize = 4096;

/// Endings of tag names around lists of tools, and the tags of an item.
const LISTS: [&str; 2] = ["tools", "functions"];
const ITEMS: [[&str; 2]; 3] = [["<tool>", "</tool>"], ["<function>", "</function>"], ["<name>", "</name>"]];

/// Maximum length of a sentence that is scanned after a call, in bytes.
const SENTENCE_BYTES: usize = 4096;

impl Scanner {
    /// Whether the marker at `at` is in a block that triple quotes on the line before open, with text after the block. `Yes` has
    /// the end of the block. If nothing follows, the quotes are a slip.
    pub(super) fn quoted_block(&self, at: usize, end: bool) -> Seen<usize> {
        let Some(head) = self.introduction(at) else { return Seen::No };
        let Some(quotes) = BLOCK_QUOTES.into_iter().find(|quotes| head.trim_end() == *quotes) else { return Seen::No };
        let text = &self.buf[at..self.buf.floor_char_boundary(at + BLOCK_BYTES)];
        let undecided = if end || text.len() >= BLOCK_BYTES { Seen::No } else { Seen::Maybe };
        let closes = |(place, _): &(usize, &str)| text[..*place].trim_end_matches([' ', '\t']).ends_with('\n');
        let Some((place, _)) = text.match_indices(quotes).find(closes) else { return undecided };
        let after = at + place + quotes.len();
        if self.buf[after..].trim().is_empty() { undecided } else { Seen::Yes(after) }
    }

    /// Whether the marker at `at` begins a list of nothing but names, or is its first item (`<tools><tool>f</tool></tools>`).
    /// `Yes` has the end of the list.
    pub(super) fn listed_names(&self, at: usize, end: bool) -> Seen<usize> {
        let text = &self.buf[at..self.buf.floor_char_boundary(at + BLOCK_BYTES)];
        let inside = match text.find('>').map(|stop| text.split_at(stop + 1)) {
            Some((tag, inside)) if tag.rfind('<') == Some(0) && opens_list(tag) => inside,
            _ if opens_list(&self.line_head(at)) || self.introduction(at).is_some_and(|line| opens_list(&line)) => text,
            _ => return Seen::No,
        };
        let (mut rest, mut names) = (inside.trim_start(), 0);
        loop {
            // The text ends here, or inside the closing tag of the list.
            let is_cut = "</".starts_with(rest);
            if is_cut && !end {
                return Seen::Maybe;
            }
            if is_cut || rest.starts_with("</") {
                let to = if is_cut { text.len() } else { text.len() - rest.len() };
                return if names > 0 { Seen::Yes(at + to) } else { Seen::No };
            }
            let tagged = ITEMS.into_iter().find_map(|[open, close]| Some((rest.strip_prefix(open)?, close)));
            let (name, close) = tagged.unwrap_or((rest, ""));
            let after = name.trim_start_matches(|c: char| c.is_alphanumeric() || "_-.:".contains(c));
            match after.strip_prefix(close) {
                Some(next) if after.len() < name.len() => rest = next.trim_start_matches(|c: char| c.is_whitespace() || c == ','),
                _ if !end && (close.starts_with(after) || ITEMS.iter().any(|[open, _]| open.starts_with(rest))) => {
                    return Seen::Maybe;
                }
                _ => return Seen::No,
            }
            names += 1;
        }
    }

    /// Whether a quote before an unterminated call closes right after one of its brackets.
    pub(super) fn closes_quotes(&self, candidate: &Candidate) -> bool {
        let before = self.line_head(candidate.at);
        let quote = before.chars().next_back().filter(|quote| matches!(quote, '"' | '\'' | '`'));
        let text = &self.buf[candidate.at..];
        quote.is_some_and(|quote| text.match_indices(['}', ')']).any(|(at, _)| text[at + 1..].starts_with(quote)))
    }

    /// The markers that may close a call of this form: models mix those of other forms in.
    pub(super) fn closers<'s>(&'s self, call: Option<&'s Call>) -> impl Iterator<Item = &'s String> + Clone {
        let own = call.into_iter().flat_map(|call| call.close.iter().chain(&call.section_close));
        own.chain(self.adapter.triggers.closers())
    }

    /// The end of the closing markers after a call that ends at `to`. `None`: more text is needed.
    pub(super) fn after_closers(&self, candidate: &Candidate, to: usize, open: bool) -> Option<usize> {
        let call = candidate.entries.front().and_then(|entry| self.adapter.calls.get(entry.form));
        let closers = self.closers(call.map(Arc::as_ref));
        let mut at = to;
        loop {
            let rest = &self.buf[at..];
            let inner = rest.trim_start_matches("\\n").trim_start();
            let inner = if candidate.fence.is_some() { inner.trim_start_matches(['`', '~']).trim_start() } else { inner };
            match closer(inner, closers.clone(), open) {
                Start::Maybe => return None,
                Start::Yes(length) => at = self.buf.len() - inner.len() + length,
                Start::No if candidate.fence.is_some() => return Some(self.buf.len() - inner.len()),
                Start::No => return Some(at),
            }
        }
    }

    /// Whether the sentence after a call says that it is an example or must not run, or asks for permission. After a marked call,
    /// weaker words for an example do not count, because they may be about its result. `None`: more text is needed.
    pub(super) fn is_taken_back(&self, candidate: &Candidate, to: usize, marked: bool, open: bool) -> Option<bool> {
        let delimited = marked || candidate.fence.is_some();
        let text = self.text_after(candidate, to, delimited, open)?;
        let written = self.written(candidate, to, marked, delimited);
        Some(takes_back(text, written) || delimited && self.goes_on_after(candidate, text))
    }

    /// Whether the text after marked calls takes them back for good, and does not offer another choice.
    pub(super) fn is_corrected(&self, candidate: &Candidate, to: usize) -> bool {
        let written = self.written(candidate, to, true, true);
        let text = self.text_after(candidate, to, true, true);
        text.is_some_and(|text| takes_back(text, written) && !offers_choice(text))
    }

    /// The call of a candidate that ends at `to`.
    fn written(&self, candidate: &Candidate, to: usize, marked: bool, delimited: bool) -> Written<'_> {
        Written { marked, delimited, fresh: candidate.fresh, text: &self.buf[candidate.at..to] }
    }

    /// The text after a call, as far as it may be about the call. `delimited`: closing markers may come first. `None`: more text
    /// is needed, or the result would depend on the cuts.
    fn text_after(&self, candidate: &Candidate, to: usize, delimited: bool, open: bool) -> Option<&str> {
        let to = if delimited { self.after_closers(candidate, to, open)? } else { to };
        let text = self.buf[to..self.buf.floor_char_boundary(to + GAP_BYTES)].trim_start();
        let is_whole = text.starts_with(OPENERS) || self.buf.ended().is_some() || self.buf.len() >= to + GAP_BYTES;
        is_whole.then_some(text)
    }

    /// Whether the sentence around a marked call continues with `after`: `after` is in lower case and holds no other call, and no
    /// punctuation ends the words before the call. Or the call is in an item of a numbered list, and the next item follows.
    fn goes_on_after(&self, candidate: &Candidate, after: &str) -> bool {
        let at = self.buf.place(self.first_at(candidate));
        let Some(before) = self.lead(at) else { return false };
        let marker = &self.buf[candidate.at..candidate.at + candidate.marker.length];
        let before = before.trim_end();
        let is_open = before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | '`' | '"'));
        let number = |line: &str| {
            let line = line.trim_start_matches('[');
            line.split_once(['.', ')', ']']).and_then(|(number, _)| number.parse::<u32>().ok())
        };
        let this = if self.at_line_start(at) { number(before) } else { number(&self.line_head(at)) };
        // A list whose next item is a call too is a plan that is carried out.
        let (item, below) = after.split_once('\n').unwrap_or((after, ""));
        let is_item =
            this.is_some_and(|this| number(item) == Some(this.saturating_add(1))) && !below.trim_start().starts_with(marker);
        is_item || (is_open && after.starts_with(char::is_lowercase) && !after.contains(marker))
    }

    /// Whether the call that ends at `to` is only mentioned. `None`: more text is needed.
    pub(super) fn is_spoken_of(&self, candidate: &Candidate, to: usize, marked: bool, end: bool) -> Option<bool> {
        let at = self.buf.place(self.first_at(candidate));
        let open = end || self.buf.len() - to > GAP_BYTES;
        let taken_back = self.is_taken_back(candidate, to, marked, open);
        if marked {
            // The model may be asked about such a call (`is_doubtful`), once the sentence after it is known.
            taken_back?;
        }
        if candidate.fence.is_some() {
            return if marked { Some(false) } else { taken_back };
        }
        // The tag around a call may close after it.
        let past = self.after_closers(candidate, to, open)?;
        let rest = &self.buf[past..self.buf.floor_char_boundary(past + GAP_BYTES)];
        let may_be = |text: &str, sign: &str| !open && sign.starts_with(text);
        let in_line = !self.at_line_start(at);
        let before = self.line_head(at);
        if let Some([quote, close]) = QUOTES.into_iter().find(|[quote, _]| in_line && before.ends_with(quote)) {
            // Quotes around the whole answer are a slip.
            let is_first = self.buf.in_answer(at) == before.len() && before.trim_end_matches(quote).is_empty();
            // A string in code, which may never be closed.
            let code = before.trim_end_matches(quote).trim_end();
            if code.ends_with(['=', '(', '+']) || code.ends_with("return") {
                return Some(true);
            }
            if may_be(rest, close) {
                return None;
            }
            // The closing quote may have been read as a slip at the end of the call.
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
            match taken_back {
                Some(false) => {}
                decided => return decided,
            }
        }
        if candidate.marker.is_token || (in_line && self.buf[at..to].contains('\n')) {
            return Some(false);
        }
        if !in_line {
            return is_subject(line, open);
        }
        match goes_on(rest, open) {
            Some(true) if marked => self.is_before_spoken(candidate, to, end),
            decided => decided,
        }
    }

    /// Whether the sentence around a marked call that ends at `to` is about calls: it holds no other call, or continues after the
    /// last one. The calls of one sentence count together or not at all. `None`: more text is needed.
    fn is_before_spoken(&self, candidate: &Candidate, to: usize, end: bool) -> Option<bool> {
        let marker = &self.buf[candidate.at..candidate.at + candidate.marker.length];
        let limit = self.buf.floor_char_boundary(to + SENTENCE_BYTES);
        let rest = &self.buf[to..limit];
        let newline = rest.find('\n');
        let open = end || limit < self.buf.len() || newline.is_some();
        let rest = &rest[..newline.unwrap_or(rest.len())];
        if !open {
            return None;
        }
        let Some(last) = rest.rfind(marker) else { return Some(true) };
        let closers = self.adapter.triggers.closers().iter();
        match closers.filter_map(|close| rest[last..].rfind(close.as_str()).map(|at| last + at + close.len())).max() {
            Some(after) => goes_on(&rest[after..], true),
            None => Some(false),
        }
    }
}

/// Whether a line ends in the opening tag of a list of tools.
fn opens_list(line: &str) -> bool {
    let tag = line.trim_end().strip_suffix('>').and_then(|line| line.rsplit_once('<'));
    let is_list =
        |name: &str| LISTS.iter().any(|list| name.ends_with(list)) && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    tag.is_some_and(|(_, name)| is_list(name))
}

/// Whether a sentence, or the row of a table, continues with `rest`. `None`: more text is needed.
fn goes_on(rest: &str, open: bool) -> Option<bool> {
    let line = rest.trim_start_matches([' ', '\t']);
    let comma = line.starts_with(',');
    match line.trim_start_matches([',', ' ']).chars().next() {
        None if !open => None,
        // The name of the next speaker follows without a space.
        Some(c) => Some(c == '|' || (c.is_lowercase() && (comma || line.len() < rest.len()))),
        None => Some(false),
    }
}

/// Whether a call at the start of a line is the subject of the sentence that continues with `line`: a verb follows. `None`: more
/// text is needed.
fn is_subject(line: &str, open: bool) -> Option<bool> {
    match line.find(|c: char| !c.is_alphabetic()) {
        None if !open => None,
        length => Some(follows_a_subject(&line[..length.unwrap_or(line.len())])),
    }
}
