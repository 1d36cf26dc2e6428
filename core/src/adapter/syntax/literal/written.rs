//! The text of a string. The fixer may read an escape as two characters (`C:\new`), but never a character that is there as itself: a
//! line break between quotes is a line break.

use crate::adapter::syntax::typing::verbatim;

/// The JSON text of a string with the escapes of Python and JSON. An escape that JSON has too stays one, which the fixer may doubt.
/// Any other backslash stays. A `\U`, `\u` or `\x` without its digits is an error in Python, so the model does not escape, and only
/// quotes and doubled backslashes are escapes (`"C:\Users\new"`).
pub(super) fn escaped(source: &str) -> String {
    let escapes = !has_broken_code(source);
    // What was read, and the text after it that is not written yet.
    let (mut json, mut raw, mut rest) = (String::new(), String::new(), source);
    let write = |json: &mut String, raw: &mut String| {
        let text = verbatim(&std::mem::take(raw));
        json.push_str(&text[1..text.len() - 1]);
    };
    while let Some((before, tail)) = rest.split_once('\\') {
        raw.push_str(before);
        let length = match (tail.bytes().next(), code(tail).filter(|_| escapes)) {
            (Some(b'n' | b't' | b'r' | b'b' | b'f'), _) if escapes => {
                write(&mut json, &mut raw);
                json.push_str(&rest[before.len()..before.len() + 2]);
                1
            }
            (Some(b'\n'), _) if escapes => 1,
            (_, Some((character, length))) => {
                raw.push(character);
                length
            }
            (Some(b'\\' | b'\'' | b'"'), None) => {
                raw.push_str(&tail[..1]);
                1
            }
            _ => {
                raw.push('\\');
                0
            }
        };
        rest = &tail[length..];
    }
    raw.push_str(rest);
    write(&mut json, &mut raw);
    format!("\"{json}\"")
}

/// Whether a character code lacks its digits.
fn has_broken_code(text: &str) -> bool {
    let mut rest = text;
    while let Some((_, tail)) = rest.split_once('\\') {
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
