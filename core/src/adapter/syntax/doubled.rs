//! Objects in which every brace is doubled. A model writes them if it was shown a template with escaped braces.

use super::members::is_closed;

/// What such an object begins with.
pub(super) const DOUBLED: &str = "{{";

/// Halves all doubled braces outside strings. If the brackets are not balanced then, only the outermost braces were doubled.
pub(super) fn halved(value: &str, open: bool) -> String {
    let (mut out, mut chars, mut quoted) = (String::with_capacity(value.len()), value.chars().peekable(), false);
    while let Some(c) = chars.next() {
        out.push(c);
        match c {
            '\\' if quoted => out.extend(chars.next()),
            '"' => quoted = !quoted,
            '{' | '}' if !quoted => _ = chars.next_if_eq(&c),
            _ => {}
        }
    }
    if open || is_closed(&out) {
        return out;
    }
    value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::halved;

    #[test]
    fn braces_are_halved_outside_of_strings() {
        for (text, open, want) in [
            (r#"{{"a": {{"b": "{{x}}"}}}}"#, false, r#"{"a": {"b": "{{x}}"}}"#),
            (r#"{{"a": "\"}}"}}"#, false, r#"{"a": "\"}}"}"#),
            // Only the outer ones are doubled, around one object and around two.
            (r#"{{"a": {"b": 1}}}"#, false, r#"{"a": {"b": 1}}"#),
            (r#"{{"a": {"b": {"c": 1}}}}"#, false, r#"{"a": {"b": {"c": 1}}}"#),
            (r#"{{"a": {{"b": 1"#, true, r#"{"a": {"b": 1"#),
        ] {
            assert_eq!(halved(text, open), want, "{text}");
        }
    }
}
