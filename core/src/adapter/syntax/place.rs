//! Writes parsed values as JSON text. The schema says what unquoted text means.

use super::{
    literal::Node,
    markdown::plain,
    scalar::{atom, is_null, number},
    typing::verbatim,
};
use crate::fix::{Place, Types};

/// Writes an object as JSON text. Numbers keep their digits, and repeated keys stay repeated.
pub(crate) fn object(place: Place<'_>, members: Vec<(String, Node)>) -> String {
    let member = |(key, node): (String, Node)| format!("{}:{}", verbatim(&key), json(place.member(&plain(&key)), node));
    format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
}

fn json(place: Place<'_>, node: Node) -> String {
    match node {
        Node::Text(text) => text.json(),
        Node::Atom(text) => text,
        Node::Bare(text) => bare(place, &text),
        Node::List(items) => {
            let place = place.element();
            format!("[{}]", items.into_iter().map(|item| json(place, item)).collect::<Vec<_>>().join(","))
        }
        Node::Dict(members) => object(place, members),
    }
}

/// Writes unquoted text as what it looks like if the schema allows that here, else as a string. `null` is never a string.
fn bare(place: Place<'_>, text: &str) -> String {
    let exact = atom(text).or_else(|| is_null(text).then(|| "null".to_owned()));
    let looks = exact.clone().or_else(|| number(text));
    let Some(json) = looks else { return verbatim(text) };
    let Ok(value) = serde_json::from_str(&json) else { return verbatim(text) };
    let fits = place.allows(Types::of(&value)) == Some(true);
    match place.allows(Types::STRING) {
        Some(true) if !fits && text != "null" => verbatim(text),
        None if exact.is_none() => verbatim(text),
        _ => json,
    }
}
