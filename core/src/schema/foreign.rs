//! Translates what clients write but JSON Schema does not know: type names of other languages (`INTEGER`, `dict`), and `nullable`
//! (OpenAPI 3.0, section 4.7.24). This happens once, before anything reads the schema.

use serde_json::{Map, Value, json};

use super::{Types, keyword::change_subschemas};

/// Translates a schema and all its subschemas. An unknown type is removed, because it says nothing.
pub(super) fn translate(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    change_subschemas(schema, translate);
    if let Some(said) = schema.get("type") {
        match types(said) {
            Some(types) => schema["type"] = types.to_value(),
            None => drop(schema.remove("type")),
        }
    }
    if schema.remove("nullable") == Some(Value::Bool(true)) {
        allow_null(schema);
    }
}

/// The types in the value of `type`; `None` if one of them is unknown.
pub(super) fn types(said: &Value) -> Option<Types> {
    match said {
        Value::String(name) => Types::named(name),
        Value::Array(names) => {
            let types: Option<Vec<Types>> = names.iter().map(|name| Types::named(name.as_str()?)).collect();
            types?.into_iter().reduce(Types::or)
        }
        _ => None,
    }
}

/// Makes the schema accept `null` too.
fn allow_null(schema: &mut Map<String, Value>) {
    if let Some(named) = schema.get("type").and_then(types) {
        schema.insert("type".to_owned(), named.or(Types::NULL).to_value());
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = schema.get_mut(key) {
            branches.push(json!({"type": "null"}));
        }
    }
    let others: Map<String, Value> = ["$ref", "allOf", "const"].into_iter().filter_map(|key| schema.remove_entry(key)).collect();
    if !others.is_empty() {
        schema.insert("anyOf".to_owned(), json!([others, {"type": "null"}]));
    }
}
