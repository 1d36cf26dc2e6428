//! Unquoted values: a word of JSON or Python, a number in any notation, a null.

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
    let digits: String = text.chars().filter(|&c| c != '_').collect();
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return i64::from_str_radix(hex, 16).ok().map(|number| number.to_string());
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return None;
    }
    match digits.parse::<i64>() {
        Ok(number) => Some(number.to_string()),
        Err(_) => digits.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number.to_string()),
    }
}

/// Whether the text is a null of another language.
pub(super) fn is_null(text: &str) -> bool {
    matches!(text, "none" | "nil" | "NULL" | "Null" | "undefined")
}
