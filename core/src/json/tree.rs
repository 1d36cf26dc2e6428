//! The tree that the readers return. It keeps the position of each value in the source, so that numbers keep their digits,
//! strings keep their escapes, and an object that was meant as text can be returned letter by letter.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A value and its position in the source.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node<'s> {
    /// The value.
    pub value: Value<'s>,
    /// Its first byte in the source.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
    /// Whether `source[start..end]` is strict JSON of exactly this value.
    pub exact: bool,
}

/// A JSON value. Numbers keep their digits; objects keep their order and repeated keys.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value<'s> {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number in JSON's spelling.
    Number(Cow<'s, str>),
    /// A string, decoded.
    Text(Cow<'s, str>),
    /// An array.
    Array(Vec<Node<'s>>),
    /// An object.
    Object(Vec<Member<'s>>),
}

/// One member of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Member<'s> {
    /// The key, decoded.
    pub key: Cow<'s, str>,
    /// The position of the key in the source.
    pub start: usize,
    /// Its value.
    pub node: Node<'s>,
}

impl<'s> Node<'s> {
    /// A node that is not in the source.
    pub(crate) fn made(value: Value<'s>) -> Node<'s> {
        Node { value, ..Node::default() }
    }

    /// A node with another value at the same position.
    pub fn instead<'n>(&self, value: Value<'n>) -> Node<'n> {
        Node { value, start: self.start, end: self.end, exact: false }
    }

    /// The same tree, independent of its source. All of its nodes get the position `start..end`.
    pub fn detached(self, start: usize, end: usize) -> Node<'static> {
        let value = match self.value {
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(value),
            Value::Number(digits) => Value::Number(Cow::Owned(digits.into_owned())),
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Value::Array(items) => Value::Array(items.into_iter().map(|item| item.detached(start, end)).collect()),
            Value::Object(members) => Value::Object(
                members
                    .into_iter()
                    .map(|member| Member {
                        key: Cow::Owned(member.key.into_owned()),
                        start,
                        node: member.node.detached(start, end),
                    })
                    .collect(),
            ),
        };
        Node { value, start, end, exact: false }
    }

    /// How many values the tree has.
    pub(crate) fn size(&self) -> u32 {
        match &self.value {
            Value::Array(items) => items.iter().fold(1, |sum: u32, item| sum.saturating_add(item.size())),
            Value::Object(members) => members.iter().fold(1, |sum: u32, member| sum.saturating_add(member.node.size())),
            _ => 1,
        }
    }

    /// Writes JSON. Exact nodes are copied from the source.
    pub fn write(&self, source: &str, out: &mut String) {
        if self.exact
            && let Some(text) = source.get(self.start..self.end)
        {
            out.push_str(text);
            return;
        }
        match &self.value {
            Value::Null => out.push_str("null"),
            Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Number(digits) => out.push_str(digits),
            Value::Text(text) => write_text(text, out),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    out.push(if at == 0 { '[' } else { ',' });
                    item.write(source, out);
                }
                out.push_str(if items.is_empty() { "[]" } else { "]" });
            }
            Value::Object(members) => {
                for (at, member) in members.iter().enumerate() {
                    out.push(if at == 0 { '{' } else { ',' });
                    write_text(&member.key, out);
                    out.push(':');
                    member.node.write(source, out);
                }
                out.push_str(if members.is_empty() { "{}" } else { "}" });
            }
        }
    }

    /// The value as JSON text.
    pub fn to_json(&self, source: &str) -> String {
        let mut out = String::with_capacity(self.end - self.start + 16);
        self.write(source, &mut out);
        out
    }

    /// The value in serde_json's form. Of repeated keys the last one counts. A number out of range (`1e400`) becomes the largest
    /// or smallest double.
    pub fn to_serde(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => serde_json::Value::Bool(*value),
            Value::Number(digits) => {
                serde_json::from_str(digits).unwrap_or_else(|_| if digits.starts_with('-') { f64::MIN } else { f64::MAX }.into())
            }
            Value::Text(text) => serde_json::Value::String(text.clone().into_owned()),
            Value::Array(items) => serde_json::Value::Array(items.iter().map(Node::to_serde).collect()),
            Value::Object(members) => serde_json::Value::Object(
                members.iter().map(|member| (member.key.clone().into_owned(), member.node.to_serde())).collect(),
            ),
        }
    }
}

/// Writes a JSON string.
fn write_text(text: &str, out: &mut String) {
    _ = write!(out, "{}", serde_json::Value::from(text));
}
