//! The tag of an argument, and what it says besides the key.

use crate::adapter::syntax::{tagged::markers::Markers, typing::Hint};

/// An argument's opening tag.
pub(crate) struct Tag {
    pub(crate) key: String,
    pub(crate) hint: Hint,
    pub(crate) length: usize,
    /// The value if it is an attribute: `<parameter name="x" value="1"/>`. Empty for `<parameter name="x"/>`.
    pub(crate) value: Option<String>,
    /// The tag has text that is neither its key nor an attribute, and was not read.
    pub(crate) torn: bool,
    /// It is a tag of this form. Others count only with the name of a parameter.
    pub(crate) own: bool,
}

impl Tag {
    /// A tag that has nothing but its key.
    pub(crate) fn plain(key: &str, length: usize) -> Tag {
        Tag { key: key.to_owned(), hint: Hint::None, length, value: None, torn: false, own: true }
    }
}

/// The hint of a type's name, or of `string="true"`.
pub(crate) fn hint_of(written: &str) -> Hint {
    match written.to_ascii_lowercase().as_str() {
        "true" | "string" | "str" => Hint::Text,
        "" => Hint::None,
        _ => Hint::Json,
    }
}

/// Words in a tag that announce a key.
const LABELS: [&str; 6] = ["name", "key", "parameter", "param", "argument", "arg"];

/// Whether a word in a tag announces a key: `<parameter=name=city>`.
pub(crate) fn is_label(word: &str) -> bool {
    LABELS.contains(&word)
}

/// The words of a key.
fn words(key: &str) -> impl Iterator<Item = &str> {
    key.split(|c: char| !(c.is_alphanumeric() || "_-.$".contains(c))).filter(|word| !word.is_empty())
}

/// Removes the remains of a tag from a key: `tags,`, `=tags`, `tags/arg_key>`, `name"="tags`, `parameter=tags`.
pub(super) fn known_key(key: &str, form: &Markers<'_>) -> String {
    let first = words(key).find(|word| !is_label(word)).or_else(|| words(key).next());
    let known = first.filter(|word| !form.has(key) && (key.contains('=') || !key.contains(' ')) && form.has(word));
    known.unwrap_or(key).to_owned()
}

/// Whether a key that was written as `written` leaves out words that may be a value: `command:ls`.
pub(super) fn loses_text(written: &str, key: &str) -> bool {
    words(written).any(|word| word != key && !is_label(word))
}
