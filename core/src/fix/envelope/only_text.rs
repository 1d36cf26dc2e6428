//! N7: a text in place of the arguments. It is the value of the only parameter that it can be.

use std::borrow::Cow;

use super::{keywords, object};
use crate::{
    json::{
        strict,
        tree::{Member, Node, Value},
    },
    schema::{Schema, Types},
};

/// A JSON string that holds the only text that the schema asks for or requires, as the text of an object. Its backslashes may be
/// those of a path.
pub(in crate::fix) fn quoted(text: &str, schema: &Schema) -> Option<String> {
    let inner: String = text.starts_with('"').then(|| serde_json::from_str(text).ok())??;
    let is_text = !inner.trim().is_empty() && !inner.trim_start().starts_with(['{', '[', '"']);
    let asked = || only_string(schema).filter(|_| bare(&inner, schema).is_some());
    let required = || required_string(schema).filter(|_| !holds_parameters(&inner, schema));
    let name = asked().or_else(required).filter(|_| is_text)?;
    Some(format!("{{{}: {text}}}", serde_json::Value::from(name)))
}

/// The whole text as the only string that the schema asks for. With several parameters, only if it is a single word.
pub(in crate::fix) fn bare<'s>(text: &'s str, schema: &Schema) -> Option<Node<'s>> {
    let name = only_string(schema)?;
    if schema.rule(schema.top()).properties.len() > 1 && text.contains(char::is_whitespace) {
        return None;
    }
    // `f(town=x)`: the parameters are there but could not be read.
    let key =
        |inside: &str| inside[1..].split('=').next().is_some_and(|key| schema.rule(schema.top()).named(key.trim()).is_some());
    if keywords(text).is_some_and(|inside| key(&inside)) {
        return None;
    }
    let node = Node { value: Value::Text(Cow::Borrowed(text)), start: 0, end: text.len(), exact: false };
    Some(object(vec![Member { key: Cow::Owned(name), start: 0, node }], 0, text.len()))
}

/// The name of the only property of type string, if no other property is required.
fn only_string(schema: &Schema) -> Option<String> {
    let rule = schema.rule(schema.top());
    let mut strings = rule.properties.iter().filter(|property| schema.rule(property.shape).types == Types::STRING);
    let only = strings.next()?;
    let given = |name: &String| rule.named(name).is_some_and(|property| schema.rule(property.shape).may_be_null());
    let sole = strings.next().is_none() && rule.required.iter().all(|name| *name == only.name || given(name));
    sole.then(|| only.name.clone())
}

/// The name of the only required property, if it is of type string.
fn required_string(schema: &Schema) -> Option<String> {
    let rule = schema.rule(schema.top());
    let shape = |name: &String| rule.named(name).map(|property| schema.rule(property.shape));
    let mut required = rule.required.iter().filter(|name| !shape(name).is_some_and(|shape| shape.may_be_null()));
    let only = required.next().filter(|_| required.next().is_none())?;
    shape(only).is_some_and(|shape| shape.types == Types::STRING).then(|| only.clone())
}

/// Whether a text may hold several parameters, or a value of another type: it has several lines, a parameter's name with a sign,
/// tags, a fence, or it is JSON.
fn holds_parameters(text: &str, schema: &Schema) -> bool {
    let assigns = |name: &str| {
        let mut ends = text.match_indices(name).map(|(at, _)| text[at + name.len()..].trim_start_matches(['"', '\'', ' ']));
        ends.any(|after| after.starts_with([':', '=']))
    };
    text.trim().contains('\n')
        || text.trim_start().starts_with(['<', '('])
        || ["</", "```"].iter().any(|sign| text.contains(sign))
        || strict::parse(text.trim()).is_some()
        || schema.rule(schema.top()).properties.iter().any(|property| assigns(&property.name))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::fix::{End, Schemas, fix};

    #[test]
    fn a_json_string_is_the_one_text_that_is_required() {
        let one = r#"{"type":"object","properties":{"goal":{"type":"string"},"by":{"type":"string"},"stops":{"type":"integer"}},"required":["goal"]}"#;
        let listed = one.replace(r#""goal":{"type":"string"}"#, r#""goal":{"enum":["Turku","the old harbour"]}"#);
        let none = one.replace(r#","required":["goal"]"#, "");
        let two = one.replace(r#"["goal"]"#, r#"["goal","by"]"#);
        let number = one.replace(r#""goal":{"type":"string"}"#, r#""goal":{"type":"integer"}"#);
        for (schema, text, want) in [
            (one, r#""the old harbour""#, Some(r#"{"goal": "the old harbour"}"#)),
            (one, r#""say \"hi\" > a & b""#, Some(r#"{"goal": "say \"hi\" > a & b"}"#)),
            (one, r#""Turku, stops: 2""#, None),
            (one, r#""the harbour by=bus""#, None),
            (one, r#""Turku\nbus now""#, None),
            (one, r#""42""#, None),
            (one, r#""null""#, None),
            (one, r#""see <b>it</b> now""#, None),
            (&listed, r#""a new harbour""#, None),
            (&none, r#""the old harbour""#, None),
            (&two, r#""the old harbour""#, None),
            (&number, r#""the old harbour""#, None),
        ] {
            let schema = Schemas::default().get(&Arc::from(schema));
            let report = fix(text, Some(&schema), &[], End::Whole);
            assert_eq!(report.accepted(), want, "{text}: {report:?}");
        }
    }
}
