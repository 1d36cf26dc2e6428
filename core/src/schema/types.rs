//! Sets of JSON types.

use serde_json::Value;

use crate::json::tree::{self, Node};

/// A set of JSON types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Types(u8);

/// The names of each type: JSON Schema's own first. A number comes before an integer, which it includes.
const NAMES: [(Types, &[&str]); 7] = [
    (Types::NULL, &["null", "none"]),
    (Types::BOOLEAN, &["boolean", "bool"]),
    (Types::NUMBER, &["number", "float", "double"]),
    (Types::INTEGER, &["integer", "int"]),
    (Types::STRING, &["string", "str", "text"]),
    (Types::ARRAY, &["array", "list"]),
    (Types::OBJECT, &["object", "dict"]),
];

impl Default for Types {
    fn default() -> Types {
        Types::ALL
    }
}

impl Types {
    /// Every type.
    pub const ALL: Types = Types(0x7f);
    /// No type: nothing fits.
    pub const NONE: Types = Types(0);
    /// `null`.
    pub const NULL: Types = Types(1);
    /// `boolean`.
    pub const BOOLEAN: Types = Types(2);
    /// `integer`.
    pub const INTEGER: Types = Types(4);
    /// All numbers, including integers.
    pub const NUMBER: Types = Types(8 | 4);
    /// `string`.
    pub const STRING: Types = Types(16);
    /// `array`.
    pub const ARRAY: Types = Types(32);
    /// `object`.
    pub const OBJECT: Types = Types(64);

    /// The type with this name in JSON Schema, or in another language whose names models and clients use; `None` for other words.
    pub fn named(name: &str) -> Option<Types> {
        let name = name.to_ascii_lowercase();
        NAMES.into_iter().find(|(_, names)| names.contains(&name.as_str())).map(|(types, _)| types)
    }

    /// This set as the value of `type` in JSON Schema.
    pub(super) fn to_value(self) -> Value {
        let mut left = self;
        let mut names = Vec::new();
        for (types, spellings) in NAMES {
            if left.and(types) == types {
                names.push(Value::from(spellings[0]));
                left = Types(left.0 & !types.0);
            }
        }
        if names.len() == 1 { names.remove(0) } else { Value::Array(names) }
    }

    /// The type of a value.
    pub fn of(value: &Value) -> Types {
        match value {
            Value::Null => Types::NULL,
            Value::Bool(_) => Types::BOOLEAN,
            Value::Number(number) if number.is_i64() || number.is_u64() => Types::INTEGER,
            // `3.0` is accepted as an integer too.
            Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() == 0.0) => Types::NUMBER,
            Value::Number(_) => Types(8),
            Value::String(_) => Types::STRING,
            Value::Array(_) => Types::ARRAY,
            Value::Object(_) => Types::OBJECT,
        }
    }

    /// The type of a node.
    pub fn of_node(node: &Node<'_>) -> Types {
        match &node.value {
            tree::Value::Null => Types::NULL,
            tree::Value::Bool(_) => Types::BOOLEAN,
            tree::Value::Number(digits) if digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => Types::INTEGER,
            // `3.0` is accepted as an integer too.
            tree::Value::Number(_) => Types::NUMBER,
            tree::Value::Text(_) => Types::STRING,
            tree::Value::Array(_) => Types::ARRAY,
            tree::Value::Object(_) => Types::OBJECT,
        }
    }

    /// Whether the sets have a type in common.
    pub fn allow(self, other: Types) -> bool {
        self.0 & other.0 != 0
    }

    /// The types in both sets.
    pub fn and(self, other: Types) -> Types {
        Types(self.0 & other.0)
    }

    /// The types in either set.
    pub fn or(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    /// Whether every type is allowed, so that nothing is known.
    pub fn is_all(self) -> bool {
        self.0 == Types::ALL.0
    }
}
