//! JSON pointers (RFC 6901). A walk over a tree extends and truncates one `String`; a pointer that is kept is a [`Pointer`].

use std::fmt;
use std::ops::Deref;

/// Longest pointer that is stored inline, in bytes.
const SHORT: usize = 22;

/// A JSON pointer. Short ones, which most are, need no allocation.
#[derive(Clone, PartialEq, Eq)]
pub struct Pointer(Kept);

#[derive(Clone, PartialEq, Eq)]
enum Kept {
    Short(u8, [u8; SHORT]),
    Long(Box<str>),
}

/// Appends a member's key, escaped.
pub(crate) fn push_key(path: &mut String, key: &str) {
    path.push('/');
    if !key.bytes().any(|byte| matches!(byte, b'~' | b'/')) {
        return path.push_str(key);
    }
    let mut from = 0;
    for (at, byte) in key.bytes().enumerate() {
        let escape = match byte {
            b'~' => "~0",
            b'/' => "~1",
            _ => continue,
        };
        path.push_str(&key[from..at]);
        path.push_str(escape);
        from = at + 1;
    }
    path.push_str(&key[from..]);
}

/// Appends an item's index.
pub(crate) fn push_index(path: &mut String, at: usize) {
    let mut digits = [0; 20];
    let mut from = digits.len();
    let mut rest = at;
    while from > 0 {
        from -= 1;
        digits[from] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    path.push('/');
    path.extend(digits[from..].iter().map(|digit| char::from(*digit)));
}

impl Pointer {
    /// The pointer to the whole document.
    pub const ROOT: Pointer = Pointer(Kept::Short(0, [0; SHORT]));

    /// The pointer as text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Kept::Short(length, bytes) => std::str::from_utf8(&bytes[..usize::from(*length)]).unwrap_or_default(),
            Kept::Long(text) => text,
        }
    }
}

impl From<&str> for Pointer {
    #[inline]
    fn from(text: &str) -> Pointer {
        let mut bytes = [0; SHORT];
        match bytes.get_mut(..text.len()) {
            Some(place) => {
                place.copy_from_slice(text.as_bytes());
                Pointer(Kept::Short(text.len() as u8, bytes))
            }
            None => Pointer(Kept::Long(text.into())),
        }
    }
}

impl Deref for Pointer {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
