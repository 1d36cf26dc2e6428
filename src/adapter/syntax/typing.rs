//! Types for values that a model wrote as bare text: the tool's schema decides whether a text stays a string.

use serde_json::Value;

use crate::event::Tool;

const REFERENCES: usize = 8;

/// The parameters of a tool in the schema's order.
pub(crate) fn properties(tool: &Tool) -> Vec<String> {
    let schema: Value = serde_json::from_str(tool.checked_schema()).unwrap_or_default();
    schema.get("properties").and_then(Value::as_object).map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}

/// The value of parameter `key` as JSON: a string where the schema allows a string, else what the text says, else
/// (no schema for it) what it looks like.
pub(crate) fn value(tool: &Tool, key: &str, text: &str) -> Value {
    let schema: Value = serde_json::from_str(tool.checked_schema()).unwrap_or_default();
    match schema.get("properties").and_then(|properties| properties.get(key)).map(|property| allows_string(property, &schema, 0))
    {
        Some(Some(true)) => Value::from(text),
        Some(Some(false)) => literal(text).unwrap_or_else(|| Value::from(text)),
        _ => literal(text).filter(|value| !value.is_null()).unwrap_or_else(|| Value::from(text)),
    }
}

/// Whether a schema allows a string; `None` if it says nothing of types.
fn allows_string(schema: &Value, root: &Value, depth: usize) -> Option<bool> {
    if depth > REFERENCES {
        return None;
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|path| root.pointer(path.strip_prefix('#')?)) {
        return allows_string(target, root, depth + 1);
    }
    match schema.get("type") {
        Some(Value::String(name)) => return Some(matches!(name.to_ascii_lowercase().as_str(), "string" | "str" | "text")),
        Some(Value::Array(names)) => return Some(names.iter().any(|name| name == "string")),
        _ => {}
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Some(values.iter().any(Value::is_string));
    }
    let branches = ["anyOf", "oneOf", "allOf"].into_iter().find_map(|key| schema.get(key)).and_then(Value::as_array)?;
    let known: Vec<bool> = branches.iter().filter_map(|branch| allows_string(branch, root, depth + 1)).collect();
    (!known.is_empty()).then(|| known.contains(&true))
}

/// A JSON or Python literal.
fn literal(text: &str) -> Option<Value> {
    let text = text.trim();
    match text {
        "True" => Some(Value::Bool(true)),
        "False" => Some(Value::Bool(false)),
        "None" => Some(Value::Null),
        _ => serde_json::from_str(text).ok(),
    }
}
