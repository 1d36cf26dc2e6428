//! Text in place of the arguments. It is the value of the one parameter that the tool requires, or, where the prompt asks for elements,
//! of the first parameter of a tool that requires none (`<ls_dir>src</ls_dir>`: Qwen2.5-Coder 1.5B in Void).

use serde_json::Value;

use crate::{
    adapter::syntax::{
        assignments::key,
        members::object,
        typing::{Hint, argument, parameter},
    },
    event::Tool,
    fix::View,
};

/// The arguments as JSON text. `None`: the tool does not require exactly one text, or this text is something else.
pub(in crate::adapter::syntax) fn arguments(text: &str, tool: &Tool, lenient: bool) -> Option<String> {
    let tagged = text.trim_start().starts_with(['<', '{', '[', '(']) || text.contains("</") || text.contains("```");
    if tagged { None } else { self::text(text, tool, lenient) }
}

/// The same, for text that may have brackets.
pub(super) fn text(text: &str, tool: &Tool, lenient: bool) -> Option<String> {
    let (text, view) = (text.trim(), View::of(Some(tool)));
    let parameters = view.root();
    let mut required = parameters.required();
    let only = match (required.next(), required.next()) {
        (Some(only), None) => only,
        (None, _) if lenient => parameters.keys().next()?,
        _ => return None,
    };
    let takes_text = parameter(parameters, only).is_known() && parameter(parameters, only).may_be(&Value::from(text));
    // Other parameters may be among several lines.
    let lines = text.contains('\n') && parameters.keys().nth(1).is_some();
    if text.is_empty() || !takes_text || lines || key(text, parameters).is_some() {
        return None;
    }
    Some(object(&[(only.to_owned(), argument(parameters, only, text, Hint::None))]))
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
            (more, "", None),
            (two, "3, 4", None),
            (number, "x", None),
        ] {
            assert_eq!(arguments(text, &Tool::new("f", "", schema), false).as_deref(), want, "{text}");
        }
    }
}
