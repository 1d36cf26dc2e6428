//! Arguments and attributes in other forms than a family's own.

use super::{Seen, read_beside, text, written};
use crate::event::Tool;

fn read(adapter: &str, text: &str) -> Seen {
    let route = r#"{"type":"object","properties":{"goal":{"type":"string"},"by":{"type":"string"},"stops":{"type":"integer"}},"required":["goal"]}"#;
    read_beside(Tool::new("route", "Finds a route.", route), adapter, text)
}

/// The complete calls of an answer.
fn calls(adapter: &str, text: &str) -> Vec<String> {
    written(&read(adapter, text)).into_iter().filter(|(_, whole)| *whole).map(|(call, _)| call).collect()
}

#[test]
fn attributes_may_be_on_lines_of_their_own() {
    for (tag, want) in [
        ("<note\n  path=\"a.md\"\n  words=\"tea\"\n/>", r#"note {"path":"a.md","words":"tea"}"#),
        ("<note path=\"a.md\"\n      words=\"tea\" />", r#"note {"path":"a.md","words":"tea"}"#),
        ("<note\tpath='a.md'\r\n\twords='a > b'\r\n/>", r#"note {"path":"a.md","words":"a > b"}"#),
        ("<route\n  goal=\"Turku\"\n/>", r#"route {"goal":"Turku"}"#),
        ("<idle\n/>", "idle {}"),
    ] {
        assert_eq!(calls("generic", tag), [want], "{tag}");
    }
    for tag in [
        "<route\nis a tool: goal=\"Turku\" />",
        "<route\n  goal=\"Turku\"\n  and more />",
        "<route\n  goal=\"Turku\"<b>\n/>",
        "<route\n  goal=\"Turku\"by=\"bus\"\n/>",
        "<note\n  path=\"a.md\"\n  words=\"say \"tea\"\"\n/>",
        "<route\n  goal=\"Turku\n/>",
        "<route\n  goal=\"Turku\"\n",
    ] {
        assert_eq!(read("generic", tag), text(tag), "{tag}");
    }
    for begin in ["<invoke\n  name=", "<invoke\nname=", "<invoke\n\tname="] {
        let answer = format!("{begin}\"route\">\n<parameter\n    name=\"goal\"\n>Turku</parameter>\n</invoke>");
        assert_eq!(calls("generic", &answer), [r#"route {"goal":"Turku"}"#], "{answer}");
    }
    let answer = "<tool_call>\n<function=route\n>\n<parameter=goal\n>\nTurku\n</parameter>\n</function>\n</tool_call>";
    assert_eq!(calls("qwen3-coder", answer), [r#"route {"goal":"Turku"}"#]);
}

#[test]
fn a_call_without_a_closing_marker_may_lack_empty_arguments() {
    for (answer, want) in [
        ("[TOOL_CALLS]idle[ARGS]", &["idle "][..]),
        ("[TOOL_CALLS]idle", &[]),
        ("[TOOL_CALLS]idle[ARGS][TOOL_CALLS]idle[ARGS]{}", &["idle ", "idle {}"]),
        ("[TOOL_CALLS]idle[CALL_ID]abcdefghi[ARGS]</s>", &["idle "]),
        // The fixer says that the tool needs some.
        ("[TOOL_CALLS]route[ARGS]</s>", &["route "]),
        ("[TOOL_CALLS]idl", &[]),
        ("[TOOL_CALLS]idle is what I would call.", &[]),
    ] {
        assert_eq!(calls("mistral", answer), want, "{answer}");
    }
    // Where a marker closes a call, its name alone is not one.
    assert!(calls("kimi-k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.idle:0").is_empty());
}

#[test]
fn forms_that_models_mix_are_read() {
    let object = r#"{"goal": "Turku"}"#;
    for answer in [
        format!("I look it up.\n\nroute {object}"),
        format!("I look it up.\n\nroute: {object}"),
        format!("I look it up.\n\nroute\n{object}"),
        format!("route: {object}"),
        format!(">>>route\n{object}"),
        format!("**Tool:** route\n**Arguments:** {object}"),
        format!("[FUNCTION_CALL]{{\"name\": \"route\", \"arguments\": {object}}}[/FUNCTION_CALL]"),
        format!("<|tool_call_begin|>\n{{\"name\": \"route\", \"arguments\": {object}}}\n<|tool_call_end|>"),
        format!("```xml\n{{\"name\": \"route\", \"arguments\": {object}}}\n```"),
        format!("```json tool\n{{\"name\": \"route\", \"arguments\": {object}}}\n```"),
        format!("<use_tool>\n<name>route</name>\n<arguments>{object}</arguments>\n</use_tool>"),
        format!("<call><tool_name>route</tool_name><parameters>{object}</parameters></call>"),
    ] {
        let found = calls("generic", &answer);
        assert!(found.len() == 1 && found[0].replace([' ', ':'], "") == r#"route{"goal""Turku"}"#, "{answer}: {found:?}");
    }
    assert_eq!(
        calls("generic", "<function>\nroute(goal=\"Turku\", stops=5)\n</function>"),
        [r#"route {"goal":"Turku","stops":5}"#]
    );
    for answer in ["I look it up.\n\nroute {\"goal\": \"Tur".to_owned(), "I look it up.\n\nroute {\"stops\": 5}".to_owned()] {
        assert_eq!(read("generic", &answer), text(&answer), "{answer}");
    }
}
