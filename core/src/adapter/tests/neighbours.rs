//! Several calls of which one is damaged: the others arrive, and nothing of one becomes part of another.

use super::read_with;
use crate::{
    event::{FinishReason, Tool, ToolChoice, Tools},
    fix::{End, Schemas, Verdict, fix},
};

fn tools() -> Tools {
    let ship = r#"{"type":"object","properties":{"to":{"type":"string"},"box":{"type":"object"},"fast":{"type":"boolean"}},"required":["to"]}"#;
    let note = r#"{"type":"object","properties":{"text":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},"required":["text"]}"#;
    Tools::new([Tool::new("ship", "", ship), Tool::new("note", "", note)], ToolChoice::Auto)
}

/// The calls that leave the fixer.
fn delivered(adapter: &str, text: &str) -> Vec<String> {
    let (tools, schemas) = (tools(), Schemas::default());
    let seen = read_with(tools.clone(), adapter, false, text);
    let fixed = seen.all_calls().filter_map(|call| {
        let tool = tools.get(&call.name)?;
        let end = if call.whole { End::Closed } else { End::Cut(FinishReason::Stop) };
        let report = fix(&call.arguments, Some(&schemas.get(tool.checked_schema())), &[], end);
        // A guess is asked about.
        let sure = report.accepted().filter(|_| report.verdict != Verdict::Guess)?;
        let arguments: serde_json::Value = serde_json::from_str(sure).ok()?;
        Some(format!("{} {arguments}", call.name))
    });
    fixed.collect()
}

#[test]
fn the_last_brace_may_be_missing() {
    for (adapter, text) in [
        (
            "hermes",
            "<tool_call>\n{\"name\": \"ship\", \"arguments\": {\"to\": \"Turku\", \"box\": {\"w\": 1, \"fast\": true}}\n</tool_call>",
        ),
        ("llama3", "{\"name\": \"ship\", \"parameters\": {\"to\": \"Turku\", \"box\": {\"w\": 1, \"fast\": true}}"),
        ("mistral", "[TOOL_CALLS][{\"name\": \"ship\", \"arguments\": {\"to\": \"Turku\", \"box\": {\"w\": 1, \"fast\": true}}]"),
    ] {
        assert_eq!(delivered(adapter, text), [r#"ship {"to":"Turku","box":{"w":1,"fast":true}}"#], "{adapter}: {text}");
    }
}

#[test]
fn a_python_string_holds_no_other_call() {
    let text = "[ship(to='Turku, fast=True), note(text='x')]";
    for call in delivered("llama4", text) {
        assert!(call.starts_with("note"), "{call}");
    }
    assert_eq!(delivered("llama4", "[note(text='see ship(to) in the docs')]"), [r#"note {"text":"see ship(to) in the docs"}"#]);
}

#[test]
fn a_value_whose_closing_tag_is_damaged_is_not_delivered() {
    for (adapter, text) in [
        (
            "kimi-k3",
            "<|open|>tools<|sep|><|open|>call tool=\"note\" index=\"1\"<|sep|><|open|>argument key=\"text\" type=\"string\"<|sep|>x<|close|argument<|sep|><|open|>argument key=\"tags\" type=\"array\"<|sep|>[\"c\"]<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
        ),
        (
            "qwen3-coder",
            "<function=note>\n<parameter=text>\nx\n</paramter>\n<parameter=tags>\n[\"c\"]\n</parameter>\n</function>",
        ),
    ] {
        assert_eq!(delivered(adapter, text), [""; 0], "{adapter}");
    }
}
