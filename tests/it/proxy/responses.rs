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

#[tokio::test]
async fn an_answer_that_was_cut_is_kept_too() {
    let (proxy, _fake) = with_openai(|_| Script::events(vec![delta(json!({"content": "part"})), finish("length")])).await;
    let raw = proxy
        .post("/v1/responses", json!({"model": "m", "input": "x", "stream": true}))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let cut = events(&raw).pop().unwrap()["response"].take();
    assert_eq!(cut["status"], "incomplete");
    let id = cut["id"].as_str().unwrap();
    assert_eq!(answer(proxy.get(&format!("/v1/responses/{id}"))).await, (200, cut.clone()));
    let follow = json!({"model": "m", "input": "Go on.", "previous_response_id": id});
    assert_eq!(answer(proxy.post("/v1/responses", follow)).await.0, 200);
}

#[tokio::test]
async fn a_reference_stands_for_the_stored_item() {
    let (proxy, fake) = with_openai(|seen| {
        let seen: Value = serde_json::from_str(&seen.body).unwrap();
        let again = seen["messages"].as_array().unwrap().len() > 1;
        says(&if again { "Done.".to_owned() } else { format!("I look.\n{}", call("exec_command", json!({"cmd": "ls"}))) })
    })
    .await;
    let user = json!({"role": "user", "content": "Go."});
    for stream in [false, true] {
        let first = json!({"model": "m", "input": [user], "tools": tools(), "stream": stream});
        let raw = proxy.post("/v1/responses", first).send().await.unwrap().text().await.unwrap();
        let first = if stream { events(&raw).pop().unwrap()["response"].take() } else { serde_json::from_str(&raw).unwrap() };
        let output = first["output"].as_array().unwrap();
        let mut input = vec![user.clone()];
        input.extend(output.iter().map(|item| json!({"type": "item_reference", "id": item["id"]})));
        input.push(json!({"type": "function_call_output", "call_id": output[1]["call_id"], "output": "a.txt"}));
        let (status, second) = answer(proxy.post("/v1/responses", json!({"model": "m", "input": input, "tools": tools()}))).await;
        assert_eq!(status, 200, "{second}");
        let upstream: Value = serde_json::from_str(&fake.seen("/v1/chat/completions").last().unwrap().body).unwrap();
        let said = &upstream["messages"][1];
        assert_eq!((&said["content"], &said["tool_calls"][0]["function"]["name"]), (&json!("I look."), &json!("exec_command")));
        // What follows has the items, not the references.
        let (_, kept) = answer(proxy.get(&format!("/v1/responses/{}/input_items", second["id"].as_str().unwrap()))).await;
        assert_eq!(kept["data"][1], output[0]);
    }
    for id in ["msg_unknown", "fc_00_0"] {
        let unknown = json!({"model": "m", "input": [{"type": "item_reference", "id": id}, user]});
        let (status, error) = answer(proxy.post("/v1/responses", unknown)).await;
        assert_eq!((status, &error["error"]["code"]), (404, &json!("item_not_found")), "{error}");
    }
}

#[tokio::test]
async fn a_text_under_another_name_is_the_input_and_an_empty_call_never_leaves() {
    for (arguments, wanted) in [(json!({"code": "x()"}), Some("x()")), (json!({}), None)] {
        let (proxy, _fake) = with_openai(move |_| says(&call("run_js", arguments.clone()))).await;
        let request = json!({"model": "m", "input": "Run it.", "tools": [{"type": "custom", "name": "run_js"}]});
        let (status, whole) = answer(proxy.post("/v1/responses", request)).await;
        let output = whole["output"].as_array().unwrap();
        let input = output.iter().find(|item| item["type"] == "custom_tool_call").map(|item| &item["input"]);
        assert_eq!((status, input), (200, wanted.map(|text| json!(text)).as_ref()), "{whole}");
    }
}
