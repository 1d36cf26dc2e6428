//! Void's tool prompt: two headings, numbered tools, one element each. The real types and required keys of Void's built-in tools
//! are data (`tools.json`): Void does not tell them to the model, and without them nothing could be repaired.

use std::{collections::HashMap, sync::LazyLock};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::tags;
use crate::event::{Effect, Tool, Tools};

const TOOLS_HEADING: &str = "Available tools:";
const DETAILS_HEADING: &str = "Tool calling details:";

/// The tools in `text`, and `text` without the tool prompt.
pub(super) fn cut(text: &str) -> Option<(Tools, String)> {
    let (start, tools_at) = heading(text, TOOLS_HEADING)?;
    let (tools_end, details_at) = heading(text.get(tools_at..)?, DETAILS_HEADING)?;
    let (tools_end, details_at) = (tools_at + tools_end, tools_at + details_at);
    let tools = read_tools(text.get(tools_at..tools_end)?)?;

    // The details end at the first empty line.
    let details = text.get(details_at..)?;
    let end = details_at + details.find("\n\n").unwrap_or(details.len());
    // One empty line is left of it.
    let before = text.get(..start)?.trim_end();
    let gap = if before.is_empty() { "" } else { "\n\n" };
    Some((tools, format!("{before}{gap}{}", text.get(end..)?.trim_start_matches('\n'))))
}

/// Completes a tool of Void that was sent natively with this schema, without types. The completed schema is only for the fixer; the
/// model sees the client's own. Returns whether the tool identifies Void.
pub(in crate::client::shape) fn complete_native(tool: &mut Tool, schema: &Value) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return false };
    if properties.is_empty() || properties.values().any(|property| property.get("type").is_some()) {
        return false;
    }
    let parameters: Vec<(&str, &str)> = properties
        .iter()
        .map(|(name, property)| (name.as_str(), property.get("description").and_then(Value::as_str).unwrap_or_default()))
        .collect();
    let own = OVERLAY.complete(tool, &parameters);
    if own || parameters.iter().all(|(_, description)| description.starts_with('{')) {
        tool.fixing_schema = Some(OVERLAY.schema(&tool.name, &parameters).to_string().into());
    }
    own
}

/// The line that consists of this heading: its start, and the start of the next line.
fn heading(text: &str, heading: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim() == heading {
            return Some((at, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// The numbered blocks between the headings: `N. name`, `Description: ...`, `Format:`, the tool's tags.
fn read_tools(text: &str) -> Option<Tools> {
    let mut blocks: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_described = lines.peek().is_some_and(|next| next.trim_start().starts_with("Description:"));
        let number = format!("{}. ", blocks.len() + 1);
        match (line.trim().strip_prefix(&number).filter(|_| is_described), blocks.last_mut()) {
            // A tool that is not known would neither be offered nor defused: then better none is.
            (Some(name), _) if !tags::is_name(name) => return None,
            (Some(name), _) => blocks.push((name, Vec::new())),
            (None, Some((_, block))) => block.push(line),
            (None, None) => {}
        }
    }
    let mut tools = Tools::default();
    for (name, block) in blocks {
        tools.add(read_tool(name, &block.join("\n"))?);
    }
    (!tools.is_empty()).then_some(tools)
}

fn read_tool(name: &str, block: &str) -> Option<Tool> {
    let open = format!("<{name}>");
    let (described, body) = block.split_once(&format!("Format:\n    {open}")).or_else(|| {
        let (described, after) = block.split_once("Format:")?;
        Some((described, after.trim_start().strip_prefix(&open)?))
    })?;
    let body = body.get(..body.rfind(&format!("</{name}>"))?)?;
    let parameters = tags::split(body)?;
    let description = described.trim().strip_prefix("Description:").unwrap_or_default().trim();
    let mut tool = Tool::new(name, description, OVERLAY.schema(name, &parameters).to_string());
    OVERLAY.complete(&mut tool, &parameters);
    Some(tool)
}

/// Types and required keys of Void's built-in tools, by tool name.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
struct Overlay {
    tools: HashMap<String, Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    /// It only reads.
    #[serde(default)]
    reads: bool,
    /// Parameters that hold a path.
    #[serde(default)]
    paths: Vec<String>,
    /// Those that mean a folder only with a slash at the end.
    #[serde(default)]
    folders: Vec<String>,
    types: Map<String, Value>,
    required: Vec<String>,
}

/// What is known of them.
static OVERLAY: LazyLock<Overlay> = LazyLock::new(|| serde_json::from_str(include_str!("tools.json")).unwrap_or_default());

impl Overlay {
    /// Completes one of Void's own tools: its effect, and its parameters that are paths. Returns whether it is one: it has no
    /// parameter that Void's does not have.
    fn complete(&self, tool: &mut Tool, parameters: &[(&str, &str)]) -> bool {
        let entry = self.tools.get(&tool.name);
        let own = entry.filter(|entry| parameters.iter().all(|(name, _)| entry.types.contains_key(*name)));
        if let Some(entry) = own {
            tool.effect = if entry.reads { Effect::Reads } else { Effect::default() };
            tool.paths.clone_from(&entry.paths);
            tool.folders.clone_from(&entry.folders);
        }
        own.is_some()
    }

    /// The schema of a tool from what its client said about each parameter (in the client's order), completed by what is
    /// known of Void's own tools.
    ///
    /// A description that is itself a JSON Schema (Void writes MCP parameters so) becomes that schema. Parameters of
    /// other tools count as required unless their description begins with "Optional", which is what Void's prompt says.
    fn schema(&self, tool: &str, parameters: &[(&str, &str)]) -> Value {
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
