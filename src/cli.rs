//! The command line.

pub mod normalize;
