//! Types for values that a model wrote as bare text: the tool's schema decides whether a text stays a string or is the
//! number, list or `null` that it looks like. Converting what does not fit is the fixer's task, not done here.

use serde_json::Value;

use super::markdown::plain;
use crate::{
    event::Tool,
    fix::{End, Place, Verdict, View, fix},
    json::extent::Extent,
};

/// What the form itself says of a value's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Hint {
    /// Nothing: the schema decides.
    #[default]
    None,
    /// It is a string.
    Text,
    /// It is JSON (where the schema does not want a string).
    Json,
}

/// The parameters of one tool and their types.
#[derive(Debug, Default)]
pub(crate) struct Types(View);

// === impl Types ===

impl Types {
    /// Those of this tool; without one every value is what it looks like.
    pub(crate) fn new(tool: Option<&Tool>) -> Types {
        Types(View::of(tool))
    }

    /// The names of the parameters in the schema's order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.root().keys()
    }

    /// The names of the parameters that a call must have.
    pub(crate) fn required(&self) -> impl Iterator<Item = &str> {
        self.0.root().required()
    }

    /// Whether the tool is known to take no parameters.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.root().is_empty()
    }

    /// Whether it is a parameter of the tool.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.root().has(&plain(key))
    }

    /// Whether a call may have exactly these parameters: it has no others, and all that it must have are among them.
    pub(crate) fn take<'k>(&self, given: impl Iterator<Item = &'k str> + Clone) -> bool {
        given.clone().all(|key| self.has(key)) && self.required().all(|required| given.clone().any(|key| key == required))
    }

    /// The value of a parameter as JSON text.
    pub(crate) fn value(&self, key: &str, text: &str, hint: Hint) -> String {
        self.parameter(key).value(text, hint)
    }

    pub(crate) fn parameter(&self, key: &str) -> Type<'_> {
        Type(self.0.root().property(&plain(key)))
    }
}

/// The type of one value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Type<'a>(Place<'a>);

// === impl Type ===

impl<'a> Type<'a> {
    /// A text as JSON: the literal that it spells where that is accepted, else a string.
    pub(crate) fn value(self, text: &str, hint: Hint) -> String {
        let string = || Value::from(text).to_string();
        if hint == Hint::Text || (hint == Hint::None && self.0.is_plain_string()) {
            return string();
        }
        let Some((written, value)) = literal(text) else {
            // `007` where no string may stand: the fixer knows what that is.
            let number = self.known() && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
            return if number && !self.allows(&Value::from(text)) { text.to_owned() } else { string() };
        };
        if !self.known() {
            return if value.is_string() && hint == Hint::None { string() } else { written };
        }
        let accepts = |value: &Value| self.0.accepts(value);
        let as_text = accepts(&Value::from(text));
        // Only a named constant accepts this text and no other.
        if as_text == Some(true) && accepts(&Value::from(format!("{text}\0"))) == Some(false) {
            return string();
        }
        if value.is_string() && hint == Hint::None && !self.0.is_untyped() {
            return string();
        }
        match (accepts(&value), as_text) {
            (Some(true), _) | (_, Some(false)) => written,
            _ => string(),
        }
    }

    /// Whether a value of this kind is allowed here; unknown counts as yes.
    pub(crate) fn allows(self, value: &Value) -> bool {
        self.0.accepts(value) != Some(false)
    }

    /// Whether the schema says anything of it.
    pub(crate) fn known(self) -> bool {
        self.0.is_known()
    }

    /// The type of a member of the object here.
    pub(crate) fn member(self, key: &str) -> Type<'a> {
        Type(self.0.member(key))
    }

    /// The type of the elements of the array here.
    pub(crate) fn element(self) -> Type<'a> {
        Type(self.0.element())
    }
}

/// The JSON or Python literal that a text spells: as JSON text, number lexemes kept, and its value.
fn literal(text: &str) -> Option<(String, Value)> {
    let text = text.trim();
    let word = match text {
        "True" => "true",
        "False" => "false",
        "None" => "null",
        other => other,
    };
    if let Ok(value) = serde_json::from_str(word) {
        return Some((word.to_owned(), value));
    }
    let whole = text.starts_with(['{', '[']) && Extent::default().feed(text.as_bytes()) == Some(text.len());
    let report = whole.then(|| fix(text, None, &[], End::Closed)).filter(|report| report.verdict <= Verdict::Lossless)?;
    let json = report.arguments?;
    let value = serde_json::from_str(&json).ok()?;
    Some((json, value))
}

#[cfg(test)]
mod tests;
