//! The tests that see the product from outside: one binary, so that it is linked once.

mod fixtures;
mod floors;
