//! Types for values that a model wrote as bare text: the tool's schema decides whether a text stays a string or is the
//! number, list or `null` that it looks like. Converting what does not fit is the fixer's task, not done here.

use serde_json::{Map, Value};

use super::markdown::plain;
use crate::{
    event::Tool,
    fix::{End, Verdict, fix},
    json::extent::Extent,
};

/// How deep schemas are followed.
const DEPTH: usize = 12;

/// What the form itself says of a value's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Hint {
    /// Nothing: the schema decides.
    #[default]
    None,
    /// It is a string.
    Text,
    /// It is JSON (where the schema does not want a string).
    Json,
}

/// The parameters of one tool and their types.
#[derive(Debug, Default)]
pub(crate) struct Types {
    root: Value,
}

// === impl Types ===

impl Types {
    /// Those of this tool; without one every value is what it looks like.
    pub(crate) fn new(tool: Option<&Tool>) -> Types {
        Types { root: tool.and_then(|tool| serde_json::from_str(tool.checked_schema()).ok()).unwrap_or_default() }
    }

    /// The names of the parameters in the schema's order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.root.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys).map(String::as_str)
    }

    /// The names of the parameters that a call must have.
    pub(crate) fn required(&self) -> impl Iterator<Item = &str> {
        self.root.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whether it is a parameter of the tool.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.root.get("properties").is_some_and(|properties| properties.get(&*plain(key)).is_some())
    }

    /// The value of a parameter as JSON text.
    pub(crate) fn value(&self, key: &str, text: &str, hint: Hint) -> String {
        self.parameter(key).value(text, hint)
    }

    /// The type of one parameter.
    pub(crate) fn parameter(&self, key: &str) -> Type<'_> {
        Type { schema: self.root.get("properties").and_then(|properties| properties.get(&*plain(key))), root: &self.root }
    }
}

/// The type of one value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Type<'a> {
    schema: Option<&'a Value>,
    root: &'a Value,
}

// === impl Type ===

impl<'a> Type<'a> {
    /// A text as JSON: the literal that it spells where that is accepted, else a string.
    pub(crate) fn value(self, text: &str, hint: Hint) -> String {
        let string = || Value::from(text).to_string();
        let plain = |schema: &Value| schema.get("type").is_some_and(|name| name == "string") && schema.get("nullable").is_none();
        if hint == Hint::Text || (hint == Hint::None && self.schema.is_some_and(plain)) {
            return string();
        }
        let Some((written, value)) = literal(text) else {
            // `007` where no string may stand: the fixer knows what that is.
            let number = self.schema.is_some() && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
            return if number && !self.allows(&Value::from(text)) { text.to_owned() } else { string() };
        };
        let Some(schema) = self.schema else {
            return if value.is_string() && hint == Hint::None { string() } else { written };
        };
        let accepts = |value: &Value| accepts(schema, self.root, value, 0);
        let as_text = accepts(&Value::from(text));
        // Only a named constant accepts this text and no other.
        if as_text == Some(true) && accepts(&Value::from(format!("{text}\0"))) == Some(false) {
            return string();
        }
        if value.is_string() && hint == Hint::None && !untyped(schema) {
            return string();
        }
        match (accepts(&value), as_text) {
            (Some(true), _) | (_, Some(false)) => written,
            _ => string(),
        }
    }

    /// Whether a value of this kind may stand here; unknown counts as yes.
    pub(crate) fn allows(self, value: &Value) -> bool {
        self.schema.is_none_or(|schema| accepts(schema, self.root, value, 0) != Some(false))
    }

    /// Whether the schema says anything of it.
    pub(crate) fn known(self) -> bool {
        self.schema.is_some()
    }

    /// The type of a member of the object that stands here.
    pub(crate) fn member(self, key: &str) -> Type<'a> {
        self.inner(&|object| {
            object.get("properties").and_then(|properties| properties.get(key)).or_else(|| object.get("additionalProperties"))
        })
    }

    /// The type of the elements of the array that stands here.
    pub(crate) fn element(self) -> Type<'a> {
        self.inner(&|object| object.get("items"))
    }

    fn inner(self, pick: &dyn Fn(&'a Map<String, Value>) -> Option<&'a Value>) -> Type<'a> {
        Type { schema: self.schema.and_then(|schema| find(schema, self.root, pick, 0)), root: self.root }
    }
}

/// The first sub-schema that `pick` finds in a schema or in what it is composed of.
fn find<'a>(
    schema: &'a Value,
    root: &'a Value,
    pick: &dyn Fn(&'a Map<String, Value>) -> Option<&'a Value>,
    depth: usize,
) -> Option<&'a Value> {
    let object = schema.as_object().filter(|_| depth < DEPTH)?;
    if let Some(found) = pick(object).filter(|found| found.is_object()) {
        return Some(found);
    }
    if let Some(target) = object.get("$ref").and_then(|path| resolve(path, root)) {
        return find(target, root, pick, depth + 1);
    }
    let branches = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| object.get(key)?.as_array()).flatten();
    branches.into_iter().find_map(|branch| find(branch, root, pick, depth + 1))
}

/// Whether a schema says nothing of types that JSON Schema knows.
fn untyped(schema: &Value) -> bool {
    let known =
        |name: &Value| matches!(name.as_str(), Some("string" | "integer" | "number" | "boolean" | "object" | "array" | "null"));
    match schema.get("type") {
        Some(Value::Array(names)) => !names.iter().any(known),
        Some(name) => !known(name),
        None => !["enum", "const", "anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| schema.get(key).is_some()),
    }
}

/// Whether a schema accepts a value, as far as its types, constants and combinations say; `None` if that cannot be known.
fn accepts(schema: &Value, root: &Value, value: &Value, depth: usize) -> Option<bool> {
    let object = match schema {
        Value::Bool(all) => return Some(*all),
        Value::Object(object) if depth < DEPTH => object,
        _ => return None,
    };
    if value.is_null() && object.get("nullable") == Some(&Value::Bool(true)) {
        return Some(true);
    }
    let root = if object.contains_key("$id") { schema } else { root };
    let inner = |schema: &Value| accepts(schema, root, value, depth + 1);
    let mut answers = Vec::new();
    for (key, said) in object {
        answers.push(match (key.as_str(), said) {
            ("type", Value::String(name)) => is(name, value),
            ("type", Value::Array(names)) => any(names.iter().map(|name| name.as_str().and_then(|name| is(name, value)))),
            ("enum", Value::Array(values)) => Some(values.contains(value)),
            ("const", constant) => Some(constant == value),
            ("anyOf", Value::Array(branches)) => any(branches.iter().map(inner)),
            ("oneOf", Value::Array(branches)) => one(branches.iter().map(inner)),
            ("allOf", Value::Array(branches)) => all(branches.iter().map(inner)),
            ("not", schema) => inner(schema).map(|answer| !answer),
            ("$ref", path) => resolve(path, root).and_then(inner),
            ("$dynamicRef" | "$recursiveRef", _) => None,
            _ => continue,
        });
    }
    all(answers.into_iter())
}

/// Whether a value is of the type of this name; a name that nobody knows fits everything.
fn is(name: &str, value: &Value) -> Option<bool> {
    Some(match name.to_ascii_lowercase().as_str() {
        "string" | "str" | "text" => value.is_string(),
        "integer" | "int" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" | "float" | "double" => value.is_number(),
        "boolean" | "bool" => value.is_boolean(),
        "object" | "dict" => value.is_object(),
        "array" | "list" => value.is_array(),
        "null" | "none" => value.is_null(),
        _ => true,
    })
}

fn any(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut sum = Some(false);
    for answer in answers {
        match answer {
            Some(true) => return Some(true),
            Some(false) => {}
            None => sum = None,
        }
    }
    sum
}

fn all(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    any(answers.map(|answer| answer.map(|answer| !answer))).map(|answer| !answer)
}

fn one(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let answers: Option<Vec<bool>> = answers.collect();
    answers.map(|answers| answers.into_iter().filter(|&answer| answer).count() == 1)
}

/// What a reference inside the document points to.
fn resolve<'a>(path: &Value, root: &'a Value) -> Option<&'a Value> {
    let pointer = path.as_str()?.strip_prefix('#')?;
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => u8::from_str_radix(&String::from_utf8(vec![rest.next()?, rest.next()?]).ok()?, 16).ok()?,
            other => other,
        });
    }
    root.pointer(&String::from_utf8(bytes).ok()?)
}

/// The JSON or Python literal that a text spells: as JSON text, number lexemes kept, and its value.
fn literal(text: &str) -> Option<(String, Value)> {
    let text = text.trim();
    let word = match text {
        "True" => "true",
        "False" => "false",
        "None" => "null",
        other => other,
    };
    if let Ok(value) = serde_json::from_str(word) {
        return Some((word.to_owned(), value));
    }
    let whole = text.starts_with(['{', '[']) && Extent::default().feed(text.as_bytes()) == Some(text.len());
    let report = whole.then(|| fix(text, None, &[], End::Closed)).filter(|report| report.verdict <= Verdict::Lossless)?;
    let json = report.arguments?;
    let value = serde_json::from_str(&json).ok()?;
    Some((json, value))
}

#[cfg(test)]
mod tests;
