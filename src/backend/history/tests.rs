use serde_json::json;

use super::*;

/// The cleaned messages in wire form, and how many notes there are.
fn cleaned(messages: Value) -> (Value, usize) {
    let chat = ChatRequest::from_value(json!({"model": "m", "messages": messages})).expect("a request");
    let mut notes = Vec::new();
    let clean = clean(&chat, &mut notes);
    (clean.messages.iter().map(Message::to_value).collect(), notes.len())
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}}]})
}

#[test]
fn poisoned_arguments_are_mended_once_and_for_all() {
    let cases = [
        ("{\"a\": 1}", "{\"a\": 1}", 0),
        (" {\"a\": 1}\n", " {\"a\": 1}\n", 0),
        ("", "{}", 0),
        ("{\"a\":1}{\"a\":2}", "{\"a\":1}", 1),
        ("{\"a\": [1, 2", "{}", 1),
        ("null", "{}", 1),
        ("[1]", "{}", 1),
        ("\"{\\\"a\\\": 1}\"", "{\"a\": 1}", 1),
        ("{\"path\": \"C:\\new\"}{", "{\"path\": \"C:\\new\"}", 1),
    ];
    for (arguments, mended, notes) in cases {
        let (messages, noted) = cleaned(json!([call("c", arguments)]));
        assert_eq!((messages[0]["tool_calls"][0]["function"]["arguments"].as_str(), noted), (Some(mended), notes), "{arguments}");
    }
}

#[test]
fn placeholders_and_empty_turns_of_the_assistant_go() {
    let (messages, _) = cleaned(json!([
        {"role": "user", "content": "(empty message)"},
        {"role": "assistant", "content": "(empty message)"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": null, "refusal": null},
        {"role": "assistant", "content": "(empty message)", "anthropicReasoning": null, "tool_calls": call("c", "{}")["tool_calls"]},
        {"role": "assistant", "content": "It says (empty message) there.", "reasoning_content": "kept"},
    ]));
    assert_eq!(
        messages,
        json!([
            {"role": "user", "content": "(empty message)"},
            call("c", "{}"),
            {"role": "assistant", "content": "It says (empty message) there.", "reasoning_content": "kept"},
        ])
    );
}

#[test]
fn every_result_answers_a_call_or_becomes_the_users_text() {
    let (messages, _) = cleaned(json!([
        {"role": "tool", "tool_call_id": "gone", "content": "left over"},
        call("c1", "{}"),
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c1", "name": "f", "content": [{"type": "text", "text": "again"}]},
        call("", "{}"),
        {"role": "tool", "content": "two"},
    ]));
    assert_eq!(messages[0], json!({"role": "user", "content": "Result of an earlier tool call:\nleft over"}));
    assert_eq!(messages[2], json!({"role": "tool", "content": "one", "tool_call_id": "c1"}));
    assert_eq!(messages[3], json!({"role": "user", "content": [{"type": "text", "text": "Result of f:\nagain"}]}));
    let id = messages[4]["tool_calls"][0]["id"].as_str().expect("an id");
    assert!(id.starts_with("call_") && id.len() > 20, "{id}");
    assert_eq!(messages[5], json!({"role": "tool", "content": "two", "tool_call_id": id}));
}
