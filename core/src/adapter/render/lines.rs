//! Describes the parameters of a tool, one per line. Small models copy a schema that they are shown: Qwen2.5-Coder 0.5B answered
//! five of forty questions with the tool's own description, but only one when the parameters were listed in lines.

use serde_json::{Map, Value};

use super::filters::spaced;
use crate::fix::View;

/// Keywords of a parameter that its line expresses in words, or that it can omit.
const SAID: [&str; 5] = ["type", "enum", "default", "description", "title"];
/// Keywords of a schema that the lines express completely.
const PLAIN: [&str; 7] = ["type", "properties", "required", "additionalProperties", "description", "title", "$schema"];

/// One line for each parameter, each after a line break. A schema with other keywords (`$defs`, `anyOf`) is written as JSON.
pub(super) fn lines(schema: &Value) -> String {
    let known = |schema: &Map<String, Value>| schema.keys().all(|key| PLAIN.contains(&key.as_str()));
    if !schema.as_object().is_some_and(known) {
        return format!("\nIts parameters: {}", spaced(schema));
    }
    let view = View::within(schema, schema);
    let required = |key: &str| view.root().required().any(|name| name == key);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(key, rule)| line(key, rule, required(key))).collect()
}

fn line(key: &str, rule: &Value, required: bool) -> String {
    let text = |key: &str| rule.get(key).and_then(Value::as_str);
    let mut about = match rule.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => text("type").unwrap_or("any").to_owned(),
    };
    if required {
        about.push_str(", required");
    }
    if let Some(values) = rule.get("enum") {
        about.push_str(&format!(", one of {}", spaced(values)));
    }
    if let Some(default) = rule.get("default") {
        about.push_str(&format!(", default {}", spaced(default)));
    }
    let mut line = format!("\n- {key} ({about})");
    if let Some(description) = text("description").or_else(|| text("title")) {
        line.push_str(&format!(": {}", description.trim()));
    }
    let rest = rule.as_object().into_iter().flatten().filter(|(key, _)| !SAID.contains(&key.as_str()));
    let rest: Map<String, Value> = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
    if !rest.is_empty() {
        line.push_str(&format!(" {}", spaced(&Value::Object(rest))));
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_parameter_has_a_line() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Where it is. "}, "mode": {"enum": ["fast", "exact"], "default": "fast"},
                "lines": {"type": "array", "items": {"type": "integer"}}, "depth": {"type": ["integer", "null"], "minimum": 1},
            },
            // A parameter that may be null may be left out, although strict schemas list it as required.
            "required": ["path", "lines", "depth"],
        });
        let expected = [
            "",
            "- path (string, required): Where it is.",
            r#"- mode (any, one of ["fast", "exact"], default "fast")"#,
            r#"- lines (array, required) {"items": {"type": "integer"}}"#,
            r#"- depth (integer or null) {"minimum": 1}"#,
        ];
        assert_eq!(lines(&schema), expected.join("\n"));
        assert_eq!(lines(&json!({})), "");
        let choice = json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}});
        assert_eq!(lines(&choice), format!("\nIts parameters: {}", spaced(&choice)));
    }
}
