//! What models write around the arguments: text around the container, and containers around the arguments. The functions return
//! the possible readings; the schema decides between them.

use std::borrow::Cow;

mod only_text;

pub(super) use only_text::bare;

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

/// E4: what the only member holds, if it is a wrapper that the schema does not have, around parameters that it has.
pub(super) fn only_wrapped(text: &str, schema: &Schema) -> Option<(String, Fix)> {
    let root = strict::parse(text)?;
    let Value::Object(members) = &root.value else { return None };
    let [Member { key, node, .. }] = members.as_slice() else { return None };
    let Value::Object(inner) = &node.value else { return None };
    let rule = schema.rule(schema.top());
    let is_wrapper = WRAPPERS.contains(&&**key) && rule.find(key).is_none();
    let is_known = !inner.is_empty() && inner.iter().all(|member| rule.named(&member.key).is_some());
    let fix = Fix::whole(Code::E4, root.start..root.end, Verdict::Coerced, format!("arguments taken out of `{key}`"));
    (is_wrapper && is_known).then(|| (node.to_json(text), fix))
}

/// N9: the parameters as lines `key: value`, as tags named after them, or as keywords of a call. Also what was done, and its
/// level.
pub(super) fn members(text: &str, schema: &Schema) -> Option<(Vec<Member<'static>>, &'static str, Verdict)> {
    let rule = schema.rule(schema.top());
    if rule.properties.is_empty() {
        return None;
    }
    if let Some(members) = tagged(text, &|name| rule.named(name).is_some()) {
        return Some((members, "parameters written as tags", Verdict::Coerced));
    }
    if let Some(keywords) = keywords(text)
        && let Ok((reading, reread)) = container(&keywords, 0, schema.at(schema.top()), "")
        && reading.ending == Ending::Complete
        && reading.void.is_none()
        && let Value::Object(members) = reading.root.detached(0, text.len()).value
    {
        let is_guess = !reread.is_empty() || reading.repairs.iter().any(|repair| repair.guess);
        let level = if is_guess { Verdict::Guess } else { Verdict::Coerced };
        return Some((members, "parameters written as a call", level));
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
    (!members.is_empty()).then_some((members, "parameters written as lines", Verdict::Guess))
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

/// The keywords of `tool(path="a", n=3)`, as the text of an object.
fn keywords(text: &str) -> Option<String> {
    let (name, rest) = text.trim().split_once('(')?;
    let inside = rest.strip_suffix(')')?.trim();
    let named = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let keyed = inside.split_once('=').is_some_and(|(key, _)| key.trim().chars().all(|c| c.is_alphanumeric() || c == '_'));
    (named && keyed).then(|| format!("{{{inside}}}"))
}

/// A member whose value is a string.
fn text_member(key: &str, value: &str) -> Member<'static> {
    Member { key: Cow::Owned(key.to_owned()), start: 0, node: Node::made(Value::Text(Cow::Owned(value.to_owned()))) }
}

/// An object at this position.
fn object<'s>(members: Vec<Member<'s>>, start: usize, end: usize) -> Node<'s> {
    Node { value: Value::Object(members), start, end, exact: false }
}

/// The ways to remove one wrapper from the root; none if the root is the arguments already.
pub(super) fn unwrapped<'s>(root: &Node<'s>, schema: &Schema) -> Vec<(Node<'s>, Vec<Fix>)> {
    let rule = schema.rule(schema.top());
    let mut ways = Vec::new();
    let mut way = |(node, mut fixes): (Node<'s>, Vec<Fix>), code: Code, level: Verdict, note: Cow<'static, str>| {
        fixes.push(Fix::whole(code, root.start..root.end, level, note));
        ways.push((node, fixes));
    };
    match &root.value {
        Value::Object(members) => {
            if members.iter().any(|member| rule.find(&member.key).is_some()) {
                return ways;
            }
            // `"function": "book"` next to the arguments is a name.
            let named = |member: &Member<'s>| {
                HOLDERS.contains(&member.key.as_ref())
                    && matches!(&member.node.value, Value::Text(text) if !text.trim_start().starts_with('{'))
            };
            let held = |member: &&Member<'s>| {
                let key = member.key.as_ref();
                (WRAPPERS.contains(&key) || HOLDERS.contains(&key)) && !COMPANIONS.contains(&key) && !named(member)
            };
            let holder = members.iter().find(held);
            let echo = members.iter().any(|member| member.key == "properties");
            let beside = |key: &str| COMPANIONS.contains(&key) || (echo && SCHEMA_KEYS.contains(&key));
            let companions = members.iter().all(|member| held(&member) || named(member) || beside(&member.key));
            if let Some(holder) = holder.filter(|_| companions && members.iter().filter(held).count() == 1)
                && let Some((node, reread)) = inside(&holder.node, schema)
            {
                let note = Cow::Owned(format!("arguments taken out of `{}`", holder.key));
                way((node, reread), if echo { Code::E7 } else { Code::E4 }, Verdict::Coerced, note);
            } else if let [only] = members.as_slice()
                && let Some(inner) = inside(&only.node, schema)
            {
                way(inner, Code::E4, Verdict::Coerced, Cow::Borrowed("arguments taken out of the tool's name"));
            }
        }
        Value::Array(items) if !rule.types.allow(Types::ARRAY) => {
            if let [only @ Node { value: Value::Object(_), .. }] = items.as_slice() {
                way((only.clone(), Vec::new()), Code::E6, Verdict::Coerced, Cow::Borrowed("the one element of a list"));
            }
        }
        _ => {}
    }
    ways
}

/// The object that a wrapper holds, directly or as a string, and the guesses about backslashes in that string.
fn inside<'s>(node: &Node<'s>, schema: &Schema) -> Option<(Node<'s>, Vec<Fix>)> {
    match &node.value {
        Value::Object(_) => Some((node.clone(), Vec::new())),
        Value::Text(text) if text.trim_start().starts_with('{') => {
            let (reading, reread) = container(text.trim_start(), 0, schema.at(schema.top()), "").ok()?;
            let sure = reading.ending == Ending::Complete && reading.void.is_none() && reading.rival.is_none();
            let reread = reread.into_iter().map(|fix| fix.within("", node.start..node.end)).collect();
            sure.then(|| (reading.root.detached(node.start, node.end), reread))
        }
        _ => None,
    }
}
