//! Types values that a model wrote as bare text. The tool's schema decides whether a text stays a string or is the number, list
//! or `null` that it looks like. The fixer, not this module, converts what does not fit.

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;

use super::markdown::plain;
use crate::{
    event::Tool,
    fix::{End, Place, Role, Verdict, View, fix},
    json::{extent, number::respell},
};

/// What the form says about a value's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Hint {
    /// Nothing: the schema decides.
    #[default]
    None,
    /// It is a string.
    Text,
    /// JSON, unless the schema wants a string.
    Json,
}

/// The parameters of one tool and their types.
#[derive(Debug, Default, Clone)]
pub(crate) struct Types(Arc<View>);

impl Types {
    /// The parameters of `tool`. Without a tool, every value is what it looks like.
    pub(crate) fn new(tool: Option<&Tool>) -> Types {
        Types(View::of(tool))
    }

    /// The names of the parameters, in the schema's order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.root().keys()
    }

    /// The names of the required parameters.
    pub(crate) fn required(&self) -> impl Iterator<Item = &str> {
        self.0.root().required()
    }

    /// The one parameter that the tool requires. `None`: it requires none, or several.
    pub(crate) fn only_required(&self) -> Option<&str> {
        let mut required = self.required();
        required.next().filter(|_| required.next().is_none())
    }

    /// Whether the tool has this parameter.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.root().has(&plain(key))
    }

    /// Whether a call with exactly these parameters is complete: the tool has all of them and requires no other.
    pub(crate) fn take<'k>(&self, given: impl Iterator<Item = &'k str> + Clone) -> bool {
        given.clone().all(|key| self.has(key)) && self.required().all(|required| given.clone().any(|key| key == required))
    }

    /// The value of a parameter as JSON text.
    pub(crate) fn value(&self, key: &str, text: &str, hint: Hint) -> String {
        let parameter = self.parameter(key);
        let role = Role::of(key, false);
        let bare = match unquoted(text) {
            // Neither a path nor a command begins with such a quote.
            Some((_, inner)) if role.path => inner,
            Some(('`', inner)) if role.command => inner,
            // A path on a line of its own.
            _ if role.path && text.contains('\n') && !text.trim().contains('\n') => text.trim(),
            _ => text,
        };
        parameter.value(if parameter.0.is_plain_string() { bare } else { text }, hint)
    }

    pub(crate) fn parameter(&self, key: &str) -> Type<'_> {
        Type(self.0.root().property(&plain(key)))
    }
}

/// Writes a text without escapes as a JSON string. Control characters are written as `\u000a`, so that the fixer does not take
/// them for escapes in a path that the model wrote.
pub(super) fn verbatim(text: &str) -> String {
    let json = Value::from(text).to_string();
    if !text.contains(|c: char| c < ' ') {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\0'..' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    format!("\"{out}\"")
}

/// The type of one value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Type<'a>(pub(super) Place<'a>);

impl<'a> Type<'a> {
    /// Writes a text as JSON: the literal that it spells if the schema accepts it, else a string.
    pub(crate) fn value(self, text: &str, hint: Hint) -> String {
        let accepted = |text: &str| self.0.accepts(&Value::from(text)) == Some(true);
        if self.known() && !accepted(text) && !self.takes(text) {
            if accepted(text.trim()) {
                return verbatim(text.trim());
            }
            if let Some(inner) = unquoted(text).map(|(_, inner)| inner).filter(|inner| accepted(inner) || self.takes(inner)) {
                return self.value(inner, hint);
            }
        }
        let string = || verbatim(text);
        if hint == Hint::Text || (hint == Hint::None && self.0.is_plain_string()) {
            return string();
        }
        let Some((written, value)) = literal(text) else {
            // `007` where no string is allowed: the vendors' parsers read decimals (`int()` in vLLM's).
            let decimal = self.known() && text.bytes().all(|byte| byte.is_ascii_digit()) && !self.allows(&Value::from(text));
            return decimal.then(|| respell(text)).flatten().map_or_else(string, Cow::into_owned);
        };
        if !self.known() {
            return if value.is_string() && hint == Hint::None { string() } else { written };
        }
        let accepts = |value: &Value| self.0.accepts(value);
        let as_text = accepts(&Value::from(text));
        // A listed constant accepts this text and no other.
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

    /// Whether the text is a literal other than a string that is accepted here.
    fn takes(self, text: &str) -> bool {
        literal(text).is_some_and(|(_, value)| !value.is_string() && self.0.accepts(&value) == Some(true))
    }

    /// Whether a value of this type is allowed here. Unknown counts as allowed.
    pub(crate) fn allows(self, value: &Value) -> bool {
        self.0.accepts(value) != Some(false)
    }

    /// Whether the schema says anything about the value here.
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

/// The quote and the content of a quoted text. `None`: not quoted, or the content contains that quote or a newline.
fn unquoted(text: &str) -> Option<(char, &str)> {
    let text = text.trim();
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let inner = text[1..].strip_suffix(quote)?;
    (!inner.is_empty() && !inner.contains([quote, '\n'])).then_some((quote, inner))
}

/// The JSON or Python literal that a text spells: its JSON text with numbers as written, and its value.
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
    let whole = text.starts_with(['{', '[']) && extent::end(text) == Some(text.len());
    let report = whole.then(|| fix(text, None, &[], End::Closed)).filter(|report| report.verdict <= Verdict::Lossless)?;
    let json = report.arguments?;
    let value = serde_json::from_str(&json).ok()?;
    Some((json, value))
}

#[cfg(test)]
mod tests;
