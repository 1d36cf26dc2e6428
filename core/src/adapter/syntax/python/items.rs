//! The arguments of a Python call: which bare words are values, and their JSON text.

use super::super::{
    literal::{Item, Node},
    markdown::plain,
    place::object,
    scalar::number,
};
use crate::fix::{Place, Types};

/// Whether every unquoted text is a value: the tool must want a string there, else it is a variable or an expression. Without a
/// marker only literals are values.
pub(super) fn words_fit(items: &[Item], place: Place<'_>, marked: bool) -> bool {
    let fits = |key: &str| place.member(&plain(key)).allows(Types::STRING) == Some(true);
    items.iter().all(|(key, node)| match (key, node) {
        (_, Node::Bare(text)) if number(text).is_some() => true,
        // `f(city=city)` passes a variable.
        (Some(key), Node::Bare(text)) => marked && key != text && fits(key),
        (None, Node::Bare(_)) => false,
        _ => true,
    })
}

/// The arguments as JSON text. `None`: some have neither a name nor a parameter.
pub(super) fn arguments(mut items: Vec<Item>, place: Place<'_>) -> Option<String> {
    let keys: Vec<&str> = place.keys().collect();
    if let [(None, Node::Dict(members))] = items.as_slice() {
        let is_arguments = members.iter().all(|(key, _)| keys.is_empty() || keys.contains(&key.as_str()));
        let takes_object = keys.first().is_some_and(|key| place.member(key).allows(Types::OBJECT) == Some(true));
        if is_arguments || !takes_object {
            return Some(object(place, members.clone()));
        }
    }
    let given: Vec<String> = items.iter().filter_map(|(key, _)| key.clone()).collect();
    let mut free = keys.into_iter();
    for (key, _) in items.iter_mut().filter(|(key, _)| key.is_none()) {
        *key = free.next().filter(|name| !given.iter().any(|given| plain(given) == *name)).map(str::to_owned);
    }
    let members: Option<Vec<(String, Node)>> = items.into_iter().map(|(key, value)| Some((key?, value))).collect();
    Some(object(place, members?))
}
