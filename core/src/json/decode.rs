//! Decodes the inside of a string. A backslash that begins no escape is kept: `\d` in a regular expression and `C:\Users` are
//! content.

use std::borrow::Cow;

use super::lex::Quote;

/// A decoded string, and what strict JSON would reject in it.
#[derive(Default)]
pub(crate) struct Decoded<'s> {
    pub(crate) text: Cow<'s, str>,
    /// Raw control characters, mostly newlines.
    pub(crate) control: bool,
    /// Escapes that JSON does not have.
    pub(crate) odd_escape: bool,
    /// Half of a surrogate pair, which is not a character. It is left out.
    pub(crate) lone_surrogate: bool,
}

/// Decodes the inside of a string. Without quotes ([`Quote::Bare`]) backslashes are plain characters.
pub(crate) fn decode(raw: &str, quote: Quote) -> Decoded<'_> {
    let mut decoded = Decoded { text: Cow::Borrowed(raw), ..Decoded::default() };
    let bytes = raw.as_bytes();
    let mut text = String::new();
    // `raw[..from]` is decoded into `text`; `raw[..at]` has been looked at.
    let (mut from, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        if *byte != b'\\' || quote == Quote::Bare {
            decoded.control |= *byte < 0x20;
            at += 1;
            continue;
        }
        let next = bytes.get(at + 1).copied().unwrap_or_default();
        let (character, length) = match next {
            b'"' | b'\\' | b'/' => (Some(char::from(next)), 2),
            b'b' => (Some('\u{8}'), 2),
            b'f' => (Some('\u{c}'), 2),
            b'n' => (Some('\n'), 2),
            b'r' => (Some('\r'), 2),
            b't' => (Some('\t'), 2),
            b'\'' | b'`' if next == b'\'' || quote == Quote::Backtick => {
                decoded.odd_escape = true;
                (Some(char::from(next)), 2)
            }
            // Python and JavaScript have `\xXX`. Nobody writes printable ASCII this way, but folders look like it: `bin\x64`.
            b'x' if quote == Quote::Single => match hex(raw, at, "\\x", 2) {
                Some(code @ (0..0x20 | 0xa0..)) => (char::from_u32(u32::from(code)), 4),
                _ => (None, 0),
            },
            b'u' => {
                let units = [code_unit(raw, at), code_unit(raw, at + 6)].into_iter().map_while(|unit| unit);
                match char::decode_utf16(units).next() {
                    Some(Ok(character)) => (Some(character), 6 * character.len_utf16()),
                    Some(Err(_)) => {
                        decoded.lone_surrogate = true;
                        (None, 6)
                    }
                    None => (None, 0),
                }
            }
            _ => (None, 0),
        };
        if length == 0 {
            decoded.odd_escape = true;
            at += 1;
            continue;
        }
        if from == 0 {
            text.reserve(raw.len());
        }
        text.push_str(&raw[from..at]);
        text.extend(character);
        at += length;
        from = at;
    }
    if from > 0 {
        text.push_str(&raw[from..]);
        decoded.text = Cow::Owned(text);
    }
    decoded
}

/// The UTF-16 code unit of the `\uXXXX` at `at`; `None` if there is none.
pub(crate) fn code_unit(text: &str, at: usize) -> Option<u16> {
    hex(text, at, "\\u", 4)
}

/// The value of the hexadecimal digits after `prefix` at `at`.
fn hex(text: &str, at: usize, prefix: &str, digits: usize) -> Option<u16> {
    let digits = text.get(at..at + prefix.len() + digits)?.strip_prefix(prefix)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}
