//! Answers that end inside of a call although nothing cut them off.

use super::{only_call, read, read_with, text};
use crate::event::{Tool, ToolChoice, Tools};

#[test]
fn what_stands_around_the_arguments_may_lack_its_end() {
    let call = Some(("lamp {\"on\": true}".to_owned(), true));
    for (adapter, text) in [
        ("hermes", "<tool_call>{\"name\": \"lamp\", \"arguments\": {\"on\": true}"),
        ("hermes", "<tool_call>{\"arguments\": {\"on\": true}, \"name\": \"lamp\""),
        ("hermes", "{\"name\": \"lamp\", \"arguments\": {\"on\": true}"),
        ("hermes", "```json\n{\"name\": \"lamp\", \"arguments\": {\"on\": true}}"),
        ("generic", "{\"tool_calls\": [{\"name\": \"lamp\", \"arguments\": {\"on\": true}}"),
        ("mistral", "[TOOL_CALLS][{\"name\": \"lamp\", \"arguments\": {\"on\": true}"),
        ("mistral", "[TOOL_CALLS]lamp[ARGS]{\"on\": true}"),
        ("kimi-k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.lamp:0<|tool_call_argument_begin|>{\"on\": true}"),
        ("gpt-oss", "<|channel|>commentary to=functions.lamp<|message|>{\"on\": true}"),
    ] {
        assert_eq!(only_call(&read(adapter, false, text)), call, "{adapter}: {text}");
    }
    for (adapter, text) in [
        ("toolace", "[lamp(on=True)"),
        ("llama4", "<|python_start|>[lamp(on=True)"),
        ("qwen3-coder", "<tool_call>\n<function=lamp>\n<parameter=on>\ntrue\n</parameter>\n</function>"),
        ("gemma4", "<|tool_call>call:lamp{on:true}"),
    ] {
        let seen = read(adapter, false, text);
        assert!(only_call(&seen).is_some_and(|(_, whole)| whole), "{adapter}: {seen:?}");
    }
}

#[test]
fn a_marked_call_whose_arguments_are_open_leaves_without_its_end() {
    for (adapter, text, call) in [
        ("hermes", "<tool_call>{\"name\": \"lamp\"", "lamp {"),
        ("hermes", "<tool_call>{\"name\": \"lamp\", \"arguments\": {\"level\": 3", "lamp {\"level\": 3"),
        ("hermes", "<tool_call>{\"name\": \"lamp\", \"on\": true", "lamp {\"on\":true"),
        ("hermes", "<tool_call>{\"name\": \"la", " "),
        ("hermes", "<tool_call>\n{", " "),
        ("mistral", "[TOOL_CALLS]lamp[ARGS]{\"on\"", "lamp {\"on\""),
        ("mistral", "[TOOL_CALLS]la", " "),
        ("kimi-k2", "<|tool_call_begin|>functions.lamp", " "),
        ("qwen3-coder", "<tool_call>\n<function=la", " "),
        ("gemma4", "<|tool_call>call:la", " "),
        ("kimi-k2", "<|tool_call_begin|>functions.la", " "),
        ("glm", "<tool_call>lamp<arg_key>level</arg_key><arg_value>3</arg_value>", "lamp {\"level\":3 "),
    ] {
        // The fixer refuses it unless its arguments prove to be whole.
        assert_eq!(only_call(&read(adapter, false, text)), Some((call.to_owned(), false)), "{adapter}: {text}");
    }
}

#[test]
fn a_closed_value_is_the_last_one_if_no_parameter_is_missing() {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path"]}"#;
    let tools = || Tools::new([Tool::new("save", "", schema)], ToolChoice::Auto);
    let glm = |text: &str| {
        let value = |key: &str, value: &str| format!("<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n");
        format!("<tool_call>save\n{}{}", value("path", "a.txt"), value("text", text))
    };
    let qwen = |text: &str| {
        format!("<tool_call>\n<function=save>\n<parameter=path>\na.txt\n</parameter>\n<parameter=text>\n{text}\n</parameter>\n")
    };
    for (adapter, answer) in [("glm", glm("b")), ("qwen3-coder", qwen("b"))] {
        let call = Some(("save {\"path\":\"a.txt\",\"text\":\"b\"}".to_owned(), true));
        assert_eq!(only_call(&read_with(tools(), adapter, false, &answer)), call, "{answer}");
    }
    let optional = "<tool_call>save\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n";
    // A value of several lines may hold the tag that seems to close it.
    for (adapter, answer) in
        [("glm", glm("b\nc")), ("qwen3-coder", qwen("b\nc")), ("glm", optional.to_owned()), ("glm", glm("b") + "<arg_")]
    {
        let seen = read_with(tools(), adapter, false, &answer);
        assert!(only_call(&seen).is_some_and(|(_, whole)| !whole), "{answer}: {seen:?}");
    }
    // A schema that requires nothing may not name all parameters.
    let loose = Tool::new("save", "", schema.replace(r#","required":["path"]"#, "").as_str());
    let seen = read_with(Tools::new([loose], ToolChoice::Auto), "glm", false, &glm("b"));
    assert!(only_call(&seen).is_some_and(|(_, whole)| !whole), "{seen:?}");
}

/// The model may have meant to write arguments: it is asked again. Where no marker closes calls, nothing is missing after the one
/// that opens the arguments.
#[test]
fn a_name_alone_at_the_end_is_not_complete() {
    let tools = || Tools::new([Tool::new("hours", "", r#"{"type":"object","properties":{}}"#)], ToolChoice::Auto);
    for (adapter, text, call) in [
        ("generic", "✿FUNCTION✿: hours", (" ", false)),
        ("mistral", "[TOOL_CALLS]hours", (" ", false)),
        ("mistral", "[TOOL_CALLS]hours[ARGS]{}", ("hours {}", true)),
        ("mistral", "[TOOL_CALLS]hours[ARGS]", ("hours ", true)),
    ] {
        let seen = read_with(tools(), adapter, false, text);
        assert_eq!(only_call(&seen), Some((call.0.to_owned(), call.1)), "{text}");
    }
}

#[test]
fn an_unmarked_call_whose_arguments_are_open_is_text() {
    for (adapter, unmarked) in [
        ("hermes", "{\"name\": \"lamp"),
        ("hermes", "{\"name\": \"lamp\""),
        ("hermes", "{\"name\": \"lamp\", \"arguments\": {\"on\": true"),
        ("hermes", "```json\n{\"name\": \"lamp\", \"arguments\": {\"on\": true\n"),
        ("generic", "lamp(on=True"),
        ("generic", "<lamp>\n<on>true</on>"),
    ] {
        assert_eq!(read(adapter, false, unmarked), text(unmarked), "{adapter}");
    }
}

#[test]
fn a_marker_that_is_only_spoken_of_is_text() {
    for (adapter, sentence) in [
        ("hermes", "To call a tool the model writes <tool_call>{"),
        ("hermes", "It begins with <tool_call>{\"name\": \"f\", \"arguments\": {"),
        ("mistral", "Mistral models write [TOOL_CALLS]name[ARGS]{...} for a call."),
        ("mistral", "Mistral models write [TOOL_CALLS]name[ARGS]{"),
    ] {
        assert_eq!(read(adapter, false, sentence), text(sentence), "{adapter}");
    }
}

#[test]
fn the_answer_may_end_inside_a_closing_marker() {
    for before in ["", "On my way.\n\n", "I switch it on:\n"] {
        for (adapter, call, close) in [
            ("generic", "<function=lamp>{\"on\": true}", "</function>"),
            ("hermes", "<function=lamp>{\"on\": true}", "</function>"),
            ("generic", "<tool_call>{\"name\": \"lamp\", \"arguments\": {\"on\": true}}", "</tool_call>"),
        ] {
            for length in [0, 2, 5, close.len() - 1, close.len()] {
                let text = format!("{before}{call}{}", &close[..length]);
                let seen = read(adapter, false, &text);
                let calls: Vec<_> = seen.all_calls().map(|call| (call.arguments.as_str(), call.whole)).collect();
                assert_eq!(calls, [("{\"on\": true}", true)], "{adapter}: {text}");
            }
        }
    }
}
