//! Detects arguments that only show the form of a call: `{"path": "..."}`, `{"path": "<path>"}`,
//! `turn_on(name=value, area=value)`, or parameters with their own descriptions from the tool's definition. They must not run. A
//! single value of this kind among real ones may be meant (`...` or `<div>` in a text to search).

use serde_json::{Map, Value};

use super::{
    name::fold,
    role::{Role, is_text},
};
use crate::event::Tool;
use crate::schema::{Types, View};

/// Longest arguments that are checked, in bytes. Arguments that only show a form are short.
pub(super) const PLACEHOLDER_BYTES: usize = 1024;
/// Words for a value of any parameter.
const ANY: [&str; 10] = ["value", "string", "str", "integer", "int", "number", "boolean", "bool", "array", "object"];
/// The types of JSON Schema.
const NAMES_OF_TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];
/// Keywords of a parameter's schema.
const SCHEMA: [&str; 14] = [
    "type", "description", "title", "enum", "items", "format", "default", "example", "examples", "pattern", "minLength",
    "maxLength", "minimum", "maximum",
];
/// Keywords for several alternative types.
const UNIONS: [&str; 2] = ["anyOf", "oneOf"];
/// A description of fewer words and without a full stop may be a usual value.
const SENTENCE_WORDS: usize = 4;

/// This many consecutive lines of a description are an example.
const EXAMPLE_LINES: usize = 3;

/// What a value looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The parameter's own name in brackets, or its description.
    Own,
    /// Several words in brackets, outside pieces of text and patterns: `<reply text>`.
    Blank,
    /// An ellipsis, or words in brackets that describe a value.
    Described,
    /// The parameter's own name, or a word such as `value` or `string`. A real value if it is the only one.
    Bare,
    /// A value.
    Real,
}

/// Whether `arguments` only show the form of a call of this tool. `given` holds their values, parsed.
pub(crate) fn are_placeholders(arguments: &str, given: &Map<String, Value>, tool: &Tool) -> bool {
    if arguments.len() > PLACEHOLDER_BYTES {
        return false;
    }
    let view = View::of(Some(tool));
    if given.get("properties").is_some_and(|own| Some(own) == view.root().keyword("properties")) {
        return true; // a copy of the tool's schema
    }
    let required = |key: &str| view.root().required().any(|required| required == key);
    let described = |key: &str, value: &Value| {
        let description = view.root().property(key).keyword("description").and_then(Value::as_str);
        let sentence = |text: &&str| text.ends_with('.') || text.split_whitespace().nth(SENTENCE_WORDS - 1).is_some();
        let Some(description) = description.map(str::trim) else { return false };
        value
            .as_str()
            .is_some_and(|value| (value.trim() == description && sentence(&description)) || is_example_of(value, description))
    };
    let echoed = |key: &str, value: &Value| {
        let place = view.root().property(key);
        is_schema(value) && place.allows(Types::OBJECT) == Some(false)
    };
    let own = |key: &str, value: &Value| described(key, value) || echoed(key, value);
    let texts = |(key, value)| if own(key, value) { vec![(key, Kind::Own)] } else { texts(key, value) };
    let kinds: Vec<(&str, Kind)> = given.iter().map(|(key, value)| (key.as_str(), value)).flat_map(texts).collect();
    let proves = |(key, kind): &(&str, Kind)| match kind {
        Kind::Own | Kind::Blank => required(key),
        Kind::Described => required(key) && Role::of(key, true).path,
        Kind::Bare | Kind::Real => false,
    };
    let all = match kinds.as_slice() {
        [] | [(_, Kind::Bare)] => false,
        kinds => kinds.iter().all(|(_, kind)| *kind != Kind::Real),
    };
    all || kinds.iter().any(proves)
}

/// Whether a text is the example in a description: it begins with consecutive lines of it and has at most one line of its own.
fn is_example_of(text: &str, description: &str) -> bool {
    let lines =
        |text: &'_ str| text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (text, description) = (lines(text), lines(description));
    let same = |at: usize| text.iter().zip(&description[at..]).take_while(|(one, other)| one == other).count();
    let longest = (0..description.len()).map(same).max().unwrap_or_default();
    longest >= EXAMPLE_LINES && text.len() <= longest + 1
}

/// Whether a value is the schema of a parameter and contains no value for it.
fn is_schema(value: &Value) -> bool {
    let Value::Object(members) = value else { return false };
    let named = members.get("type").and_then(Value::as_str).is_some_and(|name| NAMES_OF_TYPES.contains(&name));
    let is_union =
        UNIONS.iter().any(|union| members.get(*union).and_then(Value::as_array).is_some_and(|of| of.iter().any(is_schema)));
    (named || is_union) && members.keys().all(|key| SCHEMA.contains(&key.as_str()) || UNIONS.contains(&key.as_str()))
}

/// Whether a text is several plain words.
fn is_phrase(text: &str) -> bool {
    text.contains(' ') && text.split(' ').all(|word| word.chars().all(char::is_lowercase) && !word.is_empty())
}

/// What the strings of one argument look like.
fn texts<'k>(key: &'k str, value: &Value) -> Vec<(&'k str, Kind)> {
    match value {
        Value::String(text) => vec![(key, kind(key, text.trim()))],
        Value::Array(items) => items.iter().flat_map(|item| texts(key, item)).collect(),
        Value::Object(_) => vec![(key, Kind::Real)],
        _ => Vec::new(),
    }
}

/// What a string looks like as the value of this parameter.
fn kind(key: &str, text: &str) -> Kind {
    // No placeholder can be a path.
    let holds_path = Role::of(key, true).path;
    // Markup, or a part of a pattern.
    let is_pattern = Role::of(key, true).pattern;
    let holds_tags = is_text(key) || is_pattern || Role::of(key, true).command;
    let key = fold(key);
    let own = |text: &str| !key.is_empty() && fold(text) == key;
    if matches!(text, "..." | "\u{2026}") {
        return Kind::Described;
    }
    // Common in documentation for a path or a name.
    if holds_path && ["/path/to/", "path/to/", "C:\\path\\to\\"].iter().any(|begin| text.starts_with(begin)) {
        return Kind::Bare;
    }
    let word = text.trim_end_matches(['.', '!']);
    let upper = word.strip_prefix("YOUR_").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
    let lower = word.strip_prefix("your_").or_else(|| word.strip_prefix("your ")).is_some_and(|rest| rest.ends_with("here"));
    if upper || lower {
        return Kind::Described;
    }
    // A template variable: with the parameter's own name, or in the place of a path.
    let inside = |open: &str, close: &str| text.strip_prefix(open).and_then(|text| text.strip_suffix(close));
    if let Some(inner) = inside("{{", "}}").or_else(|| inside("${", "}")) {
        return match inner.chars().all(|c| c.is_alphanumeric() || " _.".contains(c)) {
            true if own(inner) => Kind::Own,
            true if holds_path => Kind::Described,
            _ => Kind::Real,
        };
    }
    if let Some(inner) = inside("<", ">").or_else(|| inside("{", "}")).or_else(|| inside("[", "]")) {
        let words = !inner.is_empty() && inner.chars().all(|c| c.is_alphanumeric() || " _-.".contains(c));
        let tag = text.starts_with('<');
        return match words {
            true if own(inner) => Kind::Own,
            true if !holds_tags && (tag || inner.starts_with("your ")) && is_phrase(inner) => Kind::Blank,
            true if fold(inner).contains(&key) && !key.is_empty() => Kind::Described,
            true if tag && !is_pattern && (ANY.contains(&inner) || inner.contains([' ', '_'])) => Kind::Described,
            _ if inner == "..." => Kind::Described,
            _ => Kind::Real,
        };
    }
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match (ANY.contains(&word), rest) {
        (true, "(required)" | "(optional)") => Kind::Described,
        (true, "") if holds_path && word != "value" => Kind::Described,
        (true, "") => Kind::Bare,
        _ if own(text) => Kind::Bare,
        _ => Kind::Real,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows_a_form(arguments: &str) -> bool {
        let schema = r#"{"type":"object","properties":{"path":{"type":"string","description":"Where the file is."},"old_text":{"type":"string","description":"text"},"tags":{"type":"array"},"blocks":{"type":"string","description":"Blocks of this form:\n<<<<\n// old\n====\n// new\n>>>>\nSeveral may follow."}},"required":["path","blocks"]}"#;
        are_placeholders(arguments, &serde_json::from_str(arguments).unwrap(), &Tool::new("edit", "", schema))
    }

    #[test]
    fn values_that_stand_for_values() {
        for arguments in [
            r#"{"path": "..."}"#,
            r#"{"path": "<path>", "old_text": "<p>"}"#,
            r#"{"path": "<file_path>", "old_text": "a"}"#,
            r#"{"path": "{path}"}"#,
            r#"{"path": "<string>", "tags": ["<string>"]}"#,
            r#"{"path": "value", "old_text": "value"}"#,
            r#"{"path": "path", "old_text": "old_text"}"#,
            r#"{"path": "string", "old_text": "a"}"#,
            r#"{"path": "{{ path }}", "old_text": "a"}"#,
            r#"{"path": "${file}"}"#,
            r#"{"old_text": "{{old_text}}", "tags": ["${tags}"]}"#,
            r#"{"path": "string (required)"}"#,
            r#"{"old_text": "string", "tags": ["str"]}"#,
            r#"{"old_text": "string", "tags": "array"}"#,
            r#"{"old_text": "<insert the text here>"}"#,
            r#"{"path": "Where the file is.", "old_text": "a"}"#,
            r#"{"path": "/path/to/file.txt", "old_text": "your text here"}"#,
            r#"{"path": {"type": "string"}}"#,
            r#"{"path": {"type": "string", "description": "Where"}, "old_text": "a"}"#,
            r#"{"path": {"anyOf": [{"type": "string"}, {"type": "null"}]}}"#,
            r#"{"type": "object", "properties": {"path": {"type": "string", "description": "Where the file is."}, "old_text": {"type": "string", "description": "text"}, "tags": {"type": "array"}, "blocks": {"type": "string", "description": "Blocks of this form:\n<<<<\n// old\n====\n// new\n>>>>\nSeveral may follow."}}}"#,
            r#"{"old_text": "YOUR_TEXT"}"#,
            r#"{"path": "a.rs", "blocks": "<<<<\n// old\n====\n// new\n>>>>\n\ndone"}"#,
        ] {
            assert!(shows_a_form(arguments), "{arguments}");
        }
        for arguments in [
            "{}",
            r#"{"tags": []}"#,
            r#"{"path": "a", "old_text": "..."}"#,
            r#"{"path": "a.html", "old_text": "<div>"}"#,
            r#"{"path": "path"}"#,
            r#"{"path": "value"}"#,
            r#"{"path": "a", "old_text": "text"}"#,
            r#"{"path": "a", "old_text": "string"}"#,
            r#"{"path": "a", "old_text": "{{ path }}"}"#,
            r#"{"path": "${workspaceFolder}/a.c"}"#,
            r#"{"old_text": "string"}"#,
            r#"{"path": "string.c", "old_text": "int (required) x"}"#,
            r#"{"path": "[id].tsx", "old_text": "<old_text>x</old_text>"}"#,
            r#"{"old_text": "<path d=\"M0\"/>"}"#,
            r#"{"pattern": "<my_tag>"}"#,
            r#"{"tags": [{"a": "..."}]}"#,
            r#"{"path": "/path/to/file.txt"}"#,
            r#"{"path": "/path/to/file.txt", "old_text": "a"}"#,
            r#"{"path": "your_file.txt"}"#,
            r#"{"path": "a.rs", "blocks": "<<<<\nlet a = 1;\n====\n// new\n>>>>"}"#,
            r#"{"path": {"type": "string", "value": "a"}}"#,
            r#"{"path": "a", "old_text": {"type": "pear"}}"#,
            r#"{"path": {"anyOf": ["a"]}}"#,
            r#"{"path": "a", "properties": {"path": {"type": "string"}}}"#,
            r#"{"path": "a", "old_text": {"type": "string"}}"#,
        ] {
            assert!(!shows_a_form(arguments), "{arguments}");
        }
    }

    #[test]
    fn several_words_in_brackets_are_a_blank() {
        let schema = r#"{"type":"object","properties":{"to":{"type":"string"},"message":{"type":"string"},"html_code":{"type":"string"},"note":{"type":"string"}},"required":["to","message"]}"#;
        let shows = |to: &str, message: &str, more: (&str, &str)| {
            let given = serde_json::json!({"to": to, "message": message, more.0: more.1});
            are_placeholders(&given.to_string(), given.as_object().unwrap(), &Tool::new("send", "", schema))
        };
        assert!(shows("<name of the user>", "Hello", ("note", "a")));
        assert!(shows("ana", "<what you want to say>", ("note", "a")));
        assert!(shows("ana", "[your answer]", ("note", "a")));
        // One word may be an element, and an optional value or markup may be meant.
        assert!(!shows("ana", "<b>", ("note", "a")));
        assert!(!shows("ana", "[see below]", ("note", "a")));
        assert!(!shows("ana", "Hello", ("note", "<any other remark>")));
        assert!(!shows("ana", "Hello", ("html_code", "<input required>")));
    }
}
