//! Tolerant JSON: where a value ends, what state a text was cut in, and its repair. Knows nothing of tools.

pub mod extent;
pub mod strict;
