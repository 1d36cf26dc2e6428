//! Quotes of all kinds: where a string opens, and where its next delimiter is. `json::read` (`grammar/strings.rs`) decides
//! whether that delimiter ends the string.

use super::{KEY_REACH, Text};

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
    /// `«x»`.
    Guillemets,
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
                if self.at(i + 2) == Some(byte) && self.run_ahead(i + 3, byte, 3) {
                    return Some((Quote::Thrice(byte), 3));
                }
                let content = self.at(i + 2).is_some_and(|next| next.is_ascii_alphanumeric() || next >= 0x80 || next == b'_');
                if content && self.twice_ahead(i + 2, byte) {
                    return Some((Quote::Twice(byte), 2));
                }
                Some((single, 1))
            }
            b'`' if self.starts(i, "```") => self.run_ahead(i + 3, b'`', 3).then_some((Quote::Thrice(b'`'), 3)),
            b'`' => Some((Quote::Backtick, 1)),
            0x80.. => match self.source[i..].chars().next()? {
                c @ ('\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}') => Some((Quote::SmartDouble, c.len_utf8())),
                c @ ('\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}') => Some((Quote::SmartSingle, c.len_utf8())),
                '\u{ab}' => Some((Quote::Guillemets, 2)),
                '\u{b4}' => Some((Quote::Backtick, 2)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether `n` of this byte in a row (at most 3) occur at or after `i`.
    fn run_ahead(&self, i: usize, byte: u8, n: usize) -> bool {
        let found = memchr::memmem::find(&self.bytes[i..], &[byte; 3][..n]);
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

    /// The first escaped double quote at or after `i`: the position of its backslash.
    pub(crate) fn escaped_quote(&self, i: usize) -> Option<usize> {
        let all = self.escaped_quotes.get_or_init(|| memchr::memmem::find_iter(self.bytes, b"\\\"").collect());
        all.get(all.partition_point(|at| *at < i)).copied()
    }

    /// Like [`Text::delimiter`], but only up to `stop`, and without counting the work.
    pub(super) fn delimiter_before(&self, stop: usize, mut i: usize, quote: Quote) -> Option<(usize, usize)> {
        let bytes = &self.bytes[..stop.min(self.bytes.len())];
        loop {
            let rest = bytes.get(i..)?;
            let found = i + match quote {
                Quote::Double => find(b'"', rest)?,
                Quote::Single => find(b'\'', rest)?,
                Quote::Twice(byte) | Quote::Thrice(byte) => find(byte, rest)?,
                Quote::Backtick => memchr::memchr3(b'`', b'\\', 0xc2, rest)?,
                Quote::SmartDouble => rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0xe2))?,
                Quote::SmartSingle => rest.iter().position(|byte| matches!(byte, b'\'' | b'`' | b'\\' | 0xe2 | 0xc2))?,
                Quote::Guillemets => memchr::memchr2(b'\\', 0xc2, rest)?,
                Quote::Bare => return None,
            };
            if self.bytes[found] == b'\\' {
                i = found + 2;
                continue;
            }
            let length = match quote {
                Quote::Double | Quote::Single => 1,
                Quote::Twice(byte) => usize::from(self.at(found + 1) == Some(byte)) * 2,
                Quote::Thrice(byte) => {
                    let run = bytes[found..].iter().take_while(|next| **next == byte).count();
                    if run >= 3 {
                        return Some((found + run - 3, found + run));
                    }
                    i = found + run;
                    continue;
                }
                Quote::Bare => 0,
                Quote::Backtick | Quote::SmartDouble | Quote::SmartSingle | Quote::Guillemets => {
                    let c = self.source[found..].chars().next()?;
                    let closes = match quote {
                        Quote::Backtick => matches!(c, '`' | '\u{b4}'),
                        Quote::Guillemets => c == '\u{bb}',
                        Quote::SmartDouble => matches!(c, '"' | '\u{201c}' | '\u{201d}' | '\u{201f}'),
                        _ => matches!(c, '\'' | '`' | '\u{b4}' | '\u{2018}' | '\u{2019}' | '\u{201b}'),
                    };
                    if !closes {
                        i = found + c.len_utf8();
                        continue;
                    }
                    c.len_utf8()
                }
            };
            if length == 0 {
                i = found + 1;
                continue;
            }
            return Some((found, found + length));
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
