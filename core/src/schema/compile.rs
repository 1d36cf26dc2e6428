//! Compiles a schema document to a list of rules. References are resolved, and `allOf` is merged into the schema that contains
//! it.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::keyword::Subschema;
use super::{ANY, Additional, Rule, Types, Values, foreign, size};
use crate::json::read::Shape;

/// Maximum number of subschemas that are compiled.
const MOST: usize = 4096;

/// Maximum number of properties that are copied from rule to rule.
const COPIES: usize = 200_000;

/// Turns subschemas into rules, references not yet resolved.
struct Compiler {
    rules: Vec<Rule>,
    /// Subschemas by their address in the document, so that all references to one place have one shape.
    known: HashMap<*const Value, Shape>,
    /// How many regular expressions there are so far.
    patterns: usize,
}

/// Compiles a document. Rule 0 allows everything, rule 1 is the root.
pub(super) fn rules(document: Subschema<'_>) -> Vec<Arc<Rule>> {
    let mut compiler = Compiler { rules: vec![Rule::default()], known: HashMap::new(), patterns: 0 };
    compiler.shape(document);
    let count = compiler.rules.len();
    let mut flattener = Flattener { raw: compiler.rules, flat: vec![None; count], joined: Vec::new(), room: COPIES };
    let mut rules: Vec<Arc<Rule>> = (0..count).map(|at| flattener.flatten(at)).collect();
    rules.append(&mut flattener.joined);
    rules
}

impl Compiler {
    /// The shape of a subschema, which is compiled on first use.
    fn shape(&mut self, place: Subschema<'_>) -> Shape {
        let Value::Object(map) = place.schema else { return ANY };
        let address = std::ptr::from_ref(place.schema);
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        if self.rules.len() >= MOST {
            return ANY;
        }
        let shape = Shape(self.rules.len() as u32);
        self.rules.push(Rule::default());
        self.known.insert(address, shape);
        let rule = self.rule(place, map);
        self.rules[shape.0 as usize] = rule;
        shape
    }

    /// The shapes of a list of subschemas.
    fn shapes(&mut self, place: Subschema<'_>, list: Option<&Value>) -> Vec<Shape> {
        let list = list.and_then(Value::as_array);
        list.into_iter().flatten().map(|schema| self.shape(place.at(schema))).collect()
    }

    /// Compiles one subschema.
    fn rule(&mut self, place: Subschema<'_>, map: &Map<String, Value>) -> Rule {
        let types = map.get("type").and_then(foreign::types);
        let mut rule = Rule { types: types.unwrap_or(Types::ALL), default: map.get("default").cloned(), ..Rule::default() };
        if let Some(Value::Object(properties)) = map.get("properties") {
            rule.lists_properties = true;
            for (name, schema) in properties {
                let shape = self.shape(place.at(schema));
                rule.properties.add(name, shape);
            }
        }
        if let Some(Value::Array(names)) = map.get("required") {
            rule.required.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        for (pattern, schema) in map.get("patternProperties").and_then(Value::as_object).into_iter().flatten() {
            let shape = self.shape(place.at(schema));
            self.patterns += 1;
            if self.patterns <= size::PATTERNS {
                let pattern = regex::RegexBuilder::new(pattern).size_limit(size::PATTERN_BYTES).build();
                rule.patterns.extend(pattern.ok().map(|pattern| (pattern, shape)));
            }
        }
        rule.additional = match map.get("additionalProperties") {
            Some(Value::Bool(false)) => Additional::Forbidden,
            Some(schema @ Value::Object(_)) => Additional::Of(self.shape(place.at(schema))),
            _ => Additional::Allowed,
        };
        let items = map.get("items");
        let tuple = items.filter(|items| items.is_array()).or(map.get("prefixItems"));
        rule.items.first = self.shapes(place, tuple);
        rule.items.others = items.filter(|items| !items.is_array()).map(|items| self.shape(place.at(items)));
        rule.choices = self.shapes(place, map.get("anyOf"));
        rule.choices.extend(self.shapes(place, map.get("oneOf")));
        rule.excludes = map.contains_key("oneOf");
        rule.not = map.get("not").map(|not| self.shape(place.at(not))).into_iter().collect();
        rule.all = self.shapes(place, map.get("allOf"));
        match place.referred().filter(|target| target.schema.is_object() || target.schema.is_boolean()) {
            Some(target) => rule.all.push(self.shape(target)),
            None => rule.unknown = ["$ref", "$dynamicRef", "$recursiveRef"].iter().any(|key| map.contains_key(*key)),
        }
        let listed = map.get("enum").and_then(Value::as_array).map(|values| Values::new(values.clone(), false));
        let constant = map.get("const").map(|value| Values::new(vec![value.clone()], true));
        rule.values = constant.or(listed).map(Arc::new);
        rule.names_null = types.is_some_and(|types| types.allow(Types::NULL))
            || rule.values.as_ref().is_some_and(|values| values.contains(&Value::Null));
        rule
    }
}

/// Completes the rules, each of them once, even if they refer to each other in a circle.
struct Flattener {
    raw: Vec<Rule>,
    flat: Vec<Option<Arc<Rule>>>,
    /// Branches of choices, each merged with what holds for all of them. They are numbered after the other rules.
    joined: Vec<Arc<Rule>>,
    /// How many properties may still be copied.
    room: usize,
}

impl Flattener {
    /// The rule, merged with its `allOf` parts and references, and with the properties of its choices.
    fn flatten(&mut self, at: usize) -> Arc<Rule> {
        match self.flat.get(at) {
            Some(None) => {}
            Some(Some(done)) => return Arc::clone(done),
            None => return Arc::clone(&self.joined[at - self.flat.len()]),
        }
        let mut rule = std::mem::take(&mut self.raw[at]);
        let parts = std::mem::take(&mut rule.all);
        // What a rule sees of itself in a circle.
        self.flat[at] = Some(Arc::new(Rule { choices: Vec::new(), unknown: true, ..rule.clone() }));
        for part in parts {
            let part = self.flatten(part.0 as usize);
            if self.takes(size(&part)) {
                rule.merge(&part);
            }
        }
        rule.infer_types();
        if !rule.choices.is_empty() {
            let branches: Vec<Arc<Rule>> = rule.choices.clone().iter().map(|choice| self.flatten(choice.0 as usize)).collect();
            if rule.says_something() && branches.iter().all(|branch| self.takes(size(branch) + size(&rule))) {
                let common = Rule { choices: Vec::new(), ..rule.clone() };
                rule.choices.clear();
                for branch in &branches {
                    let mut joined = common.clone();
                    joined.merge(branch);
                    joined.properties.index();
                    rule.choices.push(Shape((self.raw.len() + self.joined.len()) as u32));
                    self.joined.push(Arc::new(joined));
                }
            }
            if branches.iter().all(|branch| self.takes(size(branch))) {
                rule.overlay(&branches);
            }
        }
        rule.properties.index();
        let rule = Arc::new(rule);
        self.flat[at] = Some(Arc::clone(&rule));
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
    fn overlay(&mut self, branches: &[Arc<Rule>]) {
        self.types = self.types.and(branches.iter().fold(Types::NONE, |types, branch| types.or(branch.types)));
        for branch in branches {
            self.properties.add_missing(&branch.properties);
            self.items.others = self.items.others.or(branch.items.others);
            self.names_null |= branch.names_null;
        }
        let mut objects = branches.iter().filter(|branch| branch.types.allow(Types::OBJECT));
        if let Some(first) = objects.next() {
            self.require(first.required.iter().filter(|name| objects.clone().all(|other| other.is_required(name))));
        }
    }

    /// Combines two rules that must both hold.
    fn merge(&mut self, other: &Rule) {
        self.types = self.types.and(other.types);
        self.properties.add_missing(&other.properties);
        self.lists_properties |= other.lists_properties;
        self.require(other.required.iter());
        self.patterns.extend(other.patterns.iter().cloned());
        if self.additional == Additional::Allowed {
            self.additional = other.additional;
        }
        self.items.others = self.items.others.or(other.items.others);
        if self.items.first.is_empty() {
            self.items.first.clone_from(&other.items.first);
        }
        self.choices.extend(&other.choices);
        self.excludes |= other.excludes;
        self.not.extend(&other.not);
        self.unknown |= other.unknown;
        self.values = self.values.take().or_else(|| other.values.clone());
        self.names_null |= other.names_null;
        self.default = self.default.take().or_else(|| other.default.clone());
    }

    /// Adds required members.
    fn require<'n>(&mut self, names: impl Iterator<Item = &'n String>) {
        for name in names {
            if !self.is_required(name) {
                self.required.push(name.clone());
            }
        }
    }
}
