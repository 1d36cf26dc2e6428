//! Quotes of all kinds: where a string opens, and where its next delimiter is. `json::read` (`grammar/strings.rs`) decides
//! whether that delimiter ends the string.

use super::{KEY_REACH, Text};

/// Quotes of other alphabets: what they are, what opens such a string, and what closes it.
const QUOTES: [(Quote, &str, &str); 3] = [
    (Quote::Backtick, "`´", "`´"),
    (Quote::SmartDouble, "\u{201c}\u{201d}\u{201e}\u{201f}", "\"\u{201c}\u{201d}\u{201f}"),
    (Quote::SmartSingle, "\u{2018}\u{2019}\u{201a}\u{201b}", "'`´\u{2018}\u{2019}\u{201b}"),
];

/// What delimits a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quote {
    Double,
    Single,
    /// `` ` ``, also closed by `´`.
    Backtick,
    /// A typographic double quote.
    SmartDouble,
    /// A typographic single quote.
    SmartSingle,
    /// This quote twice on both sides: `""x""`.
    Twice(u8),
    /// This quote three times on both sides: `"""x"""`.
    Thrice(u8),
    /// No quotes.
    Bare,
}

impl Text<'_> {
    /// The quote that opens at `i`, and its length in bytes.
    pub(crate) fn quote(&self, i: usize) -> Option<(Quote, usize)> {
        match self.at(i)? {
            byte @ (b'"' | b'\'') => {
                let single = if byte == b'"' { Quote::Double } else { Quote::Single };
                if self.at(i + 1) != Some(byte) {
                    return Some((single, 1));
                }
                if self.at(i + 2) == Some(byte) && self.thrice_ahead(i + 3, byte) {
                    return Some((Quote::Thrice(byte), 3));
                }
                let content = self.at(i + 2).is_some_and(|next| next.is_ascii_alphanumeric() || next >= 0x80 || next == b'_');
                if content && self.twice_ahead(i + 2, byte) {
                    return Some((Quote::Twice(byte), 2));
                }
                Some((single, 1))
            }
            b'`' if self.starts(i, "```") => self.thrice_ahead(i + 3, b'`').then_some((Quote::Thrice(b'`'), 3)),
            b'`' | 0x80.. => {
                let c = self.source[i..].chars().next()?;
                QUOTES.iter().find(|(_, opens, _)| opens.contains(c)).map(|(quote, ..)| (*quote, c.len_utf8()))
            }
            _ => None,
        }
    }

    /// Whether three of this byte in a row occur at or after `i`.
    fn thrice_ahead(&self, i: usize, byte: u8) -> bool {
        let found = memchr::memmem::find(&self.bytes[i..], &[byte; 3]);
        self.look(found.unwrap_or(self.bytes.len() - i));
        found.is_some()
    }

    /// Whether the next such quote is doubled, and a colon follows it, or, in a text with doubled quotes, anything that may
    /// follow a value.
    fn twice_ahead(&self, i: usize, byte: u8) -> bool {
        let reach = &self.bytes[i..self.bytes.len().min(i + 4 * KEY_REACH)];
        let Some(found) = memchr::memchr(byte, reach) else { return false };
        let end = i + found;
        if self.at(end + 1) != Some(byte) {
            return false;
        }
        match self.at(self.skip(end + 2)) {
            Some(b':') => {
                self.doubled.set(true);
                true
            }
            None | Some(b',' | b'}' | b']') => self.doubled.get(),
            _ => false,
        }
    }

    /// The next unescaped delimiter of the string at or after `i`: its start and its end.
    pub(crate) fn delimiter(&self, i: usize, quote: Quote) -> Option<(usize, usize)> {
        let found = self.delimiter_before(self.bytes.len(), i, quote);
        self.look(found.map_or(self.bytes.len(), |(_, end)| end).saturating_sub(i));
        found
    }

    /// Like [`Text::delimiter`], but only up to `stop`, and without counting the work.
    pub(super) fn delimiter_before(&self, stop: usize, mut i: usize, quote: Quote) -> Option<(usize, usize)> {
        let bytes = &self.bytes[..stop.min(self.bytes.len())];
        let closers = QUOTES.iter().find(|(kind, ..)| *kind == quote).map_or("", |(.., closers)| closers);
        loop {
            let rest = bytes.get(i..)?;
            let found = i + match quote {
                Quote::Double => find(b'"', rest)?,
                Quote::Single => find(b'\'', rest)?,
                Quote::Twice(byte) | Quote::Thrice(byte) => find(byte, rest)?,
                Quote::Bare => return None,
                _ => rest.iter().position(|byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\' | 0xc0..))?,
            };
            if self.bytes[found] == b'\\' {
                i = found + 2;
                continue;
            }
            let (past, closes) = match quote {
                Quote::Twice(byte) if self.at(found + 1) == Some(byte) => (2, true),
                Quote::Twice(_) => (1, false),
                Quote::Thrice(byte) => match bytes[found..].iter().take_while(|next| **next == byte).count() {
                    run @ 3.. => return Some((found + run - 3, found + run)),
                    run => (run, false),
                },
                Quote::Double | Quote::Single | Quote::Bare => (1, true),
                _ => self.source[found..].chars().next().map(|c| (c.len_utf8(), closers.contains(c)))?,
            };
            if closes {
                return Some((found, found + past));
            }
            i = found + past;
        }
    }
}

/// The first `byte` or backslash. Most strings are short, so a plain loop over the first bytes is faster than memchr's setup.
fn find(byte: u8, rest: &[u8]) -> Option<usize> {
    let (near, far) = rest.split_at(rest.len().min(8));
    match near.iter().position(|next| *next == byte || *next == b'\\') {
        None => memchr::memchr2(byte, b'\\', far).map(|found| found + near.len()),
        found => found,
    }
}
