//! OpenAI's Responses API from outside: items, patches that are asked for again, what is kept.

use super::{
    backends::{delta, finish},
    messages::events,
    *,
};

fn says(text: &str) -> Script {
    Script::events(vec![delta(json!({"content": text})), finish("stop")])
}

fn tools() -> Value {
    let parameters = json!({"type": "object", "properties": {"cmd": {"type": "string"}, "yield_time_ms": {"type": "number"}}, "required": ["cmd"]});
    json!([
        {"type": "function", "name": "exec_command", "parameters": parameters},
        {"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}},
        {"type": "namespace", "name": "mcp__notes", "tools": [{"type": "function", "name": "read_note", "parameters": {"type": "object", "properties": {"name": {"type": "string"}}}}]},
        {"type": "web_search", "external_web_access": true},
    ])
}

fn request(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "store": false, "tools": tools(), "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You are an agent."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
    ]})
}

fn call(name: &str, arguments: Value) -> String {
    format!("<tool_call>\n{}\n</tool_call>", json!({"name": name, "arguments": arguments}))
}

/// The items of a streamed answer, as a client that acts on `output_item.done` alone sees them.
async fn items(proxy: &Proxy, request: Value) -> Vec<Value> {
    let raw = proxy.post("/v1/responses", request).send().await.unwrap().text().await.unwrap();
    let sent = events(&raw);
    assert_eq!(sent.last().unwrap()["type"], "response.completed", "{raw}");
    sent.into_iter().filter(|event| event["type"] == "response.output_item.done").map(|mut event| event["item"].take()).collect()
}

#[tokio::test]
async fn a_call_in_the_text_arrives_as_an_item_of_its_kind() {
    let patch = "*** Begin Patch\n*** Add File: hello.txt\n+hi\n*** End Patch";
    for (text, wanted) in [
        (
            format!("Let me look.\n{}", call("exec_command", json!({"cmd": "ls", "yield_time_ms": "500"}))),
            json!({"type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"ls\",\"yield_time_ms\":500}"}),
        ),
        (
            call("notes.read_note", json!({"name": "x"})),
            json!({"type": "function_call", "namespace": "mcp__notes", "name": "read_note"}),
        ),
        (
            call("apply_patch", json!({"patch": patch})),
            json!({"type": "custom_tool_call", "name": "apply_patch", "input": patch}),
        ),
    ] {
        let said = text.clone();
        let (proxy, _fake) = with_openai(move |_| says(&said)).await;
        let found = items(&proxy, request(true)).await;
        let last = found.last().unwrap();
        for (name, value) in wanted.as_object().unwrap() {
            let same = if name == "arguments" {
                let parse = |text: &Value| serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap();
                parse(value) == parse(&last[name])
            } else {
                last[name] == *value
            };
            assert!(same, "{text}: {last}");
        }
        assert!(last["call_id"].is_string() && last["status"] == "completed", "{last}");
        let (status, mut whole) = answer(proxy.post("/responses", request(false))).await;
        assert_eq!(
            (status, whole["output"].as_array_mut().unwrap().pop().unwrap()["type"].take()),
            (200, wanted["type"].clone())
        );
    }
}

#[tokio::test]
async fn a_broken_patch_is_asked_for_again() {
    let good = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch";
    let (proxy, fake) = with_openai(move |seen| {
        let again = seen.body.contains("line 3 of the patch");
        says(&call("apply_patch", json!({"input": if again { good.into() } else { good.replace("+x", "x") }})))
    })
    .await;
    let found = items(&proxy, request(true)).await;
    assert_eq!((found.len(), &found[0]["input"]), (1, &json!(good)));
    assert_eq!(fake.seen("/v1/chat/completions").len(), 2);
}

#[tokio::test]
async fn a_held_call_is_bridged_by_events() {
    let whole = call("exec_command", json!({"cmd": "ls"}));
    let (proxy, _fake) = with_openai(move |_| {
        let (head, tail) = whole.split_at(40);
        Script::events(vec![
            delta(json!({"content": head})),
            Step::Wait(Duration::from_millis(1500)),
            delta(json!({"content": tail})),
            finish("stop"),
        ])
    })
    .await;
    let raw = proxy.post("/v1/responses", request(true)).send().await.unwrap().text().await.unwrap();
    let types: Vec<Value> = events(&raw).into_iter().map(|mut event| event["type"].take()).collect();
    assert_eq!(types[0], "response.created");
    assert!(types.iter().filter(|kind| *kind == "response.in_progress").count() >= 2, "{types:?}");
    assert!(!raw.contains("\n: "), "comments do not stop the clock: {raw}");
}

#[tokio::test]
async fn a_fault_in_the_middle_is_a_failed_response() {
    let (proxy, _fake) = with_openai(|_| Script::events(vec![delta(json!({"content": "Let me "})), Step::Break])).await;
    let raw = proxy.post("/v1/responses", request(true)).send().await.unwrap().text().await.unwrap();
    let last = events(&raw).pop().unwrap();
    assert_eq!((&last["type"], &last["response"]["status"]), (&json!("response.failed"), &json!("failed")));
    assert!(last["response"]["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
}

#[tokio::test]
async fn a_response_is_kept_and_followed_and_deleted() {
    let (proxy, fake) = with_openai(|seen| says(if seen.body.contains("Fine.") { "Still fine." } else { "Fine." })).await;
    let (_, first) = answer(proxy.post("/v1/responses", json!({"model": "m", "input": "How are you?"}))).await;
    let id = first["id"].as_str().unwrap().to_owned();
    assert_eq!(answer(proxy.get(&format!("/v1/responses/{id}"))).await, (200, first));
    let follow = json!({"model": "m", "input": "And now?", "previous_response_id": id, "stream": true});
    let raw = proxy.post("/v1/responses", follow).send().await.unwrap().text().await.unwrap();
    let second = events(&raw).pop().unwrap()["response"].take();
    assert_eq!(second["previous_response_id"], id.as_str());
    let upstream: Value = serde_json::from_str(&fake.seen("/v1/chat/completions")[1].body).unwrap();
    let said: Vec<&str> =
        upstream["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["How are you?", "Fine.", "And now?"]);
    let second = second["id"].as_str().unwrap();
    let (_, items) = answer(proxy.get(&format!("/v1/responses/{second}/input_items"))).await;
    assert_eq!(items["data"][0]["content"], "And now?");

    let deleted = client().delete(format!("{}/v1/responses/{id}", proxy.url));
    assert_eq!(answer(deleted).await, (200, json!({"id": id, "object": "response", "deleted": true})));
    let follow = json!({"model": "m", "input": "x", "previous_response_id": second});
    let (status, error) = answer(proxy.post("/v1/responses", follow)).await;
    assert_eq!((status, &error["error"]["code"]), (400, &json!("previous_response_not_found")));
    let (_, unkept) = answer(proxy.post("/v1/responses", json!({"model": "m", "input": "x", "store": false}))).await;
    let (status, _) = answer(proxy.get(&format!("/v1/responses/{}", unkept["id"].as_str().unwrap()))).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_request_to_load_a_model_asks_nothing() {
    let (proxy, fake) = with_openai(|_| says("never")).await;
    let (status, loaded) = answer(proxy.post("/v1/responses", json!({"model": "m", "input": "", "max_output_tokens": 1}))).await;
    assert_eq!((status, &loaded["status"], &loaded["output"]), (200, &json!("completed"), &json!([])));
    assert!(fake.seen("/v1/chat/completions").is_empty());
}
