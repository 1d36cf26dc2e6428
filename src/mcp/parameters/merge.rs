//! The two merges, as pure functions: the model's arguments over the defaults, and the result over internal values.

use serde_json::{Map, Value};

/// The first merge, per parameter: defaults (their nulls left out) under what the model gave.
///
/// `null`, `{}`, `[]` and `""` mean that the model gave nothing: the defaults apply. An object is merged over the
/// defaults key by key; a key that it gives as null overwrites. `None`: nothing at all, the parameter is absent.
pub fn merge_parameter(defaults: Option<&Value>, given: Option<&Value>) -> Option<Value> {
    let defaults = match defaults {
        Some(Value::Object(object)) => Some(Value::Object(without_nulls(object))).filter(|value| !is_nothing(value)),
        Some(Value::Null) | None => None,
        Some(other) => Some(other.clone()),
    };
    match (defaults, given.filter(|given| !is_nothing(given))) {
        (defaults, None) => defaults,
        (Some(Value::Object(mut merged)), Some(Value::Object(given))) => {
            merged.extend(given.iter().map(|(key, value)| (key.clone(), value.clone())));
            Some(Value::Object(merged))
        }
        (_, Some(given)) => Some(given.clone()),
    }
}

/// The second merge, per parameter of the tool: internal values (their nulls left out) under the signature value that goes
/// to the same parameter, its null keys left out. A signature value that is null counts as absent.
///
/// Without an internal value, the signature value is passed on unchanged.
pub fn merge_tool(internal: &Map<String, Value>, signature: Option<&Value>) -> Option<Value> {
    let mut merged = without_nulls(internal);
    match signature {
        None | Some(Value::Null) => (!merged.is_empty()).then_some(Value::Object(merged)),
        Some(Value::Object(given)) if !merged.is_empty() => {
            merged.extend(without_nulls(given));
            Some(Value::Object(merged))
        }
        Some(other) => Some(other.clone()),
    }
}

/// Whether the value means that the model gave nothing. `false` and `0` are inputs.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn without_nulls(object: &Map<String, Value>) -> Map<String, Value> {
    object.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.clone(), value.clone())).collect()
}
