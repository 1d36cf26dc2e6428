//! Tolerant JSON: where a value ends, what state a text was cut in, and its repair. Knows nothing of tools.

mod decode;
pub mod extent;
mod lex;
pub mod read;
pub mod strict;
pub mod tree;
