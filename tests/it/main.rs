//! The tests that see the product from outside: one binary, so that it is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test ends where it cannot go on; its servers are tasks"
)]

#[cfg(unix)]
mod call;
mod cli;
mod clients;
mod cost;
mod docs;
mod doctor;
mod drafts;
#[path = "../support/effort.rs"]
mod effort;
mod fake;
mod fixtures;
mod floors;
mod fuzz;
mod living;
mod mcp;
mod negative;
mod ordinary;
#[path = "../support/pieces.rs"]
mod pieces;
mod properties;
mod proxy;
#[cfg(unix)]
mod react;
#[path = "../support/reading.rs"]
mod reading;
mod refusals;
mod rendering;
mod samples;
#[path = "../support/seen.rs"]
mod seen;
#[cfg(unix)]
mod shell;
mod values;
#[path = "../support/void.rs"]
mod void;
