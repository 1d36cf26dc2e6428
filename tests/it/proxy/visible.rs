//! What an operator and a client can see of a request: ids, limits of backends, metrics, readiness; and what heals by itself.

use axum::{Router, response::IntoResponse, routing::any};
use serde_json::{Value, json};

use super::{
    Proxy, answer,
    chat::{done, request, text, with_ollama},
    client, with_openai,
};
use crate::fake::{Fake, Script};

#[tokio::test]
async fn every_answer_has_an_id_and_a_client_may_choose_it() {
    let (proxy, _fake) = with_ollama(|_, _| Script::lines(vec![text("hello"), done("stop")])).await;
    let id = |response: &reqwest::Response| response.headers()["x-request-id"].to_str().unwrap().to_owned();
    for (given, taken) in [("trace-7", true), ("with space", false), (&*"x".repeat(200), false)] {
        let post = proxy.post("/v1/chat/completions", request(true)).header("x-request-id", given);
        let response = post.send().await.unwrap();
        assert_eq!(id(&response) == given, taken, "{given}");
    }
    let (one, two) = (proxy.get("/nowhere").send().await.unwrap(), proxy.get("/nowhere").send().await.unwrap());
    assert!(id(&one).len() == 32 && id(&one) != id(&two));
}

#[tokio::test]
async fn metrics_count_what_happened() {
    let call = json!({"name": "read_file", "arguments": {"uri": "a"}}).to_string();
    let (proxy, _fake) = with_ollama(move |at, _| match at {
        0 => Script::lines(vec![text(&call), done("stop")]),
        _ => Script::json(500, r#"{"error":"out of memory"}"#),
    })
    .await;
    proxy.post("/v1/chat/completions", request(true)).send().await.unwrap().text().await.unwrap();
    proxy.post("/v1/chat/completions", request(false)).send().await.unwrap().text().await.unwrap();
    proxy.get("/nowhere").send().await.unwrap().text().await.unwrap();
    let response = proxy.get("/metrics").send().await.unwrap();
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/plain; version=0.0.4"));
    let metrics = response.text().await.unwrap();
    for line in [
        "toolglot_requests_total{mode=\"rewrite\",status=\"200\"} 1",
        "toolglot_requests_total{mode=\"rewrite\",status=\"500\"} 1",
        "toolglot_requests_total{mode=\"\",status=\"404\"} 1",
        "toolglot_backend_errors_total{backend=\"ollama\",status=\"500\"} 1",
        "toolglot_calls_total{adapter=\"generic\",verdict=\"clean\"} 1",
        "toolglot_first_byte_seconds_count 2",
        "toolglot_added_seconds_count 1",
        // This request itself.
        "toolglot_requests_under_way 1",
    ] {
        assert!(metrics.lines().any(|own| own == line), "{line} in\n{metrics}");
    }
    // Each line is a comment, or a name with labels and a number.
    for line in metrics.lines().filter(|line| !line.starts_with("# ")) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok() && (!name.contains('{') || name.ends_with('}')), "{line}");
    }
}

#[tokio::test]
async fn readiness_is_a_backend_that_answers() {
    let (proxy, _fake) = with_openai(|_| Script::json(404, "{}")).await;
    let (status, ready) = answer(proxy.get("/readyz")).await;
    assert_eq!((status, &ready["backends"]), (200, &json!(["b"])));
    let (_, health) = answer(proxy.get("/healthz")).await;
    assert_eq!(health["backends"][0]["answers"], true, "{health}");
    let dead = Proxy::start("[[backend]]\nname = \"d\"\nkind = \"openai\"\nurl = \"http://127.0.0.1:9/v1\"\n").await;
    let (status, ready) = answer(dead.get("/readyz")).await;
    assert_eq!((status, &ready["ready"]), (503, &json!(false)));
    let (status, health) = answer(dead.get("/healthz")).await;
    assert_eq!((status, &health["backends"][0]["answers"]), (200, &json!(false)), "it runs all the same");
}

/// A backend that says how much it still takes.
async fn with_limits(status: u16) -> Proxy {
    let routes = Router::new().fallback(any(move |request: axum::extract::Request| async move {
        let headers = [("retry-after", "7"), ("x-ratelimit-remaining-requests", "3"), ("x-other", "1")];
        if request.uri().path() == "/v1/models" {
            return axum::Json(json!({"data": [{"id": "m"}]})).into_response();
        }
        let body = match status {
            200 => "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
            _ => "{\"error\":{\"message\":\"slow down\"}}",
        };
        let kind = [("content-type", if status == 200 { "text/event-stream" } else { "application/json" })];
        (http::StatusCode::from_u16(status).unwrap(), kind, headers, body).into_response()
    }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{url}/v1\"\n")).await
}

#[tokio::test]
async fn a_client_hears_when_to_come_again() {
    for (status, streamed) in [(200, true), (200, false), (429, true), (429, false)] {
        let proxy = with_limits(status).await;
        let response = proxy.post("/v1/chat/completions", request(streamed)).send().await.unwrap();
        let value = |name: &str| response.headers().get_all(name).iter().map(|value| value.to_str().unwrap()).collect::<Vec<_>>();
        assert_eq!(response.status(), status, "{streamed}");
        assert_eq!((value("retry-after"), value("x-ratelimit-remaining-requests")), (vec!["7"], vec!["3"]), "{status}");
        assert_eq!(value("x-other"), Vec::<&str>::new());
    }
}

#[tokio::test]
async fn a_backend_gets_its_own_headers() {
    let fake = Fake::start(|seen| match seen.line.as_str() {
        "GET /v1/models" => Script::json(200, r#"{"data":[{"id":"m"}]}"#),
        "POST /v1/embeddings" => Script::json(200, "{}"),
        _ => Script::json(401, r#"{"error":{"message":"the key s3cret-key-of-a-header is wrong"}}"#),
    })
    .await;
    let config = format!(
        "[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\nheaders = {{ Api-Key = \"${{A_KEY}}-of-a-header\", x-plain = \"1\" }}\n",
        fake.url
    );
    let proxy = Proxy::start(&config).await;
    let (status, error) = answer(proxy.post("/v1/chat/completions", request(false))).await;
    assert_eq!(
        (status, error["error"]["message"].as_str()),
        (401, Some("the backend `openai` wants a key (`api_key_env`): the key *** is wrong"))
    );
    proxy.post("/v1/embeddings", r#"{"model":"m","input":"x"}"#).send().await.unwrap();
    for path in ["/v1/models", "/v1/chat/completions", "/v1/embeddings"] {
        let head = &fake.wait_for(path).await.head;
        assert!(head.contains("api-key: s3cret-key-of-a-header") && head.contains("x-plain: 1"), "{path}: {head}");
    }
}

#[tokio::test]
async fn a_backend_that_starts_later_is_found_by_the_next_chat() {
    // Nobody listens on the port, and no other test gets it.
    let port = tokio::net::TcpSocket::new_v4().unwrap();
    port.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = port.local_addr().unwrap().to_string();
    let config =
        format!("[[backend]]\nname = \"late\"\nurl = \"http://{address}\"\n[[route]]\nmodel = \"*\"\nbackend = \"late\"\n");
    let proxy = Proxy::start(&config).await;
    let (status, _) = answer(proxy.post("/v1/chat/completions", request(false))).await;
    assert!(status >= 500, "{status}");
    drop(port);
    let _fake = Fake::start_at(&address, |seen| match seen.line.as_str() {
        "GET /api/version" => Script::json(200, r#"{"version":"0.13.0"}"#),
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        "POST /api/chat" => Script::lines(vec![text("hello"), done("stop")]),
        _ => Script::json(404, "{}"),
    })
    .await;
    // Nobody asks for the list of models.
    tokio::time::sleep(std::time::Duration::from_millis(3100)).await;
    let (status, said) = answer(proxy.post("/v1/chat/completions", request(false))).await;
    assert_eq!((status, said["choices"][0]["message"]["content"].as_str()), (200, Some("hello")));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_line_says_what_became_of_a_turn() {
    use crate::cli::{Running, toolglot};
    let fake = Fake::start(|seen| match seen.line.as_str() {
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        "POST /api/chat" => Script::lines(vec![text("hello"), done("stop")]),
        _ => Script::json(404, "{}"),
    })
    .await;
    for (format, flag) in [("text", None), ("text", Some("-v")), ("json", None), ("text", Some("-q"))] {
        let directory = tempfile::tempdir().unwrap();
        let config = format!("log_format = \"{format}\"\n[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\n", fake.url);
        std::fs::write(directory.path().join("proxy.toml"), config).unwrap();
        let mut arguments = vec!["serve", "--listen", "127.0.0.1:0"];
        arguments.extend(flag);
        let running = Running::of(&mut toolglot(directory.path(), &arguments), ": m");
        let ask = async |path: &str| {
            let post = client().post(format!("{}{path}", running.url())).header("content-type", "application/json");
            post.header("x-request-id", "id-7")
                .header("user-agent", "probe/1 (x)")
                .body(request(true))
                .send()
                .await
                .unwrap()
                .text()
                .await
        };
        ask("/v1/chat/completions").await.unwrap();
        ask("/v1/chat/completions").await.unwrap();
        ask("/v1/v1/chat/completions\u{1b}").await.unwrap();
        ask("/v1/v1/chat/completions\u{1b}").await.unwrap();
        crate::mcp::eventually("the log", || running.said().contains("leave it out of the base URL")).await;
        let said = running.said();
        assert_eq!(said.matches("leave it out of the base URL").count(), 1, "{said}");
        assert!(!said.contains('\u{1b}'), "{said}");
        let line = said.lines().find(|line| line.contains("finish"));
        match (format, flag, line) {
            (_, Some("-q"), line) => assert_eq!(line, None, "{said}"),
            ("text", None, line) => {
                let line = line.unwrap_or_else(|| panic!("{said}"));
                let (before, after) = line.split_once(" ms=").unwrap_or_else(|| panic!("{line}"));
                assert!(before.ends_with("Z turn model=m backend=ollama mode=rewrite status=200"), "{line}");
                assert!(after.ends_with(" finish=stop") && !said.contains("id-7"), "{said}");
            }
            ("json", ..) => {
                let line: Value = serde_json::from_str(line.unwrap_or_else(|| panic!("{said}"))).unwrap();
                assert_eq!(
                    (&line["model"], &line["finish"], &line["status"]),
                    (&json!("m"), &json!("stop"), &json!(200)),
                    "{line}"
                );
                assert_eq!((&line["span"]["id"], &line["client"]), (&json!("id-7"), &json!("probe/1")), "{line}");
            }
            _ => {
                let line = line.unwrap_or_else(|| panic!("{said}"));
                let parts = [
                    "id=\"id-7\"", "client=\"probe/1\"", "model=\"m\"", "mode=\"rewrite\"", "status=200", "finish=\"stop\"",
                    "calls=0",
                ];
                assert!(parts.iter().all(|part| line.contains(part)), "{line}");
                // The second request is the first one again.
                assert!(
                    !line.contains("shared_bytes") && said.contains("shared_bytes=") && said.contains("reread_bytes=0"),
                    "{said}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_is_read_again_and_a_wrong_one_changes_nothing() {
    use crate::cli::{Running, toolglot};
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("proxy.toml");
    let with = |name: &str| format!("[[backend]]\nkind = \"replay\"\n[[alias]]\nname = \"{name}/*\"\nmodel = \"*\"\n");
    std::fs::write(&file, with("one")).unwrap();
    let running = Running::of(&mut toolglot(directory.path(), &["serve", "--listen", "127.0.0.1:0"]), "http://127.0.0.1:");
    let models = async || client().get(format!("{}/v1/models", running.url())).send().await.unwrap().text().await.unwrap();
    assert!(models().await.contains("\"one/"));
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    std::fs::write(&file, with("two")).unwrap();
    crate::mcp::eventually("the change", || running.said().contains("has been read again")).await;
    let list = models().await;
    assert!(list.contains("\"two/") && !list.contains("\"one/"), "{list}");
    std::fs::write(&file, format!("{}retry = 9\n", with("three"))).unwrap();
    crate::mcp::eventually("the fault", || running.said().contains("stays as it was")).await;
    let said = running.said();
    assert!(said.contains("proxy.toml:6") && models().await.contains("\"two/"), "{said}");
    // What the running process cannot change is named.
    std::fs::write(&file, format!("log_format = \"json\"\n{}", with("two"))).unwrap();
    crate::mcp::eventually("the key", || running.said().contains("the change of `log_format` counts at the next start")).await;
    // An editor that empties the file before it writes it.
    std::fs::write(&file, "").unwrap();
    crate::mcp::eventually("the emptiness", || running.said().contains("proxy.toml is empty; the configuration stays")).await;
    assert!(models().await.contains("\"two/"));
    // By hand, where files cannot be watched.
    #[cfg(unix)]
    {
        std::fs::write(&file, with("four")).unwrap();
        running.signal("HUP");
        crate::mcp::eventually("the signal", || running.said().matches("has been read again").count() >= 3).await;
        assert!(models().await.contains("\"four/"));
    }
}
