//! Compiles a schema document to a list of rules. References are resolved, and `allOf` is merged into the schema that contains
//! it.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Additional, Place, Rule, Types, Values, View};
use crate::json::read::Shape;

/// Maximum number of subschemas that are compiled.
const MOST: usize = 4096;

/// Formats of paths, from pydantic and from JSON Schema.
const PATHS: [&str; 6] = ["path", "file-path", "directory-path", "uri", "uri-reference", "file"];

/// Maximum number of properties that are copied from rule to rule.
const COPIES: usize = 200_000;

/// Turns subschemas into rules, references not yet resolved.
struct Compiler {
    rules: Vec<Rule>,
    /// Subschemas by their address in the document, so that all references to one place have one shape.
    known: HashMap<*const Value, Shape>,
}

/// Compiles a document. Rule 0 allows everything, rule 1 is the root.
pub(super) fn rules(view: &View) -> Vec<Rule> {
    let mut compiler = Compiler { rules: vec![Rule::default()], known: HashMap::new() };
    compiler.shape(view.root());
    let count = compiler.rules.len();
    let mut flattener =
        Flattener { raw: compiler.rules, flat: vec![None; count], busy: vec![false; count], joined: Vec::new(), room: COPIES };
    let mut rules: Vec<Rc<Rule>> = (0..count).map(|at| flattener.flatten(at)).collect();
    let joined = std::mem::take(&mut flattener.joined);
    drop(flattener);
    rules.extend(joined.into_iter().map(Rc::new));
    let mut rules: Vec<Rule> = rules.into_iter().map(Rc::unwrap_or_clone).collect();
    rules.iter_mut().for_each(|rule| rule.properties.index());
    rules
}

impl Compiler {
    /// The shape of a subschema, which is compiled on first use.
    fn shape(&mut self, place: Place<'_>) -> Shape {
        let Some(schema @ Value::Object(map)) = place.schema() else { return super::ANY };
        if let Some(known) = self.known.get(&std::ptr::from_ref(schema)) {
            return *known;
        }
        if self.rules.len() >= MOST {
            return super::ANY;
        }
        let shape = Shape(self.rules.len() as u32);
        self.rules.push(Rule::default());
        self.known.insert(std::ptr::from_ref(schema), shape);
        let rule = self.rule(place, map);
        self.rules[shape.0 as usize] = rule;
        shape
    }

    /// Compiles one subschema.
    fn rule(&mut self, place: Place<'_>, map: &Map<String, Value>) -> Rule {
        let mut rule = Rule {
            types: place.types().unwrap_or(Types::ALL),
            default: map.get("default").cloned(),
            is_path: map.get("format").and_then(Value::as_str).is_some_and(|format| PATHS.contains(&format)),
            ..Rule::default()
        };
        if let Some(Value::Object(properties)) = map.get("properties") {
            for (name, schema) in properties {
                let shape = self.shape(place.at(schema));
                rule.properties.add(name, shape);
            }
        }
        if let Some(Value::Array(names)) = map.get("required") {
            rule.required.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        if let Some(Value::Object(patterns)) = map.get("patternProperties") {
            for (pattern, schema) in patterns {
                let shape = self.shape(place.at(schema));
                let pattern = regex::RegexBuilder::new(pattern).size_limit(super::size::PATTERN_BYTES).build();
                rule.patterns.extend(pattern.ok().map(|pattern| (pattern, shape)));
            }
        }
        rule.additional = match map.get("additionalProperties") {
            Some(Value::Bool(false)) => Additional::Forbidden,
            Some(schema @ Value::Object(_)) => Additional::Of(self.shape(place.at(schema))),
            _ => Additional::Allowed,
        };
        let items = map.get("items");
        if let Some(tuple) = [items, map.get("prefixItems")].into_iter().flatten().find_map(Value::as_array) {
            rule.items.first = tuple.iter().map(|item| self.shape(place.at(item))).collect();
        }
        rule.items.others = items.filter(|items| !items.is_array()).map(|items| self.shape(place.at(items)));
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = map.get(keyword) {
                rule.choices.extend(branches.iter().map(|branch| self.shape(place.at(branch))));
            }
        }
        if let Some(Value::Array(parts)) = map.get("allOf") {
            rule.all.extend(parts.iter().map(|part| self.shape(place.at(part))));
        }
        if let Some(target) = place.referred() {
            rule.all.push(self.shape(target));
        }
        if let Some(values) = map.get("enum").and_then(Value::as_array) {
            rule.values = Some(Arc::new(Values::new(values.clone(), false)));
        }
        if let Some(value) = map.get("const") {
            rule.values = Some(Arc::new(Values::new(vec![value.clone()], true)));
        }
        rule.names_null = place.types().is_some_and(|types| types.allow(Types::NULL))
            || rule.values.as_ref().is_some_and(|values| values.contains(&Value::Null));
        rule
    }
}

/// Completes the rules, each of them once, even if they refer to each other in a circle.
struct Flattener {
    raw: Vec<Rule>,
    flat: Vec<Option<Rc<Rule>>>,
    busy: Vec<bool>,
    /// Branches of choices, each merged with what holds for all of them. They are numbered after the other rules.
    joined: Vec<Rule>,
    /// How many properties may still be copied.
    room: usize,
}

impl Flattener {
    /// The rule, merged with its `allOf` parts and references, and with the properties of its choices.
    fn flatten(&mut self, at: usize) -> Rc<Rule> {
        if let Some(done) = self.flat.get(at).and_then(Option::as_ref) {
            return Rc::clone(done);
        }
        let Some(own) = self.raw.get(at).map(size) else { return Rc::default() };
        if self.busy[at] {
            let rule = if self.takes(own) { self.raw[at].clone() } else { Rule::default() };
            return Rc::new(Rule { all: Vec::new(), choices: Vec::new(), ..rule });
        }
        self.busy[at] = true;
        let mut rule = self.raw[at].clone();
        for part in std::mem::take(&mut rule.all) {
            let part = self.flatten(part.0 as usize);
            if self.takes(size(&part)) {
                rule.merge(&part);
            }
        }
        rule.infer_types();
        if !rule.choices.is_empty() {
            let branches: Vec<Rc<Rule>> = rule.choices.clone().iter().map(|choice| self.flatten(choice.0 as usize)).collect();
            if rule.says_something() && branches.iter().all(|branch| self.takes(size(branch) + size(&rule))) {
                let common = Rule { choices: Vec::new(), ..rule.clone() };
                rule.choices.clear();
                for branch in &branches {
                    let mut joined = common.clone();
                    joined.merge(branch);
                    rule.choices.push(Shape((self.raw.len() + self.joined.len()) as u32));
                    self.joined.push(joined);
                }
            }
            if branches.iter().all(|branch| self.takes(size(branch))) {
                rule.overlay(&branches);
            }
        }
        self.busy[at] = false;
        let rule = Rc::new(rule);
        self.flat[at] = Some(Rc::clone(&rule));
        rule
    }

    /// Spends `size` of the budget for copies. If it is exhausted, rules know less.
    fn takes(&mut self, size: usize) -> bool {
        let fits = size <= self.room;
        self.room = self.room.saturating_sub(size);
        fits
    }
}

/// The cost of copying a rule.
fn size(rule: &Rule) -> usize {
    1 + rule.properties.len() + rule.required.len()
}

impl Rule {
    /// Whether the rule says more than its choices.
    fn says_something(&self) -> bool {
        !self.types.is_all() || !self.properties.is_empty() || !self.required.is_empty() || self.items.others.is_some()
    }

    /// Sets the types of a rule without `type`, by its values, properties or items.
    fn infer_types(&mut self) {
        if !self.types.is_all() {
            return;
        }
        self.types = match (&self.values, self.properties.is_empty(), self.items.others) {
            (Some(values), ..) => values.all.iter().fold(Types::NONE, |types, value| types.or(Types::of(value))),
            (None, false, _) => Types::OBJECT,
            (None, true, Some(_)) => Types::ARRAY,
            _ => Types::ALL,
        };
    }

    /// Adds what the branches know of keys and items. One of the branches must hold.
    fn overlay(&mut self, branches: &[Rc<Rule>]) {
        self.types = self.types.and(branches.iter().fold(Types::NONE, |types, branch| types.or(branch.types)));
        for branch in branches {
            self.properties.add_missing(&branch.properties);
            self.items.others = self.items.others.or(branch.items.others);
            self.names_null |= branch.names_null;
        }
        let objects: Vec<&Rc<Rule>> = branches.iter().filter(|branch| branch.types.allow(Types::OBJECT)).collect();
        if let Some((first, others)) = objects.split_first() {
            for name in first.required.iter().filter(|name| others.iter().all(|other| other.is_required(name))) {
                if !self.is_required(name) {
                    self.required.push(name.clone());
                }
            }
        }
    }

    /// Combines two rules that must both hold.
    fn merge(&mut self, other: &Rule) {
        self.types = self.types.and(other.types);
        self.properties.add_missing(&other.properties);
        for name in &other.required {
            if !self.is_required(name) {
                self.required.push(name.clone());
            }
        }
        self.patterns.extend(other.patterns.iter().cloned());
        if self.additional == Additional::Allowed {
            self.additional = other.additional;
        }
        self.items.others = self.items.others.or(other.items.others);
        if self.items.first.is_empty() {
            self.items.first.clone_from(&other.items.first);
        }
        self.choices.extend(&other.choices);
        self.values = self.values.take().or_else(|| other.values.clone());
        self.is_path |= other.is_path;
        self.names_null |= other.names_null;
        self.default = self.default.take().or_else(|| other.default.clone());
    }
}
