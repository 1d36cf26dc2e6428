//! Types values that a model wrote as bare text. The tool's schema decides whether a text stays a string or is the number, list
//! or `null` that it looks like. The fixer, not this module, converts what does not fit.

use std::borrow::Cow;

use serde_json::Value;

use super::markdown::plain;
use crate::{
    fix::{End, Place, Verdict, fix},
    json::{extent, number::respell},
};

/// What the form says about a value's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Hint {
    /// Nothing: the schema decides.
    #[default]
    None,
    /// It is a string.
    Text,
    /// JSON, unless the schema wants a string.
    Json,
}

/// Whether the tool has this parameter, which may be escaped for Markdown.
pub(crate) fn has(root: Place<'_>, key: &str) -> bool {
    root.has(&plain(key))
}

/// Whether a call with exactly these parameters is complete: the tool has all of them and requires no other.
pub(crate) fn takes<'k>(root: Place<'_>, given: impl Iterator<Item = &'k str> + Clone) -> bool {
    given.clone().all(|key| has(root, key)) && root.required().all(|required| given.clone().any(|key| key == required))
}

/// The place of a parameter.
pub(crate) fn parameter<'v>(root: Place<'v>, key: &str) -> Place<'v> {
    root.property(&plain(key))
}

/// The value of a parameter as JSON text.
pub(crate) fn argument(root: Place<'_>, key: &str, text: &str, hint: Hint) -> String {
    value(parameter(root, key), text, hint)
}

/// Writes a text without escapes as a JSON string. Control characters are written as `\u000a`, so that the fixer does not take
/// them for escapes in a path that the model wrote.
pub(super) fn verbatim(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\0'..' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    format!("\"{out}\"")
}

/// Writes a text as JSON: the literal that it spells if the schema accepts it in this place, else a string.
pub(crate) fn value(place: Place<'_>, text: &str, hint: Hint) -> String {
    let string = || verbatim(text);
    if hint == Hint::Text || (hint == Hint::None && place.is_plain_string()) {
        return string();
    }
    let Some((written, literal)) = literal(text) else {
        // `007` where no string is allowed: the vendors' parsers read decimals (`int()` in vLLM's).
        let decimal = place.is_known() && text.bytes().all(|byte| byte.is_ascii_digit()) && !place.may_be(&Value::from(text));
        return decimal.then(|| respell(text)).flatten().map_or_else(string, Cow::into_owned);
    };
    if !place.is_known() {
        return written;
    }
    let as_text = place.accepts(&Value::from(text));
    // A listed constant accepts this text and no other.
    if as_text == Some(true) && place.accepts(&Value::from(format!("{text}\0"))) == Some(false) {
        return string();
    }
    if literal.is_string() && hint == Hint::None && !place.is_untyped() {
        return string();
    }
    match (place.accepts(&literal), as_text) {
        (Some(true), _) | (_, Some(false)) => written,
        _ => string(),
    }
}

/// The JSON or Python literal that a text spells: its JSON text with numbers as written, and its value.
fn literal(text: &str) -> Option<(String, Value)> {
    let text = text.trim();
    let word = match text {
        "True" => "true",
        "False" => "false",
        "None" => "null",
        other => other,
    };
    if let Ok(value) = serde_json::from_str(word) {
        return Some((word.to_owned(), value));
    }
    let whole = text.starts_with(['{', '[']) && extent::end(text) == Some(text.len());
    let report = whole.then(|| fix(text, None, &[], End::Closed)).filter(|report| report.verdict <= Verdict::Lossless)?;
    let json = report.arguments?;
    let value = serde_json::from_str(&json).ok()?;
    Some((json, value))
}

#[cfg(test)]
mod tests;
