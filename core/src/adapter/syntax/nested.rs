//! The values of nested elements, `P<point>P<x>1P</x>P</point>` with a prefix `P` before every tag. Children form an object, `item`s an
//! array, and the schema types bare text. Tags inside a value that is text by its schema are content.

use serde_json::json;

use super::{
    entities::decoded,
    members::object,
    tagged::markers::{closes_element, opens_element},
    typing::{self, Hint, verbatim},
};
use crate::fix::Place;

/// Maximum depth of elements.
const DEPTH: usize = 64;
/// The name of an array's element.
const ITEM: &str = "item";
/// The key of text beside children.
const TEXT: &str = "$text";

/// The value between the tags of an element as JSON text. `None`: tags inside are not closed, or not opened.
pub(super) fn value(text: &str, prefix: &str, place: Place<'_>) -> Option<String> {
    value_at(text, prefix, place, DEPTH)
}

fn value_at(text: &str, prefix: &str, place: Place<'_>, depth: usize) -> Option<String> {
    let may_hold = |place: Place<'_>| (place.may_be(&json!([])), place.may_be(&json!({})));
    let (array, is_object) = may_hold(place);
    let child = |name: &str| if name == ITEM && place.element().is_known() { place.element() } else { place.member(name) };
    let is_container = |place: Place<'_>| !place.may_be(&json!("")) && may_hold(place) != (false, false);
    let (beside, children) = match array || is_object {
        true if depth == 0 => return None,
        true => children(text, prefix, |name| is_container(child(name)))?,
        false => <_>::default(),
    };
    if children.is_empty() {
        return Some(match text.trim().is_empty() && is_container(place) {
            true if array => "[]".into(),
            true if is_object => "{}".into(),
            _ => typing::value(place, &decoded(text), Hint::None),
        });
    }
    let is_list = array && (!is_object || children.iter().all(|(name, _)| *name == ITEM));
    let read = |(name, inner): (&str, &str)| Some((name.to_owned(), value_at(inner, prefix, child(name), depth - 1)?));
    let mut members = children.into_iter().map(read).collect::<Option<Vec<(String, String)>>>()?;
    if is_list {
        let values: Vec<String> = members.into_iter().map(|(_, value)| value).collect();
        return Some(format!("[{}]", values.join(",")));
    }
    if !beside.trim().is_empty() {
        let mut key = TEXT.to_owned();
        while members.iter().any(|(known, _)| *known == key) {
            key.insert(0, '$');
        }
        let (text, place) = (decoded(beside.trim()), place.member(&key));
        members.push((key, if place.is_known() { typing::value(place, &text, Hint::None) } else { verbatim(&text) }));
    }
    Some(object(&members))
}

/// The text beside the elements of a text, and their names and contents. `None`: a tag is not closed, or not opened. An empty container
/// needs no closing tag at the end of its parent.
fn children<'t>(text: &'t str, prefix: &str, is_container: impl Fn(&str) -> bool) -> Option<(String, Vec<(&'t str, &'t str)>)> {
    let (mut beside, mut children, mut rest) = (String::new(), Vec::new(), text);
    let tags = |text: &'t str| text.match_indices(if prefix.is_empty() { "<" } else { prefix }).map(|(at, _)| at);
    while let Some((at, (name, length))) = tags(rest).find_map(|at| Some((at, opens_element(&rest[at..], prefix)?))) {
        let inner = &rest[at + length..];
        let mut open = 0_usize;
        let closed = tags(inner).find_map(|at| match closes_element(&inner[at..], prefix, name) {
            Some(length) if open == 0 => Some((at, at + length)),
            closes => {
                let opens = opens_element(&inner[at..], prefix).is_some_and(|(other, _)| other == name);
                open = open + usize::from(opens) - usize::from(closes.is_some());
                None
            }
        });
        let end = Some((inner.len(), inner.len())).filter(|_| inner.trim().is_empty() && is_container(name));
        let (end, next) = closed.or(end)?;
        beside.push_str(&rest[..at]);
        children.push((name, &inner[..end]));
        rest = &inner[next..];
    }
    beside.push_str(rest);
    (prefix.is_empty() || !beside.contains(prefix)).then_some((beside, children))
}
