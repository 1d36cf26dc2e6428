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
    #[cfg_attr(not(feature = "sample-tools"), allow(dead_code, reason = "there is no tool that could open it"))]
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

/// The tools, sorted by name.
#[cfg(not(feature = "sample-tools"))]
pub const DEFINITIONS: &[Definition] = &[];

impl Builtin {
    /// Tools over this database file, which is created with sample data on first use.
    pub fn new(file: impl Into<PathBuf>) -> Builtin {
        Builtin { file: file.into() }
    }

    /// Runs a tool. Blocks for a few file reads.
    ///
    /// # Errors
    /// A sentence that a model can act on.
    #[cfg(feature = "sample-tools")]
    pub fn execute_tool(&self, name: &str, arguments: &Map<String, Value>) -> Result<Value, String> {
        samples::run(&self.file, name, arguments)
    }

    /// The same, in a build that has no tools.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(feature = "sample-tools"))]
    pub fn execute_tool(&self, name: &str, _: &Map<String, Value>) -> Result<Value, String> {
        Err(format!("there is no built-in tool `{name}` in this build"))
    }
}

/// What a tool found, or why it failed, as one answer: `{"success":true,"result":..}` or `{"success":false,"error":".."}`.
pub fn answer(ended: &Result<Value, String>) -> Value {
    match ended {
        Ok(result) => json!({"success": true, "result": result}),
        Err(error) => json!({"success": false, "error": error}),
    }
}
