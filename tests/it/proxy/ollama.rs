//! The proxy as if it were an Ollama: what it lists and tells, chats as lines of JSON, completions, faults in Ollama's form.

use super::{
    chat::{done, text, with_ollama},
    *,
};

const TOOLS: &str = r#"[{"type":"function","function":{"name":"read_file","parameters":{"type":"object","properties":{"uri":{"type":"string"},"lines":{"type":"integer"}},"required":["uri"]}}}]"#;

fn chat(more: Value) -> String {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "go"}]});
    body["tools"] = serde_json::from_str(TOOLS).unwrap();
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body.to_string()
}

/// The status and the lines.
async fn lines(request: reqwest::RequestBuilder) -> (u16, Vec<Value>) {
    let response = request.send().await.unwrap();
    let (status, text) = (response.status().as_u16(), response.text().await.unwrap());
    (status, text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"))).collect())
}

#[tokio::test]
async fn who_looks_for_an_ollama_finds_one() {
    let (proxy, _fake) = with_openai(|_| Script::json(404, "{}")).await;
    let plain = proxy.get("/").send().await.unwrap();
    assert_eq!((plain.status().as_u16(), plain.text().await.unwrap().as_str()), (200, "Ollama is running"));
    let page = proxy.get("/").header("accept", "text/html,application/xhtml+xml,*/*;q=0.8").send().await.unwrap();
    assert!(page.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    assert!(page.text().await.unwrap().contains("toolglot is running"), "people get the page");
    let head = client().head(format!("{}/", proxy.url)).send().await.unwrap();
    assert_eq!(head.status(), 200);
    let (_, version) = answer(proxy.get("/api/version")).await;
    let numbers: Vec<u32> = version["version"].as_str().unwrap().split('.').map(|number| number.parse().unwrap()).collect();
    assert!(numbers >= vec![0, 6, 4], "{version}");
    assert_eq!(answer(proxy.get("/void/api/version")).await.1, version, "prefixes have the routes too");
}

#[tokio::test]
async fn models_of_all_backends_are_shown_as_able_to_call_tools() {
    let entry = json!({"name": "a:latest", "model": "a:latest", "modified_at": "2026-01-02T03:04:05Z", "size": 5, "digest": "abc",
        "details": {"family": "fam", "parameter_size": "7B"}});
    let listed = json!({"models": [entry, {"name": "embedder"}]}).to_string();
    let first = Fake::start(move |seen| match (seen.line.as_str(), seen.body.contains("embedder")) {
        ("GET /api/tags", _) => Script::json(200, listed.clone()),
        ("GET /api/ps", _) => Script::json(200, r#"{"models":[{"name":"a:latest","size_vram":5},{"name":"hidden"}]}"#),
        (_, true) => Script::json(200, r#"{"capabilities":["embedding"]}"#),
        _ => Script::json(
            200,
            r#"{"license":"L","capabilities":["completion","vision"],"details":{"family":"fam"},"model_info":{"general.architecture":"fam","fam.context_length":131072,"fam.block_count":40000}}"#,
        ),
    })
    .await;
    let second = Fake::start(|seen| match seen.line.as_str() {
        "GET /v1/models" => Script::json(200, r#"{"data":[{"id":"org/c","max_model_len":8192}]}"#),
        _ => Script::json(404, "{}"),
    })
    .await;
    let config = format!(
        "[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\n[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n",
        first.url, second.url
    );
    let proxy = Proxy::start(&config).await;
    let (_, tags) = answer(proxy.get("/api/tags")).await;
    assert_eq!(tags["models"][0], entry, "an Ollama's own entry stays as it is");
    let models: Vec<&str> = tags["models"].as_array().unwrap().iter().map(|model| model["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["a:latest", "embedder", "org/c"]);
    let other = &tags["models"][2];
    for field in ["name", "modified_at", "digest"] {
        assert!(other[field].as_str().is_some_and(|text| !text.is_empty()), "{other}");
    }
    assert!(other["size"].is_u64() && other["details"]["family"].is_string() && other["details"]["parameter_size"].is_string());

    let (_, running) = answer(proxy.get("/api/ps")).await;
    assert_eq!(running, json!({"models": [{"name": "a:latest", "size_vram": 5, "model": "a:latest"}]}));

    let (_, own) = answer(proxy.post("/api/show", json!({"name": "a:latest", "verbose": true}))).await;
    assert_eq!((own["license"].as_str(), &own["capabilities"]), (Some("L"), &json!(["completion", "vision", "tools"])));
    assert_eq!(own["model_info"]["fam.context_length"], 32768, "what is asked for at most");
    assert_eq!(own["model_info"]["fam.block_count"], 40000);
    let asked: Value = serde_json::from_str(&first.seen("/api/show").pop().unwrap().body).unwrap();
    assert_eq!(asked, json!({"verbose": true, "model": "a:latest"}));
    let (_, embedder) = answer(proxy.post("/api/show", json!({"model": "embedder"}))).await;
    assert_eq!(embedder["capabilities"], json!(["embedding"]), "it cannot chat");
    let (_, untouched) = answer(proxy.post("/off/api/show", json!({"model": "a:latest"}))).await;
    assert_eq!(untouched["capabilities"], json!(["completion", "vision"]));

    let (_, other) = answer(proxy.post("/api/show", json!({"model": "org/c"}))).await;
    assert_eq!(other["capabilities"], json!(["completion", "tools"]));
    let family = other["model_info"]["general.architecture"].as_str().unwrap();
    assert_eq!(
        (other["model_info"][format!("{family}.context_length")].as_u64(), &other["details"]["family"]),
        (Some(8192), &json!(family))
    );
    for (body, status) in [(json!({"model": "nobody"}), 404), (json!({}), 400), (json!([]), 400)] {
        let (got, error) = answer(proxy.post("/api/show", body)).await;
        assert!(got == status && error["error"].is_string(), "{got} {error}");
    }
}

#[tokio::test]
async fn a_call_in_the_text_arrives_as_an_object_streamed_and_not() {
    let (proxy, fake) = with_ollama(|_, _| {
        Script::lines(vec![
            text("Looking.\n```json\n{\"name\":\"read_"),
            text("file\",\"arguments\":{\"uri\":\"a\"}}\n```"),
            done("stop"),
        ])
    })
    .await;
    let (status, got) = lines(proxy.post("/api/chat", chat(json!({"keep_alive": "5m", "options": {"num_predict": 9}})))).await;
    assert_eq!(status, 200);
    let text: String = got.iter().filter_map(|line| line["message"]["content"].as_str()).collect();
    assert_eq!(text.trim(), "Looking.");
    let calls: Vec<&Value> = got.iter().filter_map(|line| line["message"]["tool_calls"].as_array()).flatten().collect();
    assert_eq!(calls.len(), 1);
    assert_eq!((&calls[0]["function"]["name"], &calls[0]["function"]["arguments"]), (&json!("read_file"), &json!({"uri": "a"})));
    let end = got.last().unwrap();
    assert_eq!((&end["done"], &end["done_reason"], &end["eval_count"]), (&json!(true), &json!("stop"), &json!(3)));
    assert!(end["total_duration"].as_u64() >= end["eval_duration"].as_u64() && end["eval_duration"].as_u64() > Some(0), "{end}");
    let sent: Value = serde_json::from_str(&fake.seen("/api/chat")[0].body).unwrap();
    assert_eq!((&sent["keep_alive"], &sent["options"]["num_predict"]), (&json!("5m"), &json!(9)));

    let (status, whole) = answer(proxy.post("/api/chat", chat(json!({"stream": false})))).await;
    assert_eq!((status, &whole["message"]["tool_calls"][0]["function"]["arguments"]), (200, &json!({"uri": "a"})));
    assert!(whole["done"] == true && whole["total_duration"].as_u64() > Some(0), "{whole}");
}

#[tokio::test]
async fn a_history_in_ollamas_form_goes_to_any_backend() {
    let sse = r#"data: {"choices":[{"index":0,"delta":{"content":"21 degrees"},"finish_reason":"stop"}]}"#;
    let (proxy, fake) = with_openai(move |_| Script::events(vec![Step::Send(format!("{sse}\n\ndata: [DONE]\n\n"))])).await;
    let messages = json!([
        {"role": "user", "content": "go", "images": []},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "read_file", "arguments": {"uri": "a"}}}]},
        {"role": "tool", "content": "21", "tool_name": "read_file"},
    ]);
    let (_, got) = lines(proxy.post("/api/chat", chat(json!({"messages": messages})))).await;
    assert_eq!(got[0]["message"]["content"], "21 degrees");
    let sent: Value = serde_json::from_str(&fake.seen("/v1/chat/completions")[0].body).unwrap();
    let call = &sent["messages"][1]["tool_calls"][0];
    assert!(call["id"].as_str().is_some_and(|id| !id.is_empty()) && call["id"] == sent["messages"][2]["tool_call_id"], "{sent}");
    assert_eq!(call["function"]["arguments"], "{\"uri\":\"a\"}");
}

#[tokio::test]
async fn faults_and_silence_are_lines_too() {
    let (proxy, _fake) = with_ollama(|_, _| {
        Script::lines(vec![
            text("So far so good.\n"),
            Step::Wait(Duration::from_millis(5200)),
            Step::Send("{\"error\":\"out of memory\"}\n".into()),
        ])
    })
    .await;
    let (status, got) = lines(proxy.post("/api/chat", chat(json!({})))).await;
    let said: String = got.iter().filter_map(|line| line["message"]["content"].as_str()).collect();
    assert_eq!((status, said.as_str()), (200, "So far so good.\n"), "{got:?}");
    assert!(got.iter().any(|line| line["message"]["content"] == "" && line["done"] == false), "a sign of life: {got:?}");
    assert_eq!(got.last().unwrap(), &json!({"error": "out of memory"}));

    let (proxy, _fake) = with_ollama(|_, _| Script::json(404, r#"{"error":"model 'm' not found"}"#)).await;
    for stream in [true, false] {
        let (status, error) = answer(proxy.post("/api/chat", chat(json!({"stream": stream})))).await;
        assert!(status == 404 && error["error"].as_str().unwrap().contains("not found"), "{error}");
    }
    for (request, status) in [
        (proxy.post("/api/chat", "{"), 400),
        (proxy.get("/api/chat"), 405),
        (proxy.get("/api/nothing"), 404),
        (proxy.get("/api/tags").header("host", "evil.example"), 403),
        (client().post(format!("{}/api/chat", proxy.url)).header("content-type", "text/plain").body("{}"), 415),
    ] {
        let (got, error) = answer(request).await;
        assert!(got == status && error["error"].is_string(), "{got} {error}");
    }
    let page = proxy.get("/api/tags").header("origin", "http://localhost:3000").send().await.unwrap();
    assert_eq!(page.status(), 200, "a page of this machine may use it, as it may use an Ollama");
}

#[tokio::test]
async fn an_ollama_gets_completions_and_embeddings_as_they_are() {
    let (proxy, fake) = before_ollama(|_| Script::json(200, "{\"as\" : \"it came\"}\n")).await;
    let body = r#"{ "model":"m", "prompt":"fn ", "suffix":"}", "raw":true, "unknown":1.50 }"#;
    for path in ["/api/generate", "/api/embed", "/api/embeddings", "/off/api/chat"] {
        assert_eq!(proxy.post(path, body).send().await.unwrap().text().await.unwrap(), "{\"as\" : \"it came\"}\n", "{path}");
        assert_eq!(fake.seen(path.trim_start_matches("/off")).pop().unwrap().body, body);
    }
    // A chat without messages loads the model.
    let loading = r#"{"model":"m","messages":[]}"#;
    proxy.post("/api/chat", loading).send().await.unwrap();
    assert_eq!(fake.seen("/api/chat").pop().unwrap().body, loading);
}

#[tokio::test]
async fn others_complete_text_through_their_own_endpoint() {
    let piece = |text: &str, reason: Value| {
        Step::Send(format!("data: {}\n\n", json!({"choices": [{"index": 0, "text": text, "finish_reason": reason}]})))
    };
    let (proxy, fake) = with_openai(move |seen| match seen.body.contains("break") {
        true => Script::events(vec![piece("a", Value::Null), Step::Break]),
        false => Script::events(vec![
            piece("let x", Value::Null),
            piece(" = 1;", json!("length")),
            Step::Send(
                "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n".into(),
            ),
        ]),
    })
    .await;
    let body = json!({"model": "m", "prompt": "fn main() {", "suffix": "}", "raw": true, "options": {"num_predict": 300, "stop": ["\n"], "num_ctx": 1}});
    let (_, got) = lines(proxy.post("/api/generate", &body)).await;
    let text: String = got.iter().map(|line| line["response"].as_str().unwrap()).collect();
    let end = got.last().unwrap();
    assert_eq!((text.as_str(), &end["done_reason"], &end["eval_count"]), ("let x = 1;", &json!("length"), &json!(2)));
    let sent: Value = serde_json::from_str(&fake.seen("/v1/completions").pop().unwrap().body).unwrap();
    assert_eq!(
        sent,
        json!({"model": "m", "prompt": "fn main() {", "suffix": "}", "max_tokens": 300, "stop": ["\n"], "stream": true})
    );
    let mut whole = body.clone();
    whole["stream"] = json!(false);
    let (_, whole) = answer(proxy.post("/api/generate", whole)).await;
    assert_eq!((&whole["response"], &whole["done"]), (&json!("let x = 1;"), &json!(true)));

    let (status, broken) = answer(proxy.post("/api/generate", json!({"model": "m", "prompt": "break", "raw": true}))).await;
    assert!(status == 502 && broken["error"].is_string(), "{status} {broken}");
    let (_, loaded) = answer(proxy.post("/api/generate", json!({"model": "m"}))).await;
    assert_eq!(loaded["done_reason"], "load");
    let (status, error) = answer(proxy.post("/api/embed", json!({"model": "m", "prompt": "Why?"}))).await;
    assert!(status == 501 && error["error"].is_string(), "{status} {error}");
}

#[tokio::test]
async fn a_prompt_is_one_message_of_the_user() {
    let piece = |delta: Value, reason: Value| {
        Step::Send(format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})))
    };
    let (proxy, fake) = with_openai(move |_| {
        Script::events(vec![
            piece(json!({"content": "It "}), Value::Null),
            piece(json!({"content": "scatters."}), json!("stop")),
            Step::Send("data: [DONE]\n\n".into()),
        ])
    })
    .await;
    let body = json!({"model": "m", "prompt": "Why is the sky blue?", "system": "Be brief.", "options": {"temperature": 0}});
    let (_, got) = lines(proxy.post("/api/generate", &body)).await;
    let text: String = got.iter().map(|line| line["response"].as_str().unwrap()).collect();
    let end = got.last().unwrap();
    assert_eq!((text.as_str(), &end["done"], &end["done_reason"]), ("It scatters.", &json!(true), &json!("stop")), "{got:?}");
    let sent: Value = serde_json::from_str(&fake.seen("/v1/chat/completions").pop().unwrap().body).unwrap();
    let said = [json!({"role": "system", "content": "Be brief."}), json!({"role": "user", "content": "Why is the sky blue?"})];
    assert_eq!((&sent["messages"], &sent["temperature"]), (&json!(said), &json!(0)));
    let whole = json!({"model": "m", "prompt": "Why is the sky blue?", "stream": false});
    let (_, whole) = answer(proxy.post("/api/generate", whole)).await;
    assert_eq!((&whole["response"], &whole["done"]), (&json!("It scatters."), &json!(true)), "{whole}");
}
