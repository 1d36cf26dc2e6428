//! The tokens of JSON as models write it: whitespace and comments, quotes of all kinds, keys, numbers, words. Each function looks
//! at one position and is bounded, so that reading stays linear.

use std::cell::Cell;

mod quote;

pub(crate) use quote::Quote;

/// The text being read.
#[derive(Default)]
pub(crate) struct Text<'s> {
    pub(crate) source: &'s str,
    pub(crate) bytes: &'s [u8],
    /// After this offset, no double quote or no closing brace or bracket follows.
    last: usize,
    /// A key was found in doubled quotes (`""key"":`); only then can values be quoted this way.
    doubled: Cell<bool>,
    looked_at: Cell<usize>,
}

/// What was found between two tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) comment: bool,
    /// Whitespace that JSON does not have.
    pub(crate) odd_space: bool,
    /// A literal `\n` or `\t` (backslash and letter).
    pub(crate) escaped_space: bool,
    pub(crate) newline: bool,
}

/// A key followed by a colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyAhead<'s> {
    pub(crate) name: &'s str,
    pub(crate) quoted: bool,
}

/// Longest key that is recognised ahead, in bytes.
const KEY_REACH: usize = 256;

impl<'s> Text<'s> {
    pub(crate) fn new(source: &'s str) -> Text<'s> {
        let bytes = source.as_bytes();
        let end = |found: Option<usize>| found.map_or(0, |found| found + 1);
        let last = end(memchr::memrchr(b'"', bytes)).min(end(memchr::memrchr2(b'}', b']', bytes)));
        Text { source, bytes, last, ..Text::default() }
    }

    /// How many bytes were looked at so far, with repetition. This is the measure of the work.
    pub(crate) fn looked_at(&self) -> usize {
        self.looked_at.get()
    }

    /// Adds bytes to that count.
    pub(crate) fn look(&self, bytes: usize) {
        self.looked_at.set(self.looked_at.get().saturating_add(bytes));
    }

    /// The byte at `i`.
    pub(crate) fn at(&self, i: usize) -> Option<u8> {
        self.bytes.get(i).copied()
    }

    /// Whether the text at `i` starts with `with`.
    pub(crate) fn starts(&self, i: usize, with: &str) -> bool {
        self.bytes.get(i..).is_some_and(|rest| rest.starts_with(with.as_bytes()))
    }

    /// The end of the whitespace and comments that begin at `i`.
    pub(crate) fn skip(&self, i: usize) -> usize {
        self.gap(i).0
    }

    /// Like [`Text::skip`], and what was skipped.
    pub(crate) fn gap(&self, mut i: usize) -> (usize, Gap) {
        let mut gap = Gap::default();
        let start = i;
        while let Some(byte) = self.at(i) {
            match byte {
                b' ' | b'\t' | b'\r' => i += 1,
                b'\n' => {
                    gap.newline = true;
                    i += 1;
                }
                b'/' if matches!(self.at(i + 1), Some(b'/' | b'*')) => {
                    gap.comment = true;
                    i = self.comment_end(i);
                }
                b'#' if i == 0 || self.bytes[i - 1] == b'\n' || (i > start && self.bytes[i - 1].is_ascii_whitespace()) => {
                    gap.comment = true;
                    i = self.comment_end(i);
                }
                // The text after a literal `\n` must be able to begin a token. Otherwise the escape begins a word.
                b'\\'
                    if matches!(self.at(i + 1), Some(b'n' | b't' | b'r'))
                        && self.at(i + 2).is_none_or(|byte| !byte.is_ascii_alphanumeric()) =>
                {
                    gap.escaped_space = true;
                    i += 2;
                }
                0x0b | 0x0c | 0x80.. => match self.source[i..].chars().next() {
                    Some(c) if is_odd_space(c) => {
                        gap.odd_space = true;
                        i += c.len_utf8();
                    }
                    _ => break,
                },
                _ => break,
            }
        }
        self.look(i - start);
        (i, gap)
    }

    /// The end of the comment at `i`. One without an end reaches to the end of the text.
    fn comment_end(&self, i: usize) -> usize {
        let mark = if self.starts(i, "/*") { "*/" } else { "\n" };
        self.source[i..].find(mark).map_or(self.bytes.len(), |found| i + found + mark.len())
    }

    /// Whether a double quote and a closing bracket occur after `i`, which looks like more JSON.
    pub(crate) fn more_json(&self, i: usize) -> bool {
        self.last > i
    }

    /// The key at `i`, if a colon follows it.
    pub(crate) fn key(&self, i: usize) -> Option<KeyAhead<'s>> {
        if let Some((quote, length)) = self.quote(i) {
            let start = i + length;
            let (end, after) = self.delimiter(start, quote).filter(|(end, _)| end - start <= KEY_REACH)?;
            let colon = self.skip(after);
            let key = !self.bytes[start..end].contains(&b'\n') && self.colon(colon);
            return key.then_some(KeyAhead { name: &self.source[start..end], quoted: true });
        }
        let end = self.word(i);
        if end == i || end - i > KEY_REACH || self.bytes[i].is_ascii_digit() {
            return None;
        }
        let colon = self.skip(end);
        // `https://` and `std::fs` are not keys.
        let key = self.colon(colon) && !self.starts(colon, "://") && !self.starts(colon, "::");
        key.then_some(KeyAhead { name: &self.source[i..end], quoted: false })
    }

    /// Whether a colon is at `i`, ASCII or full-width (Claude writes both in Chinese text: NoFxAiOS/nofx#446).
    pub(crate) fn colon(&self, i: usize) -> bool {
        self.at(i) == Some(b':') || self.starts(i, "\u{ff1a}")
    }

    /// The length of the comma at `i`, ASCII or full-width.
    pub(crate) fn comma(&self, i: usize) -> Option<usize> {
        if self.at(i)? == b',' { Some(1) } else { self.starts(i, "\u{ff0c}").then_some(3) }
    }

    /// The end of the identifier at `i`; `i` if there is none.
    pub(crate) fn word(&self, i: usize) -> usize {
        let rest = &self.bytes[i.min(self.bytes.len())..];
        match rest.first() {
            Some(byte) if byte.is_ascii_alphanumeric() || b"_$".contains(byte) => {}
            Some(0x80..) if self.quote(i).is_none() => {}
            _ => return i,
        }
        let inside = self.source[i..].chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '-'));
        let end = i + inside.map(char::len_utf8).sum::<usize>();
        self.look(end - i);
        end
    }
}

/// Whether a character is whitespace that JSON does not allow between tokens.
pub(crate) fn is_odd_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{180e}')
}
