//! The keywords of JSON Schema that hold subschemas.

use serde_json::{Map, Value};

/// What a subschema applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The value itself.
    Here,
    /// Its members or items; all of them, as far as is known here.
    Below,
    /// The member with one name.
    Named,
    /// Nothing by itself: it waits for a reference, or is about text.
    Nothing,
}

use Scope::{Below, Here, Named, Nothing};

/// Keywords that hold a subschema or a list of subschemas.
#[rustfmt::skip]
const SCHEMAS: [(&str, Scope); 16] = [
    ("not", Here), ("if", Here), ("then", Here), ("else", Here), ("allOf", Here), ("anyOf", Here), ("oneOf", Here),
    ("additionalProperties", Below), ("unevaluatedProperties", Below), ("propertyNames", Below), ("items", Below),
    ("prefixItems", Below), ("contains", Below), ("additionalItems", Below), ("unevaluatedItems", Below),
    ("contentSchema", Nothing),
];
/// Keywords that hold subschemas by name.
#[rustfmt::skip]
const TABLES: [(&str, Scope); 6] = [
    ("dependentSchemas", Here), ("dependencies", Here), ("patternProperties", Below), ("properties", Named),
    ("$defs", Nothing), ("definitions", Nothing),
];

/// The subschemas of a schema that apply to something, except the one that it refers to.
pub(super) fn subschemas(schema: &Map<String, Value>) -> impl Iterator<Item = (&Value, Scope)> {
    let held = SCHEMAS.into_iter().filter_map(|(key, scope)| Some((schema.get(key)?, scope))).flat_map(|(held, scope)| {
        let list = held.as_array().map_or(std::slice::from_ref(held), Vec::as_slice);
        list.iter().map(move |inner| (inner, scope))
    });
    let tables = TABLES.into_iter().filter_map(|(key, scope)| Some((schema.get(key)?.as_object()?, scope)));
    let named = tables.flat_map(|(table, scope)| table.values().map(move |inner| (inner, scope)));
    held.chain(named).filter(|(_, scope)| *scope != Nothing)
}

/// Changes all subschemas of a schema.
pub(super) fn change_subschemas(schema: &mut Map<String, Value>, change: fn(&mut Value)) {
    for (key, _) in SCHEMAS {
        match schema.get_mut(key) {
            Some(Value::Array(list)) => list.iter_mut().for_each(change),
            Some(inner) => change(inner),
            None => {}
        }
    }
    for (key, _) in TABLES {
        let table = schema.get_mut(key).and_then(Value::as_object_mut);
        table.into_iter().flat_map(Map::values_mut).for_each(change);
    }
}
