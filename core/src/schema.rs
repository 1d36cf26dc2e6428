//! A tool's JSON Schema, compiled once into a validator and into rules that guide the reader and the coercions.

mod cache;
mod compile;
mod foreign;
mod keyword;
mod rule;
mod size;
#[cfg(test)]
mod tests;
mod types;
mod values;
mod view;

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

pub use cache::Schemas;
pub use rule::fold;
pub(crate) use rule::{Additional, Rule};
pub use types::Types;
pub(crate) use values::{Values, unquoted};
pub use view::{Place, View};

use crate::event::Tool;
use crate::json::read::{Guide, Key, Shape};
use crate::json::tree::Node;

/// Maximum number of keywords that are left out of a schema because the validator rejects them.
const INVALID_KEYWORDS: usize = 64;

/// A compiled schema. One that does not compile, refers to another document, or cannot be checked at a bounded cost allows
/// everything.
#[derive(Debug)]
pub struct Schema {
    validator: Option<jsonschema::Validator>,
    /// Set if the schema refers to itself. The cost of a check then depends on the value, and is measured first.
    recursive: Option<View>,
    rules: Vec<Rule>,
}

/// Why a value does not satisfy the schema, in the validator's words and without the values themselves.
pub struct Fault {
    what: String,
    /// JSON pointer to the value.
    pub path: String,
}

/// The schema that allows everything. Also the shape of every place of which nothing is known.
pub(crate) const ANY: Shape = Shape(0);

/// Keys that models wrap the arguments in.
pub(crate) const WRAPPERS: [&str; 7] = ["arguments", "parameters", "input", "args", "kwargs", "params", "properties"];

/// Names that models use for the same parameter, one list per meaning.
const ALIASES: [&[&str]; 14] = [
    &["path", "file_path", "filename", "file", "uri", "target_file", "absolute_path"],
    &["path", "directory", "dir", "folder", "directory_path"],
    &["content", "text", "new_content", "contents", "file_text"],
    &["command", "cmd", "shell_command"],
    &["old_string", "old_str", "old_text"],
    &["new_string", "new_str", "new_text"],
    &["query", "q", "search_query", "sql", "search", "search_term", "keywords"],
    &["query", "pattern", "regex"],
    &["url", "uri", "link"],
    &["city", "location", "place", "town"],
    &["expression", "expr", "formula"],
    &["timezone", "tz"],
    &["to", "recipient", "recipients"],
    &["patch", "input", "diff", "cmd"],
];

/// Whether a tool needs nothing but a `command`.
pub fn runs_programs(tool: &Tool) -> bool {
    View::of(Some(tool)).root().required().eq(["command"])
}

/// The names that models use for the same parameter as `name`, including itself. `name` may be in any spelling (`filePath`).
pub(crate) fn aliases(name: &str) -> impl Iterator<Item = &'static str> {
    let name = fold(name);
    ALIASES.into_iter().filter(move |names| names.iter().any(|known| fold(known) == name)).flatten().copied()
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.what, if self.path.is_empty() { "/" } else { &self.path })
    }
}

impl Default for Schema {
    /// The schema that allows everything.
    fn default() -> Schema {
        Schema { validator: None, recursive: None, rules: vec![Rule::default()] }
    }
}

impl Schema {
    /// Compiles a schema without access to the network or to files. What a validator may cost is bounded before it is built.
    fn compile(text: &str) -> Schema {
        let mut view = View::parse(text);
        let Some(bound) = size::measure(&view) else {
            tracing::warn!(
                bytes = text.len(),
                "a schema cannot be checked at a bounded cost: its tool's arguments are not checked"
            );
            return Schema::default();
        };
        for place in bound.odd_patterns {
            tracing::debug!(place, "a pattern of a schema is not one of the bounded kind: it is not checked");
            view.remove(&place);
        }
        match validator(&mut view) {
            Some(validator) => {
                let rules = compile::rules(&view);
                Schema { validator: Some(validator), recursive: bound.recursive.then_some(view), rules }
            }
            None => Schema::default(),
        }
    }

    /// Why the tree does not satisfy the schema; `None` if it does. The parameters in `keeps_null` may be null.
    pub fn fault(&self, root: &Node<'_>, keeps_null: &[String]) -> Option<Fault> {
        let validator = self.validator.as_ref()?;
        let value = root.to_serde();
        let value = without_nulls(&value, keeps_null);
        if !self.is_affordable(&value) {
            return Some(Fault { what: "it nests too deep to be checked".to_owned(), path: String::new() });
        }
        // Not the first of all errors: with alternatives, all together take gigabytes.
        let error = validator.validate(&value).err()?;
        Some(Fault { what: error.masked().to_string(), path: error.instance_path().to_string() })
    }

    /// Whether the cost of checking this value is in proportion to its size.
    fn is_affordable(&self, value: &Value) -> bool {
        self.recursive.as_ref().is_none_or(|view| size::is_affordable(view, value))
    }

    /// Whether the arguments may be a list: the schema says so.
    pub fn is_list(&self) -> bool {
        let types = self.rule(self.top()).types;
        types.allow(Types::ARRAY) && !types.is_all()
    }

    /// The rule of this shape.
    pub fn rule(&self, shape: Shape) -> &Rule {
        &self.rules[if (shape.0 as usize) < self.rules.len() { shape.0 as usize } else { 0 }]
    }

    /// The shape of the root.
    pub fn top(&self) -> Shape {
        if self.rules.len() > 1 { Shape(1) } else { ANY }
    }

    /// The schema as seen from this place.
    pub fn at(&self, root: Shape) -> At<'_> {
        At { schema: self, root, name: "" }
    }

    /// The shape of the member with exactly this key.
    pub fn member_shape(&self, rule: &Rule, key: &str) -> Shape {
        if let Some(property) = rule.named(key) {
            return property.shape;
        }
        if let Some((_, shape)) = rule.patterns.iter().find(|(pattern, _)| pattern.is_match(key)) {
            return *shape;
        }
        match rule.additional {
            Additional::Of(shape) => shape,
            _ => ANY,
        }
    }

    /// The shape of the member that this key means. The content of a wrapper looks like the arguments themselves.
    pub fn member(&self, of: Shape, key: &str) -> Shape {
        let rule = self.rule(of);
        match rule.find(key) {
            Some(property) => property.shape,
            None if of == self.top() && WRAPPERS.contains(&key) && !matches!(rule.additional, Additional::Of(_)) => of,
            None => self.member_shape(rule, key),
        }
    }

    /// The shape of the items of a list. A list around the arguments has items that look like them.
    pub fn item(&self, of: Shape) -> Shape {
        self.rule(of).items.others.or_else(|| (of == self.top()).then_some(of)).unwrap_or(ANY)
    }
}

/// Regular expressions are those of the crate `regex`: linear in the text, bounded in size, without looking around.
fn options<'o>() -> jsonschema::ValidationOptions<'o> {
    let patterns = jsonschema::PatternOptions::regex().size_limit(size::PATTERN_BYTES);
    jsonschema::options().offline().should_validate_formats(false).with_pattern_options(patterns)
}

/// Builds the validator. A keyword that it rejects (`"required": true` in a property, a pattern of another regex dialect) is left
/// out, so that the others are still checked.
fn validator(view: &mut View) -> Option<jsonschema::Validator> {
    let options = options();
    for _ in 0..INVALID_KEYWORDS {
        let place = match options.build(view.document()) {
            Ok(validator) => return Some(validator),
            Err(error) => error.instance_path().to_string(),
        };
        tracing::debug!(place, "a keyword of a schema is not valid: it is not checked");
        if !view.remove(&place) {
            break;
        }
    }
    None
}

/// The value without those nulls of the root that may stay.
fn without_nulls<'v>(value: &'v Value, keeps_null: &[String]) -> Cow<'v, Value> {
    let kept = |(key, value): (&String, &Value)| value.is_null() && keeps_null.contains(key);
    match value {
        Value::Object(members) if members.iter().any(kept) => Cow::Owned(Value::Object(
            members.iter().filter(|member| !kept(*member)).map(|(key, value)| (key.clone(), value.clone())).collect(),
        )),
        _ => Cow::Borrowed(value),
    }
}

/// A schema as seen from one of its places. The content of a string is read by the schema of the string's place.
#[derive(Clone, Copy)]
pub struct At<'c> {
    pub schema: &'c Schema,
    pub root: Shape,
    /// The name of the parameter at this place; `""` for the root.
    pub name: &'c str,
}

impl Guide for At<'_> {
    fn root(&self) -> Shape {
        self.root
    }

    fn member(&self, of: Shape, key: &str) -> Shape {
        self.schema.member(of, key)
    }

    fn item(&self, of: Shape) -> Shape {
        self.schema.item(of)
    }

    fn key(&self, of: Shape, key: &str) -> Key {
        let rule = self.schema.rule(of);
        match rule.properties.find(key) {
            Some(found) => Key::Known(found.min(usize::from(u16::MAX)) as u16),
            None if rule.properties.is_empty() => Key::Open,
            None => Key::Extra,
        }
    }

    fn missing(&self, of: Shape, seen: u64) -> u32 {
        let rule = self.schema.rule(of);
        let missing = rule.required.iter().filter(|name| match rule.properties.named(name) {
            Some(number) => number < 64 && seen & (1 << number) == 0 && !rule.is_implied(self.schema, name),
            None => false,
        });
        missing.count() as u32
    }
}
