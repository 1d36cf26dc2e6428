//! Tests what follows a position: whether a value may end there, and whether a key follows.

use super::{Dialect, KEY_BYTES, Literal};
use crate::{
    adapter::syntax::expression::awaits_operand,
    adapter::syntax::{Start, ahead::Seen, blank, markdown::name_length, starts_with_any},
    fix::name::fold,
};

const WORDS: [&str; 6] = ["True", "False", "None", "true", "false", "null"];

/// The key that `text` begins with, and its length including `:` or `=`.
pub(super) fn key(text: &str, dialect: Dialect<'_>) -> Seen<(String, usize)> {
    let open = if dialect.end { Seen::No } else { Seen::Maybe };
    let Some(&first) = text.as_bytes().first() else { return open };
    let (from, length) = match first {
        b'"' | b'\'' => (1, text.bytes().skip(1).take(KEY_BYTES).position(|byte| byte == first)),
        _ => match starts_with_any(text, dialect.delimiters, dialect.end) {
            Start::Maybe => return Seen::Maybe,
            Start::Yes(length) => {
                let delimiter = &text[..length];
                let found = text[length..].find(delimiter).filter(|&at| at <= KEY_BYTES);
                (length, found)
            }
            Start::No => {
                let window = &text[..text.floor_char_boundary(KEY_BYTES)];
                (0, if dialect.loose { words_length(window) } else { name_length(window, "_-.$") })
            }
        },
    };
    let Some(length) = length else { return if text.len() > from + KEY_BYTES { Seen::No } else { open } };
    let name = &text[from..from + length];
    if name.is_empty() || name.starts_with(' ') {
        return Seen::No;
    }
    let mut at = from + length + from;
    at += blank(&text[at..]);
    match text.as_bytes().get(at..) {
        None | Some([]) => open,
        Some([b'=', b'=', ..]) => Seen::No,
        Some([b'=']) if !dialect.end => Seen::Maybe,
        Some([b':' | b'=', ..]) => Seen::Yes((name.to_owned(), at + 1)),
        Some(_) => Seen::No,
    }
}

impl Literal {
    /// Whether a value of the innermost brackets may end before `at`.
    pub(super) fn follows(&self, text: &str, at: usize, dialect: Dialect<'_>) -> Start {
        let open = if dialect.end { Start::No } else { Start::Maybe };
        let mut at = at;
        let mut inner = self.stack.len();
        while let Some(frame) = inner.checked_sub(1).and_then(|index| self.stack.get(index)) {
            at += blank(&text[at..]);
            let Some(&byte) = text.as_bytes().get(at) else { return open };
            if byte == frame.close {
                inner -= 1;
                at += 1;
                continue;
            }
            if byte != b',' {
                return Start::No;
            }
            let next = at + 1 + blank(&text[at + 1..]);
            let Some(&byte) = text.as_bytes().get(next) else { return open };
            if byte == frame.close {
                return Start::Yes(0);
            }
            if frame.close == b']' {
                let begins = matches!(byte, b'"' | b'\'' | b'{' | b'[' | b'(' | b'-' | b'0'..=b'9') || dialect.loose;
                let rest = &text[next..];
                let word = |fits: &dyn Fn(&str) -> bool| WORDS.into_iter().any(fits);
                return match begins || word(&|word| rest.starts_with(word)) {
                    true => Start::Yes(0),
                    false if !dialect.end && word(&|word| word.starts_with(rest)) => Start::Maybe,
                    false => Start::No,
                };
            }
            return match key(&text[next..], dialect) {
                Seen::Yes((key, _)) if inner == 1 && !known(dialect.keys, &key) => Start::No,
                Seen::Yes((..)) => Start::Yes(0),
                Seen::Maybe => Start::Maybe,
                Seen::No => Start::No,
            };
        }
        (dialect.ends)(&text[at..])
    }
}

/// The length of a key of one or more words: `first name`.
fn words_length(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += name_length(&text[at..], "_-.$")?;
        match text.as_bytes().get(at + 1) {
            _ if !text[at..].starts_with(' ') => return Some(at),
            None => return None,
            Some(next) if next.is_ascii_alphanumeric() || *next >= 0x80 => at += 1,
            Some(_) => return Some(at),
        }
    }
}

/// Whether a key may belong to the outermost brackets. A key of several words must be a parameter: it looks like text before a
/// colon.
pub(super) fn known(keys: &[String], key: &str) -> bool {
    let folded = fold(key);
    (keys.is_empty() && !key.contains(' ')) || keys.iter().any(|known| fold(known) == folded)
}

/// Whether the quotes before `at` and at `next`, with nothing but a plus and blanks between them, may be in a string of code whose
/// quotes are not escaped: `case "+":`, `x = " "`. Strings that are joined are mostly on lines of their own.
pub(super) fn is_in_code(text: &str, at: usize, next: usize) -> bool {
    let before = text[..at].trim_end().strip_suffix(['"', '\'']).unwrap_or_default();
    let between = &text[before.len()..next];
    let spaced = before.ends_with(char::is_whitespace) && !text[next + 1..].starts_with(|c: char| c.is_alphanumeric());
    let glued = !between.contains('+') || !between.contains(char::is_whitespace);
    !between.contains('\n') && (awaits_operand(before) || spaced && glued)
}
