//! Unquoted values: a word of JSON or Python, a number in any notation, a null.

use std::borrow::Cow;

use crate::json::number::respell;

/// The JSON text of a number, `true`, `false` or `null` in the notation of JSON or Python.
pub(super) fn atom(text: &str) -> Option<String> {
    match text {
        "True" => Some("true".to_owned()),
        "False" => Some("false".to_owned()),
        "None" => Some("null".to_owned()),
        _ if text.starts_with(['"', '{', '[']) || text.trim() != text => None,
        _ => serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok().then(|| text.to_owned()),
    }
}

/// The JSON text of a number in a notation that JSON lacks: `007`, `1_000`, `+3`, `.5`, `0x1F`.
pub(super) fn number(text: &str) -> Option<String> {
    // `5e` is a word: nothing was cut here.
    let is_word = text.ends_with(['e', 'E', '+', '-']) && !text.contains(['x', 'X']);
    respell(text).filter(|_| !is_word).map(Cow::into_owned)
}

/// Whether the text is a null of another language.
pub(super) fn is_null(text: &str) -> bool {
    matches!(text, "none" | "nil" | "NULL" | "Null" | "undefined")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        for (text, expected) in [
            ("007", Some("7")),
            ("1_000_000_000_000_000_000_001", Some("1000000000000000000001")),
            (".50", Some("0.50")),
            ("0x1E", Some("30")),
            ("5e", None),
            ("1-2", None),
        ] {
            assert_eq!(number(text).as_deref(), expected, "{text}");
        }
    }
}
