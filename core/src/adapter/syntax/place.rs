//! A position in a tool's schema, and what unquoted text means there.

use super::{
    literal::Node,
    markdown::plain,
    scalar::{atom, is_null, number},
    typing::verbatim,
};
use crate::{
    event::Tool,
    fix::{self, Types, View},
};

/// The schema of a tool's parameters.
#[derive(Debug, Default)]
pub(crate) struct Document(View);

/// A position in the schema. Nothing is known about a position that the schema does not describe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'s>(fix::Place<'s>);

impl Document {
    pub(crate) fn new(tool: Option<&Tool>) -> Document {
        Document(View::of(tool))
    }

    pub(crate) fn root(&self) -> Place<'_> {
        Place(self.0.root())
    }
}

impl<'s> Place<'s> {
    /// The names of the members described here, in the schema's order.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.0.keys().map(str::to_owned).collect()
    }

    pub(crate) fn member(&self, key: &str) -> Place<'s> {
        Place(self.0.member(&plain(key)))
    }

    /// The position of a list's elements.
    pub(crate) fn element(&self) -> Place<'s> {
        Place(self.0.element())
    }

    /// Whether the schema allows one of these types here. `None`: it says nothing about types.
    pub(crate) fn allows(&self, types: Types) -> Option<bool> {
        self.0.allows(types)
    }

    /// Writes an object as JSON text. Numbers keep their digits, and repeated keys stay repeated.
    pub(crate) fn object(&self, members: Vec<(String, Node)>) -> String {
        let member = |(key, node): (String, Node)| format!("{}:{}", verbatim(&key), self.member(&key).json(node));
        format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
    }

    /// Writes a value as JSON text.
    fn json(&self, node: Node) -> String {
        match node {
            Node::Text(text) => text.json(),
            Node::Atom(text) => text,
            Node::Bare(text) => self.bare(&text),
            Node::List(items) => {
                let place = self.element();
                format!("[{}]", items.into_iter().map(|item| place.json(item)).collect::<Vec<_>>().join(","))
            }
            Node::Dict(members) => self.object(members),
        }
    }

    /// Writes unquoted text as what it looks like if the schema allows that here, else as a string. `null` is never a string.
    fn bare(&self, text: &str) -> String {
        let exact = atom(text).or_else(|| is_null(text).then(|| "null".to_owned()));
        let looks = exact.clone().or_else(|| number(text));
        let Some(json) = looks else { return verbatim(text) };
        let Ok(value) = serde_json::from_str(&json) else { return verbatim(text) };
        let fits = self.allows(Types::of(&value)) == Some(true);
        match self.allows(Types::STRING) {
            Some(true) if !fits && text != "null" => verbatim(text),
            None if exact.is_none() => verbatim(text),
            _ => json,
        }
    }
}
