//! Calls that are not the answer's: in thoughts that the adapter does not know, in examples, in repeated results, in turns that
//! the model plays on its own.

use std::sync::Arc;

use super::{MayAsk, Options, Scanner, Seen, only_call, read, text, written};
use crate::{
    adapter::{Adapter, Inside},
    event::{Channel, FinishReason, Tool, ToolChoice, Tools},
    seen::{library, schemas},
};

const CALL: &str = "<tool_call>\n{\"name\": \"lamp\", \"arguments\": {\"on\": true}}\n</tool_call>";

#[test]
fn a_draft_in_closed_reasoning_is_none_in_any_adapter() {
    let parses =
        |adapter: &Adapter| adapter.framing.reasoning.as_ref().is_some_and(|region| region.tool_call_inside == Inside::Parse);
    for adapter in library().iter().filter(|adapter| !parses(adapter)) {
        for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<scratchpad>", "</scratchpad>")] {
            for begin in ["", "Well.\n"] {
                let answer = format!("{begin}{open}\nI could write {CALL} but no.\n{close}\n\nIt stays dark.");
                let seen = read(&adapter.name, false, &answer);
                assert!(written(&seen).is_empty(), "{}: {answer:?} became {seen:?}", adapter.name);
                assert!(seen.text().ends_with("It stays dark."), "{}: {seen:?}", adapter.name);
            }
        }
    }
}

#[test]
fn what_is_around_a_call_that_is_not_meant_stays_text() {
    for answer in [
        format!("Well <think>maybe {CALL} no</think>No."),
        format!("<tool_response>\n{CALL}\n</tool_response>\nThat was the result."),
        format!("> {}\n\nThat was it.", CALL.replace('\n', "")),
        "> See: <tool_call>{\"name\": \"lamp\", \"arguments\": {}}</tool_call>".to_owned(),
    ] {
        assert_eq!(read("hermes", false, &answer), text(&answer), "{answer}");
    }
    // After it, or with nothing but calls after its beginning, a call is one.
    for answer in [format!("<plan>\nLight.\n</plan>\n{CALL}"), format!("<thinking>Light it.\n\n{CALL}"), CALL.to_owned()] {
        assert_eq!(written(&read("hermes", false, &answer)), [("lamp {\"on\": true}".to_owned(), true)], "{answer}");
    }
}

#[test]
fn what_the_model_plays_after_its_turn_is_no_answer() {
    let is_done = |seen: &Seen| written(seen).is_empty() && seen.text() == "Done.";
    for (adapter, answer) in [
        ("hermes", format!("Done.<|im_end|>\n<|im_start|>user\nLight it<|im_end|>\n<|im_start|>assistant\n{CALL}")),
        ("hermes", format!("Done.<|im_end|>\n<|im_start|>tool\n{CALL}<|im_end|>")),
        ("llama3", format!("Done.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nLight it<|eot_id|>{CALL}")),
        ("gemma3", format!("Done.<end_of_turn>\n<start_of_turn>user\nLight it<end_of_turn>\n{CALL}")),
        ("mistral", "Done.</s>[INST] Light it [/INST][TOOL_CALLS]lamp[ARGS]{\"on\": true}".to_owned()),
        ("glm", format!("Done.<|user|>\nLight it<|assistant|>\n{CALL}")),
        (
            "gemma4",
            "Done.<turn|>\n<|turn>user\nLight it<turn|>\n<|turn>model\n<|tool_call>call:lamp{on:true}<tool_call|>".to_owned(),
        ),
        ("kimi-k2", format!("Done.<|im_end|><|im_user|>user<|im_middle|>Light it<|im_end|>{CALL}")),
        ("llama4", "Done.<|eot|><|header_start|>user<|header_end|>\n\nLight it<|eot|>[lamp(on=true)]".to_owned()),
        ("gpt-oss", format!("<|channel|>final<|message|>Done.<|end|><|start|>user<|message|>Light it<|end|>{CALL}")),
        ("deepseek-v3.1", format!("Done.<｜end▁of▁sentence｜><｜User｜>Light it</think>{CALL}")),
        ("minimax-m2", format!("Done.[e~[\n]~b]user\nLight it[e~[\n]~b]ai\n{CALL}")),
    ] {
        let seen = read(adapter, false, &answer);
        assert!(is_done(&seen), "{adapter}: {answer:?} became {seen:?}");
    }
    let calls = format!("{CALL}<|im_end|>\n<|im_start|>tool\n{{\"ok\": 1}}<|im_end|>");
    assert!(only_call(&read("hermes", false, &calls)).is_some());
    // A result after a call is made up, and so is whatever it holds.
    for end in ["", "\n</tool_response>", "\n</tool_response>\nIt is lit."] {
        let answer = format!("{CALL}\n<tool_response>\n{}{end}", CALL.replace("true", "false"));
        assert!(only_call(&read("hermes", false, &answer)).is_some(), "{answer}");
    }
    for (adapter, begin) in [
        ("mistral", "[TOOL_RESULTS] ok [/TOOL_RESULTS]"),
        ("deepseek-v3.1", "<｜tool▁outputs▁begin｜>ok<｜tool▁outputs▁end｜>"),
        ("glm", "<|observation|>\nok\n"),
    ] {
        let answer = format!("{CALL}{begin}{}", CALL.replace("true", "false"));
        assert!(only_call(&read(adapter, false, &answer)).is_some(), "{adapter}: {answer}");
    }
    let gemma = |on: bool| format!("<|tool_call>call:lamp{{on:{on}}}<tool_call|>");
    let answer = format!("{}<|tool_response>response:lamp{{}}<tool_response|>{}", gemma(true), gemma(false));
    assert_eq!(written(&read("gemma4", false, &answer)).len(), 1);
    assert!(is_done(&read("mistral", false, &format!("Done.</s>[TOOL_RESULTS]ok[/TOOL_RESULTS]{CALL}"))));
    assert!(is_done(&read("glm", false, &format!("Done.<|observation|>\nok\n{CALL}"))));
    // In code and in a line it is spoken of.
    let prose = "A turn begins with `<|im_start|>user`, as in:\n```\n<|im_start|>user\nHello\n```\n";
    assert_eq!(read("generic", false, prose), text(prose));
}

#[test]
fn inline_code_that_a_limit_cut_holds_no_call() {
    let text = "Calling `<tool_call>{\"name\": \"lamp\", \"arguments\": {\"on\": true}}</tool_call>";
    for (reason, calls) in [(FinishReason::Length, 0), (FinishReason::Stop, 1)] {
        let tool = Tool::new("lamp", "", r#"{"type":"object","properties":{"on":{"type":"boolean"}}}"#);
        let tools = Arc::new(Tools::new([tool], ToolChoice::Auto));
        let adapter = Arc::clone(library().get("hermes").unwrap());
        let mut scanner = Scanner::new(adapter, tools, schemas(), Options::default());
        let mut seen = Seen::default();
        scanner.push(Channel::Content, text, &mut seen);
        scanner.finish(reason, &mut seen);
        assert_eq!(written(&seen).len(), calls, "{reason:?}: {seen:?}");
    }
}

/// source: recorded qwen2.5-coder-1.5b llama.cpp 2026-11-28 (a finished turn of the bench, asked about a tool `.._result`).
#[test]
fn the_tag_of_a_result_is_no_unknown_tool() {
    let schema = r#"{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"]}"#;
    let result = "<read_file_result>\nOne line.\n</read_file_result>";
    for answer in [result.to_owned(), format!("```\n{result}\n```"), format!("```xml\n{result}\n```")] {
        let tools = Tools::new([Tool::new("read_file", "", schema)], ToolChoice::Auto);
        let options = Options { elements: true, may_ask: MayAsk::Now, ..Options::default() };
        let mut scanner = Scanner::new(Arc::clone(library().get("generic").unwrap()), Arc::new(tools), schemas(), options);
        let mut seen = Seen::default();
        scanner.push(Channel::Content, &answer, &mut seen);
        scanner.finish(FinishReason::Stop, &mut seen);
        assert_eq!(seen, text(&answer));
    }
}
