//! Fits the members of an object to the schema: spellings of keys, repeated, unknown and missing keys.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::coerce::Coercion;
use super::report::Verdict;
use crate::json::Code;
use crate::json::pointer::push_key;
use crate::json::tree::{Member, Node, Value};
use crate::schema::{Additional, Rule, Types, aliases, fold};

/// Fits the members of an object to its rule.
pub(super) fn object<'s>(coercion: &mut Coercion<'_>, members: Vec<Member<'s>>, rule: &Rule) -> Vec<Member<'s>> {
    let mut members = once(coercion, members);
    respell(coercion, &mut members, rule);
    rename(coercion, &mut members, rule);
    leave_out_nulls(coercion, &mut members, rule);
    for member in &mut members {
        let shape = rule.member_shape(&member.key);
        coercion.enter(&member.key, |coercion| {
            let node = std::mem::replace(&mut member.node, Node::made(Value::Null));
            member.node = coercion.value(node, shape);
        });
    }
    complete(coercion, &mut members, rule);
    drop_unknown(coercion, &mut members, rule);
    members
}

/// N4: a repeated key with the same value counts once. Of two values the last one counts, as in every reader of JSON: a guess.
fn once<'s>(coercion: &mut Coercion<'_>, members: Vec<Member<'s>>) -> Vec<Member<'s>> {
    if !has_repeated(&members) {
        return members;
    }
    let mut kept: Vec<Member<'s>> = Vec::with_capacity(members.len());
    let mut places: HashMap<Cow<'s, str>, usize> = HashMap::with_capacity(members.len());
    for member in members {
        match places.get(&member.key) {
            None => {
                places.insert(member.key.clone(), kept.len());
                kept.push(member);
            }
            Some(first) => {
                let is_same = same(&kept[*first].node, &member.node);
                let (level, note) = match is_same {
                    true => (Verdict::Lossless, "key twice with the same value"),
                    false => (Verdict::Guess, "key twice with different values: the last one"),
                };
                coercion.enter(&member.key, |coercion| coercion.note(Code::N4, level, &member.node, note));
                if !is_same {
                    kept[*first] = member;
                }
            }
        }
    }
    kept
}

/// Whether any object in the tree has a repeated key.
pub(super) fn repeat(node: &Node<'_>) -> bool {
    match &node.value {
        Value::Array(items) => items.iter().any(repeat),
        Value::Object(members) => has_repeated(members) || members.iter().any(|member| repeat(&member.node)),
        _ => false,
    }
}

fn has_repeated(members: &[Member<'_>]) -> bool {
    let mut seen = HashSet::with_capacity(members.len());
    !members.iter().all(|member| seen.insert(member.key.as_ref()))
}

/// Whether two trees have equal values. The order of members does not matter.
pub(super) fn same(a: &Node<'_>, b: &Node<'_>) -> bool {
    match (&a.value, &b.value) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Number(a), Value::Number(b)) | (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            let others: HashMap<&str, &Node<'_>> = b.iter().map(|member| (member.key.as_ref(), &member.node)).collect();
            let there = |member: &Member<'_>| others.get(member.key.as_ref()).is_some_and(|other| same(&member.node, other));
            a.len() == b.len() && a.iter().all(there)
        }
        _ => false,
    }
}

/// The required keys that an object lacks.
pub(super) fn missing<'r>(members: &[Member<'_>], rule: &'r Rule) -> Vec<&'r str> {
    let there: HashSet<&str> = members.iter().map(|member| member.key.as_ref()).collect();
    rule.required.iter().map(String::as_str).filter(|name| !there.contains(name)).collect()
}

/// N1: renames keys that are another spelling of exactly one property.
fn respell(coercion: &mut Coercion<'_>, members: &mut [Member<'_>], rule: &Rule) {
    let is_spelled = |member: &Member<'_>| rule.named(&member.key).is_some() || rule.matches_pattern(&member.key);
    if members.iter().all(is_spelled) {
        return;
    }
    // Property -> its member.
    let mut held: HashMap<usize, usize> =
        members.iter().enumerate().filter_map(|(at, member)| Some((rule.properties.named(&member.key)?, at))).collect();
    for at in 0..members.len() {
        let key = &members[at].key;
        if is_spelled(&members[at]) {
            continue;
        }
        let Some(found) = rule.properties.meant(key) else { continue };
        let name = &rule.properties[found].name;
        if let Some(other) = held.get(&found) {
            if !same(&members[*other].node, &members[at].node) && !matches!(members[at].node.value, Value::Null) {
                coercion.doubt(format!("`{key}` and `{name}` are the same parameter with different values"));
            }
            continue;
        }
        coercion.enter(name, |coercion| {
            coercion.note(Code::N1, Verdict::Coerced, &members[at].node, format!("`{key}` is spelled `{name}`"));
        });
        members[at].key = Cow::Owned(name.clone());
        held.insert(found, at);
    }
}

/// N2: renames an unknown key that means a missing required one, according to the table of aliases.
fn rename(coercion: &mut Coercion<'_>, members: &mut [Member<'_>], rule: &Rule) {
    // Folded alias -> the missing names that it may mean.
    let mut meant: HashMap<String, BTreeSet<&str>> = HashMap::new();
    let missing = missing(members, rule);
    for name in &missing {
        // `table` and `table_name` mean the same.
        let own = fold(name);
        let named = own.strip_suffix("name").filter(|bare| !bare.is_empty()).map_or_else(|| format!("{own}name"), str::to_owned);
        for alias in aliases(name).map(fold).chain([named]) {
            meant.entry(alias).or_default().insert(name);
        }
    }
    if meant.is_empty() {
        return;
    }
    // The members that may be a missing name, if it is clear which one.
    let mut found: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, member) in members.iter().enumerate() {
        let names = meant.get(&fold(&member.key)).filter(|names| names.len() == 1 && rule.named(&member.key).is_none());
        let Some((name, property)) = names.and_then(|names| names.first()).and_then(|name| Some((*name, rule.named(name)?)))
        else {
            continue;
        };
        if coercion.schema.rule(property.shape).types.allow(Types::of_node(&member.node)) {
            found.entry(name).or_default().push(at);
        }
    }
    for name in missing {
        let Some([at]) = found.get(name).map(Vec::as_slice) else { continue };
        let member = &mut members[*at];
        coercion.enter(name, |coercion| {
            coercion.note(Code::N2, Verdict::Coerced, &member.node, format!("`{}` is called `{name}` here", member.key));
        });
        member.key = Cow::Owned(name.to_owned());
    }
}

/// K9: drops a null (or the word for it) of an optional parameter that cannot be null: it means that the parameter is not given.
fn leave_out_nulls(coercion: &mut Coercion<'_>, members: &mut Vec<Member<'_>>, rule: &Rule) {
    members.retain(|member| {
        let Some(property) = rule.named(&member.key) else { return true };
        let types = coercion.schema.rule(property.shape).types;
        if types.allow(Types::NULL) || rule.is_required(&member.key) || coercion.keeps_null(&member.key) {
            return true;
        }
        let is_null = match &member.node.value {
            Value::Null => true,
            Value::Text(text) => !types.allow(Types::STRING) && is_nothing(text),
            _ => false,
        };
        if is_null {
            let note = "empty optional parameter left out";
            coercion.enter(&member.key, |coercion| coercion.note(Code::K9, Verdict::Coerced, &member.node, note));
        }
        !is_null
    });
}

/// K9: drops the value at the JSON pointer `refused`, which the schema refuses, if it is an empty value of an optional parameter.
/// Models that fill in all parameters write `""` where they have no value; zero and `false` are values. Returns whether it was dropped.
pub(super) fn leave_out_empty(coercion: &mut Coercion<'_>, root: &mut Node<'_>, refused: &str) -> bool {
    let rule = coercion.schema.rule(coercion.schema.top());
    let Value::Object(members) = &mut root.value else { return false };
    let is_refused = |member: &Member<'_>| {
        let mut path = String::new();
        push_key(&mut path, &member.key);
        path == refused
    };
    let Some(at) = members.iter().position(is_refused) else { return false };
    let Some(property) = rule.named(&members[at].key) else { return false };
    let inner = coercion.schema.rule(property.shape);
    let is_required = rule.is_required(&property.name);
    // An empty list or object in the place of a scalar is a mistake, not an empty value.
    let node = &members[at].node;
    let is_mistake = match node.value {
        Value::Array(_) | Value::Object(_) => !inner.types.allow(Types::ARRAY.or(Types::OBJECT)),
        _ => node.value == Value::Null,
    };
    if is_mistake || !says_nothing(node) || (is_required && !inner.may_be_null()) {
        return false;
    }
    let note = "empty value that the schema does not allow left out";
    coercion.enter(&property.name, |coercion| coercion.note(Code::K9, Verdict::Coerced, &members[at].node, note));
    root.exact = false;
    if is_required {
        // It is null then (N10).
        members[at].node = Node::made(Value::Null);
    } else {
        members.remove(at);
    }
    true
}

/// N5: fills in a missing required parameter that has a default or only one possible value. N10: or that may be null, unless its
/// `null` means something else than that it is not given.
fn complete(coercion: &mut Coercion<'_>, members: &mut Vec<Member<'_>>, rule: &Rule) {
    for name in missing(members, rule) {
        let Some(property) = rule.named(name) else { continue };
        let inner = coercion.schema.rule(property.shape);
        let constant = inner.values.as_ref().filter(|values| values.constant).and_then(|values| values.all.first());
        let (value, code, note) = match (&inner.default, constant) {
            (Some(default), _) => (default, Code::N5, "the schema's default filled in"),
            (None, Some(constant)) => (constant, Code::N5, "the only allowed value filled in"),
            _ if inner.may_be_null() && !coercion.keeps_null(name) => {
                (&serde_json::Value::Null, Code::N10, "null filled in where nothing was given")
            }
            _ => continue,
        };
        let node = super::coerce::from_serde(value);
        coercion.enter(name, |coercion| coercion.note(code, Verdict::Coerced, &node, note));
        members.push(Member { key: Cow::Owned(name.to_owned()), start: node.start, node });
    }
}

/// N3: drops and lists keys that the schema forbids. Not while a required one is missing, because one of them may be meant.
fn drop_unknown(coercion: &mut Coercion<'_>, members: &mut Vec<Member<'_>>, rule: &Rule) {
    if rule.additional != Additional::Forbidden || !rule.choices.is_empty() || !missing(members, rule).is_empty() {
        return;
    }
    members.retain(|member| {
        let known = rule.allows(&member.key);
        if !known {
            coercion.enter(&member.key, |coercion| {
                coercion.note(Code::N3, Verdict::Coerced, &member.node, "unknown key left out");
                let path = coercion.path.clone();
                // A second spelling of a key that is there has the same value: `respell` compares them.
                if !says_nothing(&member.node) && rule.properties.meant(&member.key).is_none() {
                    coercion.changes.lost.push(path.clone());
                }
                coercion.changes.dropped.push(path);
            });
        }
        known
    });
}

/// Whether a call means the same without this value.
fn says_nothing(node: &Node<'_>) -> bool {
    match &node.value {
        Value::Null => true,
        Value::Text(text) => is_nothing(text),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Number(_) | Value::Bool(_) => false,
    }
}

/// Whether a text is a word for nothing.
pub(super) fn is_nothing(text: &str) -> bool {
    ["", "none", "null", "undefined", "n/a"].iter().any(|word| text.trim().eq_ignore_ascii_case(word))
}
