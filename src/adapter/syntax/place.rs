//! Where in a tool's schema a value stands, and what a text without quotes means there.

use serde_json::{Map, Value};

use super::{
    literal::{Node, atom},
    markdown::plain,
};
use crate::event::Tool;

const REFERENCES: usize = 8;

/// The schema document of a tool's parameters.
#[derive(Debug, Default)]
pub(crate) struct Document(Value);

/// A place in it; nothing is known of a place that the schema does not describe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'s> {
    root: &'s Value,
    schema: Option<&'s Value>,
}

// === impl Document ===

impl Document {
    pub(crate) fn new(tool: Option<&Tool>) -> Document {
        Document(tool.and_then(|tool| serde_json::from_str(tool.checked_schema()).ok()).unwrap_or_default())
    }

    pub(crate) fn root(&self) -> Place<'_> {
        Place { root: &self.0, schema: Some(&self.0) }
    }
}

// === impl Place ===

impl<'s> Place<'s> {
    /// The names of the members that are described here, in the schema's order.
    pub(crate) fn keys(&self) -> Vec<String> {
        let properties = self.find(0, &|schema| schema.get("properties")).and_then(Value::as_object);
        properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
    }

    /// The place of a member.
    pub(crate) fn member(&self, key: &str) -> Place<'s> {
        let key = &*plain(key);
        let described = |schema: &'s Value| schema.get("properties").and_then(|properties| properties.get(key));
        let schema = self.find(0, &described).or_else(|| self.find(0, &|schema| schema.get("additionalProperties")));
        Place { schema, ..*self }
    }

    /// The place of a list's elements.
    pub(crate) fn element(&self) -> Place<'s> {
        Place { schema: self.find(0, &|schema| schema.get("items")), ..*self }
    }

    /// Whether the schema allows this type here; `None` if it says nothing of types.
    pub(crate) fn allows(&self, name: &str) -> Option<bool> {
        let says = |schema: &'s Value| says(schema, name);
        self.find(0, &|schema| says(schema).filter(|&allowed| allowed)).or_else(|| self.find(0, &says))
    }

    /// The first answer of this schema, of what it refers to, and of its alternatives.
    fn find<T>(&self, depth: usize, get: &dyn Fn(&'s Value) -> Option<T>) -> Option<T> {
        let schema = self.schema?;
        if depth > REFERENCES {
            return None;
        }
        get(schema).or_else(|| {
            let inner = |schema: &'s Value| Place { schema: Some(schema), ..*self }.find(depth + 1, get);
            let referred = schema.get("$ref").and_then(Value::as_str).and_then(|path| self.root.pointer(path.strip_prefix('#')?));
            let branches = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
            referred.into_iter().chain(branches).find_map(inner)
        })
    }

    /// The JSON of a value that stands here.
    pub(crate) fn json(&self, node: Node) -> Value {
        match node {
            Node::Text(text) => Value::String(text),
            Node::Atom(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            Node::Bare(text) => self.bare(text),
            Node::List(items) => {
                let place = self.element();
                Value::Array(items.into_iter().map(|item| place.json(item)).collect())
            }
            Node::Dict(members) => self.object(members),
        }
    }

    /// The JSON of an object that stands here.
    pub(crate) fn object(&self, members: Vec<(String, Node)>) -> Value {
        let member = |(key, node): (String, Node)| {
            let value = self.member(&key).json(node);
            (key, value)
        };
        Value::Object(members.into_iter().map(member).collect::<Map<_, _>>())
    }

    /// A text without quotes: what it looks like, if the schema allows that here, else a string.
    fn bare(&self, text: String) -> Value {
        let looks = atom(&text).or_else(|| number(&text)).or_else(|| null(&text).then(|| "null".to_owned()));
        let Some(value) = looks.and_then(|json| serde_json::from_str::<Value>(&json).ok()) else { return Value::String(text) };
        let kind = kind(&value);
        let fits = self.allows(kind) == Some(true) || (kind == "integer" && self.allows("number") == Some(true));
        let exact = atom(&text).is_some() || null(&text);
        match self.allows("string") {
            Some(true) if !fits => Value::String(text),
            None if !exact => Value::String(text),
            _ => value,
        }
    }
}

/// Whether a schema allows a type; `None` if it speaks of none.
fn says(schema: &Value, name: &str) -> Option<bool> {
    let named = |value: &Value| {
        let word = value.as_str().unwrap_or_default().to_ascii_lowercase();
        let standard = match word.as_str() {
            "str" | "text" => "string",
            "int" => "integer",
            "float" => "number",
            "bool" => "boolean",
            other => other,
        };
        standard == name
    };
    match (schema.get("type"), schema.get("enum")) {
        (Some(Value::Array(names)), _) => Some(names.iter().any(named)),
        (Some(one), _) => Some(named(one)),
        (None, Some(Value::Array(values))) => Some(values.iter().any(|value| kind(value) == name)),
        (None, _) => None,
    }
}

/// The type of a value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// JSON text of a number that only JSON does not spell so: `007`, `1_000`, `+3`, `.5`, `0x1F`.
pub(crate) fn number(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|&c| c != '_').collect();
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return i64::from_str_radix(hex, 16).ok().map(|number| number.to_string());
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return None;
    }
    match digits.parse::<i64>() {
        Ok(number) => Some(number.to_string()),
        Err(_) => digits.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number.to_string()),
    }
}

/// Other languages' names of nothing.
fn null(text: &str) -> bool {
    matches!(text, "none" | "nil" | "NULL" | "Null" | "undefined")
}
