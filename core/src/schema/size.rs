//! Bounds the cost of checking a value against a schema. `anyOf` over references can double the work with each level, and a
//! validator cannot be interrupted, so the cost is bounded before a validator is built.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::keyword::{Scope, Subschema};

/// Longest schema that is compiled, in bytes.
pub(super) const MOST_TEXT: usize = 1024 * 1024;
/// Maximum number of subschemas, each counted as often as it is reached.
const MOST: usize = 50_000;
/// Longest chain of nested subschemas.
const DEPTH: usize = 128;
/// Deepest recursion into a value and its subschemas together.
const VALUE_DEPTH: usize = 1500;
/// The budget for a value: steps per node of its tree, and the minimum for any tree.
const PER_VALUE: usize = 64;
const AT_LEAST: usize = 100_000;

/// Maximum number of regular expressions in a schema.
pub(super) const PATTERNS: usize = 64;
/// Largest compiled regular expression, in bytes.
pub(super) const PATTERN_BYTES: usize = 128 * 1024;

/// Whether a schema contains itself, so that the cost of a check depends on the value: see [`is_affordable`]. `None`: the schema is
/// too large, or its cost has no bound. Otherwise a check takes a bounded number of steps for each node of the value.
pub(super) fn is_recursive(document: &Value) -> Option<bool> {
    if !document.is_object() {
        return None;
    }
    let mut walk = Walk::default();
    walk.size(Subschema::whole(document), true)?;
    Some(walk.recursive)
}

/// Removes the regular expressions that are too large, or of another dialect. `None`: there are too many to look at.
pub(super) fn remove_odd_patterns(document: &mut Value, left: &mut usize) -> Option<()> {
    let members = match document {
        Value::Object(members) => members,
        Value::Array(items) => return items.iter_mut().try_for_each(|item| remove_odd_patterns(item, left)),
        _ => return Some(()),
    };
    let table = members.get("patternProperties").and_then(Value::as_object);
    let pattern = members.get("pattern").and_then(Value::as_str);
    *left = left.checked_sub(table.map_or(0, Map::len) + usize::from(pattern.is_some()))?;
    if pattern.is_some_and(is_odd) {
        members.remove("pattern");
    }
    if let Some(Value::Object(table)) = members.get_mut("patternProperties") {
        table.retain(|pattern, _| !is_odd(pattern));
    }
    members.values_mut().try_for_each(|inner| remove_odd_patterns(inner, left))
}

/// Whether the validator does not take a regular expression.
fn is_odd(pattern: &str) -> bool {
    super::options().build(&json!({ "pattern": pattern })).is_err()
}

/// Whether the cost of checking a value against a recursive schema is in proportion to the value's size. The walk stops as soon
/// as the cost is too high.
pub(super) fn is_affordable(document: &Value, value: &Value, nodes: usize) -> bool {
    let mut fuel = AT_LEAST + PER_VALUE * nodes;
    is_checked_within(Subschema::whole(document), value, &mut fuel, 0)
}

/// Measures subschemas, identified by their address in the document.
#[derive(Default)]
struct Walk {
    done: HashMap<*const Value, usize>,
    /// Subschemas that are being measured, with their depth.
    open: HashMap<*const Value, usize>,
    /// For each of them, whether it applies to the same value as the one around it.
    here: Vec<bool>,
    recursive: bool,
}

impl Walk {
    /// The number of subschemas, this one included; `None` if it has no bound. `here`: it applies to the same value as the one
    /// around it.
    fn size(&mut self, place: Subschema<'_>, here: bool) -> Option<usize> {
        let Value::Object(object) = place.schema else { return Some(1) };
        let name = std::ptr::from_ref(place.schema);
        if let Some(size) = self.done.get(&name) {
            return Some(*size);
        }
        if let Some(depth) = self.open.get(&name) {
            self.recursive = true;
            // A subschema that applies itself to the same value never ends.
            let endless = here && self.here[depth + 1..].iter().all(|here| *here);
            return (!endless).then_some(1);
        }
        if self.here.len() == DEPTH || object.contains_key("$dynamicRef") || object.contains_key("$recursiveRef") {
            return None;
        }
        self.open.insert(name, self.here.len());
        self.here.push(here);
        let mut size: usize = 1;
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            size += match place.referred() {
                Some(target) => self.size(target, true)?,
                // The validator has the dialects' own schemas built in.
                None if reference.contains("json-schema.org/") => 1,
                None => return None,
            };
        }
        for (inner, scope) in place.inner() {
            size = size.saturating_add(self.size(inner, scope == Scope::Here)?);
            if size > MOST {
                return None;
            }
        }
        self.here.pop();
        self.open.remove(&name);
        self.done.insert(name, size);
        (size <= MOST).then_some(size)
    }
}

/// Walks like a validator that never stops early. Returns `false` once the budget is spent.
fn is_checked_within(place: Subschema<'_>, value: &Value, fuel: &mut usize, depth: usize) -> bool {
    let Value::Object(object) = place.schema else { return true };
    if *fuel == 0 || depth > VALUE_DEPTH {
        return false;
    }
    *fuel -= 1;
    let mut check = |place: Subschema<'_>, value: &Value| is_checked_within(place, value, fuel, depth + 1);
    if place.referred().is_some_and(|target| !check(target, value)) {
        return false;
    }
    let named = object.get("properties").and_then(Value::as_object);
    place.inner().all(|(inner, scope)| match (scope, value) {
        (Scope::Here, _) => check(inner, value),
        (Scope::Below, Value::Array(items)) => items.iter().all(|item| check(inner, item)),
        (Scope::Below, Value::Object(members)) => members.values().all(|member| check(inner, member)),
        _ => true,
    }) && named.zip(value.as_object()).is_none_or(|(named, members)| {
        members.iter().all(|(key, member)| named.get(key).is_none_or(|schema| check(place.at(schema), member)))
    })
}
