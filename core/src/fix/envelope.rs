//! What models write around the arguments: text around the container, and containers around the arguments. The functions return
//! the possible readings; the schema decides between them.

use std::borrow::Cow;

use super::backslash;
use super::report::{Fix, Verdict};
use crate::json::read::{self, Ending, Reading, Unreadable};
use crate::json::strict;
use crate::json::tree::{Member, Node, Value};
use crate::json::{self, Code};
use crate::schema::{Place, Schema, Types, WRAPPERS};

/// Maximum number of containers that are read in one text.
const CANDIDATES: usize = 4;
/// Maximum number of opening brackets that are tried.
const ATTEMPTS: usize = 8;

/// Keys next to the arguments in a whole call.
const COMPANIONS: [&str; 8] = ["name", "tool", "tool_name", "function_name", "type", "id", "recipient_name", "action"];
/// Keys next to `properties` in a copy of the schema.
const SCHEMA_KEYS: [&str; 6] = ["required", "description", "title", "$schema", "additionalProperties", "strict"];
/// Wrappers, in addition to [`WRAPPERS`], that may hold the whole call.
const HOLDERS: [&str; 5] = ["function", "tool_call", "tool_input", "action_input", "function_call"];

/// A container in the text.
pub(super) struct Found<'s> {
    pub(super) reading: Reading<'s>,
    /// Guesses about backslashes in its strings.
    pub(super) reread: Vec<Fix>,
    pub(super) start: usize,
    /// Nothing but separators is between it and the container before it.
    pub(super) adjacent: bool,
}

/// Reads the containers of a text, in order. The error is that of the first bracket.
pub(super) fn containers<'s>(text: &'s str, schema: &Schema) -> Result<Vec<Found<'s>>, Unreadable> {
    let mut found: Vec<Found<'s>> = Vec::with_capacity(1);
    let mut first_error = None;
    let mut from = 0;
    for _ in 0..ATTEMPTS {
        let Some(start) = text[from..].find(['{', '[']).map(|at| from + at) else { break };
        match container(text, start, schema.at(schema.top()), "") {
            Ok((reading, reread)) => {
                let between = &text[from..start];
                let adjacent =
                    !found.is_empty() && between.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).is_empty();
                from = reading.end.max(start + 1);
                let complete = reading.ending == Ending::Complete;
                found.push(Found { reading, reread, start, adjacent });
                if !complete || found.len() == CANDIDATES {
                    break;
                }
                from += text[from..].len() - text[from..].trim_start_matches([' ', '\t', '\r', '\n', '}', ']', ')']).len();
            }
            Err(error) => {
                // In text that is meant as JSON, nothing smaller is looked for.
                let meant = text[start + 1..].trim_start().starts_with(['"', '\'', '{', '[']);
                first_error.get_or_insert(error);
                if meant {
                    break;
                }
                from = start + 1;
            }
        }
    }
    if found.is_empty() {
        return Err(first_error.unwrap_or(Unreadable { at: 0, what: "no JSON object" }));
    }
    Ok(found)
}

/// Reads the container at `start` and decides about its backslashes. Also returns the guesses among those decisions. `name`: the
/// parameter that it is the value of, or `""`.
pub(super) fn container<'s>(
    text: &'s str,
    start: usize,
    place: Place<'_>,
    name: &str,
) -> Result<(Reading<'s>, Vec<Fix>), Unreadable> {
    let mut reading = read::read(text, start, &place)?;
    let reread = backslash::reread(&mut reading.root, text, name);
    Ok((reading, reread))
}

/// S14: the text of which everything was escaped once more, if it is strict JSON then.
pub(super) fn unescaped(text: &str) -> Option<String> {
    let quote = text.find('"')?;
    if !text.starts_with(['{', '[']) || !text[..quote].ends_with('\\') {
        return None;
    }
    let plain = json::unescape(text).into_owned();
    strict::parse(&plain).is_some().then_some(plain)
}

/// E5: the content of a JSON string that holds the arguments, or of a Python string that holds strict JSON.
pub(super) fn encoded(text: &str) -> Option<String> {
    if text.starts_with('"') {
        return serde_json::from_str(text).ok();
    }
    let inner = text.strip_prefix('\'')?.trim_end().strip_suffix('\'')?;
    let plain = json::unescape_python(inner).into_owned();
    (plain.starts_with(['{', '[']) && strict::parse(&plain).is_some()).then_some(plain)
}

/// Whether the only member is a wrapper that the schema does not have, around parameters that it has: such an object may fit by
/// accident.
pub(super) fn is_wrapped(root: &Node<'_>, schema: &Schema) -> bool {
    let Value::Object(members) = &root.value else { return false };
    let [Member { key, node: Node { value: Value::Object(inner), .. }, .. }] = members.as_slice() else { return false };
    let rule = schema.rule(schema.top());
    let is_known = !inner.is_empty() && inner.iter().all(|member| rule.named(&member.key).is_some());
    is_known && WRAPPERS.contains(&&**key) && rule.find(key).is_none()
}

/// N9: the parameters as lines `key: value`, or as tags named after them. Also what was done, and its level.
pub(super) fn members(text: &str, schema: &Schema) -> Option<(Node<'static>, &'static str, Verdict)> {
    let rule = schema.rule(schema.top());
    if rule.properties.is_empty() {
        return None;
    }
    if let Some(members) = tagged(text, &|name| rule.named(name).is_some()) {
        return Some((object(members, 0, text.len()), "parameters written as tags", Verdict::Coerced));
    }
    // The beginning of an object was lost.
    if text.starts_with(['"', '\'']) {
        return None;
    }
    let mut members = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (key, value) = line.split_once([':', '='])?;
        let key = key.trim();
        // `path": "a"}`: the beginning of an object was lost.
        if key.ends_with(['"', '\'']) && !key.starts_with(['"', '\'']) {
            return None;
        }
        let key = key.trim_matches(['"', '\'', '`', '*', '-', ' ']);
        rule.find(key)?;
        let value = value.trim();
        let value = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
        members.push(text_member(key, value));
    }
    (!members.is_empty()).then(|| (object(members, 0, text.len()), "parameters written as lines", Verdict::Guess))
}

/// `<path>a.txt</path><n>3</n>`: the whole text, with every tag named after a parameter.
fn tagged(text: &str, known: &dyn Fn(&str) -> bool) -> Option<Vec<Member<'static>>> {
    let mut rest = text.trim();
    let mut members = Vec::new();
    while !rest.is_empty() {
        let (name, inside) = rest.strip_prefix('<')?.split_once('>')?;
        if !known(name) {
            return None;
        }
        let (value, after) = inside.split_once(&format!("</{name}>"))?;
        members.push(text_member(name, value));
        rest = after.trim_start();
    }
    (!members.is_empty()).then_some(members)
}

/// A member whose value is a string.
fn text_member(key: &str, value: &str) -> Member<'static> {
    Member { key: Cow::Owned(key.to_owned()), start: 0, node: Node::made(Value::Text(Cow::Owned(value.to_owned()))) }
}

/// An object at this position.
fn object<'s>(members: Vec<Member<'s>>, start: usize, end: usize) -> Node<'s> {
    Node { value: Value::Object(members), start, end, exact: false }
}

/// The root without one wrapper, and what was done; `None` if the root is the arguments already.
pub(super) fn unwrapped<'s>(root: &Node<'s>, schema: &Schema) -> Option<(Node<'s>, Vec<Fix>)> {
    let rule = schema.rule(schema.top());
    let (inner, code, note) = match &root.value {
        Value::Array(items) if !rule.types.allow(Types::ARRAY) => {
            let [only @ Node { value: Value::Object(_), .. }] = items.as_slice() else { return None };
            ((only.clone(), Vec::new()), Code::E6, Cow::Borrowed("the one element of a list"))
        }
        Value::Object(members) if members.iter().all(|member| rule.find(&member.key).is_none()) => {
            // `"function": "book"` next to the arguments is a name.
            let is_name = |member: &Member<'s>| {
                HOLDERS.contains(&member.key.as_ref())
                    && matches!(&member.node.value, Value::Text(text) if !text.trim_start().starts_with('{'))
            };
            let holds = |member: &&Member<'s>| {
                let key = member.key.as_ref();
                (WRAPPERS.contains(&key) || HOLDERS.contains(&key)) && !is_name(member)
            };
            let (holders, beside): (Vec<_>, Vec<_>) = members.iter().partition(holds);
            let echo = members.iter().any(|member| member.key == "properties");
            let is_beside = |key: &str| COMPANIONS.contains(&key) || (echo && SCHEMA_KEYS.contains(&key));
            let is_call = beside.iter().all(|member| is_name(member) || is_beside(&member.key));
            let held = if let ([holder], true) = (holders.as_slice(), is_call) { inside(&holder.node, schema) } else { None };
            match (held, members.as_slice()) {
                (Some(held), _) => {
                    let note = format!("arguments taken out of `{}`", holders[0].key);
                    (held, if echo { Code::E7 } else { Code::E4 }, Cow::Owned(note))
                }
                (None, [only]) => {
                    (inside(&only.node, schema)?, Code::E4, Cow::Borrowed("arguments taken out of the tool's name"))
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    let (node, mut fixes) = inner;
    fixes.push(Fix::whole(code, root.start..root.end, Verdict::Coerced, note));
    Some((node, fixes))
}

/// The object that a wrapper holds, directly or as a string, and the guesses about backslashes in that string.
fn inside<'s>(node: &Node<'s>, schema: &Schema) -> Option<(Node<'s>, Vec<Fix>)> {
    match &node.value {
        Value::Object(_) => Some((node.clone(), Vec::new())),
        Value::Text(text) => {
            decoded(text, node, schema.at(schema.top()), "").filter(|(inner, _)| matches!(inner.value, Value::Object(_)))
        }
        _ => None,
    }
}

/// The container that the text of a node holds, and the guesses about its backslashes. `path` leads to the node.
pub(super) fn decoded(text: &str, node: &Node<'_>, place: Place<'_>, path: &str) -> Option<(Node<'static>, Vec<Fix>)> {
    let inner = text.trim();
    let name = path.rsplit('/').find(|step| step.parse::<usize>().is_err()).unwrap_or_default();
    let (reading, reread) = inner.starts_with(['[', '{']).then(|| container(inner, 0, place, name))?.ok()?;
    let whole = reading.ending == Ending::Complete && inner[reading.end..].trim().is_empty();
    let sure = whole && reading.void.is_none() && reading.rival.is_none();
    let reread = reread.into_iter().map(|fix| fix.within(path, node.start..node.end)).collect();
    sure.then(|| (reading.root.detached(node.start, node.end), reread))
}

/// N7: the whole text as the only string that the schema asks for. With several parameters, only if it is a single word.
pub(super) fn bare<'s>(text: &'s str, schema: &Schema) -> Option<Node<'s>> {
    let rule = schema.rule(schema.top());
    let mut strings = rule.properties.iter().filter(|property| schema.rule(property.shape).types == Types::STRING);
    let only = strings.next().filter(|_| strings.next().is_none())?;
    let given = |name: &String| rule.named(name).is_some_and(|property| schema.rule(property.shape).may_be_null());
    let is_sole = rule.required.iter().all(|name| *name == only.name || given(name));
    // `f(town=x)`: the parameters are there but could not be read.
    let is_call = text
        .split_once('(')
        .and_then(|(_, keyed)| keyed.split_once('='))
        .is_some_and(|(key, _)| rule.named(key.trim()).is_some());
    if !is_sole || is_call || (rule.properties.len() > 1 && text.contains(char::is_whitespace)) {
        return None;
    }
    let node = Node { value: Value::Text(Cow::Borrowed(text)), start: 0, end: text.len(), exact: false };
    Some(object(vec![Member { key: Cow::Owned(only.name.clone()), start: 0, node }], 0, text.len()))
}
