//! The inside of a string: escapes -> characters. What is no escape stays as it is, backslash included: `\d` in a regular
//! expression and `C:\Users` are content.

use std::borrow::Cow;

use super::lex::Quote;

/// A decoded string and what was unusual in it.
pub(crate) struct Decoded<'s> {
    pub(crate) text: Cow<'s, str>,
    /// Raw control characters (newlines mostly) that strict JSON would escape.
    pub(crate) control: bool,
    /// Escapes that JSON does not have.
    pub(crate) odd_escape: bool,
    /// Half of a surrogate pair: no character.
    pub(crate) lone_surrogate: bool,
}

/// Decodes the inside of a string.
pub(crate) fn decode(raw: &str, quote: Quote) -> Decoded<'_> {
    let mut decoded = Decoded { text: Cow::Borrowed(raw), control: false, odd_escape: false, lone_surrogate: false };
    if quote == Quote::Bare {
        decoded.control = raw.bytes().any(|byte| byte < 0x20);
        return decoded;
    }
    let Some(first) = memchr::memchr(b'\\', raw.as_bytes()) else {
        decoded.control = raw.bytes().any(|byte| byte < 0x20);
        return decoded;
    };
    let mut text = String::with_capacity(raw.len());
    text.push_str(&raw[..first]);
    let mut rest = &raw[first..];
    while let Some(escape) = rest.strip_prefix('\\') {
        let mut used = 1;
        match escape.bytes().next() {
            Some(b'"') => text.push('"'),
            Some(b'\\') => text.push('\\'),
            Some(b'/') => text.push('/'),
            Some(b'b') => text.push('\u{8}'),
            Some(b'f') => text.push('\u{c}'),
            Some(b'n') => text.push('\n'),
            Some(b'r') => text.push('\r'),
            Some(b't') => text.push('\t'),
            Some(b'\'') => {
                decoded.odd_escape = true;
                text.push('\'');
            }
            Some(b'`') if quote == Quote::Backtick => {
                decoded.odd_escape = true;
                text.push('`');
            }
            Some(b'u') => match unit(escape) {
                Some(high @ 0xd800..0xdc00) => match escape.get(5..).and_then(|low| low.strip_prefix('\\')).and_then(unit) {
                    Some(low @ 0xdc00..0xe000) => {
                        let code = 0x10000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(low) - 0xdc00);
                        text.extend(char::from_u32(code));
                        used = 11;
                    }
                    _ => {
                        decoded.lone_surrogate = true;
                        used = 5;
                    }
                },
                Some(0xdc00..0xe000) => {
                    decoded.lone_surrogate = true;
                    used = 5;
                }
                Some(unit) => {
                    text.extend(char::from_u32(u32::from(unit)));
                    used = 5;
                }
                None => {
                    decoded.odd_escape = true;
                    text.push('\\');
                    used = 0;
                }
            },
            _ => {
                decoded.odd_escape = true;
                text.push('\\');
                used = 0;
            }
        }
        rest = &escape[used..];
        let next = memchr::memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        text.push_str(&rest[..next]);
        rest = &rest[next..];
    }
    decoded.control = raw.bytes().any(|byte| byte < 0x20);
    decoded.text = Cow::Owned(text);
    decoded
}

/// The code unit of `uXXXX`.
fn unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix('u')?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}
