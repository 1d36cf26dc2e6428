//! Tolerant JSON: where a value ends, what state a text was cut in, and its repair. Knows nothing of tools.

mod code;
pub(crate) mod decode;
pub(crate) mod expression;
pub mod extent;
pub(crate) mod lex;
pub(crate) mod number;
pub mod pointer;
pub mod read;
pub mod strict;
pub mod tree;

pub use code::Code;

/// Takes one layer of escapes off a text; what is no escape stays as it is.
pub fn unescape(text: &str) -> std::borrow::Cow<'_, str> {
    decode::decode(text, lex::Quote::Double).text
}

/// The same for the inside of a string in single quotes, as Python writes it.
pub fn unescape_python(text: &str) -> std::borrow::Cow<'_, str> {
    decode::decode(text, lex::Quote::Single).text
}
