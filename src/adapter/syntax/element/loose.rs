//! The body of an element that does not follow its own prompt, read with the tool's parameters: tags that are missing,
//! misspelt or unclosed, `key = "value"` lines, attributes in the opening tag.

use std::borrow::Cow;

use serde_json::Value;

use crate::{
    adapter::syntax::typing::{Hint, Types},
    fix::fold,
};

/// The arguments as JSON text. `attributes` is what the opening tag holds after the name, `body` what is between the tags.
/// `None`: nobody can say what is meant.
pub(super) fn arguments(attributes: &str, body: &str, types: &Types) -> Option<String> {
    let mut members = pairs(attributes, types)?;
    let body = unfenced(body.trim());
    if body.starts_with('{') && body.ends_with('}') && members.is_empty() {
        return Some(body.to_owned());
    }
    if !body.is_empty() {
        let read = elements(body, types).or_else(|| lines(body, types)).or_else(|| led(body, types));
        let read = read.or_else(|| lone(body, &members, types))?;
        members.extend(read);
    }
    Some(object(&values(&members, types)))
}

/// Parameters and their texts.
pub(super) type Members = Vec<(String, String)>;

/// The same with each text as a JSON value of its parameter's type.
pub(super) fn values(members: &Members, types: &Types) -> Vec<(String, String)> {
    members.iter().map(|(key, value)| (key.clone(), types.value(key, value, Hint::None))).collect()
}

/// The JSON object of these keys and JSON values.
pub(super) fn object(members: &[(String, String)]) -> String {
    let members: Vec<String> = members.iter().map(|(key, value)| format!("{}:{value}", Value::from(key.as_str()))).collect();
    format!("{{{}}}", members.join(","))
}

/// `<key>value</key>`, where a tag may be misspelt or missing, but not both of them.
pub(super) fn elements(body: &str, types: &Types) -> Option<Members> {
    let mut members = Members::new();
    let mut rest = body;
    while !rest.is_empty() {
        let (key, value, after) = opened(rest, types).or_else(|| unopened(rest, types))?;
        members.push((key, one_line_break_each(value).to_owned()));
        rest = after.trim_start();
    }
    // One unknown tag around the one thing that the tool needs.
    if let ([(key, _)], Some(only)) = (members.as_mut_slice(), only(types))
        && parameter(key, types).is_none()
    {
        only.clone_into(key);
    }
    Some(members)
}

/// A parameter with its opening tag: its name, its value, and what follows.
fn opened<'t>(text: &'t str, types: &Types) -> Option<(String, &'t str, &'t str)> {
    let (written, after) = tag(text.strip_prefix('<')?)?;
    let key = parameter(written, types).map_or(Cow::Borrowed(written), |key| Cow::Owned(key.to_owned()));
    let close = format!("</{written}>");
    if let Some(end) = after.find(&close) {
        return Some((key.into_owned(), &after[..end], &after[end + close.len()..]));
    }
    parameter(written, types)?;
    // Closed by another name, or by nothing: then the next parameter or the end of the line ends it.
    let next = after.match_indices('<').find_map(|(at, _)| {
        let closes = after[at + 1..].strip_prefix('/');
        let (name, behind) = tag(closes.unwrap_or(&after[at + 1..]))?;
        let ends = behind.trim_start_matches([' ', '\t']);
        let ends = ends.is_empty() || ends.starts_with(['\n', '\r', '<']);
        match closes {
            Some(_) => ends.then_some((at, behind)),
            None => parameter(name, types).filter(|other| *other != key).map(|_| (at, &after[at..])),
        }
    });
    let (end, behind) = next.unwrap_or((after.len(), ""));
    let value = &after[..end];
    // A closing tag inside may be half of this one's.
    let whole = !value.trim().contains('\n') && !value.contains("</");
    whole.then(|| (key.into_owned(), value, behind))
}

/// A parameter of which only the closing tag is there, on one line.
fn unopened<'t>(text: &'t str, types: &Types) -> Option<(String, &'t str, &'t str)> {
    let (value, after) = text.split_once("</")?;
    let (written, behind) = tag(after)?;
    let key = parameter(written, types)?.to_owned();
    (!value.trim().is_empty() && !value.contains(['<', '\n'])).then_some((key, value, behind))
}

/// The name in a tag whose opening bracket was read, and what follows the tag.
fn tag(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.split_once('>')?;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!name.is_empty() && name.chars().all(plain)).then_some((name, after))
}

/// `key = "value"` or `key: value`, each on a line of its own.
fn lines(body: &str, types: &Types) -> Option<Members> {
    let member = |line: &str| {
        let (key, value) = line.split_once(['=', ':'])?;
        let key = parameter(key.trim().trim_matches(['"', '\'', '-', ' ']), types)?;
        Some((key.to_owned(), unquoted(value.trim().trim_end_matches(',')).to_owned()))
    };
    body.lines().map(str::trim).filter(|line| !line.is_empty()).map(member).collect()
}

/// A line without a tag before parameters with theirs: the one required parameter that is missing among them.
fn led(body: &str, types: &Types) -> Option<Members> {
    let (line, rest) = body.split_once('\n').filter(|(line, _)| !line.contains('<'))?;
    let mut members = elements(rest.trim_start(), types).filter(|members| !members.is_empty())?;
    let mut missing = types.required().filter(|key| members.iter().all(|(given, _)| given != key));
    let (key, None) = (missing.next()?.to_owned(), missing.next()) else { return None };
    members.insert(0, (key, unquoted(line.trim()).to_owned()));
    Some(members)
}

/// The value alone, of the one parameter that it can be.
fn lone(body: &str, given: &Members, types: &Types) -> Option<Members> {
    let key = only(types).or_else(|| first(body, types)).filter(|key| given.iter().all(|(given, _)| given != key))?;
    // Tags of its own mean that something else was written here.
    let torn = body.match_indices('<').any(|(at, _)| {
        let inside = &body[at + 1..];
        tag(inside.strip_prefix('/').unwrap_or(inside)).is_some_and(|(name, _)| parameter(name, types).is_some())
    });
    (!torn).then(|| vec![(key.to_owned(), unquoted(body).to_owned())])
}

/// The one required parameter, or the only one.
pub(super) fn only(types: &Types) -> Option<&str> {
    let (mut required, mut all) = (types.required(), types.keys());
    match (required.next(), required.next(), all.next(), all.next()) {
        (Some(key), None, ..) | (None, None, Some(key), None) => Some(key),
        _ => None,
    }
}

/// Of a tool that needs nothing: the parameter that is declared first. A line alone in its element is meant for that one.
fn first<'t>(line: &str, types: &'t Types) -> Option<&'t str> {
    let needs_nothing = types.required().next().is_none();
    types.keys().next().filter(|_| needs_nothing && !line.contains('\n'))
}

/// The parameter that a name means: its own, in any spelling.
fn parameter<'t>(written: &str, types: &'t Types) -> Option<&'t str> {
    types.keys().find(|key| *key == written).or_else(|| types.keys().find(|key| fold(key) == fold(written)))
}

/// `key="value"` in a tag. `None`: something else is there.
fn pairs(text: &str, types: &Types) -> Option<Members> {
    let mut members = Members::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        let key = parameter(key.trim(), types)?.to_owned();
        let after = after.trim_start();
        let (value, behind) = match after.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            Some(quote) => after.get(1..)?.split_once(quote)?,
            None => after.split_at(after.find(char::is_whitespace).unwrap_or(after.len())),
        };
        members.push((key, value.to_owned()));
        rest = behind.trim_start();
    }
    Some(members)
}

/// Without a code fence around the whole.
fn unfenced(body: &str) -> &str {
    let inner = body.strip_prefix("```").and_then(|rest| rest.split_once('\n')).and_then(|(_, rest)| rest.strip_suffix("```"));
    inner.filter(|inner| !inner.contains("```")).map_or(body, str::trim)
}

fn unquoted(text: &str) -> &str {
    let quoted = ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    quoted.filter(|inner| !inner.contains(['"', '\''])).unwrap_or(text)
}

fn one_line_break_each(value: &str) -> &str {
    let value = value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n')).unwrap_or(value);
    value.strip_suffix("\r\n").or_else(|| value.strip_suffix('\n')).unwrap_or(value)
}
