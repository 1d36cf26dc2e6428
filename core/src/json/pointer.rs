//! JSON pointers (RFC 6901). A walk over a tree extends and truncates one `String`.

use std::fmt::Write as _;

/// Appends a member's key, escaped.
pub(crate) fn push_key(path: &mut String, key: &str) {
    path.push('/');
    for c in key.chars() {
        match c {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            c => path.push(c),
        }
    }
}

/// Appends an item's index.
pub(crate) fn push_index(path: &mut String, at: usize) {
    _ = write!(path, "/{at}");
}
