//! Requests that are odd: read as they are meant, or refused in words that help.

use super::*;

/// An answer of OpenAI's API that says this.
fn said(text: &str) -> Script {
    let chunk = |delta: Value, finish: Value| {
        Step::Send(format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})))
    };
    let end = Step::Send("data: [DONE]\n\n".into());
    Script::events(vec![chunk(json!({"content": text}), Value::Null), chunk(json!({}), json!("stop")), end])
}

/// The body of the last request that reached the backend.
fn asked(fake: &Fake) -> Value {
    serde_json::from_str(&fake.seen("/v1/chat/completions").pop().unwrap().body).unwrap()
}

#[tokio::test]
async fn a_text_that_was_cut_within_an_emoji_is_read() {
    let (proxy, fake) = with_openai(|_| said("ok")).await;
    for (path, body) in [
        ("/v1/chat/completions", r#"{"model":"m","messages":[{"role":"user","content":"cut \ud83d"}]}"#),
        ("/v1/messages", r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"cut \ud83d"}]}"#),
        ("/v1/responses", r#"{"model":"m","input":"cut \ud83d"}"#),
        ("/api/chat", r#"{"model":"m","stream":false,"messages":[{"role":"user","content":"cut \ud83d"}]}"#),
        (
            "/generate",
            r#"{"jsonrpc":"2.0","id":1,"method":"generate","params":{"model":"m","messages":[{"role":"user","content":"cut \ud83d"}]}}"#,
        ),
    ] {
        let (status, answer) = answer(proxy.post(path, body)).await;
        assert_eq!(status, 200, "{path}: {answer}");
        let messages = &asked(&fake)["messages"];
        assert_eq!(messages.as_array().unwrap().last().unwrap()["content"], "cut \u{fffd}", "{path}");
    }
    // What is no JSON is refused, whatever else is in it.
    assert_eq!(answer(proxy.post("/v1/chat/completions", r#"{"model":"m","messages":["\ud83d}"#)).await.0, 400);
}

#[tokio::test]
async fn the_older_form_of_tools_is_refused_by_name() {
    let (proxy, _fake) = with_openai(|_| said("x")).await;
    let body = json!({"model": "m", "messages": [], "functions": [{"name": "look"}]});
    let (status, answer) = answer(proxy.post("/v1/chat/completions", body)).await;
    assert!(status == 400 && answer["error"]["message"].as_str().unwrap().contains("send `tools`"), "{answer}");
}

#[tokio::test]
async fn several_answers_with_tools_are_refused_because_nobody_would_read_them() {
    let (proxy, fake) = with_openai(|_| Script::json(200, "{\"choices\":[1,2]}")).await;
    let tools = json!([{"type": "function", "function": {"name": "look"}}]);
    let body = |more: Value| {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "go"}], "n": 2});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    for (path, more) in [("/v1/chat/completions", json!({"tools": tools})), ("/react/v1/chat/completions", json!({}))] {
        let (status, refused) = answer(proxy.post(path, body(more))).await;
        assert_eq!(status, 400, "{path}: {refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("send the request 2 times"), "{refused}");
    }
    assert!(fake.seen("/v1/chat/completions").is_empty());
    let (status, _) = answer(proxy.post("/off/v1/chat/completions", body(json!({"tools": tools})))).await;
    assert_eq!((status, asked(&fake)["n"].clone()), (200, json!(2)));
}

#[tokio::test]
async fn a_call_gets_an_id_that_the_conversation_does_not_have() {
    // A family that writes ids in its text, and a backend that counts from the beginning in every answer.
    let in_text = r#"[TOOL_CALLS][{"name": "look", "arguments": {"at": "x"}, "id": "c1"}]"#;
    for native in [true, false] {
        let (proxy, _fake) = with_openai(move |_| {
            if !native {
                return said(in_text);
            }
            let call =
                json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":\"x\"}"}});
            let chunk = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]});
            Script::events(vec![Step::Send(format!("data: {chunk}\n\ndata: [DONE]\n\n"))])
        })
        .await;
        let tools = json!([{"type": "function", "function": {"name": "look"}}]);
        let mut messages = json!([{"role": "user", "content": "go"}]);
        let mut ids = Vec::new();
        for _ in 0..3 {
            let body = json!({"model": "m", "messages": messages, "tools": tools});
            let (_, whole) = answer(proxy.post("/v1/chat/completions", body)).await;
            let message = whole["choices"][0]["message"].clone();
            let id = message["tool_calls"][0]["id"].as_str().unwrap_or_else(|| panic!("{whole}")).to_owned();
            assert!(!ids.contains(&id), "{id} again: {ids:?}");
            let list = messages.as_array_mut().unwrap();
            list.extend([message, json!({"role": "tool", "tool_call_id": id, "content": format!("error {}", ids.len())})]);
            ids.push(id);
        }
    }
}

#[tokio::test]
async fn a_part_that_a_backend_cannot_take_is_named_by_the_clients_own_count() {
    let (proxy, fake) = before_ollama(|seen| match seen.line.as_str() {
        "POST /api/show" => Script::json(200, r#"{"capabilities":["completion"]}"#),
        _ => Script::lines(vec![Step::Send("{\"message\":{\"content\":\"x\"},\"done\":true}\n".into())]),
    })
    .await;
    let body = |part: Value| {
        let tools = json!([{"type": "function", "function": {"name": "look"}}]);
        json!({"model": "m", "tools": tools, "messages": [{"role": "user", "content": [{"type": "text", "text": "go"}, part]}]})
    };
    // The prompt describes the tools: the backend's first message is a system message.
    let url = json!({"type": "image_url", "image_url": {"url": "http://x/y.png"}});
    let (status, refused) = answer(proxy.post("/v1/chat/completions", body(url))).await;
    assert_eq!(status, 400, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("`messages[0]`"), "{refused}");
    let sound = json!({"type": "input_audio", "input_audio": {}});
    let response = proxy.post("/v1/chat/completions", body(sound)).send().await.unwrap();
    let warning = response.headers()["x-toolglot-warning"].to_str().unwrap().to_owned();
    assert!(warning.contains("messages[0]"), "{warning}");
    let sent: Value = serde_json::from_str(&fake.seen("/api/chat").pop().unwrap().body).unwrap();
    assert_eq!(sent["messages"][0]["role"], "system");
}

#[tokio::test]
async fn a_model_that_nobody_has_is_answered_with_each_name_once() {
    let list = |_: &Seen| Script::json(200, r#"{"data":[{"id":"m"},{"id":"n"}]}"#);
    let (first, second) = (Fake::start(list).await, Fake::start(list).await);
    let backend =
        |name: &str, fake: &Fake| format!("[[backend]]\nname = \"{name}\"\nkind = \"openai\"\nurl = \"{}/v1\"\n", fake.url);
    let proxy = Proxy::start(&format!("{}{}", backend("a", &first), backend("b", &second))).await;
    let body = json!({"model": "nobody", "messages": [{"role": "user", "content": "hi"}]});
    let (status, refused) = answer(proxy.post("/v1/chat/completions", body)).await;
    assert_eq!((status, &refused["error"]["message"]), (404, &json!("there is no model `nobody`; there are: m, n")));
}
