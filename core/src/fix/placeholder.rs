//! Detects arguments that only show the form of a call: a parameter's own name or a few words in brackets, its description
//! (Qwen2.5-Coder 0.5B writes it) or its schema in the place of the value, or nothing but ellipses. They must not run. Whether a
//! word stands for a value is not looked for: no list of words knows that.

use serde_json::{Map, Value};

use crate::event::Tool;
use crate::schema::{Place, Types, View};

/// Longest arguments that are checked, in bytes. Arguments that only show a form are short.
const PLACEHOLDER_BYTES: usize = 1024;
/// A description of fewer words may be a usual value.
const SENTENCE_WORDS: usize = 4;
/// So many words in angle brackets are no tag but say what belongs there. Source: toolcall-repair-bench, `trb-0032`.
const BLANK_WORDS: usize = 3;
/// This many consecutive lines of a description are an example.
const EXAMPLE_LINES: usize = 3;

/// Whether `arguments` only show the form of a call of this tool.
pub(crate) fn are_placeholders(arguments: &str, tool: &Tool) -> bool {
    let short = Some(arguments).filter(|arguments| arguments.len() <= PLACEHOLDER_BYTES);
    let Some(given) = short.and_then(|short| serde_json::from_str::<Map<String, Value>>(short).ok()) else { return false };
    let view = View::of(Some(tool));
    let (root, properties) = (view.root(), &view.document()["properties"]);
    let is_copy = given.get("properties").is_some_and(|own| own.is_object() && own == properties);
    let is_ellipsis = |value: &Value| value.as_str().is_some_and(|text| matches!(text.trim(), "..." | "\u{2026}"));
    is_copy
        || (!given.is_empty() && given.values().all(is_ellipsis))
        || root
            .required()
            .any(|key| given.get(key).is_some_and(|value| is_from_definition(key, value, root.property(key), &properties[key])))
}

/// Whether a value is the name or a few words in angle brackets, or the description or the schema of its parameter.
fn is_from_definition(key: &str, value: &Value, place: Place<'_>, schema: &Value) -> bool {
    let said = schema.get("description").and_then(Value::as_str).unwrap_or_default().trim();
    match value {
        Value::String(text) => {
            let is_sentence = said.split_whitespace().nth(SENTENCE_WORDS - 1).is_some();
            let named = text.trim().strip_prefix('<').and_then(|text| text.strip_suffix('>'));
            let is_blank_to_fill = |inner: &str| {
                inner.split(' ').nth(BLANK_WORDS - 1).is_some() && inner.chars().all(|c| c.is_alphabetic() || c == ' ')
            };
            named.is_some_and(|inner| inner == key || is_blank_to_fill(inner))
                || (text.trim() == said && is_sentence)
                || is_example_of(text, said)
        }
        Value::Object(members) => {
            let kind = members.get("type").and_then(Value::as_str).and_then(Types::named);
            kind.is_some() && place.allows(Types::OBJECT) == Some(false)
        }
        _ => false,
    }
}

/// Whether a text is the example in a description: it begins with consecutive lines of it and has at most one line of its own.
fn is_example_of(text: &str, description: &str) -> bool {
    let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let (text, description) = (lines(text), lines(description));
    let same = |at: usize| text.iter().zip(&description[at..]).take_while(|(one, other)| one == other).count();
    let longest = (0..description.len()).map(same).max().unwrap_or_default();
    longest >= EXAMPLE_LINES && text.len() <= longest + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_definition_says_is_no_value() {
        let schema = r#"{"type":"object","properties":{"path":{"type":"string","description":"Where the file is."},"old_text":{"type":"string","description":"text"},"blocks":{"type":"string","description":"Blocks of this form:\n<<<<\n// old\n====\n// new\n>>>>\nSeveral may follow."}},"required":["path","blocks"]}"#;
        let shows = |arguments: &str| are_placeholders(arguments, &Tool::new("edit", "", schema));
        for arguments in [
            r#"{"path": "..."}"#,
            r#"{"path": "Where the file is.", "old_text": "a"}"#,
            r#"{"path": "<path>", "old_text": "a"}"#,
            r#"{"path": "<your path here>", "old_text": "a"}"#,
            r#"{"path": {"type": "string", "description": "Where"}, "old_text": "a"}"#,
            r#"{"path": "a.rs", "blocks": "<<<<\n// old\n====\n// new\n>>>>\n\ndone"}"#,
        ] {
            assert!(shows(arguments), "{arguments}");
        }
        for arguments in [
            "{}",
            r#"{"path": "a", "old_text": "..."}"#,
            r#"{"path": "a", "old_text": "text"}"#,
            r#"{"path": "<input disabled>", "old_text": "a"}"#,
            r#"{"path": "a.rs", "blocks": "<<<<\nlet a = 1;\n====\n// new\n>>>>"}"#,
            r#"{"path": "a", "properties": {"path": {"type": "string"}}}"#,
        ] {
            assert!(!shows(arguments), "{arguments}");
        }
    }
}
