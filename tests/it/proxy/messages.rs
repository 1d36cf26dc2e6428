//! Anthropic's API from outside: calls that were written as text arrive as blocks, faults in the form that clients know, the
//! count of tokens, the list of models.

use super::{
    backends::{delta, event, finish},
    *,
};

const CALL: &str = "<tool_call>\n{\"name\": \"Read\", \"arguments\": {\"file_path\": \"/a\", \"limit\": \"5\"}}\n</tool_call>";

pub(super) fn request(stream: bool) -> Value {
    json!({
        "model": "m", "max_tokens": 32000, "stream": stream,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": "Read /a."}],
        "tools": [{"name": "Read", "input_schema": {"type": "object", "properties": {
            "file_path": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["file_path"], "additionalProperties": false}}],
    })
}

/// The data of all events of a stream.
pub(super) fn events(raw: &str) -> Vec<Value> {
    raw.split("\n\n")
        .filter_map(|frame| frame.split_once("\ndata: "))
        .map(|(_, data)| serde_json::from_str(data).unwrap_or_else(|_| panic!("{data}")))
        .collect()
}

#[tokio::test]
async fn a_call_in_the_text_arrives_as_a_block() {
    let (proxy, fake) = with_openai(|_| {
        Script::events(vec![delta(json!({"content": "Let me look.\n"})), delta(json!({"content": CALL})), finish("stop")])
    })
    .await;
    let response = proxy.post("/v1/messages?beta=true", request(true)).header("x-api-key", "any").send().await.unwrap();
    assert_eq!(
        (response.status(), &response.headers()["content-type"]),
        (http::StatusCode::OK, &http::HeaderValue::from_static("text/event-stream"))
    );
    assert!(response.headers()["request-id"].to_str().unwrap().starts_with("req_"));
    let sent = events(&response.text().await.unwrap());
    let input: String = sent.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert_eq!(serde_json::from_str::<Value>(&input).unwrap(), json!({"file_path": "/a", "limit": 5}));
    let text: String = sent.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(text.trim(), "Let me look.");
    assert_eq!(sent[sent.len() - 2]["delta"]["stop_reason"], "tool_use");
    let upstream: Value = serde_json::from_str(&fake.seen("/v1/chat/completions")[0].body).unwrap();
    assert_eq!(upstream["messages"][0], json!({"role": "system", "content": "Be brief."}));

    let (status, whole) = answer(proxy.post("/v1/messages", request(false))).await;
    assert_eq!((status, &whole["stop_reason"], &whole["content"][1]["input"]["limit"]), (200, &json!("tool_use"), &json!(5)));
}

/// vLLM and SGLang tell which stop sequence was met; the number of a token is none.
#[tokio::test]
async fn the_stop_sequence_that_was_met_is_told() {
    for (field, value, told) in [
        ("stop_reason", json!("END"), json!("END")),
        ("matched_stop", json!("END"), json!("END")),
        ("matched_stop", json!(151645), Value::Null),
        ("stop_reason", Value::Null, Value::Null),
    ] {
        let (proxy, _fake) = with_openai(move |_| {
            let mut choice = json!({"index": 0, "delta": {}, "finish_reason": "stop"});
            choice[field] = value.clone();
            Script::events(vec![delta(json!({"content": "one two"})), event(&json!({"choices": [choice]}))])
        })
        .await;
        let reason = if told.is_null() { "end_turn" } else { "stop_sequence" };
        let (_, whole) = answer(proxy.post("/v1/messages", request(false))).await;
        assert_eq!((&whole["stop_reason"], &whole["stop_sequence"]), (&json!(reason), &told), "{field}");
        let sent = events(&proxy.post("/v1/messages", request(true)).send().await.unwrap().text().await.unwrap());
        let end = &sent[sent.len() - 2]["delta"];
        assert_eq!((&end["stop_reason"], &end["stop_sequence"]), (&json!(reason), &told), "{field}");
    }
}

#[tokio::test]
async fn a_truncated_call_is_no_block() {
    let (proxy, _fake) = with_openai(|_| Script::events(vec![delta(json!({"content": &CALL[..60]})), finish("length")])).await;
    let (status, whole) = answer(proxy.post("/v1/messages", request(false))).await;
    assert_eq!((status, &whole["stop_reason"]), (200, &json!("max_tokens")));
    assert!(whole["content"].as_array().unwrap().iter().all(|block| block["type"] == "text"), "{whole}");
}

#[tokio::test]
async fn faults_have_the_form_of_this_api() {
    let (proxy, _fake) = with_openai(|_| {
        Script::json(400, r#"{"error":{"message":"This model's maximum context length is 4096 tokens, you requested 5000."}}"#)
    })
    .await;
    let (status, body) = answer(proxy.post("/v1/messages", request(true))).await;
    assert_eq!((status, &body["type"], &body["error"]["type"]), (400, &json!("error"), &json!("invalid_request_error")));
    assert!(body["error"]["message"].as_str().unwrap().starts_with("prompt is too long: 5000 tokens > 4096 maximum"), "{body}");
    let (status, body) = answer(proxy.post("/v1/messages/batches", json!({}))).await;
    assert_eq!((status, &body["type"]), (404, &json!("error")));
}

#[tokio::test]
async fn a_fault_in_the_middle_is_an_event_and_delivers_no_call() {
    let (proxy, _fake) = with_openai(|_| {
        Script::events(vec![delta(json!({"content": "Let me.\n"})), delta(json!({"content": &CALL[..70]})), Step::Break])
    })
    .await;
    let raw = proxy.post("/v1/messages", request(true)).send().await.unwrap().text().await.unwrap();
    let sent = events(&raw);
    assert_eq!(sent.last().unwrap()["type"], "error", "{raw}");
    assert!(!raw.contains("tool_use"), "{raw}");
}

#[tokio::test]
async fn tokens_are_counted_by_the_backend_or_as_its_answers_show() {
    for owner in ["llamacpp", "vllm", "somebody"] {
        let fake = Fake::start(move |seen| match seen.line.as_str() {
            "GET /v1/models" => Script::json(200, json!({"data": [{"id": "m", "owned_by": owner}]}).to_string()),
            "POST /apply-template" => {
                assert!(seen.body.contains("Read /a."));
                Script::json(200, r#"{"prompt":"<|user|>Read /a."}"#)
            }
            "POST /tokenize" if seen.body.contains("content\":\"<|user|>") => Script::json(200, r#"{"tokens":[1,2,3]}"#),
            "POST /tokenize" => Script::json(200, r#"{"count":4,"tokens":[1,2,3,4]}"#),
            "POST /v1/chat/completions" => {
                let usage = json!({"choices": [], "usage": {"prompt_tokens": 90, "completion_tokens": 1}});
                Script::events(vec![delta(json!({"content": "Fine."})), event(&usage), finish("stop")])
            }
            _ => Script::json(404, "{}"),
        })
        .await;
        let proxy = Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n", fake.url)).await;
        let count = || async {
            let (status, told) = answer(proxy.post("/v1/messages/count_tokens", request(false))).await;
            assert_eq!(status, 200, "{told}");
            told["input_tokens"].as_u64().unwrap()
        };
        match owner {
            "llamacpp" => assert_eq!(count().await, 3),
            "vllm" => assert_eq!(count().await, 4),
            _ => {
                assert!((30..200).contains(&count().await));
                answer(proxy.post("/v1/messages", request(false))).await;
                assert_eq!(count().await, 90);
            }
        }
        // Only a request for an answer shows that a client has found the proxy.
        let health = answer(proxy.get("/healthz")).await.1;
        assert_eq!(health["requests"]["chats"], u64::from(owner == "somebody"), "{owner}");
    }
}

#[tokio::test]
async fn only_claude_code_sees_names_with_claude_in_them() {
    let (proxy, fake) = with_openai(|_| Script::events(vec![delta(json!({"content": "Fine."})), finish("stop")])).await;
    let ids = |agent: &'static str| {
        let request = proxy.get("/v1/models?limit=1000").header("user-agent", agent);
        async move {
            let (_, list) = answer(request).await;
            list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        }
    };
    assert_eq!(ids("void/1").await, ["m", "org/n:q4"]);
    assert_eq!(ids("claude-code/2.1").await, ["m", "org/n:q4", "claude-toolglot/m", "claude-toolglot/org/n:q4"]);
    let mut asked = request(false);
    asked["model"] = json!("claude-toolglot/m");
    let (status, whole) = answer(proxy.post("/v1/messages", asked)).await;
    assert_eq!((status, &whole["model"]), (200, &json!("m")));
    let upstream: Value = serde_json::from_str(&fake.seen("/v1/chat/completions")[0].body).unwrap();
    assert_eq!(upstream["model"], "m");
}

#[tokio::test]
async fn more_than_the_context_leaves_is_not_asked_for() {
    let fake = Fake::start(|seen| match seen.line.as_str() {
        "GET /v1/models" => Script::json(200, r#"{"data":[{"id":"m","owned_by":"vllm","max_model_len":8192}]}"#),
        _ => Script::events(vec![delta(json!({"content": "Fine."})), finish("stop")]),
    })
    .await;
    let proxy = Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n", fake.url)).await;
    answer(proxy.post("/v1/messages", request(false))).await;
    let upstream: Value = serde_json::from_str(&fake.seen("/v1/chat/completions")[0].body).unwrap();
    let limit = upstream["max_tokens"].as_u64().unwrap();
    assert!((7000..8192).contains(&limit), "{limit}");
}

#[tokio::test]
async fn system_text_in_a_conversation_stays_in_its_place_and_is_not_the_users() {
    const AGAIN: &str = "<tool_call>{\"name\": \"Read\", \"arguments\": {\"file_path\": \"/a\"}}</tool_call>";
    let call = json!({"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "/a"}});
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": "text of a"});
    let function = json!({"name": "Read", "parameters": request(false)["tools"][0]["input_schema"]});
    let mut of_messages = request(false);
    of_messages["messages"] = json!([{"role": "user", "content": "Read /a."}, {"role": "system", "content": "Mind the style."},
        {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]);
    let of_responses = json!({"model": "m", "tools": [{"type": "function", "name": "Read", "parameters": function["parameters"]}],
        "input": [{"role": "user", "content": "Read /a."}, {"role": "developer", "content": "Mind the style."},
            {"type": "function_call", "call_id": "t", "name": "Read", "arguments": "{\"file_path\": \"/a\"}"},
            {"type": "function_call_output", "call_id": "t", "output": "text of a"}]});
    for (path, body) in [("/v1/messages", of_messages), ("/v1/responses", of_responses)] {
        let (proxy, fake) = with_openai(|seen| {
            let said = if seen.body.contains("You have this result") { "It is a text." } else { AGAIN };
            Script::events(vec![delta(json!({"content": said})), finish("stop")])
        })
        .await;
        assert_eq!(answer(proxy.post(path, body)).await.0, 200);
        let chats = fake.seen("/v1/chat/completions");
        let last: Value = serde_json::from_str(&chats[1].body).unwrap();
        let messages = last["messages"].as_array().unwrap();
        let asked = messages.iter().find(|message| message["role"] == "user").unwrap();
        assert_eq!(asked["content"], "Read /a.\n\n<system-reminder>\nMind the style.\n</system-reminder>", "{path}");
        let hidden = messages.last().unwrap()["content"].as_str().unwrap();
        assert!(hidden.ends_with(": Read /a."), "{path}: {hidden}");
    }
}
