//! Which tools count as offered: `tool_choice` of each front, and calls of tools that nobody offers.

use super::*;

/// Answers of OpenAI's API: the model says this, or calls this tool.
fn answered(delta: Value, finish: &str) -> Script {
    let chunk = |delta: Value, finish: Value| {
        Step::Send(format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})))
    };
    let end = Step::Send("data: [DONE]\n\n".into());
    Script::events(vec![chunk(delta, Value::Null), chunk(json!({}), json!(finish)), end])
}

fn marked(name: &str) -> Script {
    answered(
        json!({"content": format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{\"x\": \"1\"}}}}\n</tool_call>")}),
        "stop",
    )
}

fn native(name: &str) -> Script {
    let call = json!({"index": 0, "id": "a", "type": "function", "function": {"name": name, "arguments": "{\"x\":\"1\"}"}});
    answered(json!({"tool_calls": [call]}), "tool_calls")
}

fn bare(name: &str) -> Script {
    answered(json!({"content": format!("{{\"name\": \"{name}\", \"arguments\": {{\"x\": \"1\"}}}}")}), "stop")
}

fn parameters() -> Value {
    json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]})
}

/// A chat with the tools `look` and `remove`, after a call of `remove`.
fn chat(more: Value) -> Value {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": parameters()}});
    let old = json!({"id": "old", "type": "function", "function": {"name": "remove", "arguments": "{\"x\":\"0\"}"}});
    let mut body = json!({"model": "m", "tools": [tool("look"), tool("remove")], "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [old]},
        {"role": "tool", "tool_call_id": "old", "content": "done"},
    ]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// The names of the tools that each request offered to the backend.
fn offered(fake: &Fake) -> Vec<Vec<String>> {
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
    let names = |seen: Seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        body["tools"].as_array().into_iter().flatten().map(name).collect()
    };
    fake.seen("/v1/chat/completions").into_iter().map(names).collect()
}

/// The answer without the tools of the request, which a response repeats.
fn without_tools(answer: &Value) -> String {
    let mut answer = answer.clone();
    answer["tools"] = Value::Null;
    answer.to_string()
}

#[tokio::test]
async fn a_tool_that_the_choice_excludes_is_not_offered_and_never_called() {
    let allowed = |mode: &str| json!({"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [{"type": "function", "function": {"name": "look"}}]}});
    let named = json!({"type": "function", "function": {"name": "look"}});
    let flat = |name: &str| json!({"type": "function", "name": name, "parameters": parameters()});
    let block = |name: &str| json!({"name": name, "input_schema": parameters()});
    let requests = [
        ("/v1/chat/completions", chat(json!({"tool_choice": allowed("auto")}))),
        ("/v1/chat/completions", chat(json!({"tool_choice": allowed("required")}))),
        ("/v1/chat/completions", chat(json!({"tool_choice": named}))),
        (
            "/v1/responses",
            json!({"model": "m", "input": "go", "tools": [flat("look"), flat("remove")],
                "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]}}),
        ),
        (
            "/v1/responses",
            json!({"model": "m", "input": "go", "tools": [flat("look"), flat("remove")], "tool_choice": {"type": "function", "name": "look"}}),
        ),
        (
            "/v1/messages",
            json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}],
                "tools": [block("look"), block("remove")], "tool_choice": {"type": "tool", "name": "look"}}),
        ),
    ];
    for (path, request) in &requests {
        for script in [marked, native] {
            let (proxy, fake) = with_openai(move |_| script("remove")).await;
            let (status, answer) = answer(proxy.post(path, request)).await;
            assert_eq!(status, 200, "{answer}");
            let text = without_tools(&answer);
            assert!(!text.contains(r#""name":"remove""#) && text.contains("no such tool is offered"), "{path}: {answer}");
            assert_eq!(offered(&fake), [["look"], ["look"]], "{path}: asked again once");
            let (proxy, _fake) = with_openai(move |_| script("look")).await;
            let (_, answer) = super::answer(proxy.post(path, request)).await;
            assert!(answer.to_string().contains(r#""name":"look""#), "{path}: {answer}");
        }
    }
}

#[tokio::test]
async fn an_empty_list_permits_no_tool() {
    let flat = json!({"type": "function", "name": "look", "parameters": parameters()});
    for mode in ["auto", "required"] {
        let requests = [
            (
                "/v1/chat/completions",
                chat(json!({"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": []}}})),
            ),
            (
                "/v1/responses",
                json!({"model": "m", "input": "go", "tools": [flat], "tool_choice": {"type": "allowed_tools", "mode": mode, "tools": []}}),
            ),
        ];
        for (path, request) in &requests {
            let (proxy, fake) = with_openai(|_| native("look")).await;
            let (status, answer) = answer(proxy.post(path, request)).await;
            assert_eq!(status, 200, "{answer}");
            let text = without_tools(&answer);
            assert!(!text.contains(r#""name":"look""#), "{path}: {answer}");
            assert_eq!(offered(&fake), [[""; 0]], "{path}: nothing is offered, and nobody is asked again");
        }
    }
    let (proxy, _fake) = with_openai(|_| native("look")).await;
    let no_list = json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto"}});
    let (status, answer) = answer(proxy.post("/v1/chat/completions", chat(json!({"tool_choice": no_list})))).await;
    assert!(status == 400 && answer.to_string().contains("`allowed_tools` needs `tools`"), "{answer}");
}

#[tokio::test]
async fn the_history_keeps_the_calls_of_tools_that_the_choice_excludes() {
    let (proxy, fake) = with_openai(|_| native("look")).await;
    answer(proxy.post("/v1/chat/completions", chat(json!({"tool_choice": {"type": "function", "function": {"name": "look"}}}))))
        .await;
    let body: Value = serde_json::from_str(&fake.seen("/v1/chat/completions")[0].body).unwrap();
    assert_eq!(body["messages"][1]["tool_calls"][0]["function"]["name"], "remove");
    assert_eq!(body["messages"][2]["content"], "done");
}

#[tokio::test]
async fn a_call_of_a_tool_that_nobody_offers_is_answered_to_the_model_in_every_form() {
    for script in [marked, native, bare] {
        // The model understands.
        let (proxy, fake) =
            with_openai(move |seen| if seen.body.contains("there is no tool") { native("look") } else { script("fly") }).await;
        let (_, answer) = answer(proxy.post("/v1/chat/completions", chat(json!({})))).await;
        assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "look", "{answer}");
        let told = &fake.seen("/v1/chat/completions")[1].body;
        assert!(told.contains("there is no tool fly. The tools are: look, remove."), "{told}");
    }
    // Who insists may have a reason, such as a tool of an earlier request.
    for script in [marked, native] {
        let (proxy, fake) = with_openai(move |_| script("fly")).await;
        let (_, answer) = answer(proxy.post("/v1/chat/completions", chat(json!({})))).await;
        assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "fly", "{answer}");
        assert_eq!(fake.seen("/v1/chat/completions").len(), 2);
    }
}

#[tokio::test]
async fn a_choice_that_means_nothing_is_refused() {
    let (proxy, _fake) = with_openai(|_| native("look")).await;
    let unknown = json!({"type": "function", "function": {"name": "fly"}});
    for (choice, said) in [(json!("sometimes"), "sometimes"), (json!(5), "5"), (json!([]), "[]"), (unknown, "fly")] {
        let (status, body) = answer(proxy.post("/v1/chat/completions", chat(json!({"tool_choice": choice})))).await;
        assert_eq!(status, 400, "{choice}: {body}");
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains("`tool_choice`") && message.contains(said), "{message}");
    }
    let messages = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}], "tool_choice": {"type": "sometimes"}});
    assert_eq!(answer(proxy.post("/v1/messages", messages)).await.0, 400);
    let responses = json!({"model": "m", "input": "go", "tool_choice": 5});
    assert_eq!(answer(proxy.post("/v1/responses", responses)).await.0, 400);
}

#[tokio::test]
async fn a_tool_in_the_form_of_another_api_is_refused_and_the_right_form_shown() {
    let (proxy, _fake) = with_openai(|_| native("look")).await;
    let tools = json!([{"type": "function", "name": "look", "parameters": parameters()}]);
    let (status, body) = answer(proxy.post("/v1/chat/completions", chat(json!({"tools": tools})))).await;
    assert_eq!(status, 400);
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("`tools[0]` has no `function`") && message.contains(r#""function": {"name""#), "{message}");
}

#[tokio::test]
async fn a_native_call_that_the_client_does_not_want_is_told() {
    let (proxy, fake) = with_openai(|_| native("look")).await;
    let (_, answer) = answer(proxy.post("/v1/chat/completions", chat(json!({"tool_choice": "none"})))).await;
    let message = &answer["choices"][0]["message"];
    let line = "[toolglot] call of look was not run: the client wants no calls (`tool_choice`)\n";
    assert_eq!((&message["content"], message.get("tool_calls")), (&json!(line), None), "{answer}");
    assert_eq!(fake.seen("/v1/chat/completions").len(), 1);
}
