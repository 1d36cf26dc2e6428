//! What becomes of native calls, alone and beside calls in the text.

use super::*;
use crate::{
    event::{Channel, ToolChoice},
    seen::library,
};

fn answer(choice: ToolChoice) -> Answer {
    let tools = Arc::new(Tools::new([], choice));
    Answer::new(Setup {
        scanner: scanner::Options { argument_bytes: 100, ..scanner::Options::default() },
        ..Setup::new(Arc::clone(&library().find("any", None).adapter), tools, Arc::default())
    })
}

#[test]
fn a_call_of_the_backends_own_is_held_to_the_limit_of_the_configuration() {
    let why = |bytes: usize| {
        let mut answer = answer(ToolChoice::Auto);
        let arguments = serde_json::json!({"text": "x".repeat(bytes)}).to_string();
        let mut out = |_: Event<'_>| {};
        answer.delta(Delta::Call(Call::new(0, "write", &arguments)), &mut out);
        answer.delta(Delta::Finish(FinishReason::ToolCalls), &mut out);
        answer.finish(&mut out).checked[0].report.why.clone()
    };
    assert_eq!((why(50), why(150)), (None, Some(Why::TooLarge(100))));
}

#[test]
fn a_call_of_the_backends_own_that_names_nothing_or_is_excluded_is_none() {
    let checked = |name: &str, choice: ToolChoice| {
        let mut answer = answer(choice);
        let mut out = |_: Event<'_>| {};
        answer.delta(Delta::Call(Call::new(0, name, "{}")), &mut out);
        answer.delta(Delta::Finish(FinishReason::ToolCalls), &mut out);
        answer.finish(&mut out).checked.len()
    };
    assert_eq!(["none", "no_tool", "write"].map(|name| checked(name, ToolChoice::Auto)), [0, 0, 1]);
    assert_eq!(checked("write", ToolChoice::None), 0);
}

type Part = Result<&'static str, (&'static str, &'static str)>;

const THINKS: &str = "thinks: ";

/// The calls and the text that these deltas yield: `Ok` is text (after `THINKS`, reasoning), `Err` a native call.
fn told(parts: &[Part]) -> (Vec<String>, String) {
    let tool = |name: &str| {
        let schema = r#"{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}"#;
        crate::event::Tool::new(name, "", schema)
    };
    let tools = Arc::new(Tools::new([tool("write"), tool("run")], ToolChoice::Auto));
    let mut answer = Answer::new(Setup::new(Arc::clone(&library().find("any", None).adapter), tools, Arc::default()));
    let (mut calls, mut text): (Vec<String>, String) = Default::default();
    let mut out = |event: Event<'_>| match event {
        Event::Call(call) => calls.push(format!("{} {}", call.name, call.arguments)),
        Event::Text(piece) => text.push_str(piece),
        _ => {}
    };
    for part in parts {
        let delta = match part {
            Ok(text) => match text.strip_prefix(THINKS) {
                Some(text) => Delta::Text(Channel::Reasoning, text),
                None => Delta::Text(Channel::Content, text),
            },
            Err((name, arguments)) => Delta::Call(Call::new(0, name, arguments)),
        };
        answer.delta(delta, &mut out);
    }
    answer.delta(Delta::Finish(FinishReason::ToolCalls), &mut out);
    answer.finish(&mut out);
    (calls, text)
}

#[test]
fn a_call_in_the_text_after_a_native_one_counts_unless_it_repeats_that() {
    const RUN: &str = "<tool_call>\n{\"name\":\"run\",\"arguments\":{\"a\":\"x\"}}\n</tool_call>";
    const BARE: &str = r#"{"name":"run","arguments":{"a":"x"}}"#;
    const AGAIN: &str = "<tool_call>\n{\"name\":\"write\",\"arguments\":{\"b\":\"2\\n\",\"a\":\"1\"}}\n</tool_call>";
    const CUT: &str = "<tool_call>\n{\"name\":\"write\",\"arguments\":{\"a\":\"1";
    const DRAFT: &str = "thinks: <tool_call>\n{\"name\":\"run\",\"arguments\":{\"a\":\"x\"}}\n</tool_call>";
    const CUT_OFF: &str = "[toolglot] call of run was not run: its arguments are not complete";
    let native = Err(("write", r#"{"a":"1","b":"2"}"#));
    let leaked = r#"write {"b":"2\n","a":"1"}"#;
    let (write, run) = (r#"write {"a":"1","b":"2"}"#, r#"run {"a":"x"}"#);
    let text = Ok(AGAIN);
    let cases: [(&[Part], &[&str], &str); 20] = [
        (&[Ok(RUN), native], &[run, write], ""),
        (&[native, Ok(RUN)], &[write, run], ""),
        (&[native, Ok(BARE)], &[write, run], ""),
        (&[native, Ok("Now the tests:\n"), Ok(RUN)], &[write, run], "Now the tests:"),
        (&[native, Ok(RUN), Err(("run", r#"{"a":"y"}"#))], &[write, run, r#"run {"a":"y"}"#], ""),
        // What the parser has read, and what it has left behind.
        (&[native, Ok(AGAIN)], &[write], ""),
        (&[native, Ok(AGAIN), Ok(RUN)], &[write, run], ""),
        (&[native, Ok(CUT)], &[write], ""),
        (&[native, Ok("\n</tool_call>")], &[write], ""),
        (&[native, Ok(RUN), Err(("run", r#"{"a":"x"}"#))], &[write, run], ""),
        // The model invents the result, and continues from there.
        (&[native, Ok("<tool_response>\nok\n</tool_response>\n"), Ok(RUN)], &[write], ""),
        // A draft in the reasoning of a backend that tells reasoning apart.
        (&[native, Ok(DRAFT), Err(("run", r#"{"a":"y"}"#))], &[write, r#"run {"a":"y"}"#], ""),
        (&[native, Ok(DRAFT)], &[write], ""),
        // Two equal native calls are two calls, also if one of them has leaked.
        (&[native, native], &[write, write], ""),
        (&[text, native, native], &[leaked, write], ""),
        (&[native, text, native], &[write, write], ""),
        // The parser's own copy of a whole call in the text has lost its end.
        (&[Ok(RUN), Err(("run", r#"{"a":"#))], &[run], ""),
        (&[Ok(RUN), Err(("run", ""))], &[run], ""),
        (&[Ok(RUN), Err(("run", r#"{"a":"y"#))], &[run], CUT_OFF),
        // An example is not a call.
        (&[native, Ok("For example, I could write `{\"name\":\"run\",\"arguments\":{\"a\":\"x\"}}` here.")], &[write], ""),
    ];
    for (parts, calls, text) in cases {
        let (came, said) = told(parts);
        assert_eq!((came.iter().map(String::as_str).collect::<Vec<_>>(), said.trim()), (calls.to_vec(), text), "{parts:?}");
    }
}

#[test]
fn what_text_before_a_native_call_is_does_not_depend_on_its_cut() {
    const TEXT: &str =
        "```text  {\"name\":\"run\",\"arguments\":{\"a\":\"x\"}}{\"name\":\"run\",\"arguments\":{\"a\":\"x\"}}\n\n&lt;";
    let native = Err(("write", r#"{"a":"1"}"#));
    let whole = told(&[Ok(TEXT), native]);
    for cut in 1..TEXT.len() {
        assert_eq!(told(&[Ok(&TEXT[..cut]), Ok(&TEXT[cut..]), native]), whole, "at {cut}");
    }
}
