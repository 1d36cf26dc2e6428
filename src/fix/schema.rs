//! A tool's JSON Schema, compiled once: the validator, and the shape that steers the reader and the coercions.

mod compile;

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::keys;
use crate::json::read::{Guide, Key, Shape};
use crate::json::tree::{self, Member, Node};

/// How many compiled schemas are kept.
const KEPT: usize = 256;

/// Names that models use for the same parameter: each list is one meaning. Data, not logic: another table may be given.
const ALIASES: [&[&str]; 3] =
    [&["path", "file_path", "filename", "file", "uri"], &["content", "text", "new_content"], &["command", "cmd"]];

/// Compiled schemas, shared by all requests; compiled for the called tool only, when it is called.
#[derive(Debug)]
pub struct Schemas {
    cache: Mutex<Cache>,
    aliases: Arc<[Vec<String>]>,
}

#[derive(Debug, Default)]
struct Cache {
    compiled: HashMap<Arc<str>, Arc<Schema>>,
    /// Texts in the order of their arrival: the oldest leaves first.
    order: VecDeque<Arc<str>>,
}

/// One compiled schema. A schema that does not compile (or points to another document) validates nothing.
#[derive(Debug)]
pub struct Schema {
    validator: Option<jsonschema::Validator>,
    rules: Vec<Rule>,
    aliases: Arc<[Vec<String>]>,
}

/// One (sub)schema, its references resolved.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rule {
    /// Allowed types; all of them if nothing was said.
    pub(crate) types: Types,
    pub(crate) properties: Vec<Property>,
    /// Name -> position in `properties`.
    pub(crate) names: HashMap<String, usize>,
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

/// A set of JSON types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Types(u8);

/// The schema that allows everything; also what a shape is where nothing is known.
pub(crate) const ANY: Shape = Shape(0);

/// Wrappers that models put around the arguments.
pub(crate) const WRAPPERS: [&str; 7] = ["arguments", "parameters", "input", "args", "kwargs", "params", "properties"];

// === impl Schemas ===

impl Default for Schemas {
    fn default() -> Schemas {
        Schemas::with_aliases(ALIASES.iter().map(|names| names.iter().map(|name| (*name).to_owned()).collect()))
    }
}

impl Schemas {
    /// Schemas with another table of parameter names that mean the same.
    pub fn with_aliases(aliases: impl IntoIterator<Item = Vec<String>>) -> Schemas {
        Schemas { cache: Mutex::default(), aliases: aliases.into_iter().collect() }
    }

    /// The compiled form of this schema text. Never fails: an invalid schema means that nothing is checked.
    pub fn get(&self, text: &Arc<str>) -> Arc<Schema> {
        if let Some(found) = self.lock().compiled.get(text) {
            return Arc::clone(found);
        }
        let schema = Arc::new(Schema::compile(text, Arc::clone(&self.aliases)));
        let mut cache = self.lock();
        if cache.compiled.insert(Arc::clone(text), Arc::clone(&schema)).is_none() {
            cache.order.push_back(Arc::clone(text));
        }
        while cache.order.len() > KEPT {
            if let Some(oldest) = cache.order.pop_front() {
                cache.compiled.remove(&oldest);
            }
        }
        schema
    }

    fn lock(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Schema ===

impl Default for Schema {
    /// The schema that allows everything.
    fn default() -> Schema {
        Schema { validator: None, rules: vec![Rule::default()], aliases: Arc::new([]) }
    }
}

impl Schema {
    /// Compiles a schema text, without network and without files.
    fn compile(text: &str, aliases: Arc<[Vec<String>]>) -> Schema {
        let document: Value = serde_json::from_str(text).unwrap_or(Value::Null);
        let validator = match document {
            Value::Object(_) => jsonschema::options().offline().should_validate_formats(false).build(&document).ok(),
            _ => None,
        };
        let rules = if validator.is_some() { compile::rules(&document) } else { vec![Rule::default()] };
        Schema { validator, rules, aliases }
    }

    /// What is wrong with this tree, in the validator's words and without the values themselves; `None` if nothing is. A
    /// null for one of the parameters in `keeps_null` is fine.
    pub(crate) fn fault(&self, root: &Node<'_>, keeps_null: &[String]) -> Option<String> {
        let validator = self.validator.as_ref()?;
        let value = root.to_serde();
        let value = without_nulls(&value, keeps_null);
        let error = validator.iter_errors(&value).next()?;
        let path = error.instance_path().to_string();
        Some(format!("{} at {}", error.masked(), if path.is_empty() { "/" } else { &path }))
    }

    /// Whether nothing is to be done: the value satisfies the schema, and no stage would spell it differently.
    pub(crate) fn is_satisfied(&self, tree: &Node<'_>, keeps_null: &[String]) -> bool {
        let root = self.rule(self.top());
        let known = match &tree.value {
            tree::Value::Object(members) => {
                members.is_empty() || root.properties.is_empty() || members.iter().any(|member| root.named(&member.key).is_some())
            }
            _ => root.types.allow(Types::ARRAY) && !root.types.is_all(),
        };
        let valid =
            || self.validator.as_ref().is_none_or(|validator| validator.is_valid(&without_nulls(&tree.to_serde(), keeps_null)));
        known && self.is_spelled(tree, self.top()) && valid()
    }

    /// Whether keys and numbers are spelled as the schema has them.
    fn is_spelled(&self, node: &Node<'_>, shape: Shape) -> bool {
        let rule = self.rule(shape);
        if rule.says_nothing() {
            return true;
        }
        match &node.value {
            tree::Value::Object(members) => members.iter().all(|Member { key, node, .. }| {
                let other = || rule.find(key).is_some() || key.contains('.');
                let spelled = rule.named(key).is_some() || !other() || rule.matches_pattern(key);
                spelled && self.is_spelled(node, self.member_shape(rule, key))
            }),
            tree::Value::Array(items) => items.iter().enumerate().all(|(at, item)| {
                let shape = rule.tuple.get(at).copied().or(rule.items).unwrap_or(ANY);
                self.is_spelled(item, shape)
            }),
            tree::Value::Number(_) => Types::of_node(node) == Types::INTEGER || rule.types.and(Types::NUMBER) != Types::INTEGER,
            _ => true,
        }
    }

    /// The rule of a shape.
    pub(crate) fn rule(&self, shape: Shape) -> &Rule {
        &self.rules[if (shape.0 as usize) < self.rules.len() { shape.0 as usize } else { 0 }]
    }

    /// The shape of the whole.
    pub(crate) fn top(&self) -> Shape {
        if self.rules.len() > 1 { Shape(1) } else { ANY }
    }

    /// The schema as seen from this place.
    pub(crate) fn at(&self, root: Shape) -> At<'_> {
        At { schema: self, root, name: "" }
    }

    /// The shape of a member with exactly this key.
    pub(crate) fn member_shape(&self, rule: &Rule, key: &str) -> Shape {
        if let Some(found) = rule.named(key) {
            return rule.properties[found].shape;
        }
        if let Some((_, shape)) = rule.patterns.iter().find(|(pattern, _)| pattern.is_match(key)) {
            return *shape;
        }
        match rule.additional {
            Additional::Of(shape) => shape,
            _ => ANY,
        }
    }

    /// The names that mean the same as this one, itself included.
    pub(crate) fn aliases(&self, name: &str) -> impl Iterator<Item = &str> {
        self.aliases.iter().filter(move |names| names.iter().any(|other| other == name)).flatten().map(String::as_str)
    }
}

/// The value without the root's nulls that are allowed to stay.
fn without_nulls<'v>(value: &'v Value, keeps_null: &[String]) -> Cow<'v, Value> {
    let kept = |(key, value): (&String, &Value)| value.is_null() && keeps_null.contains(key);
    match value {
        Value::Object(members) if members.iter().any(kept) => Cow::Owned(Value::Object(
            members.iter().filter(|member| !kept(*member)).map(|(key, value)| (key.clone(), value.clone())).collect(),
        )),
        _ => Cow::Borrowed(value),
    }
}

/// A schema as seen from one of its places: what a string holds is read by the schema of that place.
#[derive(Clone, Copy)]
pub(crate) struct At<'c> {
    pub(crate) schema: &'c Schema,
    pub(crate) root: Shape,
    /// The name of the parameter that it belongs to, `""` for the whole.
    pub(crate) name: &'c str,
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
        self.schema.key(of, key)
    }

    fn missing(&self, of: Shape, seen: u64) -> u32 {
        self.schema.missing(of, seen)
    }
}

impl Guide for Schema {
    fn root(&self) -> Shape {
        self.top()
    }

    fn member(&self, of: Shape, key: &str) -> Shape {
        let rule = self.rule(of);
        match rule.find(key) {
            Some(found) => rule.properties[found].shape,
            // What is in a wrapper looks like the arguments themselves.
            None if of == self.top() && WRAPPERS.contains(&key) && !matches!(rule.additional, Additional::Of(_)) => of,
            None => self.member_shape(rule, key),
        }
    }

    fn item(&self, of: Shape) -> Shape {
        let rule = self.rule(of);
        rule.items.or_else(|| (of == self.top()).then_some(of)).unwrap_or(ANY)
    }

    fn key(&self, of: Shape, key: &str) -> Key {
        let rule = self.rule(of);
        match rule.find(key) {
            Some(found) => Key::Known(found.min(usize::from(u16::MAX)) as u16),
            None if rule.properties.is_empty() => Key::Open,
            None => Key::Extra,
        }
    }

    fn missing(&self, of: Shape, seen: u64) -> u32 {
        let rule = self.rule(of);
        let missing = rule.required.iter().filter(|name| match rule.named(name) {
            Some(number) => number < 64 && seen & (1 << number) == 0 && rule.default_of(self, name).is_none(),
            None => false,
        });
        missing.count() as u32
    }
}

// === impl Rule ===

impl Rule {
    /// The position of the property of exactly this name.
    pub(crate) fn named(&self, key: &str) -> Option<usize> {
        match self.properties.len() {
            0 => None,
            // Fewer than a hash is worth.
            1..=8 => self.properties.iter().rposition(|property| property.name == key),
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
        let folded = keys::fold(key);
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

    fn default_of<'s>(&self, schema: &'s Schema, name: &str) -> Option<&'s Value> {
        let property = self.properties.get(self.named(name)?)?;
        let rule = schema.rule(property.shape);
        rule.default.as_ref().or_else(|| rule.constant.then(|| rule.values.as_ref()?.first()).flatten())
    }
}

// === impl Types ===

impl Default for Types {
    fn default() -> Types {
        Types::ALL
    }
}

impl Types {
    pub(crate) const ALL: Types = Types(0x7f);
    pub(crate) const NONE: Types = Types(0);
    pub(crate) const NULL: Types = Types(1);
    pub(crate) const BOOLEAN: Types = Types(2);
    pub(crate) const INTEGER: Types = Types(4);
    /// Every number: integers are among them.
    pub(crate) const NUMBER: Types = Types(8 | 4);
    pub(crate) const STRING: Types = Types(16);
    pub(crate) const ARRAY: Types = Types(32);
    pub(crate) const OBJECT: Types = Types(64);

    /// The type of this name in JSON Schema.
    pub(crate) fn named(name: &str) -> Types {
        match name {
            "null" => Types::NULL,
            "boolean" => Types::BOOLEAN,
            "integer" => Types::INTEGER,
            "number" => Types::NUMBER,
            "string" => Types::STRING,
            "array" => Types::ARRAY,
            "object" => Types::OBJECT,
            _ => Types::NONE,
        }
    }

    /// The type of a value.
    pub(crate) fn of(value: &Value) -> Types {
        match value {
            Value::Null => Types::NULL,
            Value::Bool(_) => Types::BOOLEAN,
            Value::Number(number) if number.is_i64() || number.is_u64() => Types::INTEGER,
            Value::Number(_) => Types(8),
            Value::String(_) => Types::STRING,
            Value::Array(_) => Types::ARRAY,
            Value::Object(_) => Types::OBJECT,
        }
    }

    /// The type of a tree's root.
    pub(crate) fn of_node(node: &Node<'_>) -> Types {
        match &node.value {
            tree::Value::Null => Types::NULL,
            tree::Value::Bool(_) => Types::BOOLEAN,
            tree::Value::Number(digits) if digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => Types::INTEGER,
            // `3.0` is an integer too, for those who want one.
            tree::Value::Number(_) => Types::NUMBER,
            tree::Value::Text(_) => Types::STRING,
            tree::Value::Array(_) => Types::ARRAY,
            tree::Value::Object(_) => Types::OBJECT,
        }
    }

    /// Whether something of the other set is allowed here.
    pub(crate) fn allow(self, other: Types) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn and(self, other: Types) -> Types {
        Types(self.0 & other.0)
    }

    pub(crate) fn or(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    /// Whether nothing is known.
    pub(crate) fn is_all(self) -> bool {
        self.0 == Types::ALL.0
    }
}
