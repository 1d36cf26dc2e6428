//! A schema document -> the list of rules, references resolved, `allOf` merged into what it belongs to.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Additional, Property, Rule, Types};
use crate::fix::keys;
use crate::json::read::Shape;

/// No more subschemas than this are followed.
const MOST: usize = 4096;

/// Formats of paths: those of pydantic and of JSON Schema.
const PATHS: [&str; 6] = ["path", "file-path", "directory-path", "uri", "uri-reference", "file"];

struct Compiler<'d> {
    document: &'d Value,
    rules: Vec<Rule>,
    /// Subschemas by their address in the document: references to one place are one shape.
    known: HashMap<*const Value, Shape>,
}

/// Compiles a document: the root has number 1, number 0 allows everything.
pub(super) fn rules(document: &Value) -> Vec<Rule> {
    let mut compiler = Compiler { document, rules: vec![Rule::default()], known: HashMap::new() };
    compiler.shape(document);
    let count = compiler.rules.len();
    let mut flattener = Flattener { raw: compiler.rules, flat: vec![None; count], busy: vec![false; count], joined: Vec::new() };
    let mut rules: Vec<Rule> = (0..count).map(|at| flattener.flatten(at)).collect();
    rules.append(&mut flattener.joined);
    rules
}

// === impl Compiler ===

impl<'d> Compiler<'d> {
    fn shape(&mut self, schema: &'d Value) -> Shape {
        let Value::Object(map) = schema else { return super::ANY };
        if let Some(known) = self.known.get(&std::ptr::from_ref(schema)) {
            return *known;
        }
        if self.rules.len() >= MOST {
            return super::ANY;
        }
        let shape = Shape(self.rules.len() as u32);
        self.rules.push(Rule::default());
        self.known.insert(std::ptr::from_ref(schema), shape);
        let rule = self.rule(map);
        self.rules[shape.0 as usize] = rule;
        shape
    }

    fn rule(&mut self, map: &'d Map<String, Value>) -> Rule {
        let mut rule = Rule {
            types: match map.get("type") {
                Some(Value::String(name)) => Types::named(name),
                Some(Value::Array(names)) => {
                    names.iter().filter_map(Value::as_str).fold(Types::NONE, |types, name| types.or(Types::named(name)))
                }
                _ => Types::ALL,
            },
            default: map.get("default").cloned(),
            is_path: map.get("format").and_then(Value::as_str).is_some_and(|format| PATHS.contains(&format)),
            ..Rule::default()
        };
        if map.get("nullable") == Some(&Value::Bool(true)) {
            rule.types = rule.types.or(Types::NULL);
        }
        if let Some(Value::Object(properties)) = map.get("properties") {
            for (name, schema) in properties {
                let shape = self.shape(schema);
                rule.add(name, shape);
            }
        }
        if let Some(Value::Array(names)) = map.get("required") {
            rule.required.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        if let Some(Value::Object(patterns)) = map.get("patternProperties") {
            for (pattern, schema) in patterns {
                let shape = self.shape(schema);
                rule.patterns.extend(regex::Regex::new(pattern).ok().map(|pattern| (pattern, shape)));
            }
        }
        rule.additional = match map.get("additionalProperties") {
            Some(Value::Bool(false)) => Additional::Forbidden,
            Some(schema @ Value::Object(_)) => Additional::Of(self.shape(schema)),
            _ => Additional::Allowed,
        };
        match (map.get("prefixItems"), map.get("items")) {
            (_, Some(Value::Array(tuple))) | (Some(Value::Array(tuple)), None) => {
                rule.tuple = tuple.iter().map(|item| self.shape(item)).collect();
            }
            (Some(Value::Array(tuple)), Some(items)) => {
                rule.tuple = tuple.iter().map(|item| self.shape(item)).collect();
                rule.items = Some(self.shape(items));
            }
            (_, Some(items)) => rule.items = Some(self.shape(items)),
            _ => {}
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = map.get(keyword) {
                rule.choices.extend(branches.iter().map(|branch| self.shape(branch)));
            }
        }
        if let Some(Value::Array(parts)) = map.get("allOf") {
            rule.all.extend(parts.iter().map(|part| self.shape(part)));
        }
        if let Some(target) = map.get("$ref").and_then(Value::as_str).and_then(|reference| self.resolve(reference)) {
            let target = self.shape(target);
            rule.all.push(target);
        }
        if let Some(values) = map.get("enum").and_then(Value::as_array) {
            rule.values = Some(values.clone());
        }
        if let Some(value) = map.get("const") {
            rule.values = Some(vec![value.clone()]);
            rule.constant = true;
        }
        rule
    }

    /// The place that a reference inside of the document points to.
    fn resolve(&self, reference: &str) -> Option<&'d Value> {
        let fragment = reference.strip_prefix('#')?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.document.pointer(&fragment.replace("%25", "%").replace("%7B", "{").replace("%7D", "}"));
        }
        ["$defs", "definitions"]
            .iter()
            .filter_map(|place| self.document.get(place)?.as_object())
            .flat_map(Map::values)
            .find(|schema| schema.get("$anchor").and_then(Value::as_str) == Some(fragment))
    }
}

/// Completes the rules one after the other; each one once, also where they refer to each other in a circle.
struct Flattener {
    raw: Vec<Rule>,
    flat: Vec<Option<Rule>>,
    busy: Vec<bool>,
    /// Branches of a choice together with what holds for all of them; they are numbered behind the others.
    joined: Vec<Rule>,
}

impl Flattener {
    /// The rule with what its `allOf` parts and references say, and with the properties of its choices.
    fn flatten(&mut self, at: usize) -> Rule {
        if let Some(done) = self.flat.get(at).and_then(Option::as_ref) {
            return done.clone();
        }
        let Some(mut rule) = self.raw.get(at).cloned() else { return Rule::default() };
        if std::mem::replace(&mut self.busy[at], true) {
            return Rule { all: Vec::new(), choices: Vec::new(), ..rule };
        }
        for part in std::mem::take(&mut rule.all) {
            let part = self.flatten(part.0 as usize);
            rule.merge(part);
        }
        rule.infer_types();
        if !rule.choices.is_empty() {
            let branches: Vec<Rule> = rule.choices.clone().iter().map(|choice| self.flatten(choice.0 as usize)).collect();
            if rule.says_something() {
                let common = Rule { choices: Vec::new(), ..rule.clone() };
                rule.choices.clear();
                for branch in &branches {
                    let mut joined = common.clone();
                    joined.merge(branch.clone());
                    rule.choices.push(Shape((self.raw.len() + self.joined.len()) as u32));
                    self.joined.push(joined);
                }
            }
            rule.overlay(&branches);
        }
        self.busy[at] = false;
        self.flat[at] = Some(rule.clone());
        rule
    }
}

impl Rule {
    fn add(&mut self, name: &str, shape: Shape) {
        self.names.insert(name.to_owned(), self.properties.len());
        self.properties.push(Property { name: name.to_owned(), folded: keys::fold(name), shape });
    }

    /// Whether there is more to it than its choices.
    fn says_something(&self) -> bool {
        !self.types.is_all() || !self.properties.is_empty() || !self.required.is_empty() || self.items.is_some()
    }

    fn infer_types(&mut self) {
        if !self.types.is_all() {
            return;
        }
        self.types = match (&self.values, self.properties.is_empty(), self.items) {
            (Some(values), ..) => values.iter().fold(Types::NONE, |types, value| types.or(Types::of(value))),
            (None, false, _) => Types::OBJECT,
            (None, true, Some(_)) => Types::ARRAY,
            _ => Types::ALL,
        };
    }

    /// One of the branches must hold: what they know of keys and items belongs to the whole.
    fn overlay(&mut self, branches: &[Rule]) {
        self.types = self.types.and(branches.iter().fold(Types::NONE, |types, branch| types.or(branch.types)));
        for branch in branches {
            for property in &branch.properties {
                if !self.names.contains_key(&property.name) {
                    self.add(&property.name, property.shape);
                }
            }
            self.items = self.items.or(branch.items);
        }
        let objects: Vec<&Rule> = branches.iter().filter(|branch| branch.types.allow(Types::OBJECT)).collect();
        if let Some((first, others)) = objects.split_first() {
            for name in first.required.iter().filter(|name| others.iter().all(|other| other.is_required(name))) {
                if !self.is_required(name) {
                    self.required.push(name.clone());
                }
            }
        }
    }

    /// Both must hold.
    fn merge(&mut self, other: Rule) {
        self.types = self.types.and(other.types);
        for property in other.properties {
            if !self.names.contains_key(&property.name) {
                self.add(&property.name, property.shape);
            }
        }
        for name in other.required {
            if !self.is_required(&name) {
                self.required.push(name);
            }
        }
        self.patterns.extend(other.patterns);
        if self.additional == Additional::Allowed {
            self.additional = other.additional;
        }
        self.items = self.items.or(other.items);
        if self.tuple.is_empty() {
            self.tuple = other.tuple;
        }
        self.choices.extend(other.choices);
        self.values = self.values.take().or(other.values);
        self.constant |= other.constant;
        self.is_path |= other.is_path;
        self.default = self.default.take().or(other.default);
    }
}
