//! Reads a value that is in the tag of its argument: `<parameter=path value="a.txt"/>`, `<parameter=path=a.txt>`.

use super::super::{
    entities,
    field::{Field, attribute},
    typing,
};
use crate::{
    fix::Place,
    json::unescape,
    reader::tags::{Tag, is_label},
};

/// Attributes that hold no value.
const NOTES: [&str; 7] = ["name", "type", "string", "index", "required", "description", "default"];

/// The tag of an argument that is written so from its key on, with what is in it besides the key; and whether it closes itself.
pub(super) fn tag(field: &Field<'_>, written: &str, parameters: Place<'_>) -> (Tag, bool) {
    let plain = Tag::plain(&field.text, field.next);
    let attributes = field.attributes.trim();
    let (attributes, closed) = attributes.strip_suffix('/').map_or((attributes, false), |rest| (rest.trim_end(), true));
    if let Some(value) = attribute(attributes, "value") {
        return (Tag { value: Some(decoded(value)), torn: !is_all(attributes, value), ..plain }, closed);
    }
    let written = if field.quoted { &field.text } else { written.trim_end().trim_end_matches('>') };
    if let Some((key, value)) = pair(written, parameters) {
        let slash = !field.quoted && value.ends_with('/');
        let inner = quoted(if slash { value[..value.len() - 1].trim_end() } else { value });
        let torn = slash && inner.is_none();
        let value = inner.map_or_else(|| value.to_owned(), decoded);
        return (Tag { value: Some(value), torn, ..Tag::plain(key, field.next) }, slash);
    }
    let notes = attributes.split('=').next().is_none_or(|name| name.is_empty() || NOTES.contains(&name.trim()));
    (Tag { torn: closed && !notes, ..plain }, closed)
}

/// Whether nothing follows a quoted value in the attributes, except another attribute.
fn is_all(attributes: &str, value: &str) -> bool {
    let after = attributes.split_once(value).map_or("", |(_, after)| after);
    let rest = after.trim_start_matches(['"', '\'']).trim();
    let is_attribute = rest.split_once('=').is_some_and(|(name, _)| NOTES.contains(&name.trim()));
    after.starts_with(['"', '\'']) && (rest.is_empty() || is_attribute && after[1..].starts_with(char::is_whitespace))
}

/// Splits `path=a.txt`. In `name=path`, the second word is the key.
fn pair<'t>(written: &'t str, parameters: Place<'_>) -> Option<(&'t str, &'t str)> {
    let (key, value) = written.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-.$".contains(c));
    let known = |key: &str| typing::has(parameters, key);
    let announces = is_label(key) && (!known(key) || known(value.trim_matches(['"', '\''])));
    (is_key && !value.is_empty() && !announces).then_some((key, value))
}

/// The text in quotes that are all of `value`.
fn quoted(value: &str) -> Option<&str> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = value[1..].strip_suffix(quote)?;
    inner.match_indices(quote).all(|(at, _)| inner[..at].ends_with('\\')).then_some(inner)
}

/// The text of a quoted value.
fn decoded(value: &str) -> String {
    if value.contains("\\\"") { unescape(value).into_owned() } else { entities::unescaped(value) }
}
