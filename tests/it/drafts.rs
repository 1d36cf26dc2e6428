//! Calls that a model drafts while it thinks, or quotes to the user: every family with a reasoning region or with messages that
//! have headers, every pair of its markers, every form that it writes.

use std::sync::Arc;

use serde_json::json;
use toolglot::{
    adapter::{Adapter, Inside, Written, scanner::Options},
    event::{FinishReason, Tool, ToolChoice, Tools},
};

use crate::{
    properties::run_with,
    seen::{Seen, library},
};

fn tools() -> Tools {
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
    Tools::new([Tool::new("run", "", schema.to_string()), Tool::new("wait", "", "{}")], ToolChoice::Auto)
}

fn read(adapter: &Arc<Adapter>, text: &str) -> Seen {
    let tools = Arc::new(tools());
    let whole = run_with(adapter, &Options::default(), [text], FinishReason::Stop, Arc::clone(&tools));
    let letters: Vec<String> = text.chars().map(String::from).collect();
    let cut = run_with(adapter, &Options::default(), letters.iter().map(String::as_str), FinishReason::Stop, tools);
    assert_eq!(whole, cut, "{}: {text:?}", adapter.name);
    whole
}

/// A call as the family writes it, and in the forms that every model slips into.
fn calls(adapter: &Adapter) -> Vec<String> {
    let arguments = json!({"command": "rm -rf build"}).as_object().cloned().unwrap();
    let own = adapter.write(&[Written { name: "run".to_owned(), id: None, arguments }]);
    let object = r#"{"name": "run", "arguments": {"command": "rm -rf build"}}"#;
    let element = "<run>\n<command>rm -rf build</command>\n</run>";
    own.into_iter().chain([format!("<tool_call>{object}</tool_call>"), object.to_owned(), element.to_owned()]).collect()
}

#[test]
fn a_draft_in_closed_reasoning_is_never_a_call() {
    let mut wrong = Vec::new();
    let mut families = 0;
    for adapter in library().iter() {
        let Some(reasoning) = adapter.framing.reasoning.as_ref().filter(|reasoning| reasoning.tool_call_inside != Inside::Parse)
        else {
            continue;
        };
        families += 1;
        for (open, close) in reasoning.open.iter().zip(&reasoning.close) {
            // Where one token closes both, it closes the call.
            for call in calls(adapter).into_iter().filter(|call| !call.ends_with(close.as_str())) {
                for text in [
                    format!("{open}{call}{close}No."),
                    format!("{open}\nI could call\n{call}\n{close}\n\nI would rather not."),
                    format!("{open}Either {call} or {call}, but no.{close}\nI would rather not."),
                    format!("{open}\n{call}\nand that is all.\n"),
                    format!("{open}\n{call}{close}"),
                ] {
                    let seen = read(adapter, &text);
                    if !seen.calls().is_empty() {
                        wrong.push(format!("{}: {text:?}: {:?}", adapter.name, seen.calls()));
                    }
                }
            }
        }
    }
    assert!(families > 30, "only {families} families think");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}

/// The prompt may have opened the reasoning. Where it closes is seen whatever else is before that: code that is left open, the
/// beginning of another call, a result that the model invents.
#[test]
fn a_draft_is_none_where_only_the_end_of_the_reasoning_is_written() {
    let mut wrong = Vec::new();
    for adapter in library().iter() {
        let Some(reasoning) = adapter.framing.reasoning.as_ref().filter(|reasoning| reasoning.tool_call_inside == Inside::AtEnd)
        else {
            continue;
        };
        let call = &calls(adapter)[calls(adapter).len() - 3];
        // A token that ends other things too proves nothing.
        let of_calls =
            |close: &String| adapter.calls.iter().any(|call| call.close.contains(close) || call.section_close.contains(close));
        for close in reasoning.close.iter().filter(|close| !adapter.framing.drop.contains(close) && !of_calls(close)) {
            for after in [
                "No.",
                "```sh\nls",
                "or\n<tool_call>{\"name\": \"run\", \"arguments\": {\"command\": \"ls",
                "<tool_response>done</tool_response>",
            ] {
                let text = format!("I could call\n{call}\n{after}\n{close}\nI would rather not.");
                let seen = read(adapter, &text);
                if !seen.calls().is_empty() {
                    wrong.push(format!("{}: {text:?}: {:?}", adapter.name, seen.calls()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}

#[test]
fn a_family_that_forgets_to_close_its_reasoning_still_calls() {
    for adapter in library().iter() {
        let Some(reasoning) = adapter.framing.reasoning.as_ref().filter(|reasoning| reasoning.tool_call_inside == Inside::AtEnd)
        else {
            continue;
        };
        let text = format!("{}\nIt must go.\n{}\n", reasoning.open[0], calls(adapter)[calls(adapter).len() - 3]);
        let seen = read(adapter, &text);
        assert_eq!(seen.calls().len(), 1, "{}: {text:?}", adapter.name);
        assert!(seen.text().is_empty(), "{}: {text:?}", adapter.name);
    }
}

#[test]
fn a_message_to_the_user_holds_no_call() {
    for (family, head) in [
        ("gpt-oss", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("gpt-oss", "<|channel|>final<|message|>"),
        ("beam", "<|channel|>final<|message|>"),
        ("muse", " to=user<|message|>"),
    ] {
        let adapter = library().get(family).unwrap();
        for call in calls(adapter).split_off(1) {
            for text in [format!("{head}{call}"), format!("{head}{call}\n"), format!("{head}Look:\n{call}")] {
                assert_eq!(read(adapter, &text).calls(), [], "{family}: {text:?}");
            }
        }
    }
}
