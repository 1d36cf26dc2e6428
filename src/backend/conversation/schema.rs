//! Schemas with fewer words: Google's subset of JSON Schema, and what other servers can make a grammar of.

use serde_json::{Map, Value, json};

/// Keys that stay unchanged.
const KEPT: &[&str] = &[
    "type", "title", "description", "enum", "required", "minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength",
    "pattern", "nullable", "example", "minProperties", "maxProperties", "propertyOrdering",
];
/// References may be recursive: below this depth, a value is any object.
const DEPTH: usize = 24;

/// Keys that no grammar needs, and that some servers cannot express. [`plain`] leaves them out.
const BOUNDS: &[&str] =
    &["minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength", "minProperties", "maxProperties"];
/// Keys about the letters of a text.
const LETTERS: [&str; 2] = ["pattern", "format"];
/// llama.cpp's grammars repeat a rule at most 2000 times, all levels together.
const REPEATED: u64 = 1000;

/// Removes patterns, formats and large lengths: servers that hold a model to a schema by a grammar refuse what they cannot express.
pub(super) fn without_patterns(schema: &mut Value) {
    each_schema(schema, &mut |object| {
        object.retain(|key, value| match key.as_str() {
            key if LETTERS.contains(&key) => !value.is_string(),
            key if BOUNDS.contains(&key) => value.as_u64().is_none_or(|bound| bound <= REPEATED),
            _ => true,
        });
    });
}

/// Leaves types, properties, lists of values and descriptions.
pub(super) fn plain(schema: &mut Value) {
    *schema = subset(schema);
    each_schema(schema, &mut |object| {
        object.retain(|key, _| !LETTERS.contains(&key.as_str()) && !BOUNDS.contains(&key.as_str()))
    });
}

/// Changes a schema and those in it, the outer ones first.
pub fn each_schema(schema: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    match schema {
        Value::Object(object) => {
            change(object);
            for (key, value) in object {
                match (key.as_str(), value) {
                    ("properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions", Value::Object(named)) => {
                        named.values_mut().for_each(|schema| each_schema(schema, change));
                    }
                    ("enum" | "const" | "default" | "examples" | "example" | "dependentRequired", _) => {}
                    (_, value) => each_schema(value, change),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|schema| each_schema(schema, change)),
        _ => {}
    }
}

/// The schema in Google's subset.
pub(in crate::backend) fn subset(schema: &Value) -> Value {
    convert(schema, schema, DEPTH)
}

fn convert(schema: &Value, root: &Value, depth: usize) -> Value {
    let Some(object) = schema.as_object().filter(|_| depth > 0) else { return json!({"type": "object"}) };
    if let Some(target) = object.get("$ref").and_then(Value::as_str) {
        let found = target.strip_prefix('#').and_then(|path| root.pointer(path));
        return found.map_or_else(|| json!({"type": "object"}), |found| convert(found, root, depth - 1));
    }
    let mut out = Map::new();
    for (key, value) in object {
        match (key.as_str(), value) {
            ("type", Value::Array(types)) => {
                let mut named = types.iter().filter(|kind| *kind != "null");
                out.insert("type".into(), named.next().cloned().unwrap_or_else(|| json!("string")));
                if types.iter().any(|kind| kind == "null") {
                    out.insert("nullable".into(), json!(true));
                }
            }
            // Google supports enumerations of strings only.
            ("enum", Value::Array(values)) if values.iter().all(Value::is_string) => drop(out.insert(key.clone(), value.clone())),
            ("enum", _) => {}
            ("const", Value::String(one)) => drop(out.insert("enum".into(), json!([one]))),
            ("format", Value::String(format))
                if matches!(format.as_str(), "enum" | "date-time" | "int32" | "int64" | "float" | "double") =>
            {
                out.insert(key.clone(), value.clone());
            }
            ("items", items) => drop(out.insert(key.clone(), convert(items, root, depth - 1))),
            ("properties", Value::Object(properties)) => {
                let properties = properties.iter().map(|(name, property)| (name.clone(), convert(property, root, depth - 1)));
                out.insert(key.clone(), Value::Object(properties.collect()));
            }
            ("anyOf" | "oneOf", Value::Array(choices)) => {
                let (nulls, others): (Vec<&Value>, Vec<&Value>) =
                    choices.iter().partition(|choice| choice.get("type") == Some(&json!("null")));
                if !nulls.is_empty() {
                    out.insert("nullable".into(), json!(true));
                }
                match others.as_slice() {
                    [one] => {
                        if let Value::Object(one) = convert(one, root, depth - 1) {
                            out.extend(one);
                        }
                    }
                    many => {
                        let many = many.iter().map(|choice| convert(choice, root, depth - 1)).collect();
                        out.insert("anyOf".into(), Value::Array(many));
                    }
                }
            }
            ("allOf", Value::Array(all)) => {
                for part in all {
                    if let Value::Object(part) = convert(part, root, depth - 1) {
                        out.extend(part);
                    }
                }
            }
            (key, value) if KEPT.contains(&key) => drop(out.insert(key.to_owned(), value.clone())),
            _ => {}
        }
    }
    Value::Object(out)
}
