//! Calls that a value quotes: a file that documents calls, data, a call of a tool that is not offered.

use super::{read, written};
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
                format!("[save(text='first {quoted} "),
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
