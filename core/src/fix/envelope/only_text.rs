//! N7: a text in place of the arguments. It is the value of the only parameter that it can be.

use std::borrow::Cow;

use super::{keywords, object};
use crate::{
    json::tree::{Member, Node, Value},
    schema::{Schema, Types},
};

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
