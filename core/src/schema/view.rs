//! The one view of a schema: its document, compiled to rules, as seen from its places. The readers ask it what a bare text means,
//! the tolerant JSON reader which keys to expect, the coercions what a value must become.

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::{ANY, Additional, Rule, Types, WRAPPERS, compile, foreign, keyword::Subschema};
use crate::event::Tool;
use crate::json::read::{Guide, Key, Shape};

/// Maximum number of subschemas that are compared with one value.
const FUEL: u32 = 1000;

/// A schema document of a tool's parameters. One that is not JSON says nothing.
#[derive(Debug)]
pub struct View {
    document: Value,
    /// Rule 0 allows everything, rule 1 is the root.
    rules: Vec<Arc<Rule>>,
}

/// A place in a schema.
#[derive(Debug, Clone, Copy)]
pub struct Place<'v> {
    view: &'v View,
    /// `None`: the document does not describe this place.
    shape: Option<Shape>,
}

impl Default for View {
    /// The view of a schema that says nothing.
    fn default() -> View {
        View::new(Value::Null)
    }
}

impl View {
    /// The schema of this tool's arguments. Without a tool, nothing is known.
    pub fn of(tool: Option<&Tool>) -> Arc<View> {
        tool.map(|tool| tool.parsed(|text| View::new(document(text)))).unwrap_or_default()
    }

    /// A subschema of `document`, which may be in a client's own words.
    pub fn within(schema: &Value, document: &Value) -> View {
        let mut own = schema.clone();
        foreign::translate(&mut own);
        let rules = compile::rules(Subschema { schema: &own, base: document });
        View { document: Value::Null, rules }
    }

    /// The view of a document.
    pub(super) fn new(document: Value) -> View {
        let rules = compile::rules(Subschema::whole(&document));
        View { document, rules }
    }

    /// The schema as it was written, except for words that JSON Schema does not know.
    pub(crate) fn document(&self) -> &Value {
        &self.document
    }

    /// The place of the arguments as a whole.
    pub fn root(&self) -> Place<'_> {
        Place { view: self, shape: Some(self.top()).filter(|top| *top != ANY) }
    }

    /// The rule of this shape.
    pub fn rule(&self, shape: Shape) -> &Rule {
        self.rules.get(shape.0 as usize).unwrap_or(&self.rules[0])
    }

    /// The shape of the root.
    pub fn top(&self) -> Shape {
        if self.rules.len() > 1 { Shape(1) } else { ANY }
    }

    /// The schema as seen from this place.
    pub(crate) fn at(&self, shape: Shape) -> Place<'_> {
        Place { view: self, shape: Some(shape) }
    }

    /// Whether a value is allowed at this shape, as far as types, listed values and combinations say; `None` if that cannot be known.
    fn accepts(&self, shape: Shape, value: &Value, fuel: &mut u32) -> Option<bool> {
        *fuel = fuel.checked_sub(1)?;
        let rule = self.rule(shape);
        if !rule.types.allow(Types::of(value)) || rule.values.as_ref().is_some_and(|values| !values.contains(value)) {
            return Some(false);
        }
        let mut answers = |shapes: &[Shape]| shapes.iter().map(|shape| self.accepts(*shape, value, fuel)).collect::<Vec<_>>();
        let (choices, not) = (answers(&rule.choices), answers(&rule.not));
        let fitting = choices.iter().filter(|answer| **answer == Some(true)).count();
        let is_open = choices.contains(&None) && (fitting == 0 || rule.excludes);
        if not.contains(&Some(true)) || (rule.excludes && fitting > 1) || (!choices.is_empty() && fitting == 0 && !is_open) {
            return Some(false);
        }
        (!is_open && !rule.unknown && !not.contains(&None)).then_some(true)
    }
}

/// Parses a document and translates it to JSON Schema's own words.
pub(super) fn document(text: &str) -> Value {
    let mut document = serde_json::from_str(text).unwrap_or_default();
    foreign::translate(&mut document);
    document
}

impl<'v> Place<'v> {
    /// A place of which nothing is known.
    pub(crate) fn unknown() -> Place<'static> {
        static NOTHING: LazyLock<View> = LazyLock::new(View::default);
        NOTHING.root()
    }

    fn rule(self) -> &'v Rule {
        self.view.rule(self.shape.unwrap_or(ANY))
    }

    /// The names of the members described here, in the schema's order.
    pub fn keys(self) -> impl Iterator<Item = &'v str> {
        self.rule().properties.iter().map(|property| property.name.as_str())
    }

    /// The names of the members that must be given. A strict schema lists every member in `required`, and lets an optional one be
    /// null instead: such a member may be left out, and is null then (N10).
    pub fn required(self) -> impl Iterator<Item = &'v str> {
        let required = self.rule().required.iter().map(String::as_str);
        required.filter(move |name| !self.property(name).may_be_null())
    }

    /// Whether the schema says that `null` is allowed here. A schema that says nothing about types does not say so.
    pub fn may_be_null(self) -> bool {
        self.rule().may_be_null()
    }

    /// Whether the document says that there are no members. A document without `properties` does not say so.
    pub fn is_empty(self) -> bool {
        self.rule().properties.is_empty() && self.rule().lists_properties
    }

    /// Whether a member with exactly this name is described.
    pub fn has(self, key: &str) -> bool {
        self.rule().named(key).is_some()
    }

    /// The place of the member with exactly this name.
    pub fn property(self, key: &str) -> Place<'v> {
        Place { shape: self.rule().named(key).map(|property| property.shape), ..self }
    }

    /// The place of the member with this name, also by `additionalProperties`.
    pub fn member(self, key: &str) -> Place<'v> {
        match self.rule().additional {
            Additional::Of(shape) if !self.has(key) => Place { shape: Some(shape), ..self },
            _ => self.property(key),
        }
    }

    /// The place of a list's elements.
    pub fn element(self) -> Place<'v> {
        Place { shape: self.rule().items.others, ..self }
    }

    /// Whether the document describes this place.
    pub fn is_known(self) -> bool {
        self.shape.is_some()
    }

    /// Whether the schema says nothing about types.
    pub fn is_untyped(self) -> bool {
        self.rule().types.is_all() && self.rule().values.is_none() && self.rule().choices.is_empty()
    }

    /// Whether the only type is string.
    pub fn is_plain_string(self) -> bool {
        self.rule().types == Types::STRING
    }

    /// Whether one of these types is allowed here; `None` if the schema says nothing about types.
    pub fn allows(self, types: Types) -> Option<bool> {
        (!self.rule().types.is_all()).then(|| self.rule().types.allow(types))
    }

    /// Whether a value is allowed here, as far as types, listed values and combinations say; `None` if that cannot be known.
    pub fn accepts(self, value: &Value) -> Option<bool> {
        self.view.accepts(self.shape?, value, &mut { FUEL })
    }

    /// Whether a value is allowed here, or that cannot be known.
    pub fn may_be(self, value: &Value) -> bool {
        self.accepts(value) != Some(false)
    }
}

impl Guide for Place<'_> {
    fn root(&self) -> Shape {
        self.shape.unwrap_or(ANY)
    }

    /// The content of a wrapper looks like the arguments themselves.
    fn member(&self, of: Shape, key: &str) -> Shape {
        let rule = self.view.rule(of);
        match rule.find(key) {
            Some(property) => property.shape,
            None if of == self.view.top() && WRAPPERS.contains(&key) && !matches!(rule.additional, Additional::Of(_)) => of,
            None => rule.member_shape(key),
        }
    }

    /// A list around the arguments has items that look like them.
    fn item(&self, of: Shape) -> Shape {
        self.view.rule(of).items.others.or_else(|| (of == self.view.top()).then_some(of)).unwrap_or(ANY)
    }

    fn key(&self, of: Shape, key: &str) -> Key {
        let rule = self.view.rule(of);
        match rule.properties.find(key) {
            Some(found) => Key::Known(found.min(usize::from(u16::MAX)) as u16),
            None if rule.properties.is_empty() => Key::Open,
            None => Key::Extra,
        }
    }

    fn missing(&self, of: Shape, seen: u64) -> u32 {
        let rule = self.view.rule(of);
        let is_missing = |name: &&String| {
            let number = rule.properties.named(name).filter(|number| *number < 64 && seen & (1 << number) == 0);
            number.is_some_and(|number| !self.view.rule(rule.properties[number].shape).is_implied())
        };
        rule.required.iter().filter(is_missing).count() as u32
    }
}
