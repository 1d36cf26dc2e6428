//! The real types and required keys of Void's built-in tools. Void does not tell them to the model, and without them nothing
//! could be repaired. They are data (`void_tools.json`).

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::event::{Effect, Tool};

/// Types and required keys of Void's built-in tools, by tool name.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Overlay {
    tools: HashMap<String, Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    /// It looks only.
    #[serde(default)]
    reads: bool,
    /// Parameters that hold a path.
    #[serde(default)]
    paths: Vec<String>,
    types: Map<String, Value>,
    required: Vec<String>,
}

impl Overlay {
    /// The embedded table.
    pub(super) fn embedded() -> Overlay {
        serde_json::from_str(include_str!("void_tools.json")).unwrap_or_default()
    }

    /// Whether this is one of Void's own tools, with no parameter that Void does not have.
    pub(super) fn knows<'a>(&self, tool: &str, mut parameters: impl Iterator<Item = &'a str>) -> bool {
        self.tools.get(tool).is_some_and(|entry| parameters.all(|name| entry.types.contains_key(name)))
    }

    /// Completes one of Void's own tools: its effect, and its parameters that are paths.
    pub(super) fn complete(&self, tool: &mut Tool) {
        let Some(entry) = self.tools.get(&tool.name) else { return };
        tool.effect = if entry.reads { Effect::Reads } else { Effect::default() };
        tool.paths.clone_from(&entry.paths);
    }

    /// The schema of a tool from what its client said about each parameter (in the client's order), completed by what is
    /// known of Void's own tools.
    ///
    /// A description that is itself a JSON Schema (Void writes MCP parameters so) becomes that schema. Parameters of
    /// other tools count as required unless their description begins with "Optional", which is what Void's prompt says.
    pub(super) fn schema(&self, tool: &str, parameters: &[(&str, &str)]) -> Value {
        let known = self.tools.get(tool);
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (name, description) in parameters {
            let property = match serde_json::from_str(description) {
                Ok(Value::Object(schema)) if !description.contains("\"$ref\"") => Value::Object(schema),
                _ => {
                    let kind = known.and_then(|entry| entry.types.get(*name));
                    if known.map_or(!is_optional(description), |entry| entry.required.iter().any(|key| key == name)) {
                        required.push(*name);
                    }
                    match kind {
                        Some(kind) => json!({"type": kind, "description": description}),
                        None => json!({"description": description}),
                    }
                }
            };
            properties.insert((*name).to_owned(), property);
        }
        json!({"type": "object", "properties": properties, "required": required})
    }
}

fn is_optional(description: &str) -> bool {
    description.trim_start().get(.."optional".len()).is_some_and(|start| start.eq_ignore_ascii_case("optional"))
}
