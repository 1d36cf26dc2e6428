//! Detects readings that a damaged bracket, comma or quote explains better: text after the damage became part of a string, or
//! lies outside the object. Such a call is refused, because its values are not what the model wrote.

mod after;
mod call;
mod text;
mod variable;

use super::report::Fix;
use super::role::Role;
use super::schema::{ANY, Schema, Types, WRAPPERS, aliases};
use crate::json::Code;
use crate::json::read::{Ending, Reading, Repair, Shape};
use crate::json::tree::{Member, Node, Value};

pub(super) use after::is_spilt;
use after::is_spilt_comment;
pub(super) use call::holds_json_call;
pub(crate) use call::{NAME_KEYS, holds_python_call};
pub(super) use text::is_torn;
use text::{after_object, after_surplus, assigns, has_surplus, holds_elements, is_odd, keys, opens_last, separates, swallowed};
pub(crate) use text::{begins_as_member, ends_inside, has_odd_quote, holds_structure};
pub(crate) use variable::is_variable;

/// Maximum number of keys that are looked for in one string.
const MOST_KEYS: usize = 1000;
/// Shortest name that is recognised when joined to another word, in bytes.
const GLUED_BYTES: usize = 3;
/// Above this number of properties, a word is not compared with each of them.
const FEW: usize = 64;
/// Keys that hold the id of a call. The first one present counts.
pub(crate) const IDS: [&str; 3] = ["id", "tool_call_id", "call_id"];
/// Repairs after which the end of each value is still certain.
const HARMLESS: [Code; 7] = [Code::S1, Code::S9, Code::S10, Code::S11, Code::S13, Code::T1, Code::T2];

/// What the strings and keys of a reading are checked against.
struct Source<'c> {
    text: &'c str,
    schema: &'c Schema,
    repairs: &'c [Repair],
}

/// An object around the current value, or the place where one was expected.
struct Around<'a, 's> {
    shape: Shape,
    members: &'a [Member<'s>],
    /// The key of the member that is looked at.
    key: &'a str,
    outer: Option<&'a Around<'a, 's>>,
}

/// What is wrong with a reading of `text[start..]`; `None` if nothing is.
pub(super) fn damage(reading: &Reading<'_>, text: &str, start: usize, schema: &Schema) -> Option<String> {
    let top = schema.rule(schema.top());
    for outside in [&text[..start], text.get(reading.end..).unwrap_or_default()] {
        if let Some(key) = keys(outside).find(|key| top.named(key).is_some()) {
            return Some(format!("`{key}` is outside of the object"));
        }
    }
    let expected = Around { shape: schema.top(), members: &[], key: "", outer: None };
    let around = if matches!(reading.root.value, Value::Object(_)) { None } else { Some(&expected) };
    // A list around the call is closed, but the call is not: it is unclear what the last brace closes.
    let unclosed = text.get(reading.end..).is_some_and(|after| after.trim_start().starts_with(']'));
    let source = Source { text, schema, repairs: &reading.repairs };
    source.doubt(reading, schema.top(), around, unclosed || is_mended(reading))
}

/// The same for a reading of all of `text`, which begins with a brace that was added.
pub(super) fn damage_of_members(reading: &Reading<'_>, text: &str, schema: &Schema) -> Option<String> {
    if !text.get(reading.end..)?.trim_matches(|c: char| c.is_whitespace() || c == '}').is_empty() {
        return Some("something follows the object".to_owned());
    }
    Source { text, schema, repairs: &reading.repairs }.doubt(reading, schema.top(), None, true)
}

/// A variable in the place of a value, in a reading of all of `text`; the sentence for the refusal.
pub(super) fn unquoted_variable(reading: &Reading<'_>, text: &str, schema: &Schema) -> Option<String> {
    let source = Source { text, schema, repairs: &reading.repairs };
    let Value::Object(members) = &reading.root.value else { return None };
    members.iter().find_map(|member| source.variable(&member.node, schema.member(schema.top(), &member.key), &member.key))
}

/// What is wrong with a reading of the text of one value of this shape.
pub(super) fn damage_of_value(reading: &Reading<'_>, text: &str, schema: &Schema, shape: Shape) -> Option<String> {
    let around = Around { shape: ANY, members: &[], key: "", outer: None };
    Source { text, schema, repairs: &reading.repairs }.doubt(reading, shape, Some(&around), is_mended(reading))
}

/// Whether brackets were added or dropped.
fn is_mended(reading: &Reading<'_>) -> bool {
    reading.ending != Ending::Complete || reading.repairs.iter().any(|repair| repair.rule == Code::S12)
}

/// Whether there are brackets inside the outermost ones. A missing one may then belong to either.
fn is_nested(root: &Node<'_>) -> bool {
    let is_container = |node: &Node<'_>| matches!(node.value, Value::Object(_) | Value::Array(_));
    match &root.value {
        Value::Object(members) => members.iter().any(|member| is_container(&member.node)),
        Value::Array(items) => items.iter().any(is_container),
        _ => false,
    }
}

/// Whether a value was converted whose brackets or quotes were repaired, such as a list that became text.
pub(super) fn is_converted_after_repair(fixes: &[Fix]) -> bool {
    let of = |codes: &'static [Code]| fixes.iter().filter(|fix| codes.contains(&fix.rule) && !fix.path.is_empty());
    of(&[Code::K5, Code::K5b, Code::K6, Code::K11]).any(|converted| {
        of(&[Code::S2, Code::S12, Code::S16, Code::S19, Code::X3])
            .any(|repaired| repaired.path.starts_with(&*converted.path) || converted.path.starts_with(&*repaired.path))
    })
}

impl Around<'_, '_> {
    /// Whether the object has no member with exactly this key.
    fn lacks(&self, key: &str) -> bool {
        !self.members.iter().any(|member| member.key == key)
    }
}

impl Source<'_> {
    /// What is wrong with a reading. `mended`: a bracket may belong in another place.
    fn doubt(&self, reading: &Reading<'_>, shape: Shape, around: Option<&Around<'_, '_>>, mended: bool) -> Option<String> {
        // Between members it is a comment. At the end of an open object it may be the rest of a string.
        let at_end = |repair: &Repair| self.text.get(repair.end..).is_some_and(|rest| rest.trim().is_empty());
        let comment = |repair: &Repair| self.text.get(repair.start..repair.end).is_some_and(is_spilt_comment);
        if reading.repairs.iter().any(|repair| repair.rule == Code::S10 && at_end(repair) && comment(repair)) {
            return Some("a comment is part of a value".to_owned());
        }
        let doubtful = reading.repairs.iter().any(|repair| !HARMLESS.contains(&repair.rule));
        let fault = doubtful.then(|| self.fault(&reading.root, shape, around, false)).flatten();
        fault.or_else(|| {
            let id = || self.call_id(&reading.root, shape);
            let nested = || is_nested(&reading.root).then(|| self.misplaced(&reading.root, shape, around)).flatten();
            let key = mended.then(|| id().or_else(nested)).flatten()?;
            Some(format!("`{key}` may be part of another object"))
        })
    }

    /// A key that may be the id of the call, if the tool has no such parameter.
    fn call_id<'n>(&self, root: &'n Node<'_>, shape: Shape) -> Option<&'n str> {
        let Value::Object(members) = &root.value else { return None };
        let rule = self.schema.rule(shape);
        let among = !rule.properties.is_empty() && !members.iter().any(|member| WRAPPERS.contains(&&*member.key));
        let id = |key: &str| IDS.contains(&key) && rule.find(key).is_none() && !rule.matches_pattern(key);
        members.iter().map(|member| &*member.key).find(|key| among && id(key))
    }

    /// What is wrong with the strings and keys of `node`. `listed`: it is an element of a list.
    fn fault(&self, node: &Node<'_>, shape: Shape, around: Option<&Around<'_, '_>>, listed: bool) -> Option<String> {
        match &node.value {
            Value::Object(members) => {
                let outer = around;
                let around = Around { shape, members, key: "", outer };
                let rule = self.schema.rule(shape);
                let shortened = |key: &str| {
                    let lost = |name: &str| name.len() == key.len() + 1 && name.ends_with(key) && around.lacks(name);
                    rule.properties.len() <= FEW && rule.properties.iter().any(|property| lost(&property.name))
                };
                members.iter().find_map(|Member { key, node, .. }| {
                    let torn = key.contains('"') && !self.schema.rule(self.schema.top()).says_nothing();
                    let torn = rule.named(key).is_none() && (torn || (key.len() >= GLUED_BYTES && shortened(key)));
                    let torn = torn.then(|| "a quote ends a key or is part of it".to_owned());
                    let inner = self.schema.member(shape, key);
                    torn.or_else(|| self.variable(node, inner, key))
                        .or_else(|| self.fault(node, inner, Some(&Around { key, ..around }), false))
                })
            }
            Value::Array(items) => items.iter().find_map(|item| self.fault(item, self.schema.item(shape), around, true)),
            Value::Text(_) if self.has_lost_quote(node) => Some("a quote delimits a value or is part of it".to_owned()),
            Value::Text(_) if !node.exact && !self.is_joined(node) => {
                let (source, marks) = (self.text.get(node.start..node.end)?, self.delimiters(node)?);
                let map = |around: &Around<'_, '_>| {
                    let rule = self.schema.rule(around.shape);
                    around.outer.is_some() && rule.properties.is_empty() && !rule.says_nothing()
                };
                let in_map = around.is_some_and(map) && is_odd(source, marks);
                let missing =
                    |key: &str| in_map || is_missing(key, around, self.schema) || holds_missing(key, around, self.schema);
                let mut swallowed = swallowed(source, marks).take(MOST_KEYS);
                if let Some((key, _)) = swallowed.find(|(key, sure)| *sure || missing(key)) {
                    return Some(format!("`{key}` is a parameter or part of a value"));
                }
                if let Some(key) = self.assigned(source, around) {
                    return Some(format!("`{key}` is a parameter or part of a value"));
                }
                let sibling = |key: &&str| around.is_some_and(|around| self.schema.rule(around.shape).named(key).is_some());
                if nested_in(around)
                    && let Some(key) = after_surplus(source).chain(after_object(source)).take(MOST_KEYS).find(sibling)
                {
                    return Some(format!("`{key}` begins another element or is part of a value"));
                }
                let wanted = self.schema.rule(shape).types.allow(Types::STRING);
                let nested = listed || !wanted || nested_in(around);
                let is_command = || !listed && around.is_some_and(|around| Role::of(around.key, false).command);
                let torn = begins_as_member(source, marks)
                    || has_odd_quote(source, marks)
                    || (nested && separates(source, marks))
                    || self.lost_its_end(node, source, nested)
                    || self.repaired(node, Code::T3) && opens_last(source, &is_command)
                    // Not for apostrophes, which are content.
                    || (listed && marks == ['"'] && (is_odd(source, marks) || holds_elements(source)));
                torn.then(|| "a quote ends a value or is part of it".to_owned())
            }
            // `"n": true"`: the word itself, or the rest of a string.
            Value::Bool(_) | Value::Number(_) | Value::Null => {
                let quoted = self.text.get(node.end..)?.starts_with(['"', '\'']);
                let types = self.schema.rule(shape).types;
                let torn = quoted && !types.is_all() && types.allow(Types::STRING) && types.allow(Types::of_node(node));
                torn.then(|| "a quote ends a value that has no beginning".to_owned())
            }
            _ => None,
        }
    }

    /// Whether a quote next to a string may be its first or last character. Any of these shows it:
    /// * three or more quotes around the string, an odd number, and inside it an odd number of quotes, nothing at all (`"""`), or
    ///   several joined strings;
    /// * three quotes before the string, and a fourth at its beginning;
    /// * an odd number of quotes inside the string, and an escape after it (`"say \"hi"\n`).
    fn has_lost_quote(&self, node: &Node<'_>) -> bool {
        // The position of an exact node includes its quotes.
        let quote = usize::from(node.exact);
        let (start, end) = (node.start + quote, node.end.saturating_sub(quote));
        let source = self.text.get(start..end).unwrap_or_default();
        let (before, after) = (self.text.get(..start).unwrap_or_default(), self.text.get(end..).unwrap_or_default());
        let (first, last) =
            (before.len() - before.trim_end_matches('"').len(), after.len() - after.trim_start_matches('"').len());
        let (odd, around) = (source.matches('"').count() % 2 == 1, first + last);
        let escape_follows = || after.trim_start_matches('"').starts_with('\\');
        around % 2 == 1 && around > 1 && (odd || source.is_empty() || self.is_joined(node))
            || odd && last == 1 && escape_follows()
            || first == 3 && source.starts_with('"') && (odd || source.ends_with('"'))
    }

    /// A variable in the place of this key's value, or of an element of its list.
    fn variable(&self, node: &Node<'_>, shape: Shape, key: &str) -> Option<String> {
        match &node.value {
            Value::Array(items) => items.iter().find_map(|item| self.variable(item, self.schema.item(shape), key)),
            Value::Text(word) if !node.exact && self.repaired(node, Code::S16) => {
                let rule = self.schema.rule(shape);
                let free = rule.values.is_none() && !self.schema.rule(self.schema.top()).says_nothing();
                (free && is_variable(word, key)).then(|| format!("`{word}` without quotes is the name of a variable"))
            }
            _ => None,
        }
    }

    /// The quotes that may end a string: the kind at both of its ends, otherwise both kinds.
    fn delimiters(&self, node: &Node<'_>) -> Option<&'static [char]> {
        let ends = (self.text.get(..node.start)?.chars().next_back(), self.text.get(node.end..)?.chars().next());
        Some(match ends {
            (Some('"'), Some('"')) => &['"'],
            (Some('\''), Some('\'')) => &['\''],
            _ => &['"', '\''],
        })
    }

    /// Whether the closing quote of a string was lost, and some of its brackets or commas may be structure. In the text of a
    /// top-level parameter: only surplus closing brackets at its end, or a leading colon.
    fn lost_its_end(&self, node: &Node<'_>, source: &str, nested: bool) -> bool {
        let doubtful = || match nested {
            true => source.contains(['[', ']', '{', '}', ',']),
            false => source.trim_end().ends_with([']', '}']) && has_surplus(source),
        };
        self.repaired(node, Code::X3) && (source.starts_with([':', '=']) || doubtful())
    }

    /// A missing member that a string assigns (`ls", timeout=30`), where the object has equals signs in place of colons.
    fn assigned<'s>(&'s self, text: &str, around: Option<&Around<'_, '_>>) -> Option<&'s str> {
        let around = around.filter(|_| self.repairs.iter().any(|repair| repair.rule == Code::S3))?;
        let names = self.schema.rule(around.shape).properties.iter().map(|property| &*property.name);
        names.take(FEW).find(|name| around.lacks(name) && assigns(text, name))
    }

    /// Whether a string was joined from several. The quotes between them are accounted for.
    fn is_joined(&self, node: &Node<'_>) -> bool {
        self.repaired(node, Code::S15)
    }

    /// Whether this rule repaired something that begins inside the node. The repairs are in the order of the text.
    fn repaired(&self, node: &Node<'_>, rule: Code) -> bool {
        let first = self.repairs.partition_point(|repair| repair.start < node.start);
        self.repairs[first..].iter().take_while(|repair| repair.start < node.end).any(|repair| repair.rule == rule)
    }

    /// A key that the schema does not have at this place, or that an object around this one lacks.
    fn misplaced<'n>(&self, node: &'n Node<'_>, shape: Shape, around: Option<&Around<'_, '_>>) -> Option<&'n str> {
        match &node.value {
            Value::Object(members) => {
                let rule = self.schema.rule(shape);
                let here = Around { shape, members, key: "", outer: around };
                let known = |key: &str| rule.find(key).is_some() || aliases(key).any(|name| rule.named(name).is_some());
                let wrapped = shape == self.schema.top() && members.iter().any(|member| WRAPPERS.contains(&&*member.key));
                let closed = !rule.properties.is_empty() && !wrapped;
                let stray =
                    |key: &str| !known(key) && !rule.matches_pattern(key) && (closed || is_missing(key, around, self.schema));
                members.iter().find_map(|Member { key, node, .. }| {
                    let found = stray(key).then_some(&**key);
                    found.or_else(|| self.misplaced(node, self.schema.member(shape, key), Some(&here)))
                })
            }
            Value::Array(items) => items.iter().find_map(|item| self.misplaced(item, self.schema.item(shape), around)),
            _ => None,
        }
    }
}

/// Whether there is another object around the innermost one.
fn nested_in(around: Option<&Around<'_, '_>>) -> bool {
    around.is_some_and(|around| around.outer.is_some())
}

/// Whether one of the objects around may have a member of this name and has none.
fn is_missing(key: &str, around: Option<&Around<'_, '_>>, schema: &Schema) -> bool {
    let Some(around) = around else { return false };
    let missing = schema.rule(around.shape).named(key).is_some() && around.lacks(key);
    missing || is_missing(key, around.outer, schema)
}

/// Whether the word begins or ends with the name of a missing member, from which a lost quote separated it (`"typeadmin"`,
/// `Xtype":`).
fn holds_missing(word: &str, around: Option<&Around<'_, '_>>, schema: &Schema) -> bool {
    let Some(around) = around else { return false };
    let properties = &schema.rule(around.shape).properties;
    let glued = |name: &str| name.len() >= GLUED_BYTES && (word.starts_with(name) || word.ends_with(name));
    let missing =
        properties.len() <= FEW && properties.iter().any(|property| glued(&property.name) && around.lacks(&property.name));
    missing || holds_missing(word, around.outer, schema)
}

#[cfg(test)]
mod tests;
