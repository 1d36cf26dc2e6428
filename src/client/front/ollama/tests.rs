use super::*;
use crate::{
    client::front::{Collected, Front, Kind},
    event::{Event, Sink},
    openai::{
        Content,
        answer::{Envelope, call_id},
    },
};

fn head() -> Head {
    Head {
        kind: Kind::Ollama,
        envelope: Envelope { id: "chatcmpl-1".into(), created: 1_789_000_000, model: "m \"x\"".into() },
        reasoning_field: Some("reasoning_content"),
        ..Head::default()
    }
}

const EVENTS: &[Event<'static>] = &[
    Event::Reasoning("hm"),
    Event::Text("Let me look."),
    Event::Call(Call::new(0, "a", "{\n  \"x\": 1\n}")),
    Event::Call(Call { id: Some("own"), ..Call::new(1, "b", "") }),
    Event::Finish {
        reason: FinishReason::ToolCalls,
        usage: Some(Usage { prompt_tokens: 1, completion_tokens: 2, cached_tokens: 0, reasoning_tokens: 0 }),
    },
];

#[test]
fn every_line_is_one_of_ollamas() {
    let mut front = Front::new(head());
    let mut out = BytesMut::new();
    front.signs()(&mut out);
    front.elapsed(Duration::from_millis(30));
    for event in EVENTS {
        front.event(event.clone(), &mut out);
        front.elapsed(Duration::from_millis(90));
    }
    front.fault(&Error::backend("gone"), &mut out);
    let text = String::from_utf8(out.to_vec()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let messages: Vec<&Value> = lines.iter().map(|line| &line["message"]).collect();
    let id = call_id(&[b"chatcmpl-1", &0u32.to_le_bytes()]);
    let call = |value: Value| json!({"role": "assistant", "content": "", "tool_calls": [value]});
    assert_eq!(
        messages,
        [
            &json!({"role": "assistant", "content": ""}),
            &json!({"role": "assistant", "content": "", "thinking": "hm"}),
            &json!({"role": "assistant", "content": "Let me look."}),
            &call(json!({"id": id, "function": {"index": 0, "name": "a", "arguments": {"x": 1}}})),
            &call(json!({"id": "own", "function": {"index": 1, "name": "b", "arguments": {}}})),
            &json!({"role": "assistant", "content": ""}),
            &Value::Null,
        ]
    );
    assert!(lines[..5].iter().all(|line| line["done"] == false && line["model"] == "m \"x\""));
    assert_eq!(
        lines[5],
        json!({"model": "m \"x\"", "created_at": "2026-09-10T00:26:40Z", "message": {"role": "assistant", "content": ""},
            "done": true, "done_reason": "stop", "total_duration": 90_000_000, "load_duration": 0, "prompt_eval_count": 1,
            "prompt_eval_duration": 30_000_000, "eval_count": 2, "eval_duration": 60_000_000})
    );
    assert_eq!(lines[6], json!({"error": "gone"}));
}

#[test]
fn the_collected_answer_says_the_same() {
    let mut collected = Collected::new(head());
    for event in EVENTS {
        collected.event(event.clone());
    }
    let value: Value = serde_json::from_str(&Kind::Ollama.body(&collected.into_value())).unwrap();
    assert_eq!(value["message"]["content"], "Let me look.");
    assert_eq!(value["message"]["thinking"], "hm");
    assert_eq!(value["message"]["tool_calls"][0]["function"], json!({"index": 0, "name": "a", "arguments": {"x": 1}}));
    assert_eq!((&value["done"], &value["done_reason"], &value["eval_count"]), (&json!(true), &json!("stop"), &json!(2)));
    assert!(value.get("eval_duration").is_none());
}

#[test]
fn a_request_becomes_openais() {
    let body = json!({"model": "m", "keep_alive": "5m", "think": true, "format": "json",
    "options": {"num_ctx": 8192, "num_predict": 100, "temperature": 0.5},
    "messages": [
        {"role": "user", "content": "See:", "images": ["iVBORw0KGgo="]},
        {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "a", "arguments": {"x": 1}}}, {"function": {"name": "b", "arguments": {}}}]},
        {"role": "tool", "tool_name": "b", "content": "from b"},
        {"role": "tool", "content": "from a"},
        {"role": "tool", "tool_name": "c", "content": "from nobody"},
    ]});
    let request = read(body.to_string().as_bytes()).unwrap();
    assert!(request.stream);
    assert_eq!(request.rest["max_tokens"], 100);
    assert_eq!(request.rest["temperature"], 0.5);
    assert_eq!(request.rest["options"], json!({"num_ctx": 8192}));
    assert_eq!(request.rest["response_format"], json!({"type": "json_object"}));
    assert_eq!((&request.rest["keep_alive"], &request.rest["think"]), (&json!("5m"), &json!(true)));
    let Content::Parts(parts) = &request.messages[0].content else { panic!() };
    assert_eq!(parts[0], json!({"type": "text", "text": "See:"}));
    assert_eq!(parts[1]["image_url"]["url"], "data:image/png;base64,iVBORw0KGgo=");
    let calls = &request.messages[1].tool_calls;
    assert_eq!(calls[0].arguments, "{\"x\":1}");
    assert_ne!(calls[0].id, calls[1].id);
    assert_eq!(request.messages[2].tool_call_id.as_ref(), Some(&calls[1].id));
    assert_eq!(request.messages[3].tool_call_id.as_ref(), Some(&calls[0].id));
    assert_eq!(request.messages[4].role, "user");
    assert_eq!(request.messages[4].content.to_text(), "Result of c: from nobody");
    assert_eq!(read(body.to_string().as_bytes()).unwrap(), request, "the same bytes give the same request");
}

#[test]
fn a_request_that_is_wrong_is_refused() {
    for body in ["", "[]", "{}", "{\"model\": 1}", "{\"model\": \"m\", \"messages\": 1}"] {
        assert_eq!(read(body.as_bytes()).unwrap_err().status, 400, "{body}");
    }
    assert!(!read(b"{\"model\": \"m\", \"stream\": false}").unwrap().stream);
}

#[test]
fn timestamps_are_calendar_dates() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_399, "2000-02-28T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (1_709_164_800, "2024-02-29T00:00:00Z"),
        (1_798_761_599, "2026-12-31T23:59:59Z"),
        (4_102_444_800, "2100-01-01T00:00:00Z"),
    ] {
        assert_eq!(timestamp(seconds), text);
    }
}

#[test]
fn a_completion_of_code_is_one_of_openai_s_and_back() {
    let body = br#"{"model":"m","prompt":"a","suffix":"b","raw":true,"stream":false,"keep_alive":"5m","format":"json",
        "options":{"num_predict":9,"stop":["\n"],"num_ctx":512}}"#;
    let read = read_generate(body).unwrap();
    let expected = json!({"model": "m", "prompt": "a", "suffix": "b", "max_tokens": 9, "stop": ["\n"],
        "response_format": {"type": "json_object"}, "stream": true});
    assert_eq!((read.streamed, read.by), (false, By::Completion(expected)));
    assert_eq!(read_generate(br#"{"model":"m"}"#).unwrap(), Generate { streamed: true, by: By::Loading });
    // A prompt is one message of the user.
    let body = br#"{"model":"m","prompt":"Why?","system":"Short.","context":[1],"options":{"seed":1},"stream":false}"#;
    let messages = json!([{"role": "system", "content": "Short."}, {"role": "user", "content": "Why?", "images": []}]);
    let chat = json!({"model": "m", "options": {"seed": 1}, "stream": false, "messages": messages});
    assert_eq!(read_generate(body).unwrap(), Generate { streamed: false, by: By::Chat(chat) });
    assert_eq!(read_generate(b"[]").unwrap_err().status, 400);

    let mut front = Front::new(head());
    let mut out = BytesMut::new();
    front.event(Event::Text("x\u{2028}"), &mut out);
    front.elapsed(Duration::from_millis(2));
    front.event(Event::Finish { reason: FinishReason::Length, usage: None }, &mut out);
    let lines: Vec<Value> = out[..].split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let lines: Vec<Value> = lines.into_iter().map(from_chat).collect();
    assert_eq!((&lines[0]["response"], &lines[0]["done"]), (&json!("x\u{2028}"), &json!(false)));
    assert_eq!((&lines[1]["response"], &lines[1]["done_reason"]), (&json!(""), &json!("length")));
}
