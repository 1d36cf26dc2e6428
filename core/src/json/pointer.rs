//! JSON pointers (RFC 6901). A walk over a tree extends and truncates one `String`; a pointer that is kept is a [`Pointer`].

use std::fmt;
use std::fmt::Write as _;
use std::ops::Deref;

/// A JSON pointer.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Pointer(Box<str>);

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

impl Pointer {
    /// The pointer as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Pointer {
    fn from(text: &str) -> Pointer {
        Pointer(text.into())
    }
}

impl Deref for Pointer {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}
