//! A field of a `response_template`: a region of the answer, and the texts that delimit it.

use serde_json::{Map, Value};

use super::pattern::{self, Spelling, push, texts};

/// A region of the template.
pub(super) struct Field<'t> {
    pub(super) name: &'t str,
    pub(super) spec: &'t Map<String, Value>,
    /// `None`: it is open wherever no other one is.
    pub(super) open: Option<Vec<Spelling>>,
    pub(super) close: Vec<Spelling>,
}

const KEYS: [&str; 11] = [
    "open", "open_pattern", "close", "close_pattern", "content", "content_args", "repeats", "join", "optional", "transform",
    "transform_each",
];

impl<'t> Field<'t> {
    /// Reads the field `name`; the error says which field and key is wrong.
    pub(super) fn new(name: &'t str, spec: &'t Value) -> Result<Field<'t>, String> {
        let fail = |what: String| format!("field `{name}`: {what}");
        let spec = spec.as_object().ok_or_else(|| fail("is not an object".into()))?;
        if let Some(key) = unknown(spec, &KEYS) {
            return Err(fail(format!("the key `{key}` is not known")));
        }
        let open = spellings(spec, "open").map_err(fail)?;
        let close = spellings(spec, "close").map_err(fail)?.unwrap_or_default();
        Ok(Field { name, spec, open, close })
    }

    pub(super) fn parser(&self) -> &str {
        self.spec.get("content").and_then(Value::as_str).unwrap_or("text")
    }
}

/// The first key that is not among the known ones.
pub(super) fn unknown<'m>(map: &'m Map<String, Value>, known: &[&str]) -> Option<&'m String> {
    map.keys().find(|key| !known.contains(&key.as_str()))
}

/// The spellings of a delimiter that may be given as `key` or `key_pattern`.
pub(super) fn spellings(spec: &Map<String, Value>, key: &str) -> Result<Option<Vec<Spelling>>, String> {
    let pattern_key = format!("{key}_pattern");
    match (spec.get(key), spec.get(&pattern_key)) {
        (Some(_), Some(_)) => Err(format!("has both `{key}` and `{pattern_key}`")),
        (Some(given), None) => pattern::literals(given).map(Some).map_err(|what| format!("`{key}` {what}")),
        (None, Some(Value::String(pattern))) => {
            pattern::parse(pattern).map(Some).map_err(|what| format!("`{pattern_key}` {what}"))
        }
        (None, Some(_)) => Err(format!("`{pattern_key}` is not a text")),
        (None, None) => Ok(None),
    }
}

/// The texts of spellings that are one marker each.
pub(super) fn markers(spellings: &[Spelling]) -> Vec<String> {
    let mut all = Vec::new();
    for text in spellings.iter().filter_map(|spelling| texts(spelling)?.first().map(|text| (*text).to_owned())) {
        push(&mut all, &text);
    }
    all
}
