//! Fits values to the schema. A value is converted only if that is reversible; all others are left to the validator.

mod scalar;
mod text;

use std::borrow::Cow;
use std::cell::Cell;

use super::report::{self, Fix, Verdict};
use super::{keys, role::Role};
use crate::json::Code;
use crate::json::number;
use crate::json::pointer::{push_index, push_key};
use crate::json::read::Shape;
use crate::json::strict;
use crate::json::tree::{Member, Node, Value};
use crate::schema::{ANY, Rule, Schema, Types, Values};

/// Maximum number of values that one pass looks at. Unions multiply them.
const FUEL: u32 = 150_000;

/// Beyond this many bytes of pointers, a change like the one before it is not listed again.
const NOTED_BYTES: usize = 256 * 1024;

/// One pass over a tree.
pub(super) struct Coercion<'c> {
    pub(super) schema: &'c Schema,
    /// The text that the tree was read from.
    pub(super) source: &'c str,
    keeps_null: &'c [String],
    /// JSON pointer to the current value.
    pub(super) path: String,
    pub(super) changes: Changes,
    /// The bytes of the pointers of all changes, each with one more. Where it grew, a container is no exact copy of its source.
    noted: usize,
    fuel: u32,
    /// How many values may still be compared with branches of unions.
    looks: Cell<u32>,
}

/// What a pass changed.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) fixes: Vec<Fix>,
    pub(super) dropped: Vec<String>,
    /// Those of `dropped` that carried a value.
    pub(super) lost: Vec<String>,
    /// Set if the arguments are ambiguous: why.
    pub(super) doubt: Option<String>,
}

impl<'c> Coercion<'c> {
    pub(super) fn new(schema: &'c Schema, source: &'c str, keeps_null: &'c [String], fixes: Vec<Fix>) -> Coercion<'c> {
        let changes = Changes { fixes, ..Changes::default() };
        let looks = Cell::new(FUEL);
        Coercion { schema, source, keeps_null, path: String::new(), changes, noted: 0, fuel: FUEL, looks }
    }

    /// Lists a change of the current value.
    pub(super) fn note(&mut self, rule: Code, level: Verdict, node: &Node<'_>, note: impl Into<Cow<'static, str>>) {
        // Thousands of equal changes below a long key say nothing more.
        self.noted += 1 + self.path.len();
        if self.noted > NOTED_BYTES && self.changes.fixes.last().is_some_and(|last| last.rule == rule && last.level == level) {
            return;
        }
        let fix = Fix::whole(rule, node.start..node.end, level, note);
        self.changes.fixes.push(Fix { path: String::from(self.path.as_str()), ..fix });
    }

    /// Notes that the arguments are ambiguous. Only the first reason is kept.
    pub(super) fn doubt(&mut self, why: String) {
        self.changes.doubt.get_or_insert(why);
    }

    /// Whether the explicit `null` of this member of the current object is kept.
    pub(super) fn keeps_null(&self, key: &str) -> bool {
        self.path.is_empty() && self.keeps_null.iter().any(|name| name == key)
    }

    /// Runs `work` with the pointer moved to a member.
    pub(super) fn enter<T>(&mut self, key: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        push_key(&mut self.path, key);
        let result = work(self);
        self.path.truncate(length);
        result
    }

    /// Fits a value to a shape as far as possible.
    pub(super) fn value<'s>(&mut self, node: Node<'s>, shape: Shape) -> Node<'s> {
        let rule = self.schema.rule(shape);
        if self.fuel == 0 || (shape == ANY && !keys::repeat(&node)) {
            return node;
        }
        self.fuel -= 1;
        if !rule.choices.is_empty() {
            return self.choose(node, rule);
        }
        if let Some(values) = &rule.values {
            return self.one_of(node, values);
        }
        let types = rule.types;
        match node.value {
            Value::Object(_) if types.allow(Types::OBJECT) => self.object(node, rule),
            Value::Array(_) if types.allow(Types::ARRAY) => self.array(node, rule),
            _ if types.allow(Types::of_node(&node)) => node,
            Value::Object(_) => self.object_instead(node, rule),
            Value::Array(_) => self.array_instead(node, rule),
            Value::Text(_) => self.text_instead(node, rule, shape),
            Value::Number(_) | Value::Bool(_) => self.scalar_instead(node, rule),
            Value::Null => node,
        }
    }

    fn object<'s>(&mut self, node: Node<'s>, rule: &Rule) -> Node<'s> {
        let Value::Object(members) = node.value else { return node };
        let before = self.noted;
        let members = keys::object(self, members, rule);
        let exact = node.exact && before == self.noted;
        Node { value: Value::Object(members), exact, ..node }
    }

    fn array<'s>(&mut self, node: Node<'s>, rule: &Rule) -> Node<'s> {
        let Value::Array(items) = node.value else { return node };
        let before = self.noted;
        let items = items.into_iter().enumerate().map(|(at, item)| {
            let length = self.path.len();
            push_index(&mut self.path, at);
            let item = self.value(item, rule.item_shape(at));
            self.path.truncate(length);
            item
        });
        let items: Vec<Node<'s>> = items.collect();
        let exact = node.exact && before == self.noted;
        Node { value: Value::Array(items), exact, ..node }
    }

    /// An object where the schema allows none.
    fn object_instead<'s>(&mut self, node: Node<'s>, rule: &Rule) -> Node<'s> {
        if rule.types.allow(Types::ARRAY) {
            let Some(items) = listed(&node) else {
                // Neither a list nor one of the texts that it should hold.
                let item = self.schema.rule(rule.item_shape(0));
                let holds = !item.choices.is_empty() || item.types.allow(Types::OBJECT);
                return if holds { self.wrapped(node, rule) } else { node };
            };
            self.note(Code::K8, Verdict::Coerced, &node, "object with numbered keys or a single list read as an array");
            return self.array(node.instead(Value::Array(items)), rule);
        }
        // In a list, `{}` is no value. As the content of a file, it may be meant.
        let is_nothing = self.is_item() && matches!(&node.value, Value::Object(members) if members.is_empty());
        if rule.types.allow(Types::STRING) && !describes_string(&node) && !self.is_path() && !is_nothing {
            return self.as_text(node, Code::K5, "object given where text is wanted: its source text");
        }
        node
    }

    /// An array where the schema allows none. K11: a list of one string where a string is wanted. The brackets are more likely a slip
    /// than the content of a file.
    fn array_instead<'s>(&mut self, node: Node<'s>, rule: &Rule) -> Node<'s> {
        if !rule.types.allow(Types::STRING) {
            return node;
        }
        let is_path = self.is_path();
        if self.is_item() && !is_path {
            // A list inside a list of strings: a surplus bracket, unless the model means it.
            if self.changes.fixes.iter().any(|fix| fix.rule == Code::S12) {
                self.doubt("a list of texts holds a list".to_owned());
            }
            return node;
        }
        let Value::Array(items) = &node.value else { return node };
        match items.as_slice() {
            [Node { value: Value::Text(text), .. }] => {
                self.note(Code::K11, Verdict::Coerced, &node, "list of one text read as that text");
                node.instead(Value::Text(text.clone()))
            }
            _ if is_path => node,
            _ => self.as_text(node, Code::K5b, "array given where text is wanted: its JSON text"),
        }
    }

    /// Whether the current value is an element of a list.
    fn is_item(&self) -> bool {
        self.path.rsplit('/').next().is_some_and(|step| step.parse::<usize>().is_ok())
    }

    /// Whether the current value should be a path. The JSON text of a container never is.
    fn is_path(&self) -> bool {
        let (above, last) = self.path.rsplit_once('/').unwrap_or_default();
        let item = self.is_item();
        let key = if item { above.rsplit('/').next().unwrap_or_default() } else { last };
        Role::of(key, item).path
    }

    /// The JSON text of a container; its source, if that is JSON.
    fn as_text<'s>(&mut self, node: Node<'s>, rule: Code, note: &'static str) -> Node<'s> {
        self.note(rule, Verdict::Coerced, &node, note);
        let text = node.to_json(self.source);
        node.instead(Value::Text(Cow::Owned(text)))
    }

    /// K6: a single value where a list is wanted.
    fn wrapped<'s>(&mut self, node: Node<'s>, rule: &Rule) -> Node<'s> {
        self.note(Code::K6, Verdict::Coerced, &node, "single value put into a list");
        let list = node.instead(Value::Null);
        self.array(Node { value: Value::Array(vec![node]), ..list }, rule)
    }

    /// A number or boolean where the schema allows none.
    fn scalar_instead<'s>(&mut self, node: Node<'s>, rule: &Rule) -> Node<'s> {
        let written = self.source.get(node.start..node.end).unwrap_or_default();
        // A value that was decoded from a string has the position of the whole string.
        let decoded = written.contains(['{', '[']).then(|| node.to_json(""));
        let written = decoded.as_deref().unwrap_or(written);
        if let Some((value, name, level, note)) = scalar::from_scalar(&node.value, written, rule.types) {
            self.note(name, level, &node, note);
            return node.instead(value);
        }
        if rule.types.allow(Types::ARRAY) {
            return self.wrapped(node, rule);
        }
        node
    }

    /// K10: a value that must be one of a list.
    fn one_of<'s>(&mut self, node: Node<'s>, values: &Values) -> Node<'s> {
        let own = node.to_serde();
        if values.contains(&own) {
            return node;
        }
        match values.meant(&own) {
            Some(value) => {
                self.note(Code::K10, Verdict::Coerced, &node, "spelling of a listed value");
                node.instead(from_serde(value).value)
            }
            None => node,
        }
    }

    /// A union: the first branch that fits as it is, otherwise the cheapest one that fits after coercion. Two with the same cost
    /// and different values are a tie, noted as doubt.
    fn choose<'s>(&mut self, node: Node<'s>, rule: &Rule) -> Node<'s> {
        if let Some(fitting) = rule.choices.iter().find(|choice| self.fits(&node, **choice)) {
            return self.value(node, *fitting);
        }
        let mut best: Option<((bool, u32), Node<'s>, Changes)> = None;
        let mut tie = false;
        let size = node.size();
        for choice in &rule.choices {
            // Each trial copies the value.
            let Some(left) = self.fuel.checked_sub(size) else { break };
            self.fuel = left;
            let before = std::mem::take(&mut self.changes);
            let tried = self.value(node.clone(), *choice);
            let trial = std::mem::replace(&mut self.changes, before);
            if trial.doubt.is_some() || !self.fits(&tried, *choice) {
                continue;
            }
            // A container is kept as one if possible.
            let container = matches!(node.value, Value::Object(_) | Value::Array(_));
            let changed = container && Types::of_node(&tried) != Types::of_node(&node);
            let cost = (changed, report::cost(&trial.fixes));
            match &best {
                Some((least, ..)) if cost > *least => {}
                Some((least, other, _)) if cost == *least => tie |= !keys::same(other, &tried),
                _ => {
                    tie = false;
                    best = Some((cost, tried, trial));
                }
            }
        }
        match best {
            Some(_) if tie => {
                self.doubt(format!("the value at `{}` fits two forms of the schema", self.path));
                node
            }
            Some((_, tried, trial)) => {
                self.changes.fixes.extend(trial.fixes);
                self.changes.dropped.extend(trial.dropped);
                self.changes.lost.extend(trial.lost);
                tried
            }
            None => node,
        }
    }

    /// Whether the value satisfies the compiled rules. The validator decides later, so a value that is too expensive to compare
    /// counts as fitting.
    pub(super) fn fits(&self, node: &Node<'_>, shape: Shape) -> bool {
        let rule = self.schema.rule(shape);
        let Some(looks) = self.looks.get().checked_sub(1) else { return true };
        self.looks.set(looks);
        if !rule.types.allow(Types::of_node(node)) {
            return false;
        }
        if !rule.choices.is_empty() {
            return rule.choices.iter().any(|choice| self.fits(node, *choice));
        }
        if rule.values.as_ref().is_some_and(|values| !values.contains(&node.to_serde())) {
            return false;
        }
        match &node.value {
            Value::Number(digits) if rule.types.and(Types::NUMBER) == Types::INTEGER => number::whole(digits).is_some(),
            Value::Array(items) => items.iter().enumerate().all(|(at, item)| self.fits(item, rule.item_shape(at))),
            Value::Object(members) => {
                keys::missing(members, rule).is_empty()
                    && members
                        .iter()
                        .all(|member| rule.allows(&member.key) && self.fits(&member.node, rule.member_shape(&member.key)))
            }
            _ => true,
        }
    }
}

/// A value of the schema as a tree.
pub(super) fn from_serde(value: &serde_json::Value) -> Node<'static> {
    let text = value.to_string();
    strict::parse(&text).map_or_else(|| Node::made(Value::Null), |node| node.detached(0, 0))
}

/// Whether the object is the schema of a string: the model repeated the schema and gave no value.
fn describes_string(node: &Node<'_>) -> bool {
    const WORDS: [&str; 9] = ["type", "description", "title", "default", "enum", "format", "example", "minLength", "pattern"];
    let Value::Object(members) = &node.value else { return false };
    members.iter().any(|member| member.key == "type" && member.node.value == Value::Text(Cow::Borrowed("string")))
        && members.iter().all(|member| WORDS.contains(&member.key.as_ref()))
}

/// K8: the items, if the object means a list: `{"0": a, "1": b}` or `{"item": [a, b]}`.
fn listed<'s>(node: &Node<'s>) -> Option<Vec<Node<'s>>> {
    let Value::Object(members) = &node.value else { return None };
    let is_numbered = || members.iter().enumerate().all(|(at, member)| member.key == at.to_string().as_str());
    match members.as_slice() {
        [Member { key, node: Node { value: Value::Array(items), .. }, .. }]
            if matches!(key.as_ref(), "item" | "items" | "list" | "values") =>
        {
            Some(items.clone())
        }
        [_, ..] if is_numbered() => Some(members.iter().map(|member| member.node.clone()).collect()),
        _ => None,
    }
}
