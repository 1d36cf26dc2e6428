//! Our client against our server in every dialect, and against legacy streams that misbehave.

use std::time::Duration;

use axum::{
    Router,
    body::Body,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::stream;
use serde_json::json;
use toolglot::mcp::pool::PATIENCE;

use super::{Bench, serve};

#[tokio::test]
async fn the_same_tools_in_every_dialect() {
    let inner = Bench::new(json!({}));
    let url = serve(inner.engine(false).routes()).await;
    std::fs::write(inner.path("proxy.toml"), "[mcp]\nbuiltin_tools = true\n").unwrap();
    let words = json!(["mcp", "--config", inner.path("proxy.toml"), "--registry", inner.path("mcp.json"), "serve"]);
    let bench = Bench::new(json!({
        "http": {"url": format!("{url}/mcp"), "type": "http"},
        "sse": {"url": format!("{url}/sse"), "type": "sse"},
        "found": {"url": format!("{url}/sse")},
        "stdio": {"command": env!("CARGO_BIN_EXE_toolglot"), "args": words,
                  "env": {"XDG_DATA_HOME": inner.path("data")}},
    }));
    let offered = bench.pool.tools(None, Duration::from_secs(20)).await;
    assert!(offered.problems.is_empty(), "{:?}", offered.problems);
    for server in ["http", "sse", "found", "stdio"] {
        let answer = bench.call(server, "get_employee_info", json!({"employee_id": "EMP003"})).await;
        assert!(answer.to_text().contains("Aiko Tanaka"), "{server}: {}", answer.to_text());
        let origin = answer.to_value()["result"]["content"][0]["serviceInfo"].clone();
        assert_eq!(origin, json!({"serverName": server, "toolName": "get_employee_info", "backendType": "ExternalMCP"}));
        let failed = bench.call(server, "get_employee_info", json!({"employee_id": "EMP404"})).await;
        assert!(failed.is_error() && failed.outcome.is_ok(), "{server}");
    }
    let spoken: Vec<(&str, String)> =
        bench.pool.status().iter().map(|status| (status.dialect.unwrap(), status.protocol.clone().unwrap())).collect();
    let expected = [("http", "2026-07-28"), ("sse", "2025-11-25"), ("http", "2026-07-28"), ("stdio", "2026-07-28")];
    assert_eq!(spoken, expected.map(|(dialect, protocol)| (dialect, protocol.to_owned())));
}

/// A legacy stream: what comes first, and what follows after a pause each.
fn legacy(first: &'static str, later: Vec<&'static str>) -> Router {
    let open = move || {
        let pieces: Vec<&'static str> = std::iter::once(first).chain(later.clone()).collect();
        async move {
            let body = stream::unfold(pieces.into_iter(), |mut pieces| async move {
                let piece = pieces.next()?;
                tokio::time::sleep(Duration::from_millis(2)).await;
                Some((Ok::<_, std::io::Error>(piece), pieces))
            });
            Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(body)).unwrap()
        }
    };
    Router::new().route("/sse", get(open)).route("/post", post(async || axum::http::StatusCode::ACCEPTED.into_response()))
}

const GREETED: &str = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"x\",\"version\":\"1\"}}}\n\n";

#[tokio::test]
async fn legacy_streams_that_misbehave_are_refused_with_a_reason() {
    let table = [
        ("elsewhere", "event: endpoint\ndata: http://evil.example/post\n\n", vec![], "is on another server"),
        ("mute", ": hello\n\n", vec![], "did not name its endpoint"),
        ("short", "event: endpoint\ndata: /post\n\n", vec![], "the server closed the event stream"),
    ];
    for (name, first, later, expected) in table {
        let url = serve(legacy(first, later)).await;
        let bench = Bench::new(json!({name: {"url": format!("{url}/sse"), "type": "sse"}}));
        let offered = bench.pool.tools(None, PATIENCE).await;
        assert!(offered.problems[0].message.contains(expected), "{name}: {}", offered.problems[0].message);
    }
}

#[tokio::test]
async fn a_slow_legacy_stream_is_read_to_its_end() {
    // One byte at a time, comments between.
    let all = format!(
        "event: endpoint\ndata: /post\n\n: ping\n\n{GREETED}event: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"tools\":[{{\"name\":\"slow\",\"inputSchema\":{{\"type\":\"object\"}}}}]}}}}\n\n"
    );
    let bytes: Vec<&'static str> = all.chars().map(|c| &*Box::leak(c.to_string().into_boxed_str())).collect();
    let url = serve(legacy(":\n\n", bytes)).await;
    let bench = Bench::new(json!({"s": {"url": format!("{url}/sse"), "type": "sse"}}));
    let offered = bench.pool.tools(None, Duration::from_secs(10)).await;
    assert!(offered.resolve("s__slow", &[]).is_some(), "{:?}", offered.problems);
    let lost = bench.call("s", "slow", json!({})).await.to_text();
    assert!(lost.contains("the server closed the event stream") || lost.contains("202") || lost.contains("connection"), "{lost}");
}

#[tokio::test]
async fn both_errors_are_shown_where_neither_dialect_is_spoken() {
    let url = serve(Router::new().route("/x", get(async || "a web page"))).await;
    let bench = Bench::new(json!({"s": {"url": format!("{url}/x")}, "tls": {"url": url.replace("http:", "https:")}}));
    let problems = bench.pool.tools(None, PATIENCE).await.problems;
    assert!(problems[1].message.ends_with("it does not speak TLS: write http://"), "{}", problems[1].message);
    let message = &problems[0].message;
    assert!(
        message.contains("as streamable HTTP: ") && message.contains("as HTTP with SSE: GET answered with `text/plain"),
        "{message}"
    );
}
