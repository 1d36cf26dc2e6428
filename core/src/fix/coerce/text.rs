//! Strings in the place of another value.

use super::{Coercion, scalar};
use crate::fix::envelope;
use crate::fix::report::Verdict;
use crate::json::Code;
use crate::json::read::Shape;
use crate::json::tree::{Node, Value};
use crate::schema::{Rule, Types, unquoted};

impl Coercion<'_> {
    /// A string where the schema allows none.
    pub(super) fn text_instead<'s>(&mut self, node: Node<'s>, rule: &Rule, shape: Shape) -> Node<'s> {
        let types = rule.types;
        let Value::Text(text) = &node.value else { return node };
        // K7: the container that the string holds, if it has a wanted type.
        if types.allow(Types::ARRAY.or(Types::OBJECT))
            && let Some((decoded, fixes)) = envelope::decoded(text, &node, self.schema.at(shape), &self.path)
            && types.allow(Types::of_node(&decoded))
        {
            self.changes.fixes.extend(fixes);
            self.note(Code::K7, Verdict::Coerced, &node, "JSON inside of a string decoded");
            return self.value(decoded, shape);
        }
        if let Some((value, rule, level, note)) = scalar::from_text(unquoted(text).unwrap_or(text), types) {
            self.note(rule, level, &node, note);
            return node.instead(value);
        }
        if types.allow(Types::ARRAY) && !is_remains(text) {
            return self.wrapped(node, rule);
        }
        node
    }
}

/// Whether a text is the rest of a list or object, or several quoted values (`"a", "b"`), and not an item of a list.
fn is_remains(text: &str) -> bool {
    let text = text.trim();
    let is_row = text.starts_with('"') && text.contains("\",");
    is_row || text.starts_with(['[', '{', ']', '}']) || (text.ends_with(']') && !text.contains('['))
}
