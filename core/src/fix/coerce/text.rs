//! Strings in the place of another value.

use super::{Coercion, scalar};
use crate::fix::envelope;
use crate::fix::report::Verdict;
use crate::json::Code;
use crate::json::read::{Ending, Shape};
use crate::json::tree::{Node, Value};
use crate::schema::{Rule, Types, unquoted};

impl Coercion<'_> {
    /// A string where the schema allows none.
    pub(super) fn text_instead<'s>(&mut self, node: Node<'s>, rule: &Rule, shape: Shape) -> Node<'s> {
        let types = rule.types;
        let Value::Text(text) = &node.value else { return node };
        if types.allow(Types::ARRAY.or(Types::OBJECT))
            && let Some(decoded) = self.decoded(text, &node, shape, types)
        {
            self.note(Code::K7, Verdict::Coerced, &node, "JSON inside of a string decoded");
            return self.value(decoded, shape);
        }
        if let Some((value, rule, level, note)) = scalar::from_text(unquoted(text).unwrap_or(text), types) {
            self.note(rule, level, &node, note);
            return node.instead(value);
        }
        if types.allow(Types::ARRAY) && is_row(text) {
            self.doubt("a list has no brackets".to_owned());
            return node;
        }
        if types.allow(Types::ARRAY) && !is_remains(text) {
            return self.wrapped(node, rule);
        }
        node
    }

    /// K7: the container that a string holds, if it has a wanted type.
    fn decoded(&mut self, text: &str, node: &Node<'_>, shape: Shape, types: Types) -> Option<Node<'static>> {
        let inner = text.trim();
        if !inner.starts_with(['[', '{']) {
            return None;
        }
        let path = self.path.clone();
        let name = path.rsplit('/').find(|step| step.parse::<usize>().is_err()).unwrap_or_default();
        let (reading, fixes) = envelope::container(inner, 0, self.schema.at(shape), name).ok()?;
        let whole = reading.ending == Ending::Complete && inner[reading.end..].trim().is_empty();
        let sure = reading.void.is_none() && reading.rival.is_none();
        let wanted = types.allow(Types::of_node(&reading.root)) || self.is_element(&reading.root, shape);
        if !whole || !sure || !wanted {
            return None;
        }
        self.fixes.extend(fixes.into_iter().map(|fix| fix.within(&path, node.start..node.end)));
        Some(reading.root.detached(node.start, node.end))
    }

    /// Whether the object can be the only element of a wanted list.
    fn is_element(&self, node: &Node<'_>, shape: Shape) -> bool {
        let items = self.schema.rule(shape).items.others.map(|items| self.schema.rule(items).types);
        matches!(node.value, Value::Object(_))
            && items.is_some_and(|types| types.allow(Types::OBJECT) && !types.allow(Types::STRING))
    }
}

/// Whether a text is the rest of a list or object, and not an item of one.
fn is_remains(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(['[', '{', ']', '}']) || (text.ends_with(']') && !text.contains('['))
}

/// Whether a text is several quoted values rather than one item: `"a", "b"`.
fn is_row(text: &str) -> bool {
    let inside = text.trim().strip_prefix('"');
    inside.and_then(|inside| inside.split_once('"')).is_some_and(|(_, rest)| rest.trim_start().starts_with(','))
}
