//! The text of a string, and how it was written. The fixer may read an escape as two characters (`C:\new`), but never a character
//! that is there as itself: a line break between quotes is a line break.

use std::ops::Deref;

use crate::adapter::syntax::typing::verbatim;

/// The text of a string. As JSON, an escape stays an escape that the fixer may doubt, and a raw control character is spelled out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Written {
    text: String,
    /// A JSON string without its quotes.
    json: String,
}

impl Deref for Written {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl Written {
    /// A text without escapes.
    pub(super) fn raw(text: &str) -> Written {
        let mut written = Written { text: String::new(), json: String::new() };
        written.push_raw(text);
        written
    }

    /// Resolves the escapes of Python and JSON. Any other backslash stays. A `\U`, `\u` or `\x` without its digits is an error in
    /// Python, so the model does not escape, and only quotes and doubled backslashes are escapes (`"C:\Users\new"`).
    pub(super) fn escaped(source: &str) -> Written {
        let escapes = !has_broken_code(source);
        let mut written = Written { text: String::with_capacity(source.len()), json: String::new() };
        let mut rest = source;
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            written.push_raw(&rest[..at]);
            let tail = &rest[at + 1..];
            let control = match tail.as_bytes().first() {
                Some(b'n') => Some(("\n", "\\n")),
                Some(b't') => Some(("\t", "\\t")),
                Some(b'r') => Some(("\r", "\\r")),
                Some(b'b') => Some(("\u{8}", "\\b")),
                Some(b'f') => Some(("\u{c}", "\\f")),
                Some(b'\n') => Some(("", "")),
                _ => None,
            };
            rest = match (control.filter(|_| escapes), code(tail).filter(|_| escapes)) {
                (Some((text, json)), _) => {
                    written.text.push_str(text);
                    written.json.push_str(json);
                    &tail[1..]
                }
                (None, Some((character, length))) => {
                    written.push_raw(character.encode_utf8(&mut [0; 4]));
                    &tail[length..]
                }
                (None, None) => {
                    let literal = tail.bytes().next().filter(|byte| matches!(byte, b'\\' | b'\'' | b'"'));
                    written.push_raw(if literal.is_some() { &tail[..1] } else { "\\" });
                    &tail[usize::from(literal.is_some())..]
                }
            };
        }
        written.push_raw(rest);
        written
    }

    fn push_raw(&mut self, text: &str) {
        let json = verbatim(text);
        self.text.push_str(text);
        self.json.push_str(&json[1..json.len() - 1]);
    }

    /// The text as a JSON string.
    pub(crate) fn json(&self) -> String {
        format!("\"{}\"", self.json)
    }
}

/// Whether a character code lacks its digits.
fn has_broken_code(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let tail = &rest[at + 1..];
        let code = code(tail);
        if code.is_none() && tail.starts_with(['x', 'u', 'U']) {
            return true;
        }
        let length = code.map_or_else(|| tail.chars().next().map_or(0, char::len_utf8), |(_, length)| length);
        rest = &tail[length..];
    }
    false
}

/// The character of a code and the code's length: `x41`, `u0041`, `U00000041`, a surrogate pair, or octal after a zero: `033`.
fn code(tail: &str) -> Option<(char, usize)> {
    let hex = |from: usize, length: usize| {
        let digits = tail.get(from..from + length)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
    };
    let digits = match tail.as_bytes().first()? {
        b'0' => {
            let length = tail.bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            return Some((char::from_u32(u32::from_str_radix(&tail[..length], 8).ok()?)?, length));
        }
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        _ => return None,
    };
    let number = hex(1, digits)?;
    if (0xd800..0xdc00).contains(&number) && tail.get(5..7) == Some("\\u") {
        let low = hex(7, 4).filter(|low| (0xdc00..0xe000).contains(low))?;
        return Some((char::from_u32(0x10000 + ((number - 0xd800) << 10) + (low - 0xdc00))?, 11));
    }
    Some((char::from_u32(number)?, 1 + digits))
}
