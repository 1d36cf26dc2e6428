//! Schemas with fewer words: what servers can make a grammar of.

use serde_json::{Map, Value, json};

/// References may be recursive: below this depth, a value is any object.
const DEPTH: usize = 24;

/// Keys of bounds, which a grammar spells out.
const BOUNDS: &[&str] =
    &["minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength", "minProperties", "maxProperties"];
/// llama.cpp's grammars repeat a rule at most 2000 times, all levels together.
const REPEATED: u64 = 1000;

/// Removes patterns, formats and large lengths: servers that hold a model to a schema by a grammar refuse what they cannot express.
pub(super) fn without_patterns(schema: &mut Value) {
    each_schema(schema, &mut |object| {
        object.retain(|key, value| match key.as_str() {
            "pattern" | "format" => !value.is_string(),
            key if BOUNDS.contains(&key) => value.as_u64().is_none_or(|bound| bound <= REPEATED),
            _ => true,
        });
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

/// Leaves types, properties, lists of values and descriptions.
pub(super) fn plain(schema: &Value) -> Value {
    plain_within(schema, schema, DEPTH)
}

fn plain_within(schema: &Value, root: &Value, depth: usize) -> Value {
    let Some(object) = schema.as_object().filter(|_| depth > 0) else { return json!({"type": "object"}) };
    let plain = |schema: &Value| plain_within(schema, root, depth - 1);
    if let Some(target) = object.get("$ref").and_then(Value::as_str) {
        let found = target.strip_prefix('#').and_then(|path| root.pointer(path));
        return found.map_or_else(|| json!({"type": "object"}), plain);
    }
    let mut out = Map::new();
    for (key, value) in object {
        match (key.as_str(), value) {
            ("type", Value::Array(types)) => {
                out.extend(types.iter().find(|kind| *kind != "null").map(|kind| (key.clone(), kind.clone())))
            }
            ("type" | "title" | "description" | "enum" | "required", _) => _ = out.insert(key.clone(), value.clone()),
            ("const", one) => _ = out.insert("enum".into(), json!([one])),
            ("items", items) => _ = out.insert(key.clone(), plain(items)),
            ("properties", Value::Object(properties)) => {
                let properties = properties.iter().map(|(name, property)| (name.clone(), plain(property)));
                _ = out.insert(key.clone(), Value::Object(properties.collect()));
            }
            ("anyOf" | "oneOf", Value::Array(choices)) => {
                let choices = choices.iter().filter(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
                match choices.map(plain).collect::<Vec<_>>().as_mut_slice() {
                    [Value::Object(one)] => out.append(one),
                    many => _ = out.insert("anyOf".into(), json!(many)),
                }
            }
            ("allOf", Value::Array(all)) => {
                for part in all {
                    out.extend(plain(part).as_object().cloned().unwrap_or_default());
                }
            }
            _ => {}
        }
    }
    Value::Object(out)
}
