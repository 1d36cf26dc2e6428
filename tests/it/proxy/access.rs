//! Who may do what: client keys, pages of this machine, modes that a request may choose.

use toolglot::config::Environment;

use super::*;

const LIST: &str = r#"{"object":"list","data":[{"id":"m"}]}"#;

/// A proxy with these settings before a backend that answers everything with `{}`.
async fn with(settings: &str, backend: &str) -> (Proxy, Fake) {
    let fake = Fake::start(|seen| Script::json(200, if seen.line.starts_with("GET") { LIST } else { "{}" })).await;
    let config = format!("{settings}\n[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n{backend}\n", fake.url);
    (Proxy::start(&config).await, fake)
}

#[tokio::test]
async fn a_key_opens_every_route_and_goes_no_further() {
    let (proxy, fake) = with("api_key_env = \"A_KEY\"", "forward_authorization = true").await;
    let body = r#"{"model":"m","input":"x"}"#;
    for (header, value, expected) in [
        ("authorization", "Bearer s3cret-key", 200),
        ("authorization", "bearer  s3cret-key", 200),
        ("x-api-key", "s3cret-key", 200),
        ("api-key", "s3cret-key", 200),
        ("authorization", "s3cret-key", 401),
        ("authorization", "Basic s3cret-key", 401),
        ("authorization", "Bearer s3cre", 401),
        ("authorization", "Bearer s3cret-key2", 401),
        ("x-api-key", "", 401),
        ("x-other", "s3cret-key", 401),
    ] {
        for request in
            [proxy.get("/v1/models"), proxy.get("/api/tags"), proxy.get("/mcp/list"), proxy.post("/v1/embeddings", body)]
        {
            let (status, answered) = answer(request.header(header, value)).await;
            assert_eq!(status, expected, "{header}: {value}: {answered}");
            assert!(expected == 200 || !answered.to_string().contains("s3cre"), "{answered}");
        }
    }
    assert!(fake.seen("/v1/embeddings").iter().all(|seen| !seen.head.contains("s3cret-key")), "the key is ours alone");
    // With our key in another header, the client's own goes to the backend that wants it.
    proxy.post("/v1/embeddings", body).header("x-api-key", "s3cret-key").bearer_auth("theirs").send().await.unwrap();
    assert!(fake.seen("/v1/embeddings").pop().unwrap().head.contains("bearer theirs"));
    for path in ["/", "/healthz"] {
        assert_eq!(proxy.get(path).send().await.unwrap().status(), 200, "{path} says only that it runs");
    }
    let health = |request: reqwest::RequestBuilder| async { answer(request).await.1["backends"].take() };
    assert_eq!(health(proxy.get("/healthz").bearer_auth("wrong")).await, Value::Null, "no backend and no address");
    assert!(health(proxy.get("/healthz").bearer_auth("s3cret-key")).await.is_array());
    let refused = proxy.get("/v1/models").send().await.unwrap();
    assert_eq!(refused.headers()["www-authenticate"], "Bearer");
}

#[tokio::test]
async fn a_tenant_has_its_models_its_modes_and_its_pace() {
    let of = |limits: &str| format!("[[key]]\nname = \"ann\"\nkey_env = \"A_KEY\"\n{limits}");
    let key = |request: reqwest::RequestBuilder| answer(request.header("x-api-key", "s3cret-key"));
    let body = r#"{"model":"m","input":"x"}"#;
    // Models of others do not exist, in no list and no error.
    let (proxy, fake) = with(&of("models = [\"small*\"]"), "").await;
    for list in ["/v1/models", "/api/tags"] {
        let (status, listed) = key(proxy.get(list)).await;
        assert!(status == 200 && !listed.to_string().contains("\"m\""), "{list}: {listed}");
    }
    for (path, model) in [("/v1/embeddings", "m"), ("/api/show", "m"), ("/v1/embeddings", "small-none")] {
        let (status, refused) = key(proxy.post(path, json!({"model": model, "input": "x"}).to_string())).await;
        assert!(status == 404 || model != "m", "{path}: {refused}");
        assert!(!refused.to_string().contains("there are: m"), "{refused}");
    }
    assert!(fake.seen("/v1/embeddings").iter().all(|seen| !seen.body.contains("\"m\"")));
    // What belongs to operators.
    let (proxy, _fake) = with(&of("modes = [\"off\"]\nrequests_per_minute = 2"), "").await;
    for path in ["/metrics", "/mcp/list", "/anything"] {
        assert_eq!(key(proxy.get(path)).await.0, 403, "{path}");
    }
    assert_eq!(key(proxy.get("/v1/models")).await.0, 200, "a list counts for nothing");
    let chat = r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#;
    assert_eq!(key(proxy.post("/v1/chat/completions", chat)).await.0, 403, "mode rewrite is not among hers");
    assert_eq!(key(proxy.post("/v1/embeddings", body)).await.0, 200);
    let late = proxy.post("/v1/embeddings", body).header("x-api-key", "s3cret-key").send().await.unwrap();
    assert_eq!(late.status(), 429);
    let seconds: u64 = late.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=61).contains(&seconds), "{seconds}");
    let late = proxy.post("/generate", "{}").header("x-api-key", "s3cret-key").send().await.unwrap();
    assert!(late.status() == 429 && late.headers().contains_key("retry-after"), "{late:?}");
    let told: Value = serde_json::from_str(&late.text().await.unwrap()).unwrap();
    assert_eq!((&told["error"]["code"], &told["id"]), (&json!(-32000), &Value::Null));
    let (proxy, _fake) = with(&of("operator = true"), "").await;
    assert_eq!(key(proxy.get("/mcp/list")).await.0, 200);
    key(proxy.post("/v1/embeddings", body)).await;
    let metrics = proxy.get("/metrics").header("x-api-key", "s3cret-key").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("toolglot_tenant_requests_total{tenant=\"ann\",status=\"200\"} 1"), "{metrics}");
}

#[tokio::test]
async fn a_preflight_carries_no_key() {
    let (proxy, _fake) = with("api_key_env = \"A_KEY\"", "").await;
    let preflight = client()
        .request(reqwest::Method::OPTIONS, format!("{}/v1/models", proxy.url))
        .header("origin", "http://localhost:3000")
        .header("access-control-request-method", "GET");
    assert_eq!(preflight.send().await.unwrap().status(), 204);
    assert_eq!(answer(proxy.get("/v1/models").header("origin", "http://localhost:3000")).await.0, 401);
}

#[tokio::test]
async fn a_page_of_this_machine_may_use_models_and_no_tools() {
    let chat = r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#;
    let neighbour = "http://localhost:3000";
    let (proxy, _fake) = with("", "").await;
    let (trusting, _other) = with(&format!("allowed_origins = [\"{neighbour}\", \"moz-extension://a1\"]"), "").await;
    let (always, _third) = with("mode = \"react\"", "").await;
    let own = proxy.url.clone();
    for (asked, origin, mode, path, is_allowed) in [
        (&proxy, neighbour, None, "/v1/chat/completions", true),
        (&proxy, neighbour, Some("off"), "/v1/chat/completions", true),
        (&proxy, neighbour, Some("react"), "/v1/chat/completions", false),
        (&proxy, neighbour, Some("ReAct"), "/api/chat", false),
        (&proxy, neighbour, None, "/react/v1/chat/completions", false),
        (&proxy, neighbour, None, "/react/api/chat", false),
        (&proxy, neighbour, None, "/shell/v1/chat/completions", false),
        (&proxy, neighbour, None, "/generate_with_mcp", false),
        (&proxy, neighbour, None, "/generate", false),
        (&proxy, neighbour, None, "/mcp", false),
        (&proxy, own.as_str(), Some("react"), "/v1/chat/completions", true),
        (&proxy, own.as_str(), None, "/generate_with_mcp", false),
        (&proxy, "vscode-file://vscode-app", Some("react"), "/v1/chat/completions", true),
        (&proxy, "moz-extension://a1", None, "/v1/chat/completions", false),
        (&trusting, neighbour, Some("react"), "/v1/chat/completions", true),
        (&trusting, "moz-extension://a1", None, "/v1/chat/completions", true),
        (&trusting, "moz-extension://a2", None, "/v1/chat/completions", false),
        (&always, neighbour, None, "/v1/chat/completions", false),
        (&always, neighbour, Some("rewrite"), "/v1/chat/completions", true),
    ] {
        let mut request = asked.post(path, chat).header("origin", origin);
        if let Some(mode) = mode {
            request = request.header("x-toolglot-mode", mode);
        }
        let (status, body) = answer(request).await;
        assert_eq!(status != 403, is_allowed, "{origin} at {path} in mode {mode:?}: {status} {body}");
        assert!(is_allowed || body.to_string().contains("allowed_origins"), "{body}");
    }
}

#[tokio::test]
async fn the_own_page_opened_elsewhere_may_use_what_it_needs() {
    let (proxy, _fake) = with("allowed_hosts = [\"box.lan\"]", "").await;
    let chat = r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#;
    for (path, is_allowed) in
        [("/ui/normalize", true), ("/mcp", true), ("/v1/chat/completions", false), ("/generate_with_mcp", false)]
    {
        let request = proxy.post(path, chat).header("host", "box.lan").header("origin", "http://box.lan");
        let (status, body) = answer(request).await;
        assert_eq!(status != 403, is_allowed, "{path}: {status} {body}");
    }
}

#[tokio::test]
async fn the_operator_decides_which_modes_a_request_may_choose() {
    let chat = r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#;
    let (proxy, _fake) = with("modes = [\"off\"]\n[mcp]\nbuiltin_tools = true", "").await;
    for (path, mode, expected) in [
        ("/v1/chat/completions", "off", 200),
        ("/v1/chat/completions", "react", 403),
        ("/v1/chat/completions", "rewrite", 403),
        ("/react/v1/chat/completions", "off", 200),
    ] {
        let (status, body) = answer(proxy.post(path, chat).header("x-toolglot-mode", mode)).await;
        assert_eq!(status, expected, "{path} {mode}: {body}");
    }
    let (status, body) = answer(proxy.post("/react/v1/chat/completions", chat)).await;
    assert_eq!((status, body["error"]["code"].as_str()), (403, Some("mode_not_allowed")), "{body}");
    assert_ne!(answer(proxy.post("/v1/chat/completions", chat)).await.0, 403, "the configured mode is always open");
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "generate", "params": {"messages": [{"role": "user", "content": "x"}]}});
    assert!(answer(proxy.post("/generate_with_mcp", &call)).await.1["error"]["message"].as_str().unwrap().contains("modes"));
}

#[tokio::test]
async fn a_tool_without_a_content_type_is_served_and_a_page_is_not() {
    let (proxy, _fake) = with("", "").await;
    let body = r#"{"model":"m","input":"x"}"#;
    let post = || client().post(format!("{}/v1/embeddings", proxy.url)).body(body);
    let form = || post().header("content-type", "application/x-www-form-urlencoded");
    for (request, expected) in [
        (post(), 200),
        (form(), 200),
        (post().header("content-type", "text/plain"), 415),
        (form().header("origin", "http://localhost:3000"), 415),
        (form().header("sec-fetch-site", "same-origin"), 415),
        (form().header("sec-fetch-site", "same-site"), 403),
        (post().header("sec-fetch-mode", "no-cors"), 415),
    ] {
        assert_eq!(answer(request).await.0, expected);
    }
}

#[tokio::test]
async fn headers_of_one_connection_stay_on_it() {
    let (proxy, _fake) = with("", "").await;
    let answered = proxy.post("/v1/embeddings", r#"{"model":"m"}"#).send().await.unwrap();
    assert_eq!(answered.headers()["x-from-backend"], "yes");
    assert!(
        !answered.headers().contains_key("keep-alive") && !answered.headers().contains_key("x-hop"),
        "{:?}",
        answered.headers()
    );
}

#[tokio::test]
async fn a_backends_key_comes_back_in_no_spelling() {
    const KEY: &str = "sk-a/b+c9\\d8\"e7==";
    let spelt = serde_json::to_string(KEY).unwrap();
    let spelt = spelt[1..spelt.len() - 1].to_owned();
    let slashed = spelt.replace('/', "\\/");
    let within = json!({"m": format!("{{\"k\":\"{slashed}\"}}")}).to_string();
    let coded: String = KEY.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    let bodies: Vec<String> =
        [spelt, slashed, coded].iter().map(|key| format!("{{\"error\":{{\"message\":\"bad {key}\",\"{key}\":1}}}}")).collect();
    for body in bodies.into_iter().chain([within]) {
        // One line, longer than what is held back, and an event.
        let long = format!("{{\"data\":[{}0],\"k\":{body}}}", "0.125,".repeat(20_000));
        let event = format!("data: {{\"n\":1}}\n\ndata: {body}\n\ndata: [DONE]\n\n");
        for (status, sent) in [(401, &body), (200, &body), (200, &long), (200, &event)] {
            let whole = sent.clone();
            let fake = Fake::start(move |seen| match seen.line.starts_with("GET") {
                true => Script::json(200, LIST),
                false => Script::json(status, whole.as_str()),
            })
            .await;
            let environment = Environment::from([("A_KEY", KEY)]);
            let config = format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\napi_key_env = \"A_KEY\"\n", fake.url);
            let proxy = Proxy::with(&config, &environment).await;
            for path in ["/v1/embeddings", "/v1/completions", "/off/v1/chat/completions"] {
                let answered = proxy.post(path, r#"{"model":"m","input":"x","prompt":"x","messages":[]}"#).send().await.unwrap();
                let text = answered.text().await.unwrap();
                // Without one escape after the other, the key would be there.
                let bare = text.replace("\\u00", "%").replace('\\', "");
                assert!(text.contains("***") && !bare.contains("c9") && !bare.contains("%63%39"), "{path} {status}: {text}");
                assert!(text.len() + 400 > sent.len(), "{path} {status}: nothing else is lost");
            }
        }
    }
}

#[tokio::test]
async fn the_token_of_the_mcp_routes_reaches_no_backend() {
    let (proxy, fake) = with("[mcp]\ntoken_env = \"A_KEY\"", "forward_authorization = true").await;
    for path in ["/v1/embeddings", "/off/v1/chat/completions"] {
        let body = r#"{"model":"m","input":"x","messages":[]}"#;
        assert_eq!(proxy.post(path, body).bearer_auth("s3cret-key").send().await.unwrap().status(), 200);
        let seen = fake.seen(path.trim_start_matches("/off")).pop().unwrap();
        assert!(!seen.head.contains("s3cret-key"), "{}", seen.head);
    }
}

#[tokio::test]
async fn the_password_in_a_backends_url_is_shown_nowhere() {
    let fake = Fake::start(|seen| match seen.line.starts_with("GET") {
        true => Script::json(200, LIST),
        false => Script::json(401, r#"{"error":{"message":"svc may not log in with url/pw-aaaa1111"}}"#),
    })
    .await;
    let url = fake.url.replace("://", "://svc:url%2Fpw-aaaa1111@");
    let proxy = Proxy::start(&format!("[[backend]]\nurl = \"{url}/v1\"\nkind = \"openai\"\n")).await;
    let chat = r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#;
    for request in [proxy.post("/v1/chat/completions", chat), proxy.get("/healthz"), proxy.get("/readyz"), proxy.get("/ui/state")]
    {
        let text = request.send().await.unwrap().text().await.unwrap();
        assert!(!text.contains("pw-aaaa1111"), "{text}");
    }
    // Nor is it a part of the name of a backend that has no other.
    let (_, health) = answer(proxy.get("/healthz")).await;
    assert!(!health["backends"][0]["name"].as_str().unwrap().contains('@'), "{health}");
}
