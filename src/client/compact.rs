//! Removes the whitespace between the tokens of a JSON text. The tokens stay as they were written.

/// Removes whitespace outside of strings. The text must be valid JSON.
pub(crate) fn compact(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let keep = |c: &char| {
        let space = !in_string && c.is_ascii_whitespace();
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = in_string,
            '"' => in_string = !in_string,
            _ => {}
        }
        !space
    };
    json.chars().filter(keep).collect()
}
