//! Turns the model's arguments into the tool's arguments. Also reports which values must stay hidden, and which arguments the
//! model was not allowed to give. The two merges are pure: the model's arguments over the defaults, and the result over internal values.

use std::path::Path;

use serde_json::{Map, Value};

use super::{Source, View};
use crate::{atomic, config::Environment};

/// The sources of an operator's values.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    /// The variables of the process.
    pub environment: &'a Environment,
    /// The folder that file names are relative to.
    pub folder: &'a Path,
    /// The headers of the chat request that an operator trusts, names in lower case.
    pub headers: &'a [(String, String)],
}

/// The arguments of one call after the policy.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Applied {
    /// The arguments for the tool.
    pub arguments: Map<String, Value>,
    /// Hidden parameters that the model gave all the same, which is a sign of prompt injection.
    pub dropped: Vec<String>,
    /// Texts that must not appear in logs or results, the longest first.
    pub secrets: Vec<String>,
}

/// Shorter texts and numbers are not hidden: they occur everywhere, so removing them would destroy results. In bytes.
const SHORTEST_TEXT: usize = 4;
const SHORTEST_NUMBER: usize = 6;

impl View {
    /// Applies the policy.
    ///
    /// # Errors
    /// A value of the operator is missing. The message names the parameter and the source, never a value.
    pub fn apply(&self, given: &Map<String, Value>, values: &Values<'_>) -> Result<Applied, String> {
        let mut applied = Applied { arguments: given.clone(), ..Applied::default() };
        let mut merged: Map<String, Value> = Map::new();
        for binding in &self.bindings {
            // Where the name of a hidden parameter is also what a visible one is called at the tool, it is still the
            // model's spelling that is read here.
            let given = applied.arguments.shift_remove(&binding.visible);
            if given.is_some() && binding.hidden {
                applied.dropped.push(binding.visible.clone());
            }
            let given = given.filter(|_| !binding.hidden);
            let value = match (&binding.fixed, &binding.default) {
                (Some(fixed), _) => fixed.value(values, &binding.visible, &mut applied.secrets, true)?,
                (None, Some(default)) => {
                    let default = default.value(values, &binding.visible, &mut applied.secrets, binding.hidden)?;
                    merge_parameter(default.as_ref(), given.as_ref())
                }
                (None, None) if binding.merged => merge_parameter(None, given.as_ref()),
                (None, None) => given,
            };
            let Some(value) = value else { continue };
            let value = match merged.get(&binding.target) {
                Some(before) => overlay(before, value),
                None => value,
            };
            merged.insert(binding.target.clone(), value);
        }
        for (target, internal) in &self.internal {
            // A name that only the operator fills is not the model's to use.
            if applied.arguments.shift_remove(target).is_some() {
                applied.dropped.push(target.clone());
            }
            internal.values().for_each(|value| note_secrets(value, &mut applied.secrets));
            let signature = merged.shift_remove(target);
            merged.extend(merge_tool(internal, signature.as_ref()).map(|value| (target.clone(), value)));
        }
        applied.arguments.extend(merged);
        applied.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        applied.secrets.dedup();
        Ok(applied)
    }
}

impl Source {
    fn value(&self, values: &Values<'_>, name: &str, secrets: &mut Vec<String>, hidden: bool) -> Result<Option<Value>, String> {
        let comes = format!("the parameter `{name}` comes from");
        let text = match self {
            Source::Literal(value) => {
                if hidden {
                    note_secrets(value, secrets);
                }
                return Ok(Some(value.clone()));
            }
            Source::Variable(variable) => values
                .environment
                .get(variable)
                .ok_or_else(|| format!("{comes} the environment variable {variable}, which is not set"))?
                .to_owned(),
            Source::File(file) => atomic::read(&values.folder.join(file))
                .map_err(|error| format!("{comes} the file {}: {error}", file.display()))?
                .trim_end_matches(['\r', '\n'])
                .to_owned(),
            Source::Header(header) => {
                let found = values.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(header));
                let missing = || format!("{comes} the header `{header}`, which is missing or not in `trusted_headers`");
                found.ok_or_else(missing)?.1.clone()
            }
        };
        let value = Value::String(text);
        note_secrets(&value, secrets);
        Ok(Some(value))
    }
}

/// Merges two visible parameters with the same target: the later overrides the earlier.
fn overlay(before: &Value, after: Value) -> Value {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            Value::Object(before.iter().map(|(key, value)| (key.clone(), value.clone())).chain(after).collect())
        }
        (_, after) => after,
    }
}

/// Collects the texts of a value, plain and in their JSON spelling.
fn note_secrets(value: &Value, secrets: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() >= SHORTEST_TEXT => {
            let written = Value::String(text.clone()).to_string();
            let inside = written.get(1..written.len() - 1).unwrap_or_default();
            if inside != text {
                secrets.push(inside.to_owned());
            }
            secrets.push(text.clone());
        }
        Value::Number(number) if number.to_string().len() >= SHORTEST_NUMBER => secrets.push(number.to_string()),
        Value::Array(list) => list.iter().for_each(|value| note_secrets(value, secrets)),
        Value::Object(object) => object.values().for_each(|value| note_secrets(value, secrets)),
        _ => {}
    }
}

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
