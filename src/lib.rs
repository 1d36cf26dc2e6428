//! `toolglot` reads the text of a model, finds tool calls in whatever form the model wrote them, repairs them against the tool's
//! schema, and delivers them in exactly the form that the client executes.
//!
//! The core (the modules without the feature `daemon`) is synchronous and sans-IO; `--no-default-features` builds it alone.

// What unit tests share with `tests/` names the crate from outside.
#[cfg(test)]
extern crate self as toolglot;

pub mod adapter;
#[cfg(feature = "daemon")]
pub mod atomic;
#[cfg(feature = "daemon")]
pub mod backend;
#[cfg(feature = "daemon")]
pub mod builtin;
#[cfg(feature = "daemon")]
pub mod cli;
#[cfg(feature = "daemon")]
pub mod client;
pub mod config;
#[cfg(feature = "daemon")]
pub mod dial;
pub mod error;
pub mod event;
pub mod fix;
pub mod fixture;
pub mod json;
pub mod lock;
#[cfg(feature = "daemon")]
pub mod mcp;
pub mod openai;
#[cfg(test)]
#[path = "../tests/support/pieces.rs"]
mod pieces;
#[cfg(feature = "daemon")]
pub mod plan;
pub mod redact;
pub mod same;
#[cfg(test)]
#[path = "../tests/support/seen.rs"]
mod seen;
#[cfg(feature = "daemon")]
pub mod server;
pub mod store;
#[cfg(feature = "daemon")]
pub mod turn;
#[cfg(feature = "daemon")]
pub mod upstream;
#[cfg(feature = "daemon")]
pub mod watch;
pub mod wire;
