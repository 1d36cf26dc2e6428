//! Calls that a value quotes: a file that documents calls, data, a call of a tool that is not offered.

use super::{Tool, ToolChoice, Tools, read, read_with, text, written};
use crate::seen::library;

/// Calls whose text has no character that JSON escapes, so that a string quotes them as they are.
const QUOTED: [&str; 4] = [
    "<tool_call>lamp<arg_key>on</arg_key><arg_value>true</arg_value></tool_call>",
    "<tool_call><function=lamp><parameter=on>true</parameter></function></tool_call>",
    "<function=lamp>{}</function>",
    "<|python_tag|>lamp.call(on=True)",
];

#[test]
fn a_string_of_a_value_that_is_no_call_is_content() {
    for adapter in library().iter() {
        for quoted in QUOTED {
            for answer in [
                format!("{{\"title\": \"lamps\", \"body\": \"first\\n{quoted}\\nlast\"}}"),
                format!("{{\"name\": \"save\", \"arguments\": {{\"text\": \"first\\n{quoted}\\nlast\"}}}}"),
                format!("{{\"name\": \"save\", \"arguments\": {{\"text\": \"first\\n{quoted}\\n"),
                format!("save(text=\"first\\n{quoted}\\n"),
            ] {
                let seen = read(&adapter.name, false, &answer);
                assert!(written(&seen).is_empty(), "{}: {answer:?} became {seen:?}", adapter.name);
            }
        }
    }
}

#[test]
fn a_call_after_a_value_is_one() {
    let call = "<tool_call>\n{\"name\": \"lamp\", \"arguments\": {\"on\": true}}\n</tool_call>";
    for before in ["{\"title\": \"lamps\"}", "{\"title\": \"a", "[it's", "{it's", "f(x, \"y"] {
        let seen = read("hermes", false, &format!("{before}\n{call}"));
        assert_eq!(written(&seen).len(), 1, "{before:?}: {seen:?}");
    }
}

#[test]
fn a_string_quotes_the_markers_of_the_family_itself() {
    for (family, quoted) in [
        (
            "kimi-k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.lamp:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
        ),
        ("lfm2", "<|tool_call_start|>[lamp(on=True)]<|tool_call_end|>"),
        ("gemma4", "<|tool_call>call:lamp{on:true}<tool_call|>"),
    ] {
        for before in ["[\"", "{\"text\": \"", "{\"text\": \"so: "] {
            let seen = read(family, false, &format!("{before}{quoted}"));
            assert!(written(&seen).is_empty(), "{before}{quoted} became {seen:?}");
        }
    }
}

#[test]
fn a_control_token_in_a_string_is_text_where_the_string_goes_on() {
    let answer = "{\"eos_token\": \"<|im_end|>\", \"pad\": 0}";
    let seen = read("hermes", false, answer);
    assert_eq!(seen, text(answer));
    let seen = read("hermes", false, "{\"title\": \"lamps<|im_end|>");
    assert_eq!(seen, text("{\"title\": \"lamps"));
}

#[test]
fn a_call_between_quotes_is_spoken_of() {
    let call = "<tool_call>{\"name\": \"lamp\", \"arguments\": {\"on\": true}}</tool_call>";
    for answer in [
        format!("The model wrote \"{call}\" and stopped."),
        format!("The string '{call}' is searched for."),
        format!("It is “{call}”, as documented."),
        format!("The form is `\n{call}`").replace("`\n", "`"),
        format!("s = '''{call}'''\nprint(s)"),
    ] {
        let seen = read("hermes", false, &answer);
        assert!(written(&seen).is_empty(), "{answer:?} became {seen:?}");
    }
    for answer in [
        format!("\"{call}\""),
        format!("Sure.{call}Done."),
        format!("I call it: {call} It is done."),
        format!("It's {call}"),
        format!("I cannot see it, so I call {call}"),
        format!("{call}, {call}").replacen("true", "false", 1),
    ] {
        let seen = read("hermes", false, &answer);
        assert!(!written(&seen).is_empty(), "{answer:?} became {seen:?}");
    }
}

#[test]
fn entities_in_a_value_are_content_where_other_quotes_delimit_it() {
    let schema = r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;
    let show = || Tools::new([Tool::new("show", "", schema)], ToolChoice::Auto);
    let shown = |answer: &str| written(&read_with(show(), "hermes", false, answer));
    let kept = shown("<tool_call>{'name': 'show', 'arguments': {'text': '&lt;i&gt; &quot;y&quot;'}}</tool_call>");
    assert!(kept[0].0.contains("&quot;y&quot;"), "{kept:?}");
}

#[test]
fn a_token_of_a_call_that_a_sentence_or_code_names_is_text() {
    for adapter in ["generic", "gemma3", "hermes", "llama3"] {
        for token in ["<|python_tag|>", "<|tool_call|>", "<｜tool▁calls▁begin｜>", "<|channel|>final<|message|>"] {
            for answer in
                [format!("It begins with {token} then."), format!("It prints \"{token}\"."), format!("    print('{token}')")]
            {
                assert_eq!(read(adapter, false, &answer), text(&answer), "{adapter}");
            }
        }
    }
}
