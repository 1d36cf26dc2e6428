//! The keywords of JSON Schema that hold subschemas, and the references between them.

use serde_json::{Map, Value};

/// A subschema in its document. This is the only code that resolves references.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subschema<'v> {
    pub(super) schema: &'v Value,
    /// What references are relative to: the document, or the innermost subschema with an `$id`.
    pub(super) base: &'v Value,
}

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

impl<'v> Subschema<'v> {
    /// A whole document.
    pub(super) fn whole(document: &'v Value) -> Subschema<'v> {
        Subschema { schema: document, base: document }
    }

    /// A subschema of this one.
    pub(super) fn at(self, schema: &'v Value) -> Subschema<'v> {
        let base = if schema.get("$id").is_some_and(Value::is_string) { schema } else { self.base };
        Subschema { schema, base }
    }

    /// The subschemas that apply to something, except the one that this one refers to.
    pub(super) fn inner(self) -> impl Iterator<Item = (Subschema<'v>, Scope)> {
        let held = SCHEMAS.into_iter().filter_map(move |(key, scope)| Some((self.schema.get(key)?, scope)));
        let held = held.flat_map(|(held, scope)| {
            let list = held.as_array().map_or(std::slice::from_ref(held), Vec::as_slice);
            list.iter().map(move |inner| (inner, scope))
        });
        let tables = TABLES.into_iter().filter_map(move |(key, scope)| Some((self.schema.get(key)?.as_object()?, scope)));
        let named = tables.flat_map(|(table, scope)| table.values().map(move |inner| (inner, scope)));
        held.chain(named).filter(|(_, scope)| *scope != Nothing).map(move |(inner, scope)| (self.at(inner), scope))
    }

    /// What `$ref` points to, inside the document.
    pub(super) fn referred(self) -> Option<Subschema<'v>> {
        let fragment = decoded(self.schema.get("$ref")?.as_str()?.strip_prefix('#')?)?;
        // A reference next to an `$id` is relative to it.
        let base = self.at(self.schema).base;
        let target = if fragment.is_empty() || fragment.starts_with('/') {
            base.pointer(&fragment)?
        } else {
            let anchored = |schema: &&'v Value| schema.get("$anchor").and_then(Value::as_str) == Some(fragment.as_str());
            let places = ["$defs", "definitions"].into_iter().filter_map(|place| base.get(place)?.as_object());
            places.flat_map(Map::values).find(anchored)?
        };
        Some(Subschema { base, ..self }.at(target))
    }
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

/// The fragment of a reference with its percent escapes decoded (RFC 6901, section 6).
fn decoded(fragment: &str) -> Option<String> {
    let mut pieces = fragment.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(piece.get(..2)?, 16).ok()?);
        bytes.extend(&piece.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}
