//! Template filters of `[prompt]`: tools and schemas in the notations that families were trained on.

use minijinja::{Environment, Error, ErrorKind, Value as Data, context, value::Serde};
use serde_json::{Value, json};

use super::lines::lines;
use crate::{adapter::write::lax_value, fix::View};

/// Adds the filters.
pub(super) fn add(environment: &mut Environment<'_>) {
    // The built-in filter escapes for HTML, which models would copy, and omits the spaces that chat templates write.
    environment.add_filter("tojson", |value: Data| Ok::<_, Error>(spaced(&json_of(&value)?)));
    environment.add_filter("lines", |parameters: Data| Ok::<_, Error>(lines(&json_of(&parameters)?)));
    environment.add_filter("lax", lax);
    environment.add_filter("upper_types", upper_types);
    environment.add_filter("typescript", |schema: Data| Ok::<_, Error>(typescript(&json_of(&schema)?)));
    environment.add_filter("openai", |tool: Data| context! { type => "function", function => tool });
}

fn json_of(value: &Data) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|error| Error::new(ErrorKind::BadSerialization, "not JSON").with_source(error))
}

/// Writes JSON with a space after each colon and comma, as Python does and therefore the chat templates that models were trained
/// on.
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

/// Writes a value as a brace dictionary with bare keys and strings between `delimiter`.
fn lax(value: Data, delimiter: &str) -> Result<String, Error> {
    let value = json_of(&value)?;
    Ok(lax_value(&value, delimiter).unwrap_or_else(|| value.to_string()))
}

/// Writes the types of a schema in capitals.
fn upper_types(schema: Data) -> Result<Data, Error> {
    fn shout(value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    match member {
                        Value::String(name) if key == "type" => *name = name.to_uppercase(),
                        member => shout(member),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(shout),
            _ => {}
        }
    }
    let mut schema = json_of(&schema)?;
    shout(&mut schema);
    Ok(Data::from(Serde(schema)))
}

/// Writes a schema as a TypeScript type.
fn typescript(schema: &Value) -> String {
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    if let Some(values) = list("enum") {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(choices) = list("anyOf").or_else(|| list("oneOf")) {
        return choices.iter().map(typescript).collect::<Vec<_>>().join(" | ");
    }
    if let Some(types) = list("type") {
        let one = |name: &Value| typescript(&json!({ "type": name }));
        return types.iter().map(one).collect::<Vec<_>>().join(" | ");
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => "number".into(),
        Some("array") => format!("{}[]", schema.get("items").map_or("any".into(), typescript)),
        Some("object") => match schema.get("properties").and_then(Value::as_object) {
            Some(properties) if !properties.is_empty() => {
                let view = View::within(schema, schema);
                let required = |key: &String| view.root().required().any(|name| name == key);
                let member = |(key, member): (&String, &Value)| {
                    format!("{key}{}: {}", if required(key) { "" } else { "?" }, typescript(member))
                };
                format!("{{ {} }}", properties.iter().map(member).collect::<Vec<_>>().join(", "))
            }
            _ => "object".into(),
        },
        Some(known @ ("string" | "boolean" | "null")) => known.into(),
        _ => "any".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_spaced_outside_of_strings_only() {
        let value = json!({"a": [1, {"b": "x:y, \"z\""}], "c": {}});
        assert_eq!(spaced(&value), r#"{"a": [1, {"b": "x:y, \"z\""}], "c": {}}"#);
    }
}
