//! A tool's JSON Schema, compiled once into a validator and into rules that guide the reader and the coercions.

mod cache;
mod compile;
mod foreign;
mod keyword;
mod rule;
mod size;
#[cfg(test)]
mod tests;
mod types;
mod values;
mod view;

use std::ops::Deref;

use serde_json::Value;

pub use cache::Schemas;
pub use rule::fold;
pub(crate) use rule::{Additional, Rule};
pub use types::Types;
pub(crate) use values::{Values, unquoted};
pub use view::{Place, View};

use crate::event::Tool;
use crate::json::read::Shape;
use crate::json::tree::Node;

/// Maximum number of keywords that are left out of a schema because the validator rejects them.
const INVALID_KEYWORDS: usize = 64;

/// A compiled schema. One that does not compile, refers to another document, or cannot be checked at a bounded cost allows
/// everything.
#[derive(Debug, Default)]
pub struct Schema {
    view: View,
    validator: Option<jsonschema::Validator>,
    /// The schema refers to itself. The cost of a check then depends on the value, and is measured first.
    recursive: bool,
}

/// Why a value does not satisfy the schema, in the validator's words and without the values themselves.
pub struct Fault {
    pub what: String,
    /// JSON pointer to the value.
    pub path: String,
}

/// The schema that allows everything. Also the shape of every place of which nothing is known.
pub(crate) const ANY: Shape = Shape(0);

/// Keys that models wrap the arguments in.
pub(crate) const WRAPPERS: [&str; 7] = ["arguments", "parameters", "input", "args", "kwargs", "params", "properties"];

/// Names that models use for the same parameter, one list per meaning.
const ALIASES: [&[&str]; 14] = [
    &["path", "file_path", "filename", "file", "uri", "target_file", "absolute_path"],
    &["path", "directory", "dir", "folder", "directory_path"],
    &["content", "text", "new_content", "contents", "file_text"],
    &["command", "cmd", "shell_command"],
    &["old_string", "old_str", "old_text"],
    &["new_string", "new_str", "new_text"],
    &["query", "q", "search_query", "sql", "search", "search_term", "keywords"],
    &["query", "pattern", "regex"],
    &["url", "uri", "link"],
    &["city", "location", "place", "town"],
    &["expression", "expr", "formula"],
    &["timezone", "tz"],
    &["to", "recipient", "recipients"],
    &["patch", "input", "diff", "cmd"],
];

/// Whether a tool needs nothing but a `command`.
pub fn runs_programs(tool: &Tool) -> bool {
    View::of(Some(tool)).root().required().eq(["command"])
}

/// The names that models use for the same parameter as `name`, including itself. `name` may be in any spelling (`filePath`).
pub(crate) fn aliases(name: &str) -> impl Iterator<Item = &'static str> {
    let name = fold(name);
    ALIASES.into_iter().filter(move |names| names.iter().any(|known| fold(known) == name)).flatten().copied()
}

impl Schema {
    /// Compiles a schema without access to the network or to files. What a validator may cost is bounded before it is built.
    fn compile(text: &str) -> Schema {
        let mut document = view::document(text);
        let recursive = (text.len() <= size::MOST_TEXT).then(|| size::is_recursive(&document)).flatten();
        let mut check_patterns = || size::remove_odd_patterns(&mut document, &mut { size::PATTERNS }).is_some();
        let Some(recursive) = recursive.filter(|_| check_patterns()) else {
            tracing::warn!(
                bytes = text.len(),
                "a schema cannot be checked at a bounded cost: its tool's arguments are not checked"
            );
            return Schema::default();
        };
        match validator(&mut document) {
            Some(validator) => Schema { view: View::new(document), validator: Some(validator), recursive },
            None => Schema::default(),
        }
    }

    /// Why the tree does not satisfy the schema; `None` if it does. The parameters in `keeps_null` may be null.
    pub fn fault(&self, root: &Node<'_>, keeps_null: &[String]) -> Option<Fault> {
        let validator = self.validator.as_ref()?;
        let mut value = root.to_serde();
        if let Value::Object(members) = &mut value {
            members.retain(|key, value| !value.is_null() || !keeps_null.contains(key));
        }
        if self.recursive && !size::is_affordable(self.view.document(), &value, root.size() as usize) {
            return Some(Fault { what: "it nests too deep to be checked at /".to_owned(), path: String::new() });
        }
        // Not the first of all errors: with alternatives, all together take gigabytes.
        let error = validator.validate(&value).err()?;
        let path = error.instance_path().to_string();
        let place = if path.is_empty() { "/" } else { &path };
        Some(Fault { what: format!("{} at {place}", error.masked()), path })
    }

    /// Whether the arguments may be a list: the schema says so.
    pub fn is_list(&self) -> bool {
        let types = self.rule(self.top()).types;
        types.allow(Types::ARRAY) && !types.is_all()
    }
}

impl Deref for Schema {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

/// Regular expressions are those of the crate `regex`: linear in the text, bounded in size, without looking around.
fn options<'o>() -> jsonschema::ValidationOptions<'o> {
    let patterns = jsonschema::PatternOptions::regex().size_limit(size::PATTERN_BYTES);
    jsonschema::options().offline().should_validate_formats(false).with_pattern_options(patterns)
}

/// Builds the validator. A keyword that it rejects (`"required": true` in a property) is left out, so that the others are still
/// checked.
fn validator(document: &mut Value) -> Option<jsonschema::Validator> {
    let options = options();
    for _ in 0..INVALID_KEYWORDS {
        let place = match options.build(document) {
            Ok(validator) => return Some(validator),
            Err(error) => error.instance_path().to_string(),
        };
        tracing::debug!(place, "a keyword of a schema is not valid: it is not checked");
        let (parent, key) = place.rsplit_once('/')?;
        document.pointer_mut(parent)?.as_object_mut()?.remove(&key.replace("~1", "/").replace("~0", "~"))?;
    }
    None
}
