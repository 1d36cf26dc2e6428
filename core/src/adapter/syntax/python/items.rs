//! The arguments of a Python call: which bare words are values, and their JSON text.

use super::super::{
    literal::{Item, Node},
    markdown::plain,
    place::Document,
    scalar::number,
};
use crate::fix::Types;

/// Whether every unquoted text is a value: the tool must want a string there, else it is a variable or an expression. Without a
/// marker only literals are values.
pub(super) fn words_fit(items: &[Item], document: &Document, marked: bool) -> bool {
    let fits = |key: &str| document.root().member(key).allows(Types::STRING) == Some(true);
    items.iter().all(|(key, node)| match (key, node) {
        (_, Node::Bare(text)) if number(text).is_some() => true,
        // `f(city=city)` passes a variable.
        (Some(key), Node::Bare(text)) => marked && key != text && fits(key) && !computes(text),
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
