//! The tests that see the product from outside: one binary, so that it is linked once.

mod fake;
mod fixtures;

mod floors;
mod proxy;
