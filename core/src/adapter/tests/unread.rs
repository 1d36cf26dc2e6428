//! Calls in a form so damaged that no reader takes them: the model is asked, and what it wrote is not lost.

use std::sync::Arc;

use super::{HERMES_CALL, written};
use crate::{
    adapter::{
        Scanner,
        scanner::{MayAsk, Options},
    },
    event::{Channel, FinishReason, Tool, ToolChoice, Tools},
    seen::{Seen, library, schemas},
};

fn read(adapter: &str, may_ask: MayAsk, text: &str) -> Seen {
    let lamp = Tool::new("lamp", "", r#"{"type":"object","properties":{"on":{"type":"boolean"},"label":{"type":"string"}}}"#);
    let tools = Arc::new(Tools::new([lamp], ToolChoice::Auto));
    let read = |pieces: &mut dyn Iterator<Item = String>| {
        let options = Options { may_ask, ..Options::default() };
        let mut scanner = Scanner::new(Arc::clone(library().get(adapter).unwrap()), Arc::clone(&tools), schemas(), options);
        let mut seen = Seen::default();
        for piece in pieces {
            scanner.push(Channel::Content, &piece, &mut seen);
        }
        scanner.finish(FinishReason::Stop, &mut seen);
        seen.sound()
    };
    let whole = read(&mut std::iter::once(text.to_owned()));
    assert_eq!(whole, read(&mut text.chars().map(String::from)), "{adapter}: {text}");
    whole
}

#[test]
fn a_damaged_call_after_a_marker_is_asked_about() {
    for (adapter, text) in [
        (
            "kimi-k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.lamp:0<|tool_call_argument_begin|{\"on\": true}<|tool_call_end|>",
        ),
        ("hermes", "<tool_call>\n{\"name\": \"lamp\", \"arguments\": {\"label\": \"join(\"}, {\")\n\"}}\n</tool_call>"),
        (
            "minimax-m2",
            "<minimax:tool_call>\n<invoke name=\"lamp\">>\n<parameter name=\"on\">true</parameter>\n</invoke>\n</minimax:tool_call>",
        ),
        ("granite", "<|tool_call|>[{\"name\": \"lamp\", a\"rguments\": {\"on\": true}}]"),
        ("generic", "[{\"name\": \"lamp\", \"arguments\": {\"on\": true}}\\]"),
        ("generic", "```json\n{\"name\": \"lamp\", \"arguments\": {[\"on\": true, \"label\": \"a\"}}\n```"),
    ] {
        let seen = read(adapter, MayAsk::Now, text);
        assert_eq!((seen.refused(), written(&seen).len(), seen.text().as_str()), (1, 0, ""), "{adapter}: {text}: {seen:?}");
    }
}

#[test]
fn where_nobody_can_be_asked_it_is_text() {
    let text = "[{\"name\": \"lamp\", \"arguments\": {\"on\": true}}\\]";
    assert_eq!(read("generic", MayAsk::Never, text).text(), text);
}

#[test]
fn what_only_names_a_tool_is_text() {
    for text in [
        "lamp takes on and label.",
        "<tool_call> is followed by the name, such as lamp, and by what is on.",
        "[lamp](http://example.com/on) is a link.",
        "[\"lamp\", \"on\"]",
        "{\"name\": \"lamp\", \"description\": \"on or off\", \"parameters\": {\"on\": \"boolean\"}}",
        "{\"name\": \"lamp\", \"arguments\": {\"on\": true",
        "The form is broken:\n\n```json\n{\"name\": \"lamp\", \"arguments\": {[\"on\": true}}\n```",
        "```python\nlamp[on(\n```",
    ] {
        for adapter in ["hermes", "generic"] {
            let seen = read(adapter, MayAsk::Now, text);
            assert_eq!((seen.text().as_str(), seen.refused()), (text, 0), "{adapter}: {text}");
        }
    }
}

#[test]
fn the_end_of_the_answer_may_truncate_the_closing_fence() {
    let call = "```json\n{\"name\": \"lamp\", \"arguments\": {\"on\": true}}\n";
    for fence in ["", "`", "``", "```"] {
        let seen = read("generic", MayAsk::Never, &format!("{call}{fence}"));
        assert_eq!((written(&seen).len(), seen.text().as_str()), (1, ""), "{fence}: {seen:?}");
    }
    let other = format!("{call}~~");
    assert_eq!(read("generic", MayAsk::Never, &other).text(), other);
    assert_eq!(written(&read("hermes", MayAsk::Never, HERMES_CALL)).len(), 1);
}
