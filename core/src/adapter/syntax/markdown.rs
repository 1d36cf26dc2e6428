//! Calls escaped for Markdown: `solve\_quadratic(a=2)`. Models trained on rendered pages write a backslash before every
//! underscore, also in names and keys, where a backslash is never valid.

use std::borrow::Cow;

use super::{Parsed, members::members};

const ESCAPED: &str = "\\_";

/// Removes Markdown's backslashes from a name or key.
pub(super) fn plain(word: &str) -> Cow<'_, str> {
    if word.contains(ESCAPED) { Cow::Owned(word.replace(ESCAPED, "_")) } else { Cow::Borrowed(word) }
}

/// Removes Markdown's backslashes from a call's name and keys. Its values stay as they are written.
pub(super) fn unescaped(call: Parsed) -> Parsed {
    let keys = call.arguments.contains(ESCAPED).then(|| members(&call.arguments)).flatten().unwrap_or_default();
    let keys: Vec<String> = keys.into_iter().map(|(key, _)| key).filter(|key| key.contains(ESCAPED)).collect();
    // JSON writes a backslash as two.
    let unescape = |text: String, key: &String| {
        text.replacen(&key.replace('\\', "\\\\"), &plain(key), 1).replacen(key.as_str(), &plain(key), 1)
    };
    let arguments = keys.iter().fold(call.arguments, unescape);
    Parsed { name: plain(&call.name).into_owned(), arguments, ..call }
}

/// The length of the name that `text` begins with: letters, digits and `marks`. `None`: it may continue after the end of the
/// text.
pub(super) fn name_length(text: &str, marks: &str) -> Option<usize> {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let escape = c == '\\' && chars.peek().is_none_or(|&(_, next)| next == '_');
        if !(c.is_alphanumeric() || marks.contains(c) || escape) {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &str) -> Parsed {
        Parsed::new(name, arguments)
    }

    #[test]
    fn names_and_keys_are_unescaped() {
        for (written, meant) in [
            (call(r"find\_all", r#"{"path": "a\_b"}"#), call("find_all", r#"{"path": "a\_b"}"#)),
            (call("find", r#"{"max\_size": 1, "path": "a\_b"}"#), call("find", r#"{"max_size": 1, "path": "a\_b"}"#)),
            (call("find_all", r#"{"path": "a\_b"}"#), call("find_all", r#"{"path": "a\_b"}"#)),
        ] {
            assert_eq!(unescaped(written), meant);
        }
    }

    #[test]
    fn a_backslash_belongs_to_a_name_only_before_an_underscore() {
        assert_eq!(name_length(r"a\_b(", "_"), Some(4));
        assert_eq!(name_length(r"a\b(", "_"), Some(1));
        assert_eq!(name_length(r"a\", "_"), None);
    }
}
