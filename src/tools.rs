//! The built-in tools: four queries of a small local SQLite database. They let a user try MCP, the tools runner and the agent
//! loop without any other server. [`Builtin::execute_tool`] is their only entry. A build without the feature `sample-tools`
//! has none.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

#[cfg(feature = "sample-tools")]
mod samples;
#[cfg(feature = "sample-tools")]
#[cfg(test)]
mod tests;

#[cfg(feature = "sample-tools")]
pub use samples::DEFINITIONS;

/// The built-in tools over one database file.
#[derive(Debug, Clone)]
pub struct Builtin {
    file: PathBuf,
}

/// The definition of a built-in tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// The name.
    pub name: &'static str,
    /// The description for a model.
    pub description: &'static str,
    /// JSON Schema of its arguments, as JSON text.
    pub schema: &'static str,
}

/// The outcome of a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Its result.
    Success(Value),
    /// The error: a sentence that a model can act on.
    Failure(String),
}

/// The tools, sorted by name.
#[cfg(not(feature = "sample-tools"))]
pub const DEFINITIONS: &[Definition] = &[];

// === impl Builtin ===

impl Builtin {
    /// Tools over this database file, which is created with sample data on first use.
    pub fn new(file: impl Into<PathBuf>) -> Builtin {
        Builtin { file: file.into() }
    }

    /// Runs a tool. Failures are part of the [`Outcome`]. Blocks for a few file reads.
    #[cfg_attr(not(feature = "sample-tools"), allow(unused_variables, reason = "there is no tool that could take them"))]
    pub fn execute_tool(&self, name: &str, arguments: &Map<String, Value>) -> Outcome {
        #[cfg(feature = "sample-tools")]
        let ended = samples::run(&self.file, name, arguments);
        #[cfg(not(feature = "sample-tools"))]
        let ended = Err(format!("there is no built-in tool `{name}` in this build"));
        ended.map_or_else(Outcome::Failure, Outcome::Success)
    }
}

// === impl Outcome ===

impl Outcome {
    /// `{"success":true,"result":..}` or `{"success":false,"error":".."}`.
    pub fn to_value(&self) -> Value {
        match self {
            Outcome::Success(result) => json!({"success": true, "result": result}),
            Outcome::Failure(error) => json!({"success": false, "error": error}),
        }
    }

    /// Whether it failed.
    pub fn is_failure(&self) -> bool {
        matches!(self, Outcome::Failure(_))
    }
}
