//! The members of a JSON-like object or the elements of an array, one level deep, as slices of the source: strict JSON and
//! what models make of it (single quotes, bare keys, trailing commas, a missing brace at the end). Values are not judged here.

use crate::json::{extent::Extent, lex::is_odd_space};

/// Quotes that are written in place of `"`, from the left and from the right.
const TYPOGRAPHIC: [char; 4] = ['\u{201c}', '\u{201e}', '\u{201d}', '\u{201f}'];
/// What a string may begin with.
const QUOTES: [char; 7] = ['"', '\'', '`', TYPOGRAPHIC[0], TYPOGRAPHIC[1], TYPOGRAPHIC[2], TYPOGRAPHIC[3]];

/// The members of an object, in source order: (key without quotes, value as written).
/// `None` if the text does not begin as an object. A value that is broken runs to the end of the text without the
/// object's own closing brace, so that nothing of it is lost.
pub(crate) fn members(text: &str) -> Option<Vec<(String, &str)>> {
    let mut out = Vec::new();
    let mut rest = text.trim().strip_prefix('{')?;
    let mut last = "";
    // Out of step: quotes inside of the value are not escaped. What is left belongs to it, less the closing brace.
    let whole = |value: &str| {
        let whole = value.trim_end();
        whole.strip_suffix('}').unwrap_or(whole).trim_end().len()
    };
    loop {
        rest = beyond_gap(rest);
        if rest.is_empty() || rest.starts_with('}') {
            // An escape after the object: its brace was one of the string's.
            if rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '}' | ']' | ')')).starts_with('\\')
                && let Some((_, value)) = out.last_mut()
            {
                *value = &last[..whole(last)];
            }
            return Some(out);
        }
        let (key, after) = key(rest)?;
        let after = beyond_comments(after);
        // A colon too many, and one quote too many after a word (`"f"", ..`), are passed over.
        let value = beyond_comments(after.trim_start_matches([':', '=']));
        if value.len() == after.len() {
            return None;
        }
        // A stray sign before the value.
        let value =
            value.strip_prefix(['>', ')', ']', '}', '<', '=']).filter(|rest| rest.starts_with(['{', '[', '"'])).unwrap_or(value);
        let end = value_end(value);
        let rest_of_value = &value[end..];
        let twin =
            rest_of_value.strip_prefix('"').filter(|rest| rest.trim_start().starts_with([',', '}']) && is_word(&value[..end]));
        let follows = beyond_comments(twin.unwrap_or(rest_of_value));
        let lacks_comma =
            || is_word(&value[..end]) && self::key(follows).is_some_and(|(_, after)| after.trim_start().starts_with(':'));
        // The bracket of a list around the object, whose own brace is missing.
        let is_around = || follows.starts_with(']') && follows.trim_matches(|c: char| c.is_whitespace() || c == ']').is_empty();
        if follows.is_empty() || follows.starts_with([',', ';', '}']) || lacks_comma() {
            out.push((key, value[..end].trim_end()));
            (last, rest) = (value, follows);
        } else if is_around() {
            out.push((key, value[..end].trim_end()));
            return Some(out);
        } else {
            out.push((key, &value[..whole(value)]));
            return Some(out);
        }
    }
}

/// The elements of an array, as written. `None` if the text does not begin as an array.
pub(crate) fn elements(text: &str) -> Option<Vec<&str>> {
    let mut out = Vec::new();
    let mut rest = text.trim().strip_prefix('[')?;
    loop {
        rest = beyond_gap(rest);
        if rest.is_empty() || rest.starts_with(']') {
            return Some(out);
        }
        // A brace too many.
        if let Some(after) = rest.strip_prefix('}') {
            rest = after;
            continue;
        }
        let end = value_end(rest).max(rest.chars().next().map_or(1, char::len_utf8));
        out.push(rest[..end].trim_end());
        rest = &rest[end..];
    }
}

/// After whitespace, commas (or semicolons in their place) and comments.
fn beyond_gap(text: &str) -> &str {
    let mut rest = beyond_comments(text);
    while let Some(after) = rest.strip_prefix([',', ';']) {
        rest = beyond_comments(after);
    }
    rest
}

/// After whitespace, also what only a model writes as such (a byte order mark), and comments. A comment that does not end takes the
/// rest of the text.
pub(super) fn beyond_comments(text: &str) -> &str {
    let mut rest = text.trim_start_matches(is_odd_space);
    while let Some(end) = comment(rest) {
        rest = rest[end.unwrap_or(rest.len())..].trim_start_matches(is_odd_space);
    }
    rest
}

/// Where the comment ends that `text` begins with; `Some(None)` if its end has not come.
pub(super) fn comment(text: &str) -> Option<Option<usize>> {
    if text.starts_with("/*") {
        return Some(text.find("*/").map(|at| at + 2));
    }
    text.starts_with(['/', '#']).then_some(())?;
    (text.starts_with("//") || text.starts_with("# ")).then(|| text.find('\n'))
}

/// The text of a string value without its quotes and with JSON's escapes resolved; a bare word as it is.
pub(crate) fn unquote(value: &str) -> String {
    if let Ok(text) = serde_json::from_str::<String>(value) {
        return text;
    }
    value.trim().trim_matches(QUOTES).to_owned()
}

/// Whether a string or a bracketed value is closed by its own last character.
pub(crate) fn is_closed(value: &str) -> bool {
    let value = value.trim();
    match value.as_bytes().first() {
        Some(b'{' | b'[') => Extent::default().feed(value.as_bytes()) == Some(value.len()),
        _ => value.starts_with(QUOTES) && string_end(value) == Some(value.len()),
    }
}

/// Whether a bracketed value lacks a closing bracket.
pub(crate) fn is_open(value: &str) -> bool {
    Extent::default().feed(value.as_bytes()).is_none()
}

/// Whether a value is one word in quotes: no quote inside of it lacks its escape.
fn is_word(value: &str) -> bool {
    let word = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    word.is_some_and(|word| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_-.:".contains(c)))
}

fn key(text: &str) -> Option<(String, &str)> {
    if text.starts_with(QUOTES) {
        let end = string_end(text)?;
        return Some((unquote(&text[..end]), &text[end..]));
    }
    let end = text.find(|c: char| !(c.is_alphanumeric() || "_$-.".contains(c))).unwrap_or(text.len());
    (end > 0).then(|| (text[..end].to_owned(), &text[end..]))
}

fn value_end(text: &str) -> usize {
    match text.as_bytes().first() {
        Some(b'{' | b'[') => Extent::default().feed(text.as_bytes()).unwrap_or(text.len()),
        _ if text.starts_with(QUOTES) => string_end(text).unwrap_or(text.len()),
        _ => text.find([',', '}', ']']).unwrap_or(text.len()),
    }
}

/// After the closing quote of the string that `text` begins with.
fn string_end(text: &str) -> Option<usize> {
    if let Some(inside) = text.strip_prefix(TYPOGRAPHIC) {
        let (at, quote) = inside.char_indices().find(|(_, c)| *c == '"' || TYPOGRAPHIC.contains(c))?;
        return Some(text.len() - inside.len() + at + quote.len_utf8());
    }
    let bytes = text.as_bytes();
    let quote = *bytes.first()?;
    let mut at = 1;
    loop {
        at += memchr::memchr2(quote, b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&quote) {
            return Some(at + 1);
        }
        at += 2;
    }
}
