//! Splits a JSON-like object into members, or an array into elements, one level deep, as slices of the source. Reads strict JSON
//! and its usual variations (single quotes, bare keys, trailing commas, a missing brace at the end). Values are not validated.

use std::fmt::Display;

use super::{Start, value::runs_on};
use crate::json::{
    extent::{self, closing_quote},
    lex::is_odd_space,
};

/// What a string may begin with.
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The members of an object in source order: the key without quotes, and the value as written. `None`: the text does not begin as
/// an object. A broken value extends to the end of the text without the object's closing brace, so that nothing of it is lost.
pub(crate) fn members(text: &str) -> Option<Vec<(String, &str)>> {
    let mut out = Vec::new();
    let mut rest = text.trim().strip_prefix('{')?;
    let mut last = "";
    // Quotes inside the value are not escaped. The rest of the text belongs to it, except for the closing brace.
    let whole = |value: &str| {
        let whole = value.trim_end();
        whole.strip_suffix('}').unwrap_or(whole).trim_end().len()
    };
    loop {
        rest = beyond_gap(rest);
        if rest.is_empty() || rest.starts_with('}') {
            // An escape, a quote or no member after the object: its brace was part of the string.
            let after = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '}' | ']' | ')'));
            if runs_on(after, true) != Start::No
                && let Some((_, value)) = out.last_mut()
            {
                *value = &last[..whole(last)];
            }
            return Some(out);
        }
        let (key, after) = key(rest)?;
        let after = beyond_comments(after);
        // An extra colon is skipped.
        let value = beyond_comments(after.trim_start_matches([':', '=']));
        if value.len() == after.len() {
            return None;
        }
        let end = value_end(value);
        let follows = beyond_comments(&value[end..]);
        // The object's own brace is missing, and at most the bracket of a list around it follows.
        let is_last = follows.trim_matches(|c: char| c.is_whitespace() || c == ']').is_empty();
        if !is_last && !follows.starts_with([',', ';', '}']) {
            out.push((key, &value[..whole(value)]));
            return Some(out);
        }
        out.push((key, value[..end].trim_end()));
        (last, rest) = (value, if is_last { "" } else { follows });
    }
}

/// The elements of an array, as written. `None`: the text does not begin as an array.
pub(crate) fn elements(text: &str) -> Option<Vec<&str>> {
    let mut out = Vec::new();
    let mut rest = text.trim().strip_prefix('[')?;
    loop {
        rest = beyond_gap(rest);
        if rest.is_empty() || rest.starts_with(']') {
            return Some(out);
        }
        let begun = rest;
        let end = value_end(rest).max(rest.chars().next().map_or(1, char::len_utf8));
        out.push(rest[..end].trim_end());
        rest = &rest[end..];
        // A quote or no object after an object: its brace was inside a string, and the rest of the text belongs to it.
        let follows = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '}');
        if begun.starts_with('{')
            && runs_on(follows, true) != Start::No
            && let Some(element) = out.last_mut()
        {
            let whole = begun.trim_end();
            *element = whole.strip_suffix(']').unwrap_or(whole).trim_end();
            return Some(out);
        }
    }
}

/// Skips whitespace, commas or semicolons, and comments.
fn beyond_gap(text: &str) -> &str {
    let mut rest = beyond_comments(text);
    while let Some(after) = rest.strip_prefix([',', ';']) {
        rest = beyond_comments(after);
    }
    rest
}

/// Skips whitespace, including characters that only models use as such (a byte order mark), and comments. An unterminated comment
/// extends to the end of the text.
pub(super) fn beyond_comments(text: &str) -> &str {
    let mut rest = text.trim_start_matches(is_odd_space);
    while let Some(end) = comment(rest) {
        rest = rest[end.unwrap_or(rest.len())..].trim_start_matches(is_odd_space);
    }
    rest
}

/// The end of the comment that `text` begins with. `Some(None)`: its end is not there yet.
pub(super) fn comment(text: &str) -> Option<Option<usize>> {
    if text.starts_with("/*") {
        return Some(text.find("*/").map(|at| at + 2));
    }
    text.starts_with(['/', '#']).then_some(())?;
    (text.starts_with("//") || text.starts_with("# ")).then(|| text.find('\n'))
}

/// Writes members, whose values are JSON text, as an object.
pub(crate) fn object<'m, V: Display + 'm>(members: impl IntoIterator<Item = &'m (String, V)>) -> String {
    let member = |(key, value): &(String, V)| format!("{}:{value}", serde_json::Value::from(key.as_str()));
    format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
}

/// The text of a string value, without quotes and with JSON's escapes resolved. A bare word stays as it is.
pub(crate) fn unquote(value: &str) -> String {
    if let Ok(text) = serde_json::from_str::<String>(value) {
        return text;
    }
    value.trim().trim_matches(QUOTES).to_owned()
}

/// Whether a string or bracketed value is closed by its last character.
pub(crate) fn is_closed(value: &str) -> bool {
    let value = value.trim();
    match value.as_bytes().first() {
        Some(b'{' | b'[' | b'(') => extent::end(value) == Some(value.len()),
        _ => value.starts_with(QUOTES) && string_end(value) == Some(value.len()),
    }
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
        Some(b'{' | b'[') => extent::end(text).unwrap_or(text.len()),
        _ if text.starts_with(QUOTES) => string_end(text).unwrap_or(text.len()),
        _ => bare_end(text),
    }
}

/// The end of a value without quotes. What it puts into brackets is a part of it: `({"a": 1, "b": 2})`, `dict(a=1, b=2)`.
fn bare_end(text: &str) -> usize {
    let mut at = 0;
    loop {
        let Some(found) = text[at..].find([',', '}', ']', '(', '{', '[']) else { return text.len() };
        at += found;
        if text[at..].starts_with([',', '}', ']']) {
            return at;
        }
        match extent::end(&text[at..]) {
            Some(length) => at += length,
            None => return text.len(),
        }
    }
}

/// The offset after the closing quote of the string that `text` begins with.
fn string_end(text: &str) -> Option<usize> {
    closing_quote(text, 1, *text.as_bytes().first()?)
}
