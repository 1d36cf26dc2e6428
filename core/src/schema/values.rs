//! The listed values of `enum` and `const`, found by hash: a list may have a hundred thousand values, and arguments as many items.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use serde_json::Value;

use super::fold;

/// The only allowed values.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// The values, in the schema's order.
    pub all: Vec<Value>,
    /// From `const`: a missing property has this value.
    pub constant: bool,
    written: OnceLock<HashSet<String>>,
    spelled: OnceLock<[Places; 3]>,
}

/// Spelling -> position of the value; `None` if several values are spelled so.
type Places = HashMap<String, Option<usize>>;

impl Values {
    /// These values.
    pub(super) fn new(all: Vec<Value>, constant: bool) -> Values {
        Values { all, constant, ..Values::default() }
    }

    /// Whether this value is listed.
    pub fn contains(&self, value: &Value) -> bool {
        let written = || self.all.iter().map(Value::to_string).collect();
        self.written.get_or_init(written).contains(&value.to_string())
    }

    /// The only listed value that this one spells, perhaps in another pair of quotes: the same text, or the same except for case, or
    /// except for case and separators. Its JSON type may differ.
    pub fn meant(&self, own: &Value) -> Option<&Value> {
        let spelled = self.spelled.get_or_init(|| self.spelled());
        let text = text(own)?;
        let found = |text: &str| spellings(text).into_iter().zip(spelled).find_map(|(key, places)| *places.get(&key?)?);
        self.all.get(found(text.trim()).or_else(|| found(unquoted(&text)?))?)
    }

    fn spelled(&self) -> [Places; 3] {
        let mut spelled = <[Places; 3]>::default();
        for (at, text) in self.all.iter().enumerate().filter_map(|(at, value)| Some((at, text(value)?))) {
            for (places, key) in spelled.iter_mut().zip(spellings(&text)) {
                if let Some(key) = key {
                    places.entry(key).and_modify(|place| *place = None).or_insert(Some(at));
                }
            }
        }
        spelled
    }
}

/// The ways to spell a text, the strictest first. Separators are left out only between words: a leading minus is a sign, a trailing
/// one part of a symbol.
fn spellings(text: &str) -> [Option<String>; 3] {
    let ends = [text.chars().next(), text.chars().next_back()];
    let is_of_words = ends.iter().all(|end| end.is_some_and(char::is_alphanumeric)) && text.contains(char::is_alphabetic);
    [Some(text.to_owned()), Some(text.to_lowercase()), is_of_words.then(|| fold(text))]
}

/// The text without a pair of quotes around it: `"completed"`.
pub(crate) fn unquoted(text: &str) -> Option<&str> {
    let text = text.trim();
    ['"', '\'', '`'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

/// The text of a scalar; `null` and containers have none.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
