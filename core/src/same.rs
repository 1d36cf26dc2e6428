//! When two calls are the same: they have the same name and the same arguments as a value. Whitespace, escapes and the order of
//! members do not matter. Digits do, because a number may be an id that no float can hold.

use std::borrow::Cow;

use crate::json::{
    strict,
    tree::{Node, Value},
};

/// A call in the spelling in which it is compared with others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Call {
    name: String,
    arguments: String,
}

impl Call {
    /// A call as a model or a backend wrote it. Arguments that are not JSON are compared as text.
    pub fn new(name: &str, arguments: &str) -> Call {
        Call::spelled(name, arguments, settle)
    }

    /// A call that may have come back from a client. Some clients know text alone: a number comes back as a string, text without
    /// the blanks around it, and `null` not at all.
    pub fn returned(name: &str, arguments: &str) -> Call {
        Call::spelled(name, arguments, |node| {
            flatten(node);
            settle(node);
        })
    }

    fn spelled(name: &str, arguments: &str, change: impl Fn(&mut Node<'_>)) -> Call {
        let arguments = match arguments.trim() {
            "" => "{}",
            arguments => arguments,
        };
        let spelled = |text: &str| {
            let mut root = strict::parse(text)?;
            change(&mut root);
            Some(root.to_json(text))
        };
        // The scanner may leave the last brace to the fixer.
        let spelled = spelled(arguments).or_else(|| spelled(&format!("{arguments}}}")));
        Call { name: name.to_owned(), arguments: spelled.unwrap_or_else(|| arguments.to_owned()) }
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments in this spelling.
    pub fn arguments(&self) -> &str {
        &self.arguments
    }
}

/// Gives equal values one spelling.
fn settle(node: &mut Node<'_>) {
    node.exact = false;
    match &mut node.value {
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Object(members) => {
            members.iter_mut().for_each(|member| settle(&mut member.node));
            members.sort_by(|one, other| one.key.cmp(&other.key));
        }
        _ => {}
    }
}

/// Makes scalars text, and leaves out what is `null`.
fn flatten(node: &mut Node<'_>) {
    match &mut node.value {
        Value::Null => {}
        Value::Bool(value) => node.value = Value::Text(Cow::Borrowed(if *value { "true" } else { "false" })),
        Value::Number(digits) => node.value = Value::Text(std::mem::take(digits)),
        Value::Text(text) => *text = Cow::Owned(text.trim().to_owned()),
        Value::Array(items) => items.iter_mut().for_each(flatten),
        Value::Object(members) => {
            members.retain(|member| member.node.value != Value::Null);
            members.iter_mut().for_each(|member| flatten(&mut member.node));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_compared_as_values() {
        for (one, other, new, returned) in [
            (r#"{"a": 1, "b": [true]}"#, r#"{"b":[true],"a":1}"#, true, true),
            (r#"{"a": {"x": 1, "y": 2}}"#, r#"{"a": {"y": 2, "x": 1}}"#, true, true),
            (r#"{"a": "\u00e9\/"}"#, r#"{"a": "é/"}"#, true, true),
            ("", "{}", true, true),
            (r#"{"a": {}"#, r#"{"a": {}}"#, true, true),
            ("[1, 2]", "[2, 1]", false, false),
            (r#"{"id": 9007199254740993.0}"#, r#"{"id": 9007199254740992.0}"#, false, false),
            (r#"{"a": 1}"#, r#"{"a": "1"}"#, false, true),
            (r#"{"a": " x"}"#, r#"{"a": "x", "b": null}"#, false, true),
            (r#"{"a": true}"#, r#"{"a": "true"}"#, false, true),
            ("{'a", " {'a\n", true, true),
            ("{'a", "{'b", false, false),
        ] {
            assert_eq!(Call::new("f", one) == Call::new("f", other), new, "{one} {other}");
            assert_eq!(Call::returned("f", one) == Call::returned("f", other), returned, "{one} {other}");
        }
        assert_ne!(Call::new("f", "{}"), Call::new("g", "{}"));
    }
}
