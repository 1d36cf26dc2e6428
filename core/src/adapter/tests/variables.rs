//! Values that are none: names of variables, and lists of tools.

use super::{Seen, read_with, written};
use crate::event::{Tool, ToolChoice, Tools};

fn tools() -> Tools {
    let one = |name: &str, kind: &str| {
        format!(r#"{{"type":"object","properties":{{"{name}":{kind},"days":{{"type":"integer"}}}},"required":["{name}"]}}"#)
    };
    let all = [
        Tool::new("run_command", "Runs a command.", one("command", r#"{"type":"string"}"#)),
        Tool::new("forecast", "Tells the weather.", one("place", r#"{"type":"string"}"#)),
        Tool::new("switch", "Switches a mode.", one("mode", r#"{"enum":["night_mode","day_mode"]}"#)),
        Tool::new("time", "Tells the time.", r#"{"type":"object","properties":{}}"#),
    ];
    Tools::new(all, ToolChoice::Auto)
}

fn whole(adapter: &str, text: &str) -> Vec<String> {
    let seen: Seen = read_with(tools(), adapter, false, text);
    written(&seen).into_iter().filter(|(_, whole)| *whole).map(|(call, _)| call).collect()
}

/// `source: spec core, section 4`: a word where the schema wants text is that text after a marker; without one, only literals count.
#[test]
fn a_word_is_a_text_only_after_a_marker() {
    for (call, want) in [
        ("forecast(place=Turku, days=2)", r#"forecast {"place":"Turku","days":2}"#),
        ("switch(mode=night_mode)", r#"switch {"mode":"night_mode"}"#),
        ("run_command(command=ls)", r#"run_command {"command":"ls"}"#),
    ] {
        assert_eq!(whole("gemma3", &format!("```tool_code\n{call}\n```")), [want], "{call}");
        assert_eq!(whole("llama3", &format!("[{call}]")), Vec::<String>::new(), "{call}");
    }
    // A variable.
    assert_eq!(whole("gemma3", "```tool_code\nrun_command(command=command)\n```"), Vec::<String>::new());
}

#[test]
fn the_brace_of_a_call_in_a_list_may_be_missing() {
    let text = r#"[{"name": "forecast", "arguments": {"place": "Turku", "days": 2}]"#;
    for (adapter, text) in
        [("mistral", format!("[TOOL_CALLS] {text}")), ("mistral", text.to_owned()), ("granite", text.to_owned())]
    {
        assert_eq!(whole(adapter, &text).len(), 1, "{adapter}: {text}");
    }
}

#[test]
fn a_parameter_may_have_the_name_of_a_calls_own_key() {
    let light = r#"{"type":"object","properties":{"name":{"type":"string"},"id":{"type":"integer"}},"required":["name","id"]}"#;
    let note = r#"{"type":"object","properties":{"id":{"type":"integer"},"text":{"type":"string"}},"required":["id","text"]}"#;
    let tools = || Tools::new([Tool::new("light", "", light), Tool::new("note", "", note)], ToolChoice::Auto);
    for (text, want) in [
        ("<tool_call>\nlight\n{\"name\": \"hall\", \"id\": 3}\n</tool_call>", r#"light {"name":"hall","id":3}"#),
        ("<tool_call>\nlight\n{\"id\": 3, \"name\": \"Upper hall\"}\n</tool_call>", r#"light {"id":3,"name":"Upper hall"}"#),
        // The name twice, or the name of a language.
        (
            "<tool_call>\nnote\n{\"name\": \"note\", \"arguments\": {\"id\": 3, \"text\": \"a\"}}\n</tool_call>",
            r#"note {"id":3,"text":"a"}"#,
        ),
        (
            "<tool_call>\njson\n{\"name\": \"note\", \"arguments\": {\"id\": 3, \"text\": \"a\"}}\n</tool_call>",
            r#"note {"id":3,"text":"a"}"#,
        ),
        ("<tool_call>\n{\"name\": \"note\", \"id\": 3, \"text\": \"a\"}\n</tool_call>", r#"note {"id":3,"text":"a"}"#),
    ] {
        let seen = read_with(tools(), "hermes", false, text);
        let calls: Vec<String> =
            written(&seen).into_iter().map(|(call, _)| call.replace("\": ", "\":").replace(", \"", ",\"")).collect();
        assert_eq!(calls, [want], "{text}");
    }
}

#[test]
fn a_byte_order_mark_before_the_arguments_loses_none_of_them() {
    for text in [
        "{\"name\": \"forecast\", \"arguments\": \u{feff}{\n  \"place\": \"Turku\",\n  \"days\": 2\n}}",
        "<tool_call>\n{\"name\": \"forecast\", \u{feff}\"arguments\": {\u{feff}\"place\": \"Turku\", \u{200b}\"days\": 2}}\n</tool_call>",
    ] {
        let seen = read_with(tools(), "hermes", false, text);
        let (call, _) = &written(&seen)[0];
        assert!(call.contains("\"place\"") && call.contains("\"days\""), "{call}");
    }
}
