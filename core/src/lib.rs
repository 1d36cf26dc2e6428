//! The sans-IO core of toolglot: it reads the text of a model, finds tool calls in whatever form the model wrote them, and repairs
//! them against the tool's schema. No clock, no socket, no task.

// What unit tests share with the daemon's tests names the crate from outside.
#[cfg(test)]
extern crate self as toolglot;

pub mod adapter;
#[cfg(test)]
#[path = "../../tests/support/effort.rs"]
mod effort;
pub mod error;
pub mod event;
pub mod fix;
pub mod json;
pub mod lock;
mod normalizer;
pub mod openai;
#[cfg(test)]
#[path = "../../tests/support/pieces.rs"]
mod pieces;
mod reader;
pub mod redact;
pub mod same;
mod schema;
#[cfg(test)]
#[path = "../../tests/support/seen.rs"]
mod seen;
pub mod toml_error;

pub use normalizer::Normalizer;
