//! The tokens of JSON as models write it: gaps (whitespace, comments), quotes of every kind, keys, numbers and words.
//! Every function looks at one place of the text and is bounded, so that whoever reads the text stays linear.

use std::cell::{Cell, OnceCell};

mod number;
mod quote;

pub(crate) use quote::Quote;

/// A text under the reader, with what bounds its searches.
pub(crate) struct Text<'s> {
    pub(crate) source: &'s str,
    pub(crate) bytes: &'s [u8],
    last_newline: Cell<Option<usize>>,
    last_comment_end: Cell<Option<usize>>,
    last_quote: Cell<Option<usize>>,
    last_closer: Cell<Option<usize>>,
    /// Where escaped double quotes are (their backslashes).
    escaped_quotes: OnceCell<Vec<usize>>,
    /// Keys are in doubled quotes; only then can values be.
    doubled: Cell<bool>,
    looked_at: Cell<usize>,
}

/// What lies between two tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) comment: bool,
    /// Whitespace that JSON does not have.
    pub(crate) odd_space: bool,
    /// A literal `\n` or `\t` (backslash and letter).
    pub(crate) escaped_space: bool,
    pub(crate) newline: bool,
}

/// A key with its colon, ahead in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyAhead<'s> {
    pub(crate) name: &'s str,
    pub(crate) quoted: bool,
}

/// A byte that surely begins a token.
const TOKEN: u8 = 1;
/// One that begins an identifier.
const LETTER: u8 = 2;
/// One that an identifier goes on with.
const INSIDE: u8 = 4;
/// A bracket, or the backslash that takes the meaning from the byte after it.
const BRACKET: u8 = 8;

/// What each byte can be.
const CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte: u8 = 0x21;
    while byte < 0x7f {
        table[byte as usize] = match byte {
            b'/' | b'#' => 0,
            b'\\' => BRACKET,
            b'(' | b')' | b'[' | b']' | b'{' | b'}' => TOKEN | BRACKET,
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$' => TOKEN | LETTER | INSIDE,
            b'.' | b'-' => TOKEN | INSIDE,
            _ => TOKEN,
        };
        byte += 1;
    }
    table
};

/// How far ahead a key may reach.
const KEY_REACH: usize = 256;

// === impl Text ===

impl<'s> Text<'s> {
    pub(crate) fn new(source: &'s str) -> Text<'s> {
        Text {
            source,
            bytes: source.as_bytes(),
            last_newline: Cell::new(None),
            last_comment_end: Cell::new(None),
            last_quote: Cell::new(None),
            last_closer: Cell::new(None),
            escaped_quotes: OnceCell::new(),
            looked_at: Cell::new(0),
            doubled: Cell::new(false),
        }
    }

    /// How many bytes were looked at so far, those twice that were looked at twice.
    pub(crate) fn looked_at(&self) -> usize {
        self.looked_at.get()
    }

    /// Accounts for so many bytes.
    pub(crate) fn look(&self, bytes: usize) {
        self.looked_at.set(self.looked_at.get().saturating_add(bytes));
    }

    pub(crate) fn at(&self, i: usize) -> Option<u8> {
        self.bytes.get(i).copied()
    }

    pub(crate) fn starts(&self, i: usize, with: &str) -> bool {
        self.bytes.get(i..).is_some_and(|rest| rest.starts_with(with.as_bytes()))
    }

    /// The end of the whitespace and comments from `i` on.
    #[inline]
    pub(crate) fn skip(&self, i: usize) -> usize {
        self.gap(i).0
    }

    /// The end of the whitespace and comments from `i` on, and what it consisted of.
    #[inline]
    pub(crate) fn gap(&self, i: usize) -> (usize, Gap) {
        // The usual ones are short.
        if self.token(i) {
            return (i, Gap::default());
        }
        if self.at(i) == Some(b' ') && self.token(i + 1) {
            return (i + 1, Gap::default());
        }
        self.any_gap(i)
    }

    /// Whether a token surely begins here.
    #[inline]
    pub(crate) fn token(&self, i: usize) -> bool {
        self.at(i).is_some_and(|byte| CLASS[usize::from(byte)] & TOKEN != 0)
    }

    fn any_gap(&self, mut i: usize) -> (usize, Gap) {
        let mut gap = Gap::default();
        let start = i;
        while let Some(byte) = self.at(i) {
            match byte {
                b' ' | b'\t' | b'\r' => i += 1,
                b'\n' => {
                    gap.newline = true;
                    i += 1;
                }
                b'/' if self.at(i + 1) == Some(b'/') => {
                    gap.comment = true;
                    i = self.line_end(i);
                }
                b'/' if self.at(i + 1) == Some(b'*') => {
                    gap.comment = true;
                    i = self.comment_end(i + 2);
                }
                b'#' if i == 0 || (i > start && self.bytes[i - 1].is_ascii_whitespace()) || self.bytes[i - 1] == b'\n' => {
                    gap.comment = true;
                    i = self.line_end(i);
                }
                b'\\' if matches!(self.at(i + 1), Some(b'n' | b't' | b'r')) && self.escaped_gap(i + 2) => {
                    gap.escaped_space = true;
                    i += 2;
                }
                0x0b | 0x0c => {
                    gap.odd_space = true;
                    i += 1;
                }
                0x80.. => match self.source[i..].chars().next() {
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

    /// Whether what follows a literal `\n` can be a token: the escape is not the beginning of a word.
    fn escaped_gap(&self, i: usize) -> bool {
        self.at(i).is_none_or(|byte| !byte.is_ascii_alphanumeric())
    }

    /// The end of the line that `i` is in (after its newline).
    pub(crate) fn line_end(&self, i: usize) -> usize {
        if i > once(&self.last_newline, || memchr::memrchr(b'\n', self.bytes).unwrap_or(0)) {
            return self.bytes.len();
        }
        memchr::memchr(b'\n', &self.bytes[i..]).map_or(self.bytes.len(), |found| i + found + 1)
    }

    fn comment_end(&self, i: usize) -> usize {
        let last = once(&self.last_comment_end, || self.source.rfind("*/").map_or(0, |found| found + 2));
        if i + 2 > last {
            return self.bytes.len();
        }
        memchr::memmem::find(&self.bytes[i..], b"*/").map_or(self.bytes.len(), |found| i + found + 2)
    }

    /// Whether a double quote and a closing bracket after it follow somewhere after `i`: what looks like more JSON.
    pub(crate) fn more_json(&self, i: usize) -> bool {
        let quote = once(&self.last_quote, || memchr::memrchr(b'"', self.bytes).map_or(0, |found| found + 1));
        quote > i && self.closer_ahead(i)
    }

    /// Whether a closing bracket follows somewhere at or after `i`.
    pub(crate) fn closer_ahead(&self, i: usize) -> bool {
        once(&self.last_closer, || memchr::memrchr2(b'}', b']', self.bytes).map_or(0, |found| found + 1)) > i
    }

    /// The first bracket or backslash from `i` on and before `end`.
    pub(crate) fn bracket(&self, i: usize, end: usize) -> Option<usize> {
        let rest = self.bytes.get(i..end)?;
        rest.iter().position(|byte| CLASS[usize::from(*byte)] & BRACKET != 0).map(|found| i + found)
    }

    /// The key at `i` with its colon, if there is one. One of its quotes may be there twice.
    pub(crate) fn key(&self, i: usize) -> Option<KeyAhead<'s>> {
        if let Some((quote, length)) = self.quote(i) {
            let start = i + self.stray_quote(i) + length;
            self.look(KEY_REACH / 8);
            let (end, after) = self.delimiter_before(start + KEY_REACH, start, quote)?;
            // In `""b"":` all quotes are doubled.
            let after = if i > 0 && self.bytes[i - 1] == b'"' { after } else { after + self.stray_quote_after(after) };
            if self.bytes[start..end].contains(&b'\n') || !self.colon(self.skip(after)) {
                return None;
            }
            return Some(KeyAhead { name: &self.source[start..end], quoted: true });
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

    /// The length of a quote before the one that opens a key: `""limit": 10`.
    pub(crate) fn stray_quote(&self, i: usize) -> usize {
        usize::from(self.starts(i, "\"\"") && self.word(i + 2) > i + 2 && matches!(self.quote(i), Some((Quote::Double, _))))
    }

    /// The length of a quote after the one that closes a key: `"limit"": 10`.
    pub(crate) fn stray_quote_after(&self, i: usize) -> usize {
        usize::from(self.at(i) == Some(b'"') && self.colon(self.skip(i + 1)))
    }

    /// The key at `i` where one pair of quotes is around key and value: `"limit=10"`, `"limit: 10"`.
    pub(crate) fn key_of_pair(&self, i: usize) -> Option<&'s str> {
        let (quote, length) = self.quote(i)?;
        let start = i + length;
        let end = self.word(start);
        self.look(KEY_REACH / 8);
        let (_, after) = self.delimiter_before(start + KEY_REACH, start, quote)?;
        let pair = end > start
            && matches!(self.at(end), Some(b'=' | b':'))
            && matches!(self.at(self.skip(after)), None | Some(b',' | b'}'));
        pair.then(|| &self.source[start..end])
    }

    /// Whether there is a colon at `i`, also a full-width one.
    pub(crate) fn colon(&self, i: usize) -> bool {
        self.at(i) == Some(b':') || self.starts(i, "\u{ff1a}")
    }

    /// The length of the comma at `i`, also of a full-width one.
    #[inline]
    pub(crate) fn comma(&self, i: usize) -> Option<usize> {
        match self.at(i)? {
            b',' => Some(1),
            0xef if self.starts(i, "\u{ff0c}") => Some(3),
            _ => None,
        }
    }

    /// The end of the identifier at `i` (`i` if there is none).
    pub(crate) fn word(&self, i: usize) -> usize {
        let rest = &self.bytes[i.min(self.bytes.len())..];
        match rest.first() {
            Some(byte) if CLASS[usize::from(*byte)] & LETTER != 0 => {}
            Some(0x80..) if self.quote(i).is_none() => {}
            _ => return i,
        }
        let mut end = i + rest.iter().take_while(|byte| CLASS[usize::from(**byte)] & INSIDE != 0).count();
        if self.at(end).is_some_and(|byte| byte >= 0x80) {
            let more = self.source[end..].chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '-'));
            end += more.map(char::len_utf8).sum::<usize>();
        }
        self.look(end - i);
        end
    }
}

/// The value of the cell, found out when it is first wanted.
fn once(cell: &Cell<Option<usize>>, find: impl FnOnce() -> usize) -> usize {
    let value = cell.get().unwrap_or_else(find);
    cell.set(Some(value));
    value
}

/// Whitespace that JSON does not allow between tokens.
pub(crate) fn is_odd_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{180e}')
}
