//! A schema document, seen from its places: which subschema describes a member, which types it allows. This is the only code that
//! resolves references.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Types, foreign};
use crate::event::Tool;

/// How many references and branches deep a search goes.
const DEPTH: usize = 12;
/// Maximum number of subschemas that one question visits.
const FUEL: usize = 10_000;

/// The schema document of a tool's parameters. One that is not JSON says nothing.
#[derive(Debug, Clone, Default)]
pub struct View(Arc<Value>);

/// A place in a document. Nothing is known of a place that the document does not describe.
#[derive(Debug, Clone, Copy)]
pub struct Place<'v> {
    schema: Option<&'v Value>,
    /// What references are relative to: the document, or the innermost subschema with an `$id`.
    base: &'v Value,
}

impl View {
    /// The schema of this tool's arguments. Without a tool, nothing is known.
    pub fn of(tool: Option<&Tool>) -> View {
        tool.map(|tool| View(tool.parsed(document))).unwrap_or_default()
    }

    /// The document with this text.
    pub(super) fn parse(text: &str) -> View {
        View(Arc::new(document(text)))
    }

    /// The place of the arguments as a whole.
    pub fn root(&self) -> Place<'_> {
        Place { schema: Some(&self.0), base: &self.0 }
    }

    pub(super) fn document(&self) -> &Value {
        &self.0
    }

    /// Removes the member at this JSON pointer. Returns `false` if there is none.
    pub(super) fn remove(&mut self, pointer: &str) -> bool {
        let Some((parent, key)) = pointer.rsplit_once('/') else { return false };
        let parent = Arc::make_mut(&mut self.0).pointer_mut(parent).and_then(Value::as_object_mut);
        parent.is_some_and(|parent| parent.remove(&key.replace("~1", "/").replace("~0", "~")).is_some())
    }
}

/// Parses a document and translates it to JSON Schema's own words.
fn document(text: &str) -> Value {
    let mut document = serde_json::from_str(text).unwrap_or_default();
    foreign::translate(&mut document);
    document
}

impl<'v> Place<'v> {
    /// The place of a subschema of `document`, which may be in a client's own words.
    pub fn of(schema: &'v Value, document: &'v Value) -> Place<'v> {
        Place { schema: Some(schema), base: document }
    }

    /// The names of the members described here, in the schema's order.
    pub fn keys(self) -> impl Iterator<Item = &'v str> {
        let properties = self.find(&|schema| schema.get("properties")?.as_object());
        properties.into_iter().flat_map(Map::keys).map(String::as_str)
    }

    /// The names of the members that must be given. A strict schema lists every member in `required`, and lets an optional one be
    /// null instead: such a member may be left out, and is null then (N10).
    pub fn required(self) -> impl Iterator<Item = &'v str> {
        let names = |place: Place<'v>| place.keyword("required").and_then(Value::as_array);
        let list = names(self).or_else(|| names(self.referred()?));
        list.into_iter().flatten().filter_map(Value::as_str).filter(move |name| !self.property(name).may_be_null())
    }

    /// Whether the schema says that `null` is allowed here. A schema that says nothing about types does not say so.
    pub fn may_be_null(self) -> bool {
        let says = || self.allows(Types::NULL) == Some(true) && self.accepts(&Value::Null) != Some(false);
        // In a document that was not translated.
        self.keyword("nullable") == Some(&Value::Bool(true)) || says()
    }

    /// Whether the document says that there are no members. A document without `properties` does not say so.
    pub fn is_empty(self) -> bool {
        self.find(&|schema| schema.get("properties")?.as_object()).is_some_and(Map::is_empty)
    }

    /// Whether a member with exactly this name is described.
    pub fn has(self, key: &str) -> bool {
        self.find(&|schema| schema.get("properties")?.get(key)).is_some()
    }

    /// The place of the member with exactly this name.
    pub fn property(self, key: &str) -> Place<'v> {
        self.inner(&|schema| schema.get("properties")?.get(key)).unwrap_or(Place { schema: None, ..self })
    }

    /// The place of the member with this name, also by `additionalProperties`. Only for schemas that are objects.
    pub fn member(self, key: &str) -> Place<'v> {
        let named = |schema: &'v Map<String, Value>| schema.get("properties")?.get(key).filter(|found| found.is_object());
        let others = |schema: &'v Map<String, Value>| schema.get("additionalProperties").filter(|found| found.is_object());
        self.inner(&named).or_else(|| self.inner(&others)).unwrap_or(Place { schema: None, ..self })
    }

    /// The place of a list's elements.
    pub fn element(self) -> Place<'v> {
        self.inner(&|schema| schema.get("items").filter(|found| found.is_object())).unwrap_or(Place { schema: None, ..self })
    }

    /// Whether the document describes this place.
    pub fn is_known(self) -> bool {
        self.schema.is_some()
    }

    /// Whether the schema says nothing about types.
    pub fn is_untyped(self) -> bool {
        !["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| self.keyword(key).is_some())
    }

    /// Whether only listed values are allowed here.
    pub fn is_listed(self) -> bool {
        self.search(&|place| place.keyword("enum").or(place.keyword("const")).map(|_| true)).is_some()
    }

    /// Whether `type` is string and nothing else.
    pub fn is_plain_string(self) -> bool {
        self.types() == Some(Types::STRING)
    }

    /// The types in `type`; `None` if it is missing.
    pub fn types(self) -> Option<Types> {
        foreign::types(self.keyword("type")?)
    }

    /// Whether one of these types is allowed here; `None` if the schema says nothing about types.
    pub fn allows(self, types: Types) -> Option<bool> {
        let says = |place: Place<'v>| match place.keyword("enum") {
            Some(Value::Array(values)) if place.keyword("type").is_none() => {
                Some(values.iter().any(|value| types.allow(Types::of(value))))
            }
            _ => place.types().map(|own| own.allow(types)),
        };
        self.search(&|place| says(place).filter(|allowed| *allowed)).or_else(|| self.search(&says))
    }

    /// Whether a value is allowed here, as far as types, constants and combinations say; `None` if that cannot be known.
    pub fn accepts(self, value: &Value) -> Option<bool> {
        self.accepts_within(value, 0, &mut { FUEL })
    }

    fn accepts_within(self, value: &Value, depth: usize, fuel: &mut usize) -> Option<bool> {
        *fuel = fuel.checked_sub(1)?;
        let object = match self.schema? {
            Value::Bool(all) => return Some(*all),
            Value::Object(object) if depth < DEPTH => object,
            _ => return None,
        };
        let mut answers = Vec::new();
        for (key, said) in object {
            let mut inner = |schema: &'v Value| self.at(schema).accepts_within(value, depth + 1, fuel);
            answers.push(match (key.as_str(), said) {
                ("type", _) => Some(self.types().is_none_or(|types| is_of(value, types))),
                ("enum", Value::Array(values)) => Some(values.contains(value)),
                ("const", constant) => Some(constant == value),
                ("anyOf", Value::Array(branches)) => any(branches.iter().map(inner)),
                ("oneOf", Value::Array(branches)) => one(branches.iter().map(inner)),
                ("allOf", Value::Array(branches)) => all(branches.iter().map(inner)),
                ("not", schema) => inner(schema).map(|answer| !answer),
                ("$ref", _) => self.referred().and_then(|target| target.accepts_within(value, depth + 1, fuel)),
                ("$dynamicRef" | "$recursiveRef", _) => None,
                _ => continue,
            });
        }
        all(answers.into_iter())
    }

    /// The value of a keyword of this subschema.
    pub(crate) fn keyword(self, name: &str) -> Option<&'v Value> {
        self.schema?.get(name)
    }

    /// This subschema.
    pub(super) fn schema(self) -> Option<&'v Value> {
        self.schema
    }

    /// The place of a subschema of this one.
    pub(super) fn at(self, schema: &'v Value) -> Place<'v> {
        let base = if schema.get("$id").is_some_and(Value::is_string) { schema } else { self.base };
        Place { schema: Some(schema), base }
    }

    /// The place that `$ref` points to, inside the document.
    pub(super) fn referred(self) -> Option<Place<'v>> {
        let fragment = decoded(self.keyword("$ref")?.as_str()?.strip_prefix('#')?)?;
        // A reference next to an `$id` is relative to it.
        let base = self.at(self.schema?).base;
        let target = if fragment.is_empty() || fragment.starts_with('/') {
            base.pointer(&fragment)?
        } else {
            let anchored = |schema: &&'v Value| schema.get("$anchor").and_then(Value::as_str) == Some(fragment.as_str());
            let places = ["$defs", "definitions"].into_iter().filter_map(|place| base.get(place)?.as_object());
            places.flat_map(Map::values).find(anchored)?
        };
        Some(Place { base, ..self }.at(target))
    }

    /// The branches of `anyOf`, `oneOf` and `allOf`.
    fn branches(self) -> impl Iterator<Item = Place<'v>> {
        let lists = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(move |key| self.keyword(key)?.as_array());
        lists.flatten().map(move |branch| self.at(branch))
    }

    /// The first subschema that `pick` finds in this one, in its target or in its branches.
    fn inner(self, pick: &dyn Fn(&'v Map<String, Value>) -> Option<&'v Value>) -> Option<Place<'v>> {
        self.search(&|place| place.schema?.as_object().and_then(pick).map(|found| place.at(found)))
    }

    /// The first result of `pick` in this subschema, in its target or in its branches.
    fn find<T>(self, pick: &dyn Fn(&'v Map<String, Value>) -> Option<T>) -> Option<T> {
        self.search(&|place| place.schema?.as_object().and_then(pick))
    }

    /// The first answer of this subschema, then of the one it refers to, then of its branches.
    fn search<T>(self, ask: &dyn Fn(Place<'v>) -> Option<T>) -> Option<T> {
        self.search_within(ask, 0, &mut { FUEL })
    }

    fn search_within<T>(self, ask: &dyn Fn(Place<'v>) -> Option<T>, depth: usize, fuel: &mut usize) -> Option<T> {
        self.schema?;
        *fuel = fuel.checked_sub(1).filter(|_| depth < DEPTH)?;
        ask(self)
            .or_else(|| self.referred()?.search_within(ask, depth + 1, fuel))
            .or_else(|| self.branches().find_map(|branch| branch.search_within(ask, depth + 1, fuel)))
    }
}

/// Whether a value has one of these types. `3.0` is an integer.
fn is_of(value: &Value, types: Types) -> bool {
    let whole = || types.allow(Types::INTEGER) && value.as_f64().is_some_and(|number| number.fract() == 0.0);
    types.allow(Types::of(value)) || whole()
}

/// The fragment of a reference with its percent escapes decoded (RFC 6901, section 6).
fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Three-valued `or`: `None` is unknown.
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

/// Three-valued `and`: `None` is unknown.
fn all(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    any(answers.map(|answer| answer.map(|answer| !answer))).map(|answer| !answer)
}

/// Whether exactly one answer is true; `None` if any is unknown.
fn one(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let answers: Option<Vec<bool>> = answers.collect();
    answers.map(|answers| answers.into_iter().filter(|answer| *answer).count() == 1)
}
