//! What one subschema says, with references resolved, in the form that the reader and the coercions need.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::{ANY, Types, Values};
use crate::json::read::Shape;

/// A compiled subschema.
#[derive(Debug, Clone, Default)]
pub struct Rule {
    /// Allowed types; all of them if the schema names none.
    pub types: Types,
    pub properties: Properties,
    /// The schema says which properties there are, even if there are none.
    pub lists_properties: bool,
    pub required: Vec<String>,
    pub patterns: Vec<(regex::Regex, Shape)>,
    pub additional: Additional,
    pub items: Items,
    /// `anyOf` and `oneOf`: one of these must hold.
    pub choices: Vec<Shape>,
    /// `oneOf`: no more than one of the choices may hold.
    pub excludes: bool,
    /// `not`: none of these may hold.
    pub not: Vec<Shape>,
    /// The schema refers to something outside of the document, or to itself without end.
    pub unknown: bool,
    /// `allOf` and `$ref`: all of these must hold.
    pub all: Vec<Shape>,
    /// `enum` and `const`.
    pub values: Option<Arc<Values>>,
    pub default: Option<Value>,
    /// The schema names `null` as a type or a value. A schema without types allows it, but does not name it.
    pub names_null: bool,
}

/// The properties of an object, in the schema's order, with a lookup by name.
#[derive(Debug, Clone, Default)]
pub struct Properties {
    all: Vec<Property>,
    /// Name -> position.
    names: HashMap<String, usize>,
    /// Folded name -> position; `None` if two names fold to it.
    folds: HashMap<String, Option<usize>>,
}

/// The items of a list.
#[derive(Debug, Clone, Default)]
pub struct Items {
    /// The first ones, each with its own shape.
    pub first: Vec<Shape>,
    /// The others.
    pub others: Option<Shape>,
}

/// One property of an object.
#[derive(Debug, Clone)]
pub struct Property {
    pub name: String,
    pub shape: Shape,
}

/// Which keys other than the named properties are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Additional {
    #[default]
    Allowed,
    Forbidden,
    Of(Shape),
}

/// The name in lower case, without `_`, `-` and spaces.
pub fn fold(name: &str) -> String {
    name.trim().chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

impl Rule {
    /// The property with exactly this name.
    pub fn named(&self, key: &str) -> Option<&Property> {
        self.properties.named(key).and_then(|at| self.properties.all.get(at))
    }

    /// The property that this key means: the one with exactly this name, or the only one whose name folds to the same.
    pub fn find(&self, key: &str) -> Option<&Property> {
        self.properties.find(key).and_then(|at| self.properties.all.get(at))
    }

    /// Whether a member with this name must be present.
    pub fn is_required(&self, name: &str) -> bool {
        self.required.iter().any(|required| required == name)
    }

    /// Whether a pattern of `patternProperties` matches this key.
    pub fn matches_pattern(&self, key: &str) -> bool {
        self.patterns.iter().any(|(pattern, _)| pattern.is_match(key))
    }

    /// The shape of the item at this index of a list.
    pub fn item_shape(&self, at: usize) -> Shape {
        self.items.first.get(at).copied().or(self.items.others).unwrap_or(ANY)
    }

    /// Whether a member with this key may be present.
    pub fn allows(&self, key: &str) -> bool {
        self.additional != Additional::Forbidden || self.named(key).is_some() || self.matches_pattern(key)
    }

    /// The shape of the member with exactly this key.
    pub fn member_shape(&self, key: &str) -> Shape {
        if let Some(property) = self.named(key) {
            return property.shape;
        }
        let by_pattern = self.patterns.iter().find(|(pattern, _)| pattern.is_match(key));
        match (by_pattern, self.additional) {
            (Some((_, shape)), _) => *shape,
            (None, Additional::Of(shape)) => shape,
            _ => ANY,
        }
    }

    /// Whether a missing member has a value all the same: its default, its constant, or `null`.
    pub(super) fn is_implied(&self) -> bool {
        self.default.is_some() || self.values.as_ref().is_some_and(|values| values.constant) || self.may_be_null()
    }

    /// Whether a member of this rule that is left out counts as `null`.
    pub fn may_be_null(&self) -> bool {
        self.names_null
            && self.types.allow(Types::NULL)
            && self.values.as_ref().is_none_or(|values| values.contains(&Value::Null))
    }
}

impl Properties {
    /// Adds a property.
    pub(super) fn add(&mut self, name: &str, shape: Shape) {
        self.names.insert(name.to_owned(), self.all.len());
        self.all.push(Property { name: name.to_owned(), shape });
    }

    /// Adds the properties whose names are not present yet.
    pub(super) fn add_missing(&mut self, others: &Properties) {
        for property in &others.all {
            if !self.names.contains_key(&property.name) {
                self.add(&property.name, property.shape);
            }
        }
    }

    /// Builds the table of folded names. To be called when all properties are known.
    pub(super) fn index(&mut self) {
        for (at, property) in self.all.iter().enumerate() {
            self.folds.entry(fold(&property.name)).and_modify(|place| *place = None).or_insert(Some(at));
        }
    }

    /// The position of the property with exactly this name.
    pub fn named(&self, key: &str) -> Option<usize> {
        self.names.get(key).copied()
    }

    /// Like [`Properties::find`], but ignores surrounding syntax in the key (`"limit>": 3`).
    pub fn meant(&self, key: &str) -> Option<usize> {
        let bare = key.trim_matches(|c: char| "<>(){}[],:;='\"`".contains(c));
        self.find(key).or_else(|| self.named(bare))
    }

    /// The position of the property that this key means; see [`Rule::find`].
    pub fn find(&self, key: &str) -> Option<usize> {
        self.named(key).or_else(|| self.folds.get(&fold(key)).copied().flatten())
    }
}

impl std::ops::Deref for Properties {
    type Target = [Property];

    fn deref(&self) -> &[Property] {
        &self.all
    }
}
