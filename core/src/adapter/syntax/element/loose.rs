//! Reads malformed bodies of elements with the help of the tool's parameters: missing, misspelt or unclosed tags, tags of another
//! form (`<parameter name="uri">`), `key = "value"` lines, attributes in the opening tag.

use super::slips::{stand_in, torn_tag};
use crate::{
    adapter::syntax::{
        field::one_each,
        members::object,
        typing::{Hint, Types},
    },
    fix::{Role, fold},
};

/// The arguments as JSON text. `attributes` is the text after the name in the opening tag, `body` the text between the tags.
/// `None`: the meaning is not certain.
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

/// Parameters with their texts.
pub(super) type Members = Vec<(String, String)>;

/// Converts each text to a JSON value of its parameter's type.
pub(super) fn values(members: &Members, types: &Types) -> Vec<(String, String)> {
    members.iter().map(|(key, value)| (key.clone(), types.value(key, value, Hint::None))).collect()
}

/// An opening tag, or a closing one without its `</`.
struct Tag<'t> {
    /// The name that its closing tag has.
    word: &'t str,
    /// The parameter that it names: `uri` in `<uri>`, `<parameter=uri>` and `<arg name="uri">`.
    name: &'t str,
    /// It is self-closing: `<uri/>`.
    empty: bool,
    after: &'t str,
}

/// Reads `<key>value</key>`. One of the two tags may be misspelt or missing.
pub(super) fn elements(body: &str, types: &Types) -> Option<Members> {
    if let Some(members) = wrapped(body, types) {
        return Some(members);
    }
    let mut members = Members::new();
    let mut rest = body;
    while !rest.is_empty() {
        if let Some(after) = nothing(rest, types) {
            rest = after.trim_start();
            continue;
        }
        let (key, value, after) = opened(rest, types).or_else(|| unopened(rest, types))?;
        members.push((key, one_each(value, &["\r\n", "\n"]).to_owned()));
        rest = after.trim_start();
    }
    // A single unknown tag around the only thing that the tool needs.
    if let ([(key, value)], Some(only)) = (members.as_mut_slice(), only(types))
        && parameter(key, types).is_none()
        && !is_tagged(value)
    {
        only.clone_into(key);
    }
    Some(members)
}

/// Reads parameters inside another element: `<parameters>..</parameters>`, `<file><path>..</path></file>`.
fn wrapped(body: &str, types: &Types) -> Option<Members> {
    let tag = Tag::read(body.strip_prefix('<')?).filter(|tag| parameter(tag.name, types).is_none())?;
    let inner = tag.after.strip_suffix('>')?.strip_suffix(tag.word)?.strip_suffix("</")?.trim();
    let members = inner.starts_with('<').then(|| elements(inner, types))??;
    members.iter().all(|(key, _)| parameter(key, types).is_some()).then_some(members)
}

/// Skips a comment or an empty parameter. Returns the rest.
fn nothing<'t>(text: &'t str, types: &Types) -> Option<&'t str> {
    if let Some(comment) = text.strip_prefix("<!--") {
        return comment.split_once("-->").map(|(_, after)| after);
    }
    Tag::read(text.strip_prefix('<')?).filter(|tag| tag.empty && parameter(tag.name, types).is_some()).map(|tag| tag.after)
}

/// Reads a parameter with its opening tag. Returns its name, its value and the rest.
fn opened<'t>(text: &'t str, types: &Types) -> Option<(String, &'t str, &'t str)> {
    let Tag { word, name, after, .. } = Tag::read(text.strip_prefix('<')?).filter(|tag| !tag.empty)?;
    let known = parameter(name, types);
    let key = known.unwrap_or(name);
    let close = format!("</{word}>");
    if let Some(end) = after.find(&close) {
        return Some((key.to_owned(), &after[..end], &after[end + close.len()..]));
    }
    known?;
    // Closed by another name, or unclosed: the next parameter or the end of the line ends it.
    let next = after.match_indices('<').find_map(|(at, _)| {
        let inside = &after[at + 1..];
        let bare = inside.trim_start_matches([' ', '\\', '/']);
        let closes = inside[..inside.len() - bare.len()].contains(['/', '\\']).then_some(bare);
        let tag = Tag::read(closes.unwrap_or(inside))?;
        let ends = tag.after.trim_start_matches([' ', '\t']);
        let ends = ends.is_empty() || ends.starts_with(['\n', '\r', '<']);
        match closes {
            Some(_) => ends.then(|| (at, tag.after, alike(tag.word, word))),
            // The opening tag, written again in the place of the closing one.
            None if tag.word == word && ends => Some((at, tag.after, false)),
            None => parameter(tag.name, types).filter(|other| *other != key).map(|_| (at, &after[at..], false)),
        }
    });
    let (end, rest, misspelt) = next.unwrap_or((after.len(), "", false));
    let value = &after[..end];
    // What is left of the closing tag: `x/uri>`, ``x</uri`>``.
    let torn = torn_tag(value, word, key).or_else(|| stand_in(value, &[word, key]));
    let value = torn.filter(|&at| !value[..at].trim().contains('\n')).map_or(value, |at| &value[..at]);
    // A closing tag inside may be a misspelt one of this parameter.
    let whole = (misspelt || !value.trim().contains('\n')) && !value.contains("</");
    whole.then(|| (key.to_owned(), value, rest))
}

/// Whether two names differ only in spelling or in a plural `s`.
fn alike(one: &str, other: &str) -> bool {
    let (one, other) = (fold(one), fold(other));
    one.strip_suffix('s').unwrap_or(&one) == other.strip_suffix('s').unwrap_or(&other)
}

/// Reads a parameter on one line that has only a closing tag.
fn unopened<'t>(text: &'t str, types: &Types) -> Option<(String, &'t str, &'t str)> {
    let (value, after) = text.split_once("</")?;
    let tag = Tag::read(after)?;
    let key = parameter(tag.name, types)?.to_owned();
    (!value.trim().is_empty() && !value.contains(['<', '\n'])).then_some((key, value, tag.after))
}

/// Reads `key = "value"` or `key: value` lines.
fn lines(body: &str, types: &Types) -> Option<Members> {
    let member = |line: &str| {
        let (key, value) = line.split_once(['=', ':'])?;
        let key = parameter(key.trim().trim_matches(['"', '\'', '-', ' ']), types)?;
        Some((key.to_owned(), unquoted(value.trim().trim_end_matches(',')).to_owned()))
    };
    body.lines().map(str::trim).filter(|line| !line.is_empty()).map(member).collect()
}

/// Reads what precedes tagged parameters: lines of `key = "value"`, or one untagged line, the only required parameter that is
/// missing among them.
fn led(body: &str, types: &Types) -> Option<Members> {
    let tag = body.find("\n<").filter(|&at| !body[..at].contains('<'))?;
    let (line, rest) = body.split_at(tag);
    let mut members = elements(rest.trim_start(), types).filter(|members| !members.is_empty())?;
    if let Some(mut given) = lines(line, types) {
        given.append(&mut members);
        return Some(given);
    }
    // A name and a value of something that is not a parameter, or several lines.
    let assigns = line.split_once('=').is_some_and(|(_, value)| value.trim_start().starts_with(['"', '\'']));
    if assigns || line.trim().contains('\n') {
        return None;
    }
    let mut missing = types.required().filter(|key| members.iter().all(|(given, _)| given != key));
    let (key, None) = (missing.next()?.to_owned(), missing.next()) else { return None };
    members.insert(0, (key, unquoted(line.trim()).to_owned()));
    Some(members)
}

/// Reads a bare value: the only parameter that it can be.
fn lone(body: &str, given: &Members, types: &Types) -> Option<Members> {
    let key = only(types).or_else(|| first(body, types)).filter(|key| given.iter().all(|(given, _)| given != key))?;
    // Tags inside mean that something else was written here.
    let torn = is_tagged(body)
        || body.match_indices('<').any(|(at, _)| {
            let inside = &body[at + 1..];
            let tag = Tag::read(inside.strip_prefix('/').unwrap_or(inside));
            tag.is_some_and(|tag| parameter(tag.name, types).is_some())
        });
    (!torn).then(|| vec![(key.to_owned(), unquoted(body).to_owned())])
}

/// Whether a text begins with any tag.
fn is_tagged(text: &str) -> bool {
    text.trim_start().strip_prefix('<').is_some_and(|inside| inside.starts_with(char::is_alphabetic) && inside.contains('>'))
}

/// The only required parameter, or the only parameter.
pub(super) fn only(types: &Types) -> Option<&str> {
    let mut all = types.keys();
    types.only_required().or_else(|| all.next().filter(|_| types.required().next().is_none() && all.next().is_none()))
}

/// The first parameter of a tool that requires nothing, for a single line of text.
fn first<'t>(line: &str, types: &'t Types) -> Option<&'t str> {
    let needs_nothing = types.required().next().is_none();
    types.keys().next().filter(|_| needs_nothing && !line.contains('\n'))
}

/// The parameter that a name means: exact, in another spelling, or in the plural.
fn parameter<'t>(written: &str, types: &'t Types) -> Option<&'t str> {
    let spelt = || types.keys().find(|key| fold(key) == fold(written));
    types.keys().find(|key| *key == written).or_else(spelt).or_else(|| types.keys().find(|key| alike(key, written)))
}

/// Reads the attributes of a tag. A single unknown attribute is the only thing that the tool needs. `None`: the text contains
/// something else.
fn pairs(text: &str, types: &Types) -> Option<Members> {
    let mut members = Members::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        let key = parameter(key.trim(), types).or_else(|| only(types).filter(|_| members.is_empty()))?.to_owned();
        let after = after.trim_start();
        let (value, next) = match after.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            Some(quote) => after.get(1..)?.split_once(quote)?,
            None => after.split_at(after.find(char::is_whitespace).unwrap_or(after.len())),
        };
        // Is it a line break, or the two characters?
        if value.contains("\\n") && Role::of(&key, false) == Role::default() {
            return None;
        }
        members.push((key, value.to_owned()));
        rest = next.trim_start();
    }
    Some(members)
}

impl<'t> Tag<'t> {
    /// Reads the tag that `text` begins with, after its bracket. `None`: attributes that name no parameter, or no tag at all.
    fn read(text: &'t str) -> Option<Tag<'t>> {
        let (inside, after) = text.split_once('>')?;
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '\\');
        let length = inside.find(|c| !plain(c)).unwrap_or(inside.len());
        let (word, rest) = inside.split_at(length);
        let (empty, rest) = rest.strip_suffix('/').map_or((false, rest), |rest| (true, rest));
        let named = |name: &'t str| (!name.is_empty() && name.chars().all(plain)).then_some(name);
        let name = match rest.trim() {
            "" => word,
            rest => match rest.split_once('=')? {
                ("" | "name" | "key", name) => named(unquoted(name.trim()))?,
                _ => return None,
            },
        };
        (!word.is_empty()).then_some(Tag { word, name, empty, after })
    }
}

/// Removes a code fence around the whole text.
fn unfenced(body: &str) -> &str {
    let inner = body.strip_prefix("```").and_then(|rest| rest.split_once('\n')).and_then(|(_, rest)| rest.strip_suffix("```"));
    inner.filter(|inner| !inner.contains("```")).map_or(body, str::trim)
}

fn unquoted(text: &str) -> &str {
    let quoted = ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    quoted.filter(|inner| !inner.contains(['"', '\''])).unwrap_or(text)
}
