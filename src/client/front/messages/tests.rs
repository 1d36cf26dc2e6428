use bytes::BytesMut;

use super::*;
use crate::{
    client::front::{Collected, Front, Kind, Request},
    event::{Call, Event, FinishReason, Note, Sink},
    openai::answer::Envelope,
};

fn request(body: Value) -> Request {
    super::read(body.to_string().as_bytes()).unwrap()
}

fn messages(body: Value) -> Vec<Value> {
    request(body).chat.messages.iter().map(|message| json!(message)).collect()
}

fn head() -> Head {
    Head {
        kind: Kind::Messages,
        envelope: Envelope { id: "msg_1".into(), created: 1, model: "m".into() },
        reasoning_field: Some("reasoning_content"),
        prompt_tokens: 800,
        ..Head::default()
    }
}

const EVENTS: &[Event<'static>] = &[
    Event::Reasoning("hm"),
    Event::Text("Let me "),
    Event::Text("look."),
    Event::Call(Call { id: Some("a1"), ..Call::new(0, "Read", "{\"file_path\":\"/a\"}") }),
    Event::Call(Call { id: Some("a2"), ..Call::new(1, "List", "") }),
    Event::Finish {
        reason: FinishReason::ToolCalls,
        usage: Some(Usage { prompt_tokens: 820, completion_tokens: 37, cached_tokens: 800, reasoning_tokens: 30 }),
    },
];

/// The events as (name, data).
fn stream(events: &[Event<'_>], end: Option<&Error>) -> Vec<(String, Value)> {
    let (mut front, mut out) = (Front::new(head()), BytesMut::new());
    front.open(&mut out);
    events.iter().for_each(|event| front.event(event.clone(), &mut out));
    if let Some(error) = end {
        front.fault(error, &mut out);
    }
    let text = String::from_utf8(out.to_vec()).unwrap();
    let frames = text.trim_end().split("\n\n").map(|frame| {
        let (name, data) = frame.split_once('\n').unwrap();
        (name.strip_prefix("event: ").unwrap().to_owned(), serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap())
    });
    frames.collect()
}

#[test]
fn blocks_come_one_after_the_other_and_calls_whole() {
    let sent = stream(EVENTS, None);
    assert!(sent.iter().all(|(name, data)| data["type"] == name.as_str()));
    let data: Vec<&Value> = sent.iter().map(|(_, data)| data).collect();
    assert_eq!(data[0]["message"]["usage"]["input_tokens"], 800);
    let piece = |index: u32, kind: &str, field: &str, text: &str| json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, field: text}});
    let start = |index: u32, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let stop = |index: u32| json!({"type": "content_block_stop", "index": index});
    let wanted = [
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        piece(0, "thinking_delta", "thinking", "hm"),
        piece(0, "signature_delta", "signature", SIGNATURE),
        stop(0),
        start(1, json!({"type": "text", "text": ""})),
        piece(1, "text_delta", "text", "Let me "),
        piece(1, "text_delta", "text", "look."),
        stop(1),
        start(2, json!({"type": "tool_use", "id": "a1", "name": "Read", "input": {}})),
        piece(2, "input_json_delta", "partial_json", "{\"file_path\":\"/a\"}"),
        stop(2),
        start(3, json!({"type": "tool_use", "id": "a2", "name": "List", "input": {}})),
        piece(3, "input_json_delta", "partial_json", "{}"),
        stop(3),
    ];
    assert_eq!(data[1..15], wanted.iter().collect::<Vec<_>>());
    assert_eq!((&data[15]["delta"]["stop_reason"], &data[15]["usage"]["output_tokens"]), (&json!("tool_use"), &json!(37)));
    assert_eq!((data[16]["type"].as_str(), data.len()), (Some("message_stop"), 17));
}

#[test]
fn a_whole_answer_has_the_same_blocks() {
    let mut collected = Collected::new(head());
    EVENTS.iter().for_each(|event| collected.event(event.clone()));
    let whole: Value = serde_json::from_str(&Kind::Messages.body(&collected.into_value())).unwrap();
    assert_eq!(
        whole["content"],
        json!([
            {"type": "thinking", "thinking": "hm", "signature": SIGNATURE},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "a1", "name": "Read", "input": {"file_path": "/a"}},
            {"type": "tool_use", "id": "a2", "name": "List", "input": {}},
        ])
    );
    assert_eq!((&whole["stop_reason"], &whole["usage"]["input_tokens"]), (&json!("tool_use"), &json!(20)));
}

#[test]
fn a_fault_in_the_middle_is_an_error_event() {
    let sent = stream(&[Event::Text("Let")], Some(&Error::backend("gone")));
    let (name, data) = sent.last().unwrap();
    assert_eq!(
        (name.as_str(), &data["error"]["type"], &data["error"]["message"]),
        ("error", &json!("api_error"), &json!("gone"))
    );
}

#[test]
fn a_conversation_that_is_too_long_is_said_in_words_that_clients_know() {
    for (message, wanted) in [
        (
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
            "prompt is too long: 5000 tokens > 4096 maximum (",
        ),
        (
            "the request exceeds the available context size (8192 tokens), try 12000",
            "prompt is too long: 12000 tokens > 8192 maximum (",
        ),
        ("too long", "prompt is too long: too long"),
    ] {
        let body = error_body(&Error::backend(message).with_status(400).with_code("context_length_exceeded"));
        assert!(body["error"]["message"].as_str().unwrap().starts_with(wanted), "{body}");
        assert_eq!(body["error"]["type"], "invalid_request_error");
    }
    assert_eq!(error_body(&Error::client("x").with_status(529))["error"]["type"], "overloaded_error");
    assert_eq!(error_body(&Error::backend("x").with_status(504))["error"]["type"], "timeout_error");
}

#[test]
fn a_turn_of_claude_code_becomes_a_chat() {
    let read = request(json!({
        "model": "claude-toolglot/m:1", "max_tokens": 32000, "stream": true,
        "system": [
            {"type": "text", "text": "x-anthropic-billing-header: cc_version=1; cch=abc;"},
            {"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "Be brief."},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "<reminder>"}, {"type": "text", "text": "Read a."}]},
            {"role": "system", "content": [{"type": "text", "text": "# Environment", "cache_control": {"type": "ephemeral"}}]},
            {"role": "system", "content": "<system-reminder>\n<total_tokens>1499 tokens left</total_tokens>\n</system-reminder>"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": ""},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/a", "limit": 3}},
                {"type": "tool_use", "id": "t2", "name": "Read", "input": {"__unparsedToolInput": {"raw": "{\"file_path\":", "len": 13}}},
            ]},
            {"role": "user", "content": [
                {"type": "text", "text": "And?"},
                {"tool_use_id": "t1", "type": "tool_result", "content": "text of a"},
                {"tool_use_id": "t2", "type": "tool_result", "is_error": true, "content": [
                    {"type": "text", "text": "bad input"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
                ]},
            ]},
        ],
        "tools": [{"name": "Read", "description": "Reads.", "input_schema": {"properties": {"file_path": {"type": "string"}}}}],
        "metadata": {"user_id": "device"}, "thinking": {"type": "adaptive"}, "context_management": {},
        "output_config": {"effort": "max"}, "stop_sequences": ["END"], "top_k": 5,
        "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
    }));
    let chat = &read.chat;
    assert_eq!((chat.model.as_str(), chat.stream), ("m:1", true));
    let got: Vec<Value> = chat.messages.iter().map(|message| json!(message)).collect();
    assert_eq!(
        got,
        [
            json!({"role": "system", "content": "You are an agent.\n\nBe brief."}),
            json!({"role": "user", "content": "<reminder>\n\nRead a."}),
            json!({"role": "system", "content": "# Environment"}),
            json!({"role": "assistant", "content": "Looking.", "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "Read", "arguments": "{\"file_path\":\"/a\",\"limit\":3}"}},
                {"id": "t2", "type": "function", "function": {"name": "Read", "arguments": "{\"file_path\":"}},
            ], "reasoning_content": "Hm."}),
            json!({"role": "tool", "content": "text of a", "tool_call_id": "t1"}),
            json!({"role": "tool", "content": [
                {"type": "text", "text": "ERROR: bad input"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
            ], "tool_call_id": "t2"}),
            json!({"role": "user", "content": "And?"}),
        ]
    );
    let schema = json!({"properties": {"file_path": {"type": "string"}}, "type": "object"});
    assert_eq!(
        *chat.tools,
        [json!({"type": "function", "function": {"name": "Read", "parameters": schema, "description": "Reads."}})]
    );
    assert_eq!(chat.tool_choice, Some(json!("required")));
    let rest =
        json!({"max_tokens": 32000, "stop": ["END"], "top_k": 5, "parallel_tool_calls": false, "reasoning_effort": "high"});
    assert_eq!(Value::Object(chat.rest.clone()), rest);
}

#[test]
fn deferred_tools_are_offered_once_they_were_found_and_after_the_others() {
    let tool = |name: &str, deferred: bool| json!({"name": name, "input_schema": {"type": "object"}, "defer_loading": deferred});
    let tools = json!([tool("DeferredToolPlaceholder", true), tool("WebFetch", true), tool("Read", false), {"type": "web_search_20250305", "name": "web_search"}]);
    let names = |messages: Value| -> Vec<Value> {
        let read = request(json!({"model": "m", "messages": messages, "tools": tools}));
        read.chat.tools.iter().map(|tool| tool["function"]["name"].clone()).collect()
    };
    assert_eq!(names(json!([{"role": "user", "content": "hi"}])), ["Read"]);
    let search = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "s", "name": "ToolSearch", "input": {}}]});
    let found = json!([{"type": "tool_reference", "tool_name": "WebFetch"}]);
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "s", "content": found}]});
    assert_eq!(names(json!([{"role": "user", "content": "hi"}, search, result])), ["Read", "WebFetch"]);
    let told = messages(json!({"model": "m", "messages": [search, result]}));
    assert_eq!(told[1]["content"], "Tool WebFetch is now available.");
}

#[test]
fn what_is_wrong_is_named() {
    for (body, wanted) in [
        (json!([]), "JSON object"),
        (json!({"model": "m"}), "`messages`"),
        (json!({"model": "m", "messages": [{"role": "robot", "content": ""}]}), "`messages[0].role`"),
        (json!({"messages": []}), "`model`"),
        (json!({"model": "m", "messages": [], "tools": [{"input_schema": {}}]}), "`tools[0].name`"),
        (
            json!({"model": "m", "messages": [], "tools": [{"name": "a", "input_schema": []}]}),
            "`tools[0].input_schema` must be a JSON Schema object",
        ),
        (json!({"model": "m", "messages": [], "tools": "x"}), "`tools` must be an array, but it is a string"),
        (json!({"model": "m", "messages": [], "max_tokens": "many"}), "`max_tokens` must be a number"),
        (json!({"model": "m", "messages": [], "system": 5}), "`system` must be a string"),
        (json!({"model": "m", "messages": [], "tool_choice": "any"}), "`type` auto, any, none, or tool with"),
        (json!({"model": "m", "messages": [], "tool_choice": {"type": "required"}}), "`type` auto, any, none, or tool with"),
        (json!({"model": "m", "messages": [], "tool_choice": {"type": "tool"}}), "`tool_choice.name`"),
        (said(json!(5)), "`messages[0].content` must be a string or an array of parts, but it is a number"),
        (said(Value::Null), "`messages[0].content` must be"),
        (said(json!(["hi"])), "`messages[0].content[0]` must be an object with a `type`"),
        (said(json!([{"type": "txt", "text": "hi"}])), "`messages[0].content[0]` is a block of type `txt`"),
        (said(json!([{"type": "text", "text": "a"}, {"type": "text"}])), "`messages[0].content[1].text`"),
        (said(json!([{"type": "image"}])), "`messages[0].content[0].source`"),
        (said(json!([{"type": "image", "source": {"type": "base64", "data": "AA"}}])), "`messages[0].content[0].source`"),
        (
            said(json!([{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "audio"}]}])),
            "`messages[0].content[0].content[0]` is a block of type `audio`",
        ),
    ] {
        let error = super::read(body.to_string().as_bytes()).unwrap_err();
        assert!(error.message.contains(wanted) && error.status == 400, "{error}");
    }
}

#[test]
fn what_is_left_out_is_told() {
    let bash = json!({"type": "bash_20250124", "name": "bash"});
    let later = json!({"name": "WebFetch", "input_schema": {}, "defer_loading": true});
    let body = |choice: &str| {
        json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [bash, later],
            "mcp_servers": [{"type": "url", "url": "http://x"}], "tool_choice": {"type": choice, "name": "bash"}})
    };
    let warnings: Vec<String> = request(body("auto")).warnings.iter().map(|note| format!("{note:?}")).collect();
    assert!(warnings[0].contains("tool_ignored") && warnings[0].contains("`tools[0]` (bash_20250124)"), "{warnings:?}");
    assert!(warnings[1].contains("field_ignored") && warnings[1].contains("`mcp_servers`"), "{warnings:?}");
    assert_eq!(warnings.len(), 2);
    let why = "functions among `tools` are offered, deferred ones only after they were looked up";
    for name in ["bash", "WebFetch"] {
        let mut body = body("tool");
        body["tool_choice"]["name"] = json!(name);
        let refused = crate::client::read(request(body), &Default::default()).unwrap_err();
        assert_eq!(refused.message, format!("`tool_choice` names `{name}`, which is not offered: {why}"));
    }
}

/// A request in which the user says this.
fn said(content: Value) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": content}]})
}

#[test]
fn what_only_a_provider_understands_is_left_out() {
    let provided = json!([{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "Found."}]);
    let read = request(
        json!({"model": "m", "system": null, "tools": null, "tool_choice": null, "max_tokens": null, "unknown": 1, "messages": [
            {"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]},
            {"role": "assistant", "content": provided},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]},
        ]}),
    );
    let texts: Vec<String> = read.chat.messages.iter().map(|message| message.content.to_text()).collect();
    assert_eq!(texts, ["[an image that lies on another server]", "Found.", ""]);
}

#[test]
fn arguments_of_the_past_keep_their_digits() {
    let body = r#"{"model": "m", "messages": [{"role": "assistant", "content": [
        {"type": "tool_use", "id": "t", "name": "pay", "input": {"wei": 100000000000000000001, "to": "\u00e9"}}]}]}"#;
    let call = &super::read(body.as_bytes()).unwrap().chat.messages[0].tool_calls[0];
    assert_eq!(call.arguments, r#"{"wei":100000000000000000001,"to":"é"}"#);
}

/// The blocks of an answer as (type, text), streamed and not.
fn both(events: &[Event<'_>]) -> [Vec<(String, String)>; 2] {
    let mut streamed: Vec<(String, String)> = Vec::new();
    for (name, data) in stream(events, None) {
        match name.as_str() {
            "content_block_start" => {
                streamed.push((data["content_block"]["type"].as_str().unwrap().to_owned(), String::new()));
            }
            "content_block_delta" => {
                let text = ["text", "thinking"].iter().find_map(|field| data["delta"][*field].as_str());
                streamed.last_mut().unwrap().1.push_str(text.unwrap_or_default());
            }
            _ => {}
        }
    }
    let mut collected = Collected::new(head());
    events.iter().for_each(|event| collected.event(event.clone()));
    let text = |block: &Value| block["text"].as_str().or(block["thinking"].as_str()).unwrap_or_default().to_owned();
    let whole = collected.into_value();
    let blocks = whole["content"].as_array().unwrap().iter();
    [streamed, blocks.map(|block| (block["type"].as_str().unwrap().to_owned(), text(block))).collect()]
}

#[test]
fn no_block_is_blank_and_their_order_is_the_same_streamed_and_not() {
    use Event::{Reasoning, Text};
    let call = Event::Call(Call { id: Some("a"), ..Call::new(0, "f", "") });
    type Kinds = &'static [(&'static str, &'static str)];
    let cases: [(&[Event<'_>], Kinds); 6] = [
        (
            &[Text("Let me check."), Reasoning("hm"), Text("\n\n"), call.clone()],
            &[("text", "Let me check."), ("thinking", "hm"), ("tool_use", "")],
        ),
        (&[Reasoning("hm"), Text("\n"), Text("\nYes.")], &[("thinking", "hm"), ("text", "\n\nYes.")]),
        (&[Text("a"), Text("\n"), Text("b")], &[("text", "a\nb")]),
        (&[Text("a"), Reasoning(" "), Text("b")], &[("text", "ab")]),
        (&[Text(" "), Reasoning("\n"), Text(" ")], &[]),
        (&[Reasoning("hm"), Text(" "), Reasoning("!"), Text("x")], &[("thinking", "hm!"), ("text", "x")]),
    ];
    for (events, expected) in cases {
        let end = Event::Finish { reason: FinishReason::Stop, usage: None };
        let events: Vec<Event<'_>> = events.iter().cloned().chain([end]).collect();
        let expected: Vec<(String, String)> = expected.iter().map(|(kind, text)| ((*kind).into(), (*text).into())).collect();
        assert_eq!(both(&events), [expected.clone(), expected], "{events:?}");
    }
}

#[test]
fn a_filtered_answer_is_a_refusal_and_an_estimate_stays_where_nothing_is_counted() {
    let events = |reason, usage| [Event::Text("The answer is"), Event::Finish { reason, usage }];
    let last = |events: &[Event<'_>]| stream(events, None).into_iter().find(|(name, _)| name == "message_delta").unwrap().1;
    let sent = last(&events(FinishReason::ContentFilter, None));
    assert_eq!((&sent["delta"]["stop_reason"], &sent["usage"]["input_tokens"]), (&json!("refusal"), &json!(800)));
    let mut collected = Collected::new(head());
    events(FinishReason::ContentFilter, None).iter().for_each(|event| collected.event(event.clone()));
    let whole = collected.into_value();
    assert_eq!((&whole["stop_reason"], &whole["usage"]["input_tokens"]), (&json!("refusal"), &json!(800)));
    let usage = Usage { prompt_tokens: 7, ..Usage::default() };
    assert_eq!(last(&events(FinishReason::Stop, Some(usage)))["usage"]["input_tokens"], 7);
}

#[test]
fn a_document_is_passed_on_or_named() {
    let source = |kind: &str, data: &str| json!({"type": "base64", "media_type": kind, "data": data});
    let image = json!({"type": "image", "source": source("image/png", "iVBO")});
    let documents = json!([
        {"type": "document", "title": "a", "source": source("text/plain", "cGFzc3dvcmQ=")},
        {"type": "document", "source": source("application/pdf", "JVBE")},
        {"type": "document", "title": "c", "source": {"type": "text", "media_type": "text/plain", "data": "Hello."}},
        {"type": "document", "title": "d", "source": {"type": "content", "content": [{"type": "text", "text": "See:"}, image]}},
        {"type": "document", "title": "e", "source": {"type": "url", "url": "https://a.example/e.pdf"}},
        {"type": "document", "source": {"type": "url", "url": "https://a.example/f.pdf"}},
    ]);
    let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": [documents[0]]}]);
    let read = request(json!({"model": "m", "messages": [
        {"role": "user", "content": documents}, {"role": "user", "content": result},
    ]}));
    let content = json!(read.chat.messages[0].content);
    let file = json!({"filename": "document", "file_data": "data:application/pdf;base64,JVBE"});
    assert_eq!(
        content,
        json!([
            {"type": "text", "text": "a\n\npassword"},
            {"type": "file", "file": file},
            {"type": "text", "text": "c\n\nHello."},
            {"type": "text", "text": "d\n\nSee:"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}},
            {"type": "text", "text": "[document e: not supported]"},
            {"type": "text", "text": "[document https://a.example/f.pdf: not supported]"},
        ])
    );
    assert_eq!(json!(read.chat.messages[1].content), "a\n\npassword");
    let [Note::Warning { code, text }, _] = read.warnings.as_slice() else { panic!("{:?}", read.warnings) };
    assert_eq!(*code, "part_dropped");
    assert!(text.contains("`messages[0].content[4]`"), "{text}");
}
