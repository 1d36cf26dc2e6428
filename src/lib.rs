//! `toolglot` reads the text of a model, finds tool calls in whatever form the model wrote them, repairs them against the tool's
//! schema, and delivers them in exactly the form that the client executes.
//!
//! The core is the package `toolglot-core`. This package is the daemon around it, and its command line.

// What unit tests share with `tests/` names the crate from outside.
#[cfg(test)]
extern crate self as toolglot;

pub mod atomic;
pub mod backend;
pub mod builtin;
pub mod cli;
pub mod client;
pub mod config;
pub mod dial;
pub mod fixture;
pub mod mcp;
pub mod plan;
pub mod recorded;
#[cfg(test)]
#[path = "../tests/support/seen.rs"]
mod seen;
pub mod server;
pub mod store;
pub mod turn;
pub mod upstream;
pub mod watch;
pub mod wire;

pub use toolglot_core::{adapter, error, event, fix, json, lock, openai, redact, same};
