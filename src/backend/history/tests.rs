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

#[test]
fn images_of_results_are_shown_or_named() {
    let image = |kind: &str| json!({"type": "image_url", "image_url": {"url": format!("data:image/{kind};base64,AA")}});
    let result = |id: &str, parts: Value| json!({"role": "tool", "tool_call_id": id, "content": parts});
    let text = |text: &str| json!({"type": "text", "text": text});
    let conversation = json!([
        result("a", json!([text("a screenshot"), image("png")])),
        result("b", json!([image("jpeg")])),
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": [text("mine"), image("gif")]},
    ]);
    let shown = |vision| {
        let mut chat = ChatRequest::from_value(json!({"model": "m", "messages": conversation})).expect("a request");
        show_images(&mut chat.messages, vision);
        chat.messages.iter().map(Message::to_value).collect::<Vec<_>>()
    };
    let seeing = shown(true);
    assert_eq!(seeing[0]["content"], "a screenshot\n[image 1: image/png, attached below]");
    assert_eq!(seeing[1]["content"], "[image 2: image/jpeg, attached below]");
    let attached = json!([text("The images of the results above:"), image("png"), image("jpeg")]);
    assert_eq!(seeing[2], json!({"role": "user", "content": attached}));
    assert_eq!(seeing[4], conversation[3], "the user's own images stay");
    let blind = shown(false);
    assert_eq!(blind.len(), 4);
    assert_eq!(blind[1]["content"], "[an image, image/jpeg: this model cannot see images]");
}
