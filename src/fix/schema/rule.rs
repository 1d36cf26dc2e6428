//! What one subschema says, its references resolved: the form in which the reader and the coercions ask.

use std::collections::HashMap;

use serde_json::Value;

use super::{Schema, Types};
use crate::json::read::Shape;

/// Up to this many properties, one is found fastest by looking at each.
pub(super) const FEW: usize = 8;

/// One (sub)schema, its references resolved.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rule {
    /// Allowed types; all of them if nothing was said.
    pub(crate) types: Types,
    pub(crate) properties: Vec<Property>,
    /// Name -> position in `properties`.
    pub(super) names: HashMap<String, usize>,
    /// Folded name -> position, `None` where two names fold to it; only for more than [`FEW`] properties.
    pub(super) folds: HashMap<String, Option<usize>>,
    pub(crate) required: Vec<String>,
    pub(crate) patterns: Vec<(regex::Regex, Shape)>,
    pub(crate) additional: Additional,
    pub(crate) items: Option<Shape>,
    pub(crate) tuple: Vec<Shape>,
    /// `anyOf` and `oneOf`: one of these.
    pub(crate) choices: Vec<Shape>,
    /// `allOf` and `$ref` beside other keywords: all of these.
    pub(crate) all: Vec<Shape>,
    /// `enum` and `const`.
    pub(crate) values: Option<Vec<Value>>,
    pub(crate) constant: bool,
    /// Its `format` says that it is a path or a URI.
    pub(crate) is_path: bool,
    pub(crate) default: Option<Value>,
}

/// One property of an object.
#[derive(Debug, Clone)]
pub(crate) struct Property {
    pub(crate) name: String,
    /// The name without case and separators.
    pub(crate) folded: String,
    pub(crate) shape: Shape,
}

/// What other keys may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Additional {
    #[default]
    Allowed,
    Forbidden,
    Of(Shape),
}

/// The name without case and without `_`, `-` and spaces.
pub(crate) fn fold(name: &str) -> String {
    name.trim().chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

// === impl Rule ===

impl Rule {
    /// The position of the property of exactly this name.
    pub(crate) fn named(&self, key: &str) -> Option<usize> {
        match self.properties.len() {
            0 => None,
            1..=FEW => self.properties.iter().rposition(|property| property.name == key),
            _ => self.names.get(key).copied(),
        }
    }

    /// The position of the property that this key means: written so, or the only one that folds to the same.
    pub(crate) fn find(&self, key: &str) -> Option<usize> {
        if self.properties.is_empty() {
            return None;
        }
        if let Some(found) = self.named(key) {
            return Some(found);
        }
        let folded = fold(key);
        if self.properties.len() > FEW {
            return self.folds.get(&folded).copied().flatten();
        }
        let mut found = self.properties.iter().enumerate().filter(|(_, property)| property.folded == folded);
        let (first, _) = found.next()?;
        found.next().is_none().then_some(first)
    }

    /// Whether it allows everything.
    pub(crate) fn says_nothing(&self) -> bool {
        self.types.is_all()
            && self.properties.is_empty()
            && self.required.is_empty()
            && self.patterns.is_empty()
            && self.additional == Additional::Allowed
            && self.values.is_none()
            && self.items.is_none()
            && self.tuple.is_empty()
            && self.choices.is_empty()
            && !self.is_path
    }

    pub(crate) fn is_required(&self, name: &str) -> bool {
        self.required.iter().any(|required| required == name)
    }

    pub(crate) fn matches_pattern(&self, key: &str) -> bool {
        self.patterns.iter().any(|(pattern, _)| pattern.is_match(key))
    }

    /// Whether a member of this key may be there.
    pub(crate) fn allows(&self, key: &str) -> bool {
        self.additional != Additional::Forbidden || self.named(key).is_some() || self.matches_pattern(key)
    }

    pub(super) fn default_of<'s>(&self, schema: &'s Schema, name: &str) -> Option<&'s Value> {
        let property = self.properties.get(self.named(name)?)?;
        let rule = schema.rule(property.shape);
        rule.default.as_ref().or_else(|| rule.constant.then(|| rule.values.as_ref()?.first()).flatten())
    }
}
