//! Tolerant JSON: finds where a value ends, reads damaged text into a tree, and reports each repair. It knows nothing of tools.

mod code;
pub(crate) mod decode;
pub mod extent;
pub(crate) mod lex;
pub(crate) mod number;
pub mod pointer;
pub mod read;
pub mod strict;
pub mod tree;

pub use code::Code;

/// Decodes one layer of JSON escapes. A backslash that begins no escape is kept.
pub fn unescape(text: &str) -> std::borrow::Cow<'_, str> {
    decode::decode(text, lex::Quote::Double).text
}

/// Decodes one layer of escapes of a Python string in single quotes (`\xXX` too).
pub fn unescape_python(text: &str) -> std::borrow::Cow<'_, str> {
    decode::decode(text, lex::Quote::Single).text
}
