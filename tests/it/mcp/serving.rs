//! Our server: sessions, floods, contexts, the registry over HTTP.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, http::Request, response::Response};
use futures_util::StreamExt;
use serde_json::{Value, json};
use toolglot::{
    config::{RegistryHttp, Secret},
    mcp::engine::{Caller, Engine, Options},
};
use tower::ServiceExt;

use super::{Bench, shell, shell_with};

/// Sessions that come and go in a row.
const VISITS: usize = 500;

fn request(method: &str, path: &str, body: &Value) -> Request<Body> {
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    request.header("content-type", "application/json").body(body).unwrap()
}

pub(super) async fn ask(engine: &Engine, method: &str, path: &str, body: Value) -> (u16, Value) {
    send(engine, request(method, path, &body)).await
}

async fn send(engine: &Engine, request: Request<Body>) -> (u16, Value) {
    let answer = engine.routes::<()>().oneshot(request).await.unwrap();
    let status = answer.status().as_u16();
    let bytes = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

pub(super) fn rpc(id: u32, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn greeting(id: u32) -> Value {
    rpc(
        id,
        "initialize",
        json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
    )
}

/// A legacy stream as a client sees it.
struct Stream {
    path: String,
    events: axum::body::BodyDataStream,
    pending: String,
}

impl Stream {
    async fn open(engine: &Engine) -> Stream {
        Stream::of(engine, "").await
    }

    /// A stream that somebody opens.
    async fn of(engine: &Engine, name: &str) -> Stream {
        let mut request = request("GET", "/sse", &Value::Null);
        request.extensions_mut().insert(Caller { name: name.into(), servers: None });
        let answer: Response = engine.routes::<()>().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        let mut stream = Stream { path: String::new(), events: answer.into_body().into_data_stream(), pending: String::new() };
        let first = stream.event().await;
        assert!(first.starts_with("event: endpoint\ndata: /sse/message?session_id="), "{first}");
        stream.path = first.split("data: ").nth(1).unwrap().trim().to_owned();
        stream
    }

    async fn event(&mut self) -> String {
        loop {
            if let Some((event, rest)) = self.pending.split_once("\n\n") {
                let event = event.to_owned();
                self.pending = rest.to_owned();
                return event;
            }
            let bytes = tokio::time::timeout(Duration::from_secs(20), self.events.next()).await.unwrap().unwrap().unwrap();
            self.pending.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    async fn message(&mut self) -> Value {
        let event = self.event().await;
        serde_json::from_str(event.strip_prefix("event: message\ndata: ").unwrap()).unwrap()
    }

    async fn post(&self, engine: &Engine, message: Value) -> u16 {
        ask(engine, "POST", &self.path, message).await.0
    }

    async fn begin(&mut self, engine: &Engine) {
        assert_eq!(self.post(engine, greeting(1)).await, 202);
        assert_eq!(self.message().await["result"]["protocolVersion"], "2024-11-05");
        assert_eq!(self.post(engine, json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await, 202);
    }
}

#[tokio::test]
async fn the_legacy_pair_in_all_its_steps() {
    let bench = Bench::new(json!({}));
    let engine = bench.engine(false);
    let mut stream = Stream::open(&engine).await;
    stream.begin(&engine).await;
    // The other spelling of the same address.
    stream.path = stream.path.replace("session_id", "sessionId");
    stream.post(&engine, rpc(2, "tools/list", json!({}))).await;
    assert_eq!(stream.message().await["result"]["tools"].as_array().unwrap().len(), 4);
    stream
        .post(&engine, rpc(3, "tools/call", json!({"name": "get_employee_info", "arguments": {"employee_id": "EMP001"}})))
        .await;
    let answer = stream.message().await;
    let item = &answer["result"]["content"][0];
    let outcome: Value = serde_json::from_str(item["text"].as_str().unwrap()).unwrap();
    assert_eq!((&outcome["success"], &outcome["result"]["name"]), (&json!(true), &json!("Mina Park")));
    assert_eq!(
        item["serviceInfo"],
        json!({"serverName": "sqlite", "toolName": "get_employee_info", "backendType": "BuiltInRust"})
    );
    stream.post(&engine, rpc(4, "tools/call", json!({"name": "get_employee_info", "arguments": {"employee_id": "EMP9"}}))).await;
    assert_eq!(stream.message().await["result"]["isError"], true);
    stream.post(&engine, rpc(5, "tools/call", json!({"name": "no_such", "arguments": {}}))).await;
    assert_eq!(stream.message().await["error"]["code"], -32602);
    stream.post(&engine, rpc(6, "prompts/list", json!({}))).await;
    assert_eq!(stream.message().await["error"]["code"], -32601);
    // Not JSON, not a message, not a session.
    let bad = |body: &'static str| {
        Request::post(&stream.path).header("content-type", "application/json").body(Body::from(body)).unwrap()
    };
    let (status, body) = send(&engine, bad("{")).await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!(-32700)));
    let (status, body) = send(&engine, bad("{}")).await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!(-32600)));
    assert_eq!(ask(&engine, "POST", "/sse/message?session_id=nobody", greeting(1)).await.0, 404);
    assert_eq!(ask(&engine, "POST", "/sse/message", greeting(1)).await.0, 400);
    let path = stream.path.clone();
    drop(stream);
    super::eventually("the session ends with its stream", || engine.open_sessions() == 0).await;
    assert_eq!(ask(&engine, "POST", &path, greeting(1)).await.0, 404);
}

#[tokio::test]
async fn a_body_that_is_no_message_is_answered_in_json_rpc() {
    let bench = Bench::new(json!({}));
    let engine = bench.engine(false);
    for accept in ["application/json, text/event-stream", "application/json"] {
        for (text, code) in [("{bad", -32700), ("", -32700), ("{}", -32600), ("[1]", -32600)] {
            let post = Request::post("/mcp").header("content-type", "application/json").header("accept", accept);
            let (status, body) = send(&engine, post.body(Body::from(text)).unwrap()).await;
            assert_eq!((status, &body["error"]["code"], &body["id"]), (400, &json!(code), &json!(null)), "{text}: {body}");
        }
    }
}

#[tokio::test]
async fn a_post_to_the_base_address_is_answered_directly() {
    let bench = Bench::new(json!({}));
    let engine = bench.engine(false);
    for path in ["/sse", "/mcp"] {
        let (status, answer) = ask(&engine, "POST", path, greeting(1)).await;
        assert_eq!((status, &answer["result"]["protocolVersion"]), (200, &json!("2024-11-05")));
        let (_, answer) =
            ask(&engine, "POST", path, rpc(2, "tools/call", json!({"name": "get_all_employees", "arguments": {}}))).await;
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("EMP004"), "{answer}");
        assert_eq!(answer["result"]["content"][0]["_meta"]["toolglot/serviceInfo"]["serverName"], "sqlite");
    }
}

#[tokio::test]
async fn a_slow_tool_delays_no_ping() {
    let bench = Bench::new(json!({"slow": shell("sleep 2; text slept")}));
    let engine = bench.engine(true);
    let mut stream = Stream::open(&engine).await;
    stream.begin(&engine).await;
    stream.post(&engine, rpc(2, "tools/call", json!({"name": "slow__act", "arguments": {}}))).await;
    stream.post(&engine, rpc(3, "ping", json!({}))).await;
    assert_eq!(stream.message().await["id"], 3, "answers may overtake each other");
    let answer = stream.message().await;
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(2), &json!("slept")));
}

#[tokio::test]
async fn a_bare_name_means_the_server_of_the_sessions_last_result() {
    let list = r#"reply '{"tools":[{"name":"list","inputSchema":{"type":"object"}},{"name":"read_file","inputSchema":{"type":"object"}}]}'"#;
    let bench = Bench::new(json!({"one": shell_with("text from_one", list), "two": shell_with("text from_two", list)}));
    let engine = bench.engine(true);
    let mut stream = Stream::open(&engine).await;
    stream.begin(&engine).await;
    let call = |id: u32, name: &str| rpc(id, "tools/call", json!({"name": name, "arguments": {}}));
    let mut said = Vec::new();
    for (id, name) in [
        (2, "read_file"),
        (3, "two__list"),
        (4, "read_file"),
        (5, "one.list"),
        (6, "read_file"),
        (7, "k3x9ab_two__list"),
        (8, "tauri:read_file"),
    ] {
        stream.post(&engine, call(id, name)).await;
        let answer = stream.message().await;
        said.push(answer["result"]["content"][0]["text"].as_str().unwrap_or("error").to_owned());
    }
    assert_eq!(said, ["error", "from_two", "from_two", "from_one", "from_one", "from_two", "error"]);
}

#[tokio::test]
async fn values_get_their_declared_types_and_failures_may_be_text() {
    let bench = Bench::new(json!({}));
    let call = |year: Value| {
        rpc(1, "tools/call", json!({"name": "calculate_vacation_days", "arguments": {"employee_id": "EMP001", "year": year}}))
    };
    let engine = bench.engine(false);
    let (_, answer) = ask(&engine, "POST", "/mcp", call(json!("2025"))).await;
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("11.5"), "{answer}");
    let (_, answer) = ask(&engine, "POST", "/mcp", call(json!("next"))).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let engine = Engine::new(Arc::clone(&bench.pool), Options { errors_as_text: true, ..Options::default() });
    for body in [call(json!(1990)), rpc(1, "tools/call", json!({"name": "nothing", "arguments": {}}))] {
        let (_, answer) = ask(&engine, "POST", "/mcp", body).await;
        assert_ne!(answer["result"]["isError"], true);
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().starts_with("ERROR: "), "{answer}");
    }
}

#[tokio::test]
async fn sessions_are_bounded_on_both_transports() {
    let bench = Bench::new(json!({}));
    let engine = Engine::new(Arc::clone(&bench.pool), Options { sessions: 5, ..Options::default() });
    let mut anns = Stream::of(&engine, "ann").await;
    let mut bobs = Vec::new();
    for _ in 0..5 {
        bobs.push(Stream::of(&engine, "bob").await);
    }
    assert_eq!(engine.open_sessions(), 5);
    assert!(bobs[0].events.next().await.is_none(), "of whoever has most, the one that was silent longest makes room");
    anns.begin(&engine).await;
    bobs[4].begin(&engine).await;
    bobs.pop();
    super::eventually("a place is free again", || engine.open_sessions() == 4).await;
    // The same of streamable HTTP.
    let routes = engine.routes::<()>();
    let begin = || {
        let mut request = request(
            "POST",
            "/mcp",
            &rpc(
                1,
                "initialize",
                json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
            ),
        );
        request.headers_mut().insert("accept", "application/json, text/event-stream".parse().unwrap());
        let routes = routes.clone();
        async move {
            let answer = routes.oneshot(request).await.unwrap();
            answer.headers()["mcp-session-id"].to_str().unwrap().to_owned()
        }
    };
    let use_it = |session: &str| {
        let mut request = request("POST", "/mcp", &rpc(2, "ping", json!({})));
        request.headers_mut().insert("accept", "application/json, text/event-stream".parse().unwrap());
        request.headers_mut().insert("mcp-session-id", session.parse().unwrap());
        let routes = routes.clone();
        async move { routes.oneshot(request).await.unwrap().status().as_u16() }
    };
    let first = begin().await;
    for _ in 0..30 {
        begin().await;
    }
    assert_eq!(use_it(&first).await, 404);
    let last = begin().await;
    assert_eq!(use_it(&last).await, 200);
    // A client ends its session, once.
    let end = || {
        let mut request = request("DELETE", "/mcp", &Value::Null);
        request.headers_mut().insert("mcp-session-id", last.parse().unwrap());
        let routes = routes.clone();
        async move { routes.oneshot(request).await.unwrap().status().as_u16() }
    };
    assert_eq!((end().await, use_it(&last).await, end().await), (204, 404, 404));
}

#[tokio::test(start_paused = true)]
async fn a_legacy_session_whose_client_does_not_greet_ends() {
    let bench = Bench::new(json!({}));
    let engine = bench.engine(false);
    let (mut silent, mut greeted) = (Stream::open(&engine).await, Stream::open(&engine).await);
    greeted.begin(&engine).await;
    let begun = tokio::time::Instant::now();
    // Until then there are comments that keep it alive.
    while silent.events.next().await.is_some() {}
    assert!(begun.elapsed() > Duration::from_secs(60) && begun.elapsed() < Duration::from_secs(600), "{:?}", begun.elapsed());
    tokio::time::sleep(Duration::from_secs(3600)).await;
    greeted.post(&engine, rpc(7, "ping", json!({}))).await;
    while !greeted.event().await.contains("\"id\":7") {}
}

/// Ten thousand clients that come and go leave nothing behind.
#[test]
fn legacy_sessions_that_come_and_go_leave_nothing() {
    // Everything runs on this thread, whose allocations are counted.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let tasks = || runtime.metrics().num_alive_tasks();
    let bench = Bench::new(json!({}));
    let engine = bench.engine(false);
    let visit = |count: usize| {
        runtime.block_on(async {
            for at in 0..count {
                let mut stream = Stream::open(&engine).await;
                if at % 10 == 0 {
                    stream.begin(&engine).await;
                }
            }
            super::eventually("all sessions have ended", || engine.open_sessions() == 0 && tasks() <= 1).await;
        });
    };
    visit(VISITS);
    let counted = allocation_counter::measure(|| visit(VISITS));
    assert!(counted.bytes_current < 100 * VISITS as i64, "{VISITS} sessions left {} bytes", counted.bytes_current);
}

#[tokio::test]
async fn the_registry_over_http() {
    let bench = Bench::new(json!({}));
    let engine = bench.engine(false);
    let (status, answer) = ask(&engine, "POST", "/mcp/add", json!({"name": "tts", "url": "http://127.0.0.1:9/sse"})).await;
    assert_eq!((status, answer), (200, json!({"name": "tts", "url": "http://127.0.0.1:9/sse", "message": "registered"})));
    let (_, listed) = ask(&engine, "GET", "/mcp/list", Value::Null).await;
    assert_eq!(listed, json!({"servers": [{"name": "tts", "url": "http://127.0.0.1:9/sse", "status": "idle"}]}));
    assert_eq!(ask(&engine, "POST", "/mcp/add", json!({"name": "x"})).await.0, 400);
    assert_eq!(ask(&engine, "POST", "/mcp/add", json!({"name": "x", "url": "http://169.254.169.254/"})).await.0, 400);
    assert_eq!(ask(&engine, "POST", "/mcp/add", json!({"name": "x", "command": "sh"})).await.0, 400);
    let (status, answer) = ask(&engine, "DELETE", "/mcp/remove", json!({"name": "tts"})).await;
    assert_eq!((status, answer), (200, json!({"name": "tts", "message": "removed"})));
    assert_eq!(ask(&engine, "DELETE", "/mcp/remove?name=tts", Value::Null).await.0, 404);
    assert_eq!(ask(&engine, "DELETE", "/mcp/remove", Value::Null).await.0, 400);

    let options = |registry_http| Options { registry_http, token: Some(Secret::new("t0ken")), ..Options::default() };
    let off = Engine::new(Arc::clone(&bench.pool), options(RegistryHttp::Off));
    assert_eq!(ask(&off, "GET", "/mcp/list", Value::Null).await.0, 403);
    let token = Engine::new(Arc::clone(&bench.pool), options(RegistryHttp::Token));
    assert_eq!(ask(&token, "GET", "/mcp/list", Value::Null).await.0, 401);
    let mut with_token = request("GET", "/mcp/list", &Value::Null);
    with_token.headers_mut().insert("authorization", "Bearer t0ken".parse().unwrap());
    assert_eq!(send(&token, with_token).await.0, 200);
}

/// The guard comes before all of them, in the whole proxy.
#[tokio::test]
async fn every_mcp_route_is_guarded() {
    let proxy = crate::proxy::Proxy::start("[[backend]]\nkind = \"replay\"\n").await;
    let body = rpc(1, "tools/list", json!({}));
    let posts = ["/mcp", "/sse", "/sse/message?session_id=x", "/mcp/add"];
    for (name, value, expected) in [
        ("origin", "http://evil.example", 403),
        ("origin", "http://localhost:3000", 403),
        ("origin", "null", 403),
        ("host", "evil.example", 403),
    ] {
        for path in posts {
            let answer = proxy.post(path, &body).header(name, value).send().await.unwrap();
            assert_eq!(answer.status(), expected, "{path} {name}: {value}");
        }
        for path in ["/sse", "/mcp/list"] {
            assert_eq!(proxy.get(path).header(name, value).send().await.unwrap().status(), expected, "{path} {name}: {value}");
        }
    }
    assert_eq!(proxy.post("/mcp", &body).header("origin", &proxy.url).send().await.unwrap().status(), 200);
    // And none takes more than it can hold.
    let mut stream = proxy.get("/sse").send().await.unwrap();
    let first = String::from_utf8(stream.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    let session = first.split("data: ").nth(1).unwrap().trim().to_owned();
    let huge = rpc(2, "tools/call", json!({"name": "x", "arguments": {"text": "x".repeat(5 << 20)}}));
    for path in ["/mcp", "/sse", session.as_str(), "/mcp/add"] {
        assert_eq!(proxy.post(path, &huge).send().await.unwrap().status(), 413, "{path}");
    }
}
