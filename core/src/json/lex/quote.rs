//! Quotes of all kinds: where a string opens, and where its next delimiter is. `json::read` (`grammar/strings.rs`) decides
//! whether that delimiter ends the string.

use super::{KEY_REACH, Text};

/// Quotes of other alphabets, and what opens such a string.
const QUOTES: [(Quote, &str); 3] = [
    (Quote::Backtick, "`´"),
    (Quote::SmartDouble, "\u{201c}\u{201d}\u{201e}\u{201f}"),
    (Quote::SmartSingle, "\u{2018}\u{2019}\u{201a}\u{201b}"),
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

impl Quote {
    /// Whether this character, or two or three of it in a row, closes such a string.
    fn closes(self, c: char) -> bool {
        match self {
            Quote::Double => c == '"',
            Quote::Single => c == '\'',
            Quote::Backtick => "`´".contains(c),
            Quote::SmartDouble => "\"\u{201c}\u{201d}\u{201f}".contains(c),
            Quote::SmartSingle => "'`´\u{2018}\u{2019}\u{201b}".contains(c),
            Quote::Twice(byte) | Quote::Thrice(byte) => c == char::from(byte),
            Quote::Bare => false,
        }
    }
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
                QUOTES.iter().find(|(_, opens)| opens.contains(c)).map(|(quote, _)| (*quote, c.len_utf8()))
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
        let found = memchr::memchr(byte, reach).filter(|found| self.at(i + found + 1) == Some(byte));
        let Some(found) = found else { return false };
        let next = self.at(self.skip(i + found + 2));
        self.doubled.set(self.doubled.get() || next == Some(b':'));
        self.doubled.get() && matches!(next, None | Some(b':' | b',' | b'}' | b']'))
    }

    /// The next unescaped delimiter of the string at or after `start`: its start and its end.
    pub(crate) fn delimiter(&self, start: usize, quote: Quote) -> Option<(usize, usize)> {
        let times = match quote {
            Quote::Twice(_) => 2,
            Quote::Thrice(_) => 3,
            _ => 1,
        };
        let mut run = 0;
        let mut chars = self.source[start..].char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            run = if quote.closes(c) { run + 1 } else { 0 };
            if c == '\\' {
                chars.next();
            } else if run >= times && (times == 1 || chars.peek().is_none_or(|(_, next)| !quote.closes(*next))) {
                // Of more quotes in a row, the last ones close the string.
                let end = start + at + c.len_utf8();
                self.look(end - start);
                return Some((end - times * c.len_utf8(), end));
            }
        }
        self.look(self.bytes.len() - start);
        None
    }
}
