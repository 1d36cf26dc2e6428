//! What comes before a model: checks, lists, requests that pass untouched.

use super::*;

#[tokio::test]
async fn a_foreign_page_gets_nothing() {
    let (proxy, _fake) = with_openai(|_| Script::json(200, "{}")).await;
    let host = proxy.url.trim_start_matches("http://").to_owned();
    let port = host.rsplit(':').next().unwrap().to_owned();
    for (header, value, path, expected) in [
        ("host", "localhost", "/v1/models", 200),
        ("host", "[::1]:8000", "/v1/models", 200),
        ("host", "api.localhost:1", "/v1/models", 200),
        ("host", "evil.example", "/v1/models", 403),
        ("host", "evil.example", "/healthz", 403),
        ("host", "127.0.0.1.evil.example", "/v1/models", 403),
        ("host", "localhost.evil.example", "/nowhere", 403),
        ("host", "192.168.0.1", "/v1/models", 403),
        ("host", "[::1", "/v1/models", 403),
        ("host", "[::1].evil.example", "/v1/models", 403),
        ("host", "127.0.0.1:80:evil.example", "/v1/models", 403),
        ("origin", "https://[::1].evil.example", "/v1/models", 403),
        ("origin", "http://127.0.0.1:80@evil.example", "/v1/models", 403),
        ("origin", "http://localhost:3000", "/v1/models", 200),
        ("origin", "http://localhost:3000", "/v1/models/m", 200),
        ("origin", "https://127.0.0.1", "/models", 200),
        ("origin", "http://localhost:3000", "/healthz", 403),
        ("origin", "https://evil.example", "/v1/models", 403),
        ("origin", "http://localhost.evil.example", "/v1/models", 403),
        ("origin", "null", "/v1/models", 403),
        ("origin", "file://", "/v1/models", 403),
        ("origin", "vscode-file://vscode-app", "/v1/models", 200),
        ("origin", "vscode-webview://abc", "/healthz", 200),
        ("origin", "app://obsidian.md", "/v1/models", 200),
        ("origin", "tauri://localhost", "/v1/models", 200),
    ] {
        let (status, body) = answer(proxy.get(path).header(header, value.replace("8000", &port))).await;
        assert_eq!(status, expected, "{header}: {value} on {path}: {body}");
        assert!(expected == 200 || body["error"]["message"].as_str().unwrap().contains("allowed"), "{body}");
    }
}

#[tokio::test]
async fn configured_names_pass() {
    let fake = Fake::start(|_| Script::json(200, r#"{"data":[{"id":"m"}]}"#)).await;
    let config = format!(
        "allowed_hosts = [\"box.lan\"]\nallowed_origins = [\"https://chat.example\"]\n[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"",
        fake.url
    );
    let proxy = Proxy::start(&config).await;
    assert_eq!(answer(proxy.get("/v1/models").header("host", "BOX.lan:8000")).await.0, 200);
    assert_eq!(answer(proxy.get("/healthz").header("origin", "https://chat.example")).await.0, 200);
    assert_eq!(answer(proxy.get("/v1/models").header("origin", "http://chat.example")).await.0, 403);
}

#[tokio::test]
async fn a_page_that_may_ask_may_read() {
    let (proxy, _fake) = with_openai(|_| Script::json(200, "{}")).await;
    let preflight = client()
        .request(reqwest::Method::OPTIONS, format!("{}/v1/chat/completions", proxy.url))
        .header("origin", "http://localhost:3000")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,content-type,x-stainless-os")
        .send()
        .await
        .unwrap();
    assert_eq!(preflight.status(), 204);
    assert_eq!(preflight.headers()["access-control-allow-origin"], "http://localhost:3000");
    assert_eq!(preflight.headers()["access-control-allow-headers"], "authorization,content-type,x-stainless-os");
    let answer = proxy.get("/v1/models").header("origin", "http://localhost:3000").send().await.unwrap();
    assert_eq!(answer.headers()["access-control-allow-origin"], "http://localhost:3000");
    let foreign = client()
        .request(reqwest::Method::OPTIONS, format!("{}/v1/chat/completions", proxy.url))
        .header("origin", "https://evil.example")
        .send()
        .await
        .unwrap();
    assert_eq!(foreign.status(), 403);
    assert!(!foreign.headers().contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn wrong_requests_are_answered_in_openai_s_form() {
    let fake = Fake::start(|_| Script::json(200, r#"{"data":[{"id":"m"}]}"#)).await;
    let config = format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n[limits]\nbody_bytes = 100\n", fake.url);
    let proxy = Proxy::start(&config).await;
    let plain = client().post(format!("{}/v1/chat/completions", proxy.url)).header("content-type", "text/plain").body("{}");
    let large = json!({"model": "m", "prompt": "x".repeat(200)});
    let packed = proxy.post("/v1/chat/completions", "{}").header("content-encoding", "gzip");
    let react = client().post(format!("{}/react/v1/chat/completions", proxy.url)).header("content-type", "application/json");
    for (request, status, said) in [
        (plain, 415, "application/json"),
        (packed, 415, "`content-encoding: gzip`"),
        (react.body("{\"model\":\"m\",\"messages\":[],\"toolglot\":5}"), 400, "`toolglot` must be an object"),
        (proxy.post("/v1/chat/completions", "null"), 400, "the request body must be a JSON object"),
        (proxy.post("/v1/chat/completions", "\"x\""), 400, "the request body must be a JSON object"),
        (proxy.get("/v1/nothing"), 404, "/v1/chat/completions"),
        (proxy.get("/v1/chat/completions"), 405, "does not take GET"),
        (proxy.get("/v1/models/unknown/name"), 404, "unknown/name"),
        (proxy.post("/v1/completions", &large), 413, "larger than 100 bytes"),
        (proxy.post("/v1/completions", "{"), 400, "JSON"),
        (proxy.post("/v1/completions", "{\"prompt\":1}"), 400, "`model` must be the name"),
        (proxy.post("/v1/completions", "{\"model\":5}"), 400, "`model` must be the name"),
        (proxy.post("/v1/chat/completions", " []"), 400, "must be a JSON object"),
        (proxy.post("/v1/chat/completions", "[1"), 400, "must be a JSON object"),
        (
            proxy.post("/v1/chat/completions", "{\"model\":\"m\",\"messages\":[],\"max_tokens\":\"many\"}"),
            400,
            "`max_tokens` must be a number",
        ),
        (
            proxy.post("/v1/responses", "{\"model\":\"m\",\"input\":\"x\",\"previous_response_id\":5}"),
            400,
            "`previous_response_id`",
        ),
    ] {
        let (got, body) = answer(request).await;
        assert_eq!(got, status, "{body}");
        assert!(body["error"]["message"].as_str().unwrap().contains(said), "{body} should contain {said}");
        assert!(body["error"]["type"].is_string() && body["error"].get("code").is_some(), "{body}");
    }
}

#[tokio::test]
async fn models_of_all_backends_are_one_list() {
    let first =
        Fake::start(|_| Script::json(200, r#"{"models":[{"name":"a:latest","model":"a:latest"},{"name":"both"}]}"#)).await;
    let second = Fake::start(|_| Script::json(200, r#"{"data":[{"id":"both"},{"id":"org/c:q4"}]}"#)).await;
    let proxy = Proxy::start(&format!(
        "[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\n[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n[[backend]]\nname = \"off\"\nkind = \"openai\"\nurl = \"http://127.0.0.1:9/v1\"",
        first.url, second.url
    ))
    .await;
    let (_, list) = answer(proxy.get("/v1/models")).await;
    let entries: Vec<(&str, &str)> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["id"].as_str().unwrap(), entry["owned_by"].as_str().unwrap()))
        .collect();
    assert_eq!(entries, [("a:latest", "ollama"), ("both", "ollama"), ("org/c:q4", "openai")]);
    assert_eq!(list["object"], "list");
    assert_eq!(answer(proxy.get("/models")).await.1, list);
    assert_eq!(answer(proxy.get("/v1/models/org/c:q4")).await.1["id"], "org/c:q4");
    assert_eq!(answer(proxy.get("/void/v1/models")).await.1, list);
    assert_eq!(first.seen("/api/tags").len(), 1, "the list is kept for seconds");
}

#[tokio::test]
async fn completions_and_embeddings_pass_untouched() {
    let answer = "{\"choices\" : [ {\"text\":\"x\"} ]}\n";
    let (proxy, fake) = with_openai(move |_| Script::json(418, answer)).await;
    let body = "{ \"model\":\"m\",  \"prompt\":\"a\\u0041\", \"unknown\":1.50 }";
    for (path, upstream) in [
        ("/v1/completions", "/v1/completions"),
        ("/embeddings", "/v1/embeddings"),
        ("/off/v1/chat/completions", "/v1/chat/completions"),
        ("/off/chat/completions", "/v1/chat/completions"),
    ] {
        let response = proxy.post(path, body).header("authorization", "Bearer private").send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.headers()["x-from-backend"].to_str().unwrap()), (418, "yes"));
        assert_eq!(response.text().await.unwrap(), answer);
        let seen = fake.seen(upstream).pop().unwrap();
        assert_eq!(seen.body, body);
        assert!(!seen.head.contains("private"), "{}", seen.head);
        assert!(seen.head.contains("via: 1.1 toolglot-"), "{}", seen.head);
    }
    let response = proxy.post("/v1/chat/completions", body).header("x-toolglot-mode", "off").send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), answer);
}

#[tokio::test]
async fn a_trace_goes_on_at_the_backend() {
    let (proxy, fake) = with_openai(|_| {
        Script::events(vec![super::backends::delta(json!({"content": "hello"})), super::backends::finish("stop")])
    })
    .await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for path in ["/v1/chat/completions", "/off/v1/chat/completions"] {
        let request = proxy.post(path, json!({"model": "m", "messages": [{"role": "user", "content": "x"}]}));
        request.header("traceparent", parent).header("tracestate", "vendor=1").send().await.unwrap().text().await.unwrap();
        let head = fake.seen("/v1/chat/completions").pop().unwrap().head;
        assert!(head.contains(&format!("traceparent: {parent}")) && head.contains("tracestate: vendor=1"), "{head}");
    }
}

#[tokio::test]
async fn a_route_decides_over_its_models() {
    let list = r#"{"data":[{"id":"m"},{"id":"n"}]}"#;
    let reply = |name: &'static str| move |seen: &Seen| Script::json(200, if seen.line.starts_with("GET") { list } else { name });
    let (first, second) = (Fake::start(reply("\"first\"")).await, Fake::start(reply("\"second\"")).await);
    let proxy = Proxy::start(&format!(
        "[[backend]]\nname = \"one\"\nkind = \"openai\"\nurl = \"{}/v1\"\n[[backend]]\nname = \"two\"\nkind = \"openai\"\nurl = \"{}/v1\"\n[[route]]\nmodel = \"N*\"\nbackend = \"two\"\nmode = \"off\"\n",
        first.url, second.url
    ))
    .await;
    assert_eq!(answer(proxy.post("/v1/completions", r#"{"model":"m"}"#)).await.1, "first");
    assert_eq!(answer(proxy.post("/v1/completions", r#"{"model":"n"}"#)).await.1, "second");
    assert_eq!(answer(proxy.post("/v1/chat/completions", r#"{"model":"n","messages":"nonsense"}"#)).await.1, "second");
}

#[tokio::test]
async fn a_key_goes_to_its_backend_and_the_client_s_own_only_where_it_is_wanted() {
    let fake = Fake::start(|_| Script::json(200, r#"{"data":[{"id":"m"}]}"#)).await;
    for (setting, expected) in [
        ("api_key_env = \"A_KEY\"", "authorization: bearer s3cret-key"),
        ("forward_authorization = true", "authorization: bearer mine"),
    ] {
        let proxy = Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n{setting}\n", fake.url)).await;
        proxy.post("/v1/completions", r#"{"model":"m"}"#).header("authorization", "Bearer mine").send().await.unwrap();
        let seen = fake.seen("/v1/completions").pop().unwrap();
        assert!(seen.head.contains(expected), "{}", seen.head);
    }
}

#[tokio::test]
async fn a_circle_is_seen_and_another_toolglot_is_not_one() {
    // The outer proxy comes before an inner one, whose backend is the outer one again.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let outer_url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let inner = Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{outer_url}/v1\"\n")).await;
    let config = Config::parse(
        &format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n", inner.url),
        None,
        &Overrides::default(),
        &Environment::default(),
    )
    .unwrap();
    let app =
        server::app(server::Settings { ollama: String::new(), ..server::Settings::of(config, &Environment::default()) }).unwrap();
    let listener = tokio::net::TcpListener::bind(outer_url.trim_start_matches("http://")).await.unwrap();
    tokio::spawn(async move { axum::serve(listener, server::router(app)).await.unwrap() });
    let outer = Proxy::at(outer_url);
    let (status, body) = answer(outer.post("/v1/completions", r#"{"model":"m"}"#)).await;
    assert_eq!((status, body["error"]["code"].as_str()), (508, Some("loop_detected")), "{body}");

    let (real, fake) = with_openai(|_| Script::json(200, "{}")).await;
    let chained = Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n", real.url)).await;
    assert_eq!(answer(chained.post("/v1/completions", r#"{"model":"m"}"#)).await.0, 200);
    assert_eq!(fake.seen("/v1/completions")[0].head.matches("1.1 toolglot-").count(), 2);
}

#[tokio::test]
async fn recordings_have_no_endpoint_of_their_own() {
    let proxy = Proxy::start("[[backend]]\nkind = \"replay\"\n").await;
    let (_, list) = answer(proxy.get("/v1/models")).await;
    let model = list["data"][0]["id"].as_str().unwrap();
    for path in ["/v1/completions", "/v1/embeddings"] {
        let (status, body) = answer(proxy.post(path, json!({"model": model, "messages": []}))).await;
        assert_eq!(status, 501, "{body}");
    }
}

#[tokio::test]
async fn in_mode_off_a_recording_comes_as_the_model_wrote_it() {
    let proxy = Proxy::start("[[backend]]\nkind = \"replay\"\n").await;
    let function = json!({"name": "read_file", "parameters": {"type": "object", "properties": {"uri": {"type": "string"}}}});
    let asked = json!([{"role": "user", "content": "What is in src/main.rs?"}]);
    let mut body = json!({"model": "demo/gemma3", "messages": asked, "stream": false,
        "tools": [{"type": "function", "function": function}], "tool_choice": "auto"});
    let written = "```json\n{\"name\": \"read_file\", \"parameters\": {\"uri\": \"src/main.rs\"}}\n```";
    let (status, straight) = answer(proxy.post("/off/v1/chat/completions", &body)).await;
    let message = &straight["choices"][0]["message"];
    assert_eq!((status, message["content"].as_str().map(str::trim), message.get("tool_calls")), (200, Some(written), None));
    let (_, through) = answer(proxy.post("/v1/chat/completions", &body)).await;
    assert_eq!(through["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "read_file", "{through}");
    let (_, ollama) = answer(proxy.post("/off/api/chat", &body)).await;
    assert_eq!(ollama["message"]["content"].as_str().map(str::trim), Some(written), "{ollama}");
    body["stream"] = json!(true);
    let stream = proxy.post("/off/v1/chat/completions", &body).send().await.unwrap().text().await.unwrap();
    assert!(!stream.contains("tool_calls") && stream.ends_with("data: [DONE]\n\n"), "{stream}");
}

#[tokio::test]
async fn a_model_that_nobody_has_is_a_permanent_fault() {
    let first = Fake::start(|_| Script::json(200, r#"{"models":[{"name":"a"}]}"#)).await;
    let second = Fake::start(|_| Script::json(200, r#"{"data":[{"id":"b"}]}"#)).await;
    let proxy = Proxy::start(&format!(
        "[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\n[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n",
        first.url, second.url
    ))
    .await;
    let (status, body) = answer(proxy.post("/v1/completions", r#"{"model":"c"}"#)).await;
    assert_eq!((status, body["error"]["code"].as_str()), (404, Some("model_not_found")));
    assert!(body["error"]["message"].as_str().unwrap().contains("a, b"), "{body}");
}

#[tokio::test]
async fn a_client_that_goes_takes_the_upstream_request_along() {
    let (proxy, mut fake) = with_openai(|_| Script::events(vec![Step::Send("data: {}\n\n".into()), Step::Hang])).await;
    let request = proxy.post("/off/v1/chat/completions", r#"{"model":"m","stream":true}"#);
    let response = request.send().await.unwrap();
    fake.wait_for("/v1/chat/completions").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    fake.forget_closed();
    let left = std::time::Instant::now();
    drop(response);
    let after = fake.closed().await.duration_since(left);
    assert!(after < Duration::from_millis(100), "{after:?}");
}

#[tokio::test]
async fn a_mode_without_tools_to_offer_says_so() {
    let answer = r#"{"choices":[{"message":{"content":"Hi."},"finish_reason":"stop"}]}"#;
    let (proxy, _) = with_openai(move |_| Script::json(200, answer)).await;
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": false});
    let said = async |path: &str| {
        let response = proxy.post(path, &body).send().await.unwrap();
        response.headers().get("x-toolglot-warning").map(|warning| warning.to_str().unwrap().to_owned()).unwrap_or_default()
    };
    let warning = said("/react/v1/chat/completions").await;
    assert!(warning.starts_with("no_tools: there are no tools to offer in mode `react`"), "{warning}");
    assert_eq!(said("/v1/chat/completions").await, "");
}

#[tokio::test]
async fn whose_key_is_refused_is_said() {
    let (proxy, _) = with_openai(|_| Script::json(401, r#"{"error":{"message":"invalid api key"}}"#)).await;
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "x"}]});
    let (status, body) = answer(proxy.post("/v1/chat/completions", body)).await;
    let said = body["error"]["message"].as_str().unwrap();
    assert_eq!((status, said), (401, "the backend `b` wants a key (`api_key_env`): invalid api key"), "{body}");
}
