//! Objects in the place of another value.

use std::borrow::Cow;

use crate::json::tree::{Member, Node, Value};

/// Whether the object is the schema of a string: the model repeated the schema and gave no value.
pub(super) fn describes_string(node: &Node<'_>) -> bool {
    const WORDS: [&str; 9] = ["type", "description", "title", "default", "enum", "format", "example", "minLength", "pattern"];
    let Value::Object(members) = &node.value else { return false };
    members.iter().any(|member| member.key == "type" && member.node.value == Value::Text(Cow::Borrowed("string")))
        && members.iter().all(|member| WORDS.contains(&member.key.as_ref()))
}

/// K8: the items, if the object means a list: `{"0": a, "1": b}` or `{"item": [a, b]}`.
pub(super) fn listed<'s>(node: &Node<'s>) -> Option<Vec<Node<'s>>> {
    let Value::Object(members) = &node.value else { return None };
    if members.is_empty() {
        return None;
    }
    let numbered = members.iter().enumerate().all(|(at, member)| member.key == at.to_string().as_str());
    if numbered {
        return Some(members.iter().map(|member| member.node.clone()).collect());
    }
    match members.as_slice() {
        [Member { key, node: Node { value: Value::Array(items), .. }, .. }]
            if matches!(key.as_ref(), "item" | "items" | "list" | "values") =>
        {
            Some(items.clone())
        }
        _ => None,
    }
}
