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
    let names_values = ["enum", "const", "anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| schema.contains_key(*key));
    match schema.get("type").and_then(types) {
        Some(named) if !names_values => drop(schema.insert("type".to_owned(), named.or(Types::NULL).to_value())),
        None if !names_values => {}
        _ => {
            let default = schema.remove_entry("default");
            let either = json!([schema, {"type": "null"}]);
            *schema = default.into_iter().chain([("anyOf".to_owned(), either)]).collect();
        }
    }
}
