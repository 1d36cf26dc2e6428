//! Applies a policy to a tool's own schema: gives the schema that the model sees, and where each argument of a call goes.

use serde_json::{Map, Value, json};

use super::{FACTOR, FACTORS, Factor, Policy, Source, TARGET};

/// A tool as a model sees it, and how the model's arguments become the tool's.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The input schema without hidden parameters and without toolglot's keywords.
    pub schema: Value,
    /// Parameters whose explicit `null` has a meaning, because a policy merges them.
    pub keeps_null: Vec<String>,
    pub(super) bindings: Vec<Binding>,
    /// Internal values by the tool's own parameter.
    pub(super) internal: Vec<(String, Map<String, Value>)>,
}

/// The path of one parameter from the model to the tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Binding {
    /// The name that the model uses (or would use, if it is hidden).
    pub(super) visible: String,
    /// The tool's own name.
    pub(super) target: String,
    pub(super) hidden: bool,
    pub(super) default: Option<Source>,
    pub(super) fixed: Option<Source>,
    /// Whether something is merged into it.
    pub(super) merged: bool,
}

impl View {
    /// Derives the view. `original`: the tool's input schema, which an empty `policy` leaves unchanged.
    pub fn new(original: &Value, policy: &Policy) -> View {
        if policy.parameters.is_empty() && policy.factors.is_empty() {
            return View { schema: original.clone(), keeps_null: Vec::new(), bindings: Vec::new(), internal: Vec::new() };
        }
        let mut schema = original.as_object().cloned().unwrap_or_default();
        schema.remove(FACTORS);
        rename(&mut schema, policy);
        let names: Vec<String> = properties(&schema).map(|(name, _)| name.clone()).collect();
        let internal = internal(policy, &names);
        let bindings: Vec<Binding> =
            names.iter().map(|name| Binding::new(name, policy, &internal)).chain(unseen(policy, &names, &internal)).collect();
        for binding in &bindings {
            show(&mut schema, binding);
        }
        drop_unused_definitions(&mut schema);
        let keeps_null =
            bindings.iter().filter(|binding| binding.merged && !binding.hidden).map(|binding| binding.visible.clone()).collect();
        let internal = internal.into_iter().map(|(target, factor)| (target, factor.values.clone())).collect();
        View { schema: Value::Object(schema), keeps_null, bindings, internal }
    }
}

impl Binding {
    fn new(name: &str, policy: &Policy, internal: &[(String, &Factor)]) -> Binding {
        let parameter = policy.parameter(name).cloned().unwrap_or_default();
        let (default, fixed) = (parameter.usual().cloned(), parameter.forced().cloned());
        let target = policy.target_of(name).to_owned();
        let own = internal.iter().find(|(to, _)| *to == target).map(|(_, factor)| *factor);
        // An internal value that an operator aims at a parameter of the tool hides it, unless the operator says that a
        // parameter which the model sees goes there too.
        let is_mapped = parameter.target.is_some() || parameter.factor.is_some();
        let hidden = parameter.hide || fixed.is_some() || own.is_some_and(|factor| factor.configured && !is_mapped);
        let signature = policy.factor_of(name).filter(|factor| !factor.is_internal());
        let default = default.or_else(|| signature.map(|factor| Source::Literal(Value::Object(factor.values.clone()))));
        let merged = default.is_some() || own.is_some();
        Binding { visible: name.to_owned(), target, hidden, default, fixed, merged }
    }
}

/// Parameters that the policy fills and the schema does not mention.
fn unseen(policy: &Policy, names: &[String], internal: &[(String, &Factor)]) -> Vec<Binding> {
    let missing = policy.parameters.iter().filter(|(name, _)| !names.contains(name));
    let filled = missing.filter(|(_, parameter)| parameter.usual().is_some() || parameter.forced().is_some());
    filled.map(|(name, _)| Binding { hidden: true, merged: true, ..Binding::new(name, policy, internal) }).collect()
}

/// The internal factors with the tool's parameter that each goes to: the one that it names, else the one of the property
/// that it belongs to, else the one of its own name.
fn internal<'p>(policy: &'p Policy, names: &[String]) -> Vec<(String, &'p Factor)> {
    let factors = policy.factors.iter().filter(|(_, factor)| factor.is_internal());
    factors
        .map(|(own, factor)| {
            let belongs = |name: &&String| policy.factor_of(name).is_some_and(|of| std::ptr::eq(of, factor));
            let target = factor.target.clone().unwrap_or_else(|| match names.iter().find(belongs) {
                Some(name) => policy.target_of(name).to_owned(),
                None => own.clone(),
            });
            (target, factor)
        })
        .collect()
}

/// Renames properties from the tool's own names to the names that the model sees.
fn rename(schema: &mut Map<String, Value>, policy: &Policy) {
    for (visible, parameter) in &policy.parameters {
        let Some(target) = parameter.target.as_deref().filter(|target| target != visible) else { continue };
        let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
        if properties.contains_key(visible) || !properties.contains_key(target) {
            continue;
        }
        *properties = rename_key(properties, target, visible);
        for required in schema.get_mut("required").and_then(Value::as_array_mut).into_iter().flatten() {
            if required.as_str() == Some(target) {
                *required = json!(visible);
            }
        }
        for example in examples(schema) {
            *example = rename_key(example, target, visible);
        }
    }
}

fn rename_key(object: &Map<String, Value>, from: &str, to: &str) -> Map<String, Value> {
    let name = |key: &String| if key == from { to.to_owned() } else { key.clone() };
    object.iter().map(|(key, value)| (name(key), value.clone())).collect()
}

/// Changes a parameter in the schema to what the model sees: removes a hidden one; otherwise adds the default, and removes
/// toolglot's keywords.
fn show(schema: &mut Map<String, Value>, binding: &Binding) {
    let name = &binding.visible;
    if binding.hidden || binding.merged {
        not_required(schema, name);
    }
    if binding.hidden {
        for example in examples(schema) {
            example.shift_remove(name);
        }
        // A choice that turns on a hidden parameter is the operator's now.
        for choice in ["anyOf", "oneOf"] {
            let mentions = |part: &Value| {
                part.pointer("/required").and_then(Value::as_array).is_some_and(|list| list.contains(&json!(name)))
            };
            if schema.get(choice).and_then(Value::as_array).is_some_and(|list| list.iter().any(mentions)) {
                schema.shift_remove(choice);
            }
        }
        for key in ["dependentRequired", "dependentSchemas"] {
            if let Some(Value::Object(dependent)) = schema.get_mut(key) {
                dependent.shift_remove(name);
            }
        }
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.shift_remove(name);
        }
        return;
    }
    let definition = properties(schema).find(|(key, _)| *key == name).and_then(|(_, property)| definition(schema, property));
    let Some(Value::Object(property)) = schema.get_mut("properties").and_then(|properties| properties.get_mut(name)) else {
        return;
    };
    property.shift_remove(TARGET);
    property.shift_remove(FACTOR);
    // Values from the environment, files and headers are not for the model's eyes.
    let Some(Source::Literal(default)) = &binding.default else { return };
    if let Value::Object(defaults) = default {
        if let Some(definition) = definition {
            property.shift_remove("$ref");
            for (key, value) in definition {
                property.entry(key).or_insert(value);
            }
        }
        for key in defaults.keys() {
            not_required(property, key);
        }
    }
    property.insert("default".into(), default.clone());
}

/// The object that a property points to inside the same schema.
fn definition(schema: &Map<String, Value>, property: &Value) -> Option<Map<String, Value>> {
    let (first, rest) = property.get("$ref")?.as_str()?.strip_prefix("#/")?.split_once('/')?;
    schema.get(first)?.pointer(&format!("/{rest}"))?.as_object().cloned()
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// Whole argument objects that the schema shows.
fn examples(schema: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let known = schema.iter_mut().filter(|(key, _)| matches!(key.as_str(), "examples" | "example" | "default"));
    known.flat_map(|(_, value)| match value {
        Value::Array(list) => list.iter_mut().filter_map(Value::as_object_mut).collect::<Vec<_>>(),
        Value::Object(one) => vec![one],
        _ => Vec::new(),
    })
}

fn not_required(schema: &mut Map<String, Value>, name: &str) {
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|key| key != name);
        if required.is_empty() {
            schema.shift_remove("required");
        }
    }
    for part in schema.get_mut("allOf").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::Object(part) = part {
            not_required(part, name);
        }
    }
}

/// Removes definitions that nothing refers to, other than definitions that are removed.
fn drop_unused_definitions(schema: &mut Map<String, Value>) {
    for key in ["$defs", "definitions"] {
        let Some(Value::Object(definitions)) = schema.get_mut(key) else { continue };
        let (mut rest, mut used) = (std::mem::take(definitions), Map::new());
        let mut text = json!(schema).to_string();
        while !text.is_empty() {
            let (found, others): (Map<_, _>, Map<_, _>) = rest.into_iter().partition(|(name, _)| points(&text, key, name));
            text = if found.is_empty() { String::new() } else { json!(found).to_string() };
            used.extend(found);
            rest = others;
        }
        if used.is_empty() {
            schema.shift_remove(key);
        } else {
            schema.insert(key.to_owned(), Value::Object(used));
        }
    }
}

/// Whether a schema, as text, refers to this definition or to a part of it.
fn points(schema: &str, key: &str, name: &str) -> bool {
    let pointer = json!(format!("#/{key}/{}", name.replace('~', "~0").replace('/', "~1"))).to_string();
    let inside = format!("{}/", pointer.trim_end_matches('"'));
    schema.contains(&pointer) || schema.contains(&inside)
}
