//! A worked example of a call, made from the client's own tools: small models that see nothing but schemas fill a schema in.

use serde_json::{Map, Value, json};

use crate::{
    event::{Tool, ToolChoice, Tools},
    openai::ToolCall,
};

/// How deep an example goes into a schema.
const DEPTH: usize = 4;

/// A call of the first tool that needs an argument, or of the one that must be called; `None`: no argument is ever needed.
pub(super) fn of(tools: &Tools) -> Option<ToolCall> {
    let named = match &tools.choice {
        ToolChoice::Named(name) => tools.get(name),
        _ => None,
    };
    named.into_iter().chain(tools.iter()).find_map(call)
}

fn call(tool: &Tool) -> Option<ToolCall> {
    let schema: Value = serde_json::from_str(&tool.schema).ok()?;
    let arguments = object(&schema, DEPTH);
    (!arguments.is_empty()).then(|| ToolCall {
        name: tool.wire_name.clone(),
        arguments: spaced(&Value::Object(arguments)),
        ..ToolCall::default()
    })
}

/// The required members.
fn object(schema: &Value, depth: usize) -> Map<String, Value> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let property = |key: &str| schema.get("properties")?.get(key);
    required.filter_map(|key| Some((key.to_owned(), value(property(key)?, depth)))).collect()
}

/// A value that fits: what the schema names itself, else a text of dots, which nobody takes for a value.
fn value(schema: &Value, depth: usize) -> Value {
    let first = |key: &str| schema.get(key)?.as_array()?.first().cloned();
    if let Some(value) = schema.get("const").cloned().or_else(|| first("enum")).or_else(|| first("examples")) {
        return value;
    }
    if let Some(choice) = first("anyOf").or_else(|| first("oneOf")).filter(|_| depth > 0) {
        return value(&choice, depth - 1);
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
        kind => kind.and_then(Value::as_str),
    };
    match kind {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => match schema.get("items").filter(|_| depth > 0) {
            Some(items) => json!([value(items, depth - 1)]),
            None => json!([]),
        },
        Some("object") if depth > 0 => Value::Object(object(schema, depth - 1)),
        Some("object") => json!({}),
        Some("null") => Value::Null,
        _ => json!("..."),
    }
}

/// JSON as Python writes it, and with it the chat templates that models were trained with: a blank after each colon and comma.
pub(super) fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), spaced(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_a_valid_call_of_the_clients_own_tool() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"}, "mode": {"enum": ["fast", "exact"]}, "lines": {"type": "array", "items": {"type": "integer"}},
                "where": {"type": "object", "properties": {"deep": {"type": ["boolean", "null"]}}, "required": ["deep"]}, "more": {"type": "string"},
            },
            "required": ["path", "mode", "lines", "where"],
        });
        let tools = [Tool::new("now", "", "{}"), Tool::new("search", "", schema.to_string())];
        let call = of(&Tools::new(tools, ToolChoice::Auto)).unwrap();
        assert_eq!(call.name, "search");
        assert_eq!(call.arguments, r#"{"path": "...", "mode": "fast", "lines": [1], "where": {"deep": true}}"#);
        assert!(jsonschema::is_valid(&schema, &serde_json::from_str(&call.arguments).unwrap()));
        assert!(of(&Tools::new([Tool::new("now", "", "{}")], ToolChoice::Auto)).is_none());
    }

    #[test]
    fn json_is_spaced_outside_of_strings_only() {
        let value = json!({"a": [1, {"b": "x:y, \"z\""}], "c": {}});
        assert_eq!(spaced(&value), r#"{"a": [1, {"b": "x:y, \"z\""}], "c": {}}"#);
    }
}
