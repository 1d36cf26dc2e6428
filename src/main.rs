//! The binary: the command line of the library.

fn main() {}
