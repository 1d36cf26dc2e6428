//! The arguments of a Python call: which bare words are values, and their JSON text.

use super::super::suspect::{holds_python_call, is_variable};
use super::super::{
    Context,
    literal::{Item, Node},
    markdown::plain,
    place::Document,
    scalar::number,
};
use crate::fix::Types;

/// Whether a string contains another call.
pub(super) fn swallows_call(items: &[Item], context: Context<'_>) -> bool {
    items.iter().any(|(_, node)| node.any_text(&|text| holds_python_call(text, context.tools)))
}

/// Whether every unquoted text is a value. The tool must want a string there, else it is a variable or an expression. After a
/// marker a name is a string anywhere, unless it is written like a variable and is not an allowed value.
pub(super) fn words_fit(items: &[Item], document: &Document, marked: bool) -> bool {
    let named = |text: &str| marked && text.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
    let fits = |key: &str| document.root().member(key).allows(Types::STRING) == Some(true);
    let listed = |key: &str| document.root().member(key).is_listed() || document.root().member(key).element().is_listed();
    let passes = |key: &str, text: &str| !listed(key) && is_variable(text, key);
    let keys = document.root().keys();
    let in_order = |at: usize, text: &str| keys.get(at).is_some_and(|key| passes(key, text));
    items.iter().enumerate().all(|(at, (key, node))| match (key, node) {
        (None, Node::Bare(text)) if in_order(at, text) => false,
        // `f(city=city)` passes a variable.
        (Some(key), Node::Bare(text)) if key == text || passes(key, text) => false,
        (Some(key), Node::List(list)) => !list.iter().any(|item| matches!(item, Node::Bare(text) if passes(key, text))),
        (_, Node::Bare(text)) if number(text).is_some() || named(text) => true,
        (Some(key), Node::Bare(text)) => fits(key) && !computes(text),
        (None, Node::Bare(_)) => false,
        _ => true,
    })
}

/// Whether a text is a Python expression rather than words.
fn computes(text: &str) -> bool {
    text.contains(['"', '(', '[', '{']) || text.ends_with('\'') || [" + ", " * ", " % "].iter().any(|sign| text.contains(sign))
}

/// The arguments as JSON text. `None`: some have neither a name nor a parameter.
pub(super) fn arguments(mut items: Vec<Item>, document: &Document) -> Option<String> {
    let place = document.root();
    let keys = place.keys();
    if let [(None, Node::Dict(members))] = items.as_slice() {
        let is_arguments = members.iter().all(|(key, _)| keys.is_empty() || keys.contains(key));
        let takes_object = keys.first().is_some_and(|key| place.member(key).allows(Types::OBJECT) == Some(true));
        if is_arguments || !takes_object {
            return Some(place.object(members.clone()));
        }
    }
    let given: Vec<String> = items.iter().filter_map(|(key, _)| key.clone()).collect();
    let mut free = keys.into_iter();
    for (key, _) in items.iter_mut().filter(|(key, _)| key.is_none()) {
        *key = free.next().filter(|name| !given.iter().any(|given| plain(given) == *name));
    }
    let members: Option<Vec<(String, Node)>> = items.into_iter().map(|(key, value)| Some((key?, value))).collect();
    Some(place.object(members?))
}
