//! Reads what precedes the arguments of a Python call: its name, and what may be around it (`print(`, an assignment).

use super::super::{WORD_BYTES, blank, markdown::name_length};

/// What precedes the arguments.
pub(super) enum Head {
    /// The head of a call: its name, the offset of its parenthesis, the number of parentheses opened before it, and the variable
    /// that it is assigned to.
    Call {
        name: String,
        open: usize,
        around: usize,
        variable: Option<String>,
    },
    /// A line of this length that calls nothing.
    Skip(usize),
    Maybe,
    No,
}

/// Reads the head of the call that `text` begins with. `lines`: the calls have a place of their own, so comments, assignments and
/// `print` may be around them, unless a tool has that name (`prints`).
pub(super) fn head(text: &str, lines: bool, prints: bool, assigned: &[String]) -> Head {
    if lines && text.starts_with('#') {
        return text.find('\n').map_or(Head::Maybe, Head::Skip);
    }
    let (mut at, mut around, mut variable) = (0, 0, None);
    loop {
        let rest = &text[at..];
        // The window bounds the cost: heads are tried at many positions.
        let window = &rest[..rest.floor_char_boundary(WORD_BYTES + 1)];
        let foreign = window.bytes().position(|byte| !byte.is_ascii());
        let Some(length) = name_length(window, "_-.").into_iter().chain(foreign).min() else {
            return if text.len() > WORD_BYTES { Head::No } else { Head::Maybe };
        };
        let word = &rest[..length];
        if !word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || at + length > WORD_BYTES {
            return Head::No;
        }
        let gap = if lines { rest[length..].len() - rest[length..].trim_start_matches(' ').len() } else { 0 };
        let tail = &rest[length + gap..];
        at += length + gap;
        match tail.as_bytes() {
            [] => return Head::Maybe,
            [b'(', inner @ ..] if lines && !prints && word == "print" => {
                if inner.is_empty() {
                    return Head::Maybe;
                }
                if let Some((shown, _)) = tail[1..].split_once(')')
                    && assigned.iter().any(|name| name == shown.trim())
                {
                    return Head::Skip(at + shown.len() + 2);
                }
                at += 1;
                around += 1;
            }
            [b'(', ..] => return Head::Call { name: word.to_owned(), open: at, around, variable },
            [b'='] => return Head::Maybe,
            [b'=', next, ..] if lines && *next != b'=' && variable.is_none() && around == 0 => {
                variable = Some(word.to_owned());
                at += 1 + blank(&tail[1..]);
                if at == text.len() {
                    return Head::Maybe;
                }
            }
            _ => return Head::No,
        }
    }
}
