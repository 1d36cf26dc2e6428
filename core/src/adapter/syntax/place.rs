//! Writes parsed values as JSON text. The schema says what unquoted text means.

use super::{
    literal::{Item, Node},
    markdown::plain,
    members,
    typing::{Hint, value},
};
use crate::fix::{Place, Types};

/// The arguments as JSON text. Those without a key get the names of the parameters in the schema's order. `None`: there are too many.
pub(crate) fn arguments(mut items: Vec<Item>, place: Place<'_>) -> Option<String> {
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

/// Writes an object as JSON text. Numbers keep their digits, and repeated keys stay repeated.
pub(crate) fn object(place: Place<'_>, members: Vec<(String, Node)>) -> String {
    let member = |(key, node): (String, Node)| {
        let value = json(place.member(&plain(&key)), node);
        (key, value)
    };
    members::object(&members.into_iter().map(member).collect::<Vec<_>>())
}

fn json(place: Place<'_>, node: Node) -> String {
    match node {
        Node::Json(text) => text,
        Node::Bare(text) if is_null(place, &text) => "null".to_owned(),
        Node::Bare(text) => value(place, &text, Hint::None),
        Node::List(items) => {
            let place = place.element();
            format!("[{}]", items.into_iter().map(|item| json(place, item)).collect::<Vec<_>>().join(","))
        }
        Node::Dict(members) => object(place, members),
    }
}

/// Whether an unquoted text is a null, of JSON or of another language. The second may be a string where one is wanted.
fn is_null(place: Place<'_>, text: &str) -> bool {
    let is_word = matches!(text, "none" | "nil" | "NULL" | "Null" | "undefined");
    let is_text = place.allows(Types::NULL) != Some(true) && place.allows(Types::STRING) == Some(true);
    text == "null" || is_word && !is_text
}
