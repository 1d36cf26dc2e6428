//! Text in place of the arguments. It is the value of the one parameter that the tool requires.

use serde_json::Value;

use crate::{
    adapter::syntax::{
        assignments::key,
        members::{members, object},
        typing::{Hint, argument, has, only_required, parameter},
    },
    event::Tool,
    fix::{Place, View},
};

/// The text before a closing tag of the name: `ls</function>`.
pub(super) fn without_tag(text: &str) -> &str {
    text.trim_end().strip_suffix("</function>").unwrap_or(text)
}

/// The arguments as JSON text. `None`: the tool does not require exactly one text, or this text is something else.
pub(in crate::adapter::syntax) fn arguments(text: &str, tool: &Tool) -> Option<String> {
    let tagged = text.trim_start().starts_with(['<', '{', '[', '(']) || text.contains("</") || text.contains("```");
    if tagged { None } else { self::text(text, tool) }
}

/// The same, for text that may have brackets.
pub(super) fn text(text: &str, tool: &Tool) -> Option<String> {
    let (text, view) = (text.trim(), View::of(Some(tool)));
    let parameters = view.root();
    let only = only_required(parameters)?;
    let takes_text = parameter(parameters, only).is_known() && parameter(parameters, only).may_be(&Value::from(text));
    // Other parameters may be among several lines.
    let lines = text.contains('\n') && parameters.keys().nth(1).is_some();
    if text.is_empty() || !takes_text || lines || key(text, parameters).is_some() || holds_arguments(text, parameters) {
        return None;
    }
    Some(object(&[(only.to_owned(), argument(parameters, only, text, Hint::None))]))
}

/// Whether a text contains an object with a parameter of the tool: that may be the arguments, or a part of the text.
fn holds_arguments(text: &str, parameters: Place<'_>) -> bool {
    let object = text.find('{').and_then(|at| members(text.get(at..=text.rfind('}')?)?));
    object.is_some_and(|members| members.iter().any(|(key, _)| has(parameters, key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_one_required_parameter() {
        let one = r#"{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}"#;
        let more =
            r#"{"type":"object","properties":{"command":{"type":"string"},"n":{"type":"integer"}},"required":["command"]}"#;
        let two = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}"#;
        let number = r#"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}"#;
        for (schema, text, want) in [
            (one, "\nls -l\n", Some(r#"{"command":"ls -l"}"#)),
            (one, "cd a\nls", Some(r#"{"command":"cd a\u000als"}"#)),
            (more, "rm -rf build", Some(r#"{"command":"rm -rf build"}"#)),
            (more, "ls\n5000", None),
            (more, "command: ls", None),
            (more, "<command>ls", None),
            (more, "ls</command>", None),
            (one, "awk '{print $1}' a", Some(r#"{"command":"awk '{print $1}' a"}"#)),
            (one, r#"call_1 {"command": "ls"}"#, None),
            (more, "", None),
            (two, "3, 4", None),
            (number, "x", None),
        ] {
            assert_eq!(arguments(text, &Tool::new("f", "", schema)).as_deref(), want, "{text}");
        }
        assert_eq!(without_tag("ls\n</function>\n"), "ls\n");
    }
}
