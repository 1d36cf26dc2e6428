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

/// The tag of an argument that is written so from its key on, with what is in it besides the key; and whether it closes itself.
pub(super) fn tag(field: &Field<'_>, written: &str, parameters: Place<'_>) -> (Tag, bool) {
    let plain = Tag::plain(&field.text, field.next);
    let attributes = field.attributes.trim();
    // Models escape quotes in a value.
    let decoded = |value: &str| if value.contains("\\\"") { unescape(value).into_owned() } else { entities::unescaped(value) };
    let (attributes, closed) = attributes.strip_suffix('/').map_or((attributes, false), |rest| (rest.trim_end(), true));
    if let Some(value) = attribute(attributes, "value") {
        let is_more = |rest: &str| !rest.contains('=') && !rest.trim_matches(['"', '\'', ' ']).is_empty();
        let torn = attributes.split_once(value).is_some_and(|(_, rest)| is_more(rest));
        return (Tag { value: Some(decoded(value)), torn, ..plain }, closed);
    }
    let written = if field.quoted { &field.text } else { written.trim_end().trim_end_matches('>') };
    if let Some((key, value)) = pair(written, parameters) {
        let inner = quoted(value).or_else(|| quoted(value.strip_suffix('/')?.trim_end()));
        let torn = inner.is_none() && !field.quoted && value.ends_with('/');
        let value = inner.map_or_else(|| value.to_owned(), decoded);
        return (Tag { value: Some(value), torn, ..Tag::plain(key, field.next) }, false);
    }
    (Tag { torn: closed && !attributes.is_empty() && !attributes.contains('='), ..plain }, closed)
}

/// Splits `path=a.txt`. In `name=path`, the second word is the key.
fn pair<'t>(written: &'t str, parameters: Place<'_>) -> Option<(&'t str, &'t str)> {
    let (key, value) = written.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-.$".contains(c));
    let announces = is_label(key) && !typing::has(parameters, key);
    (is_key && !value.is_empty() && !announces).then_some((key, value))
}

/// The text in quotes that are all of `value`.
fn quoted(value: &str) -> Option<&str> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = value[1..].strip_suffix(quote)?;
    inner.match_indices(quote).all(|(at, _)| inner[..at].ends_with('\\')).then_some(inner)
}
