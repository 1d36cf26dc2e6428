use serde_json::{Value, json};

use super::*;
use crate::{
    client::front::{Collected, Front, Kind},
    event::{Event, Sink},
    openai::answer::{Envelope, call_id},
};

fn head() -> Head {
    Head {
        kind: Kind::OpenAi,
        envelope: Envelope { id: "chatcmpl-1".into(), created: 1, model: "a \"model\"".into() },
        include_usage: true,
        reasoning_field: Some("reasoning_content"),
        ..Head::default()
    }
}

const CALLS: &[Event<'static>] = &[
    Event::Reasoning("hm"),
    Event::Text("Let me "),
    Event::Text(""),
    Event::Text("look."),
    Event::Call(Call::new(0, "a", "{\"x\":1}")),
    Event::Call(Call { id: Some("functions.b:1"), extra: Some("{\"google\":1}"), ..Call::new(1, "b", "") }),
    Event::Finish {
        reason: FinishReason::ToolCalls,
        usage: Some(Usage { prompt_tokens: 1, completion_tokens: 2, cached_tokens: 0, reasoning_tokens: 0 }),
    },
];

fn stream(head: Head, events: &[Event<'_>]) -> Vec<String> {
    let mut stream = Front::new(head);
    let mut out = BytesMut::new();
    for event in events {
        stream.event(event.clone(), &mut out);
    }
    let text = String::from_utf8(out.to_vec()).unwrap();
    assert!(text.ends_with("\n\n"));
    text.split_terminator("\n\n").map(str::to_owned).collect()
}

fn deltas(frames: &[String]) -> Vec<Value> {
    let json = frames.iter().filter_map(|frame| frame.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    json.map(|data| serde_json::from_str::<Value>(data).unwrap()["choices"][0]["delta"].clone()).collect()
}

#[test]
fn the_chunk_sequence_is_the_one_that_every_client_accepts() {
    let frames = stream(head(), CALLS);
    let id = call_id(&[b"chatcmpl-1", &0u32.to_le_bytes()]);
    assert_eq!(
        deltas(&frames),
        [
            json!({"role": "assistant", "content": ""}),
            json!({"reasoning_content": "hm"}),
            json!({"content": "Let me "}),
            json!({"content": "look."}),
            json!({"tool_calls": [{"index": 0, "id": id, "type": "function", "function": {"name": "a", "arguments": "{\"x\":1}"}}]}),
            json!({"tool_calls": [{"index": 1, "id": "functions.b:1", "type": "function", "function": {"name": "b", "arguments": "{}"},
                "extra_content": {"google": 1}}]}),
            json!({}),
            Value::Null, // the usage chunk has no choice
        ]
    );
    let chunk: Value = serde_json::from_str(frames[1].strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(
        chunk,
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "a \"model\"",
            "choices": [{"index": 0, "delta": {"reasoning_content": "hm"}, "finish_reason": null}]})
    );
    assert!(frames[6].contains("\"finish_reason\":\"tool_calls\""));
    assert!(frames[7].contains("\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}"));
    assert_eq!(frames[8], "data: [DONE]");
    assert_eq!(frames.len(), 9);
}

#[test]
fn usage_and_reasoning_are_sent_only_to_those_who_take_them() {
    let frames = stream(Head { include_usage: false, reasoning_field: None, ..head() }, CALLS);
    assert!(frames.iter().all(|frame| !frame.contains("usage") && !frame.contains("hm")));
}

#[test]
fn an_answer_without_text_still_begins_with_the_role() {
    let frames = stream(head(), &[Event::Finish { reason: FinishReason::Stop, usage: None }]);
    assert_eq!(deltas(&frames)[..2], [json!({"role": "assistant", "content": ""}), json!({})]);
}

#[test]
fn notes_are_comments_and_faults_are_data_lines() {
    let writing = Note::Writing { name: "edit_file".into(), bytes: 2149 };
    assert_eq!(stream(head(), &[Event::Note(&writing)]), [": writing edit_file, 2.1 kB"]);

    let mut stream = Stream::new(head());
    let mut out = BytesMut::new();
    stream.alive("two\nlines", &mut out);
    stream.fault(&Error::backend("the backend\nvanished"), &mut out);
    let text = String::from_utf8(out.to_vec()).unwrap();
    let (comment, fault) = text.split_once("\n\n").unwrap();
    assert_eq!(comment, ": two lines");
    let (fault, end) = fault.split_once("\n\n").unwrap();
    assert_eq!(end, "data: [DONE]\n\n");
    let fault: Value = serde_json::from_str(fault.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(fault["error"]["message"], "the backend\nvanished");
}

#[test]
fn the_collected_answer_says_the_same() {
    let mut collected = Collected::new(head());
    for event in CALLS {
        collected.event(event.clone());
    }
    let value = collected.into_value();
    assert_eq!(value["choices"][0]["message"]["content"], "Let me look.");
    assert_eq!(value["choices"][0]["message"]["reasoning_content"], "hm");
    assert_eq!(value["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], "{\"x\":1}");
    assert_eq!(value["choices"][0]["message"]["tool_calls"][1]["id"], "functions.b:1");
    assert_eq!(value["choices"][0]["message"]["tool_calls"][1]["extra_content"], json!({"google": 1}));
    assert_eq!(value["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(value["usage"]["total_tokens"], 3);

    let mut silent = Collected::new(head());
    for event in &CALLS[4..5] {
        silent.event(event.clone());
    }
    assert_eq!(silent.into_value()["choices"][0]["message"]["content"], Value::Null);
}
