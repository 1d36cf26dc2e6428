//! Servers over HTTP that break in the middle of a call, in each dialect: each answer is bounded, says what is wrong, and the
//! next call is as good as ever.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::{Stream, StreamExt, stream};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolglot::mcp::pool::PATIENCE;

use super::{Bench, serve, with};

const FAULTS: &[&str] = &["huge", "huge_stream", "nonsense", "nonsense_stream", "silent", "cut", "chatty", "broken", "slow"];
const HUGE: usize = 50_000_000;

fn reply(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The answer to everything but a call.
fn manners(message: &Value) -> Option<Value> {
    let id = &message["id"];
    let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
    Some(match message["method"].as_str()? {
        "initialize" => reply(
            id,
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}),
        ),
        "tools/list" => reply(id, json!({"tools": FAULTS.iter().chain(&["fine"]).map(tool).collect::<Vec<_>>()})),
        "tools/call" => return None,
        _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "unknown"}}),
    })
}

fn text_result(id: &Value, text: &str) -> Value {
    reply(id, json!({"content": [{"type": "text", "text": text}]}))
}

/// The beginning of an answer, 50 MB of it, and no end.
fn huge(prefix: &str, id: &Value) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static + use<> {
    let head = format!("{prefix}{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"");
    let piece = Bytes::from(vec![b'x'; 100_000]);
    stream::iter(std::iter::once(Bytes::from(head)).chain(std::iter::repeat_n(piece, HUGE / 100_000)).map(Ok))
}

fn events(body: impl Stream<Item = Result<Bytes, std::io::Error>> + Send + 'static) -> Response {
    Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(body)).unwrap()
}

/// Bytes one by one.
fn slowly(text: String) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Send + 'static {
    stream::iter(text.into_bytes()).then(|byte| async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok(Bytes::from(vec![byte]))
    })
}

/// A server of streamable HTTP.
fn streamable() -> Router {
    let answer = async |body: Bytes| -> Response {
        let message: Value = serde_json::from_slice(&body).unwrap();
        if message.get("id").is_none() {
            return StatusCode::ACCEPTED.into_response();
        }
        if let Some(answer) = manners(&message) {
            return axum::Json(answer).into_response();
        }
        let id = &message["id"];
        let json = |body: Body| Response::builder().header("content-type", "application/json").body(body).unwrap();
        match message["params"]["name"].as_str().unwrap() {
            "huge" => json(Body::from_stream(huge("", id))),
            "huge_stream" => events(huge("data: ", id).map(|piece| Ok(piece.unwrap_or_default()))),
            "nonsense" => json(Body::from("{\"jsonrpc\": nonsense")),
            "nonsense_stream" => events(stream::iter([Ok(Bytes::from("data: {\"jsonrpc\": nonsense\n\n"))])),
            "silent" => std::future::pending().await,
            "cut" => {
                events(stream::iter([Ok(Bytes::from(": hello\n\n")), Err(std::io::Error::other("cut"))]).then(|piece| async {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    piece
                }))
            }
            "chatty" => events(stream::repeat_with(|| Ok(Bytes::from(": still here\n\n"))).then(|piece| async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                piece
            })),
            "broken" => (StatusCode::INTERNAL_SERVER_ERROR, "stack trace").into_response(),
            "slow" => events(slowly(format!("event: message\ndata: {}\n\n", text_result(id, "slow")))),
            name => axum::Json(text_result(id, name)).into_response(),
        }
    };
    Router::new().route("/mcp", post(answer))
}

/// The stream of the only session of a legacy server.
type Session = Arc<Mutex<Option<mpsc::UnboundedSender<Result<Bytes, std::io::Error>>>>>;

/// A server of HTTP with SSE.
fn legacy() -> Router {
    let open = async |State(session): State<Session>| {
        let (send, pieces) = mpsc::unbounded_channel();
        send.send(Ok(Bytes::from("event: endpoint\ndata: /post\n\n"))).unwrap();
        *session.lock().unwrap() = Some(send);
        events(stream::unfold(pieces, |mut pieces| async move { Some((pieces.recv().await?, pieces)) }))
    };
    let answer = async |State(session): State<Session>, body: Bytes| -> StatusCode {
        let message: Value = serde_json::from_slice(&body).unwrap();
        let send = session.lock().unwrap().clone().unwrap();
        let say = |text: String| send.send(Ok(Bytes::from(text))).unwrap();
        let id = &message["id"];
        if id.is_null() {
            return StatusCode::ACCEPTED;
        }
        if let Some(answer) = manners(&message) {
            say(format!("event: message\ndata: {answer}\n\n"));
            return StatusCode::ACCEPTED;
        }
        match message["params"]["name"].as_str().unwrap() {
            "huge" | "huge_stream" => {
                let mut pieces = std::pin::pin!(huge("data: ", id));
                while let Some(Ok(piece)) = pieces.next().await {
                    // The client hangs up in the middle of it.
                    let _ = send.send(Ok(piece));
                }
            }
            "nonsense" | "nonsense_stream" => say("data: {\"jsonrpc\": nonsense\n\n".into()),
            "cut" => send.send(Err(std::io::Error::other("cut"))).unwrap(),
            "silent" => {}
            "chatty" => {
                tokio::spawn(async move {
                    while send.send(Ok(Bytes::from(": still here\n\n"))).is_ok() {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                });
            }
            "broken" => return StatusCode::INTERNAL_SERVER_ERROR,
            "slow" => {
                let text = format!("event: message\ndata: {}\n\n", text_result(id, "slow"));
                let mut bytes = std::pin::pin!(slowly(text));
                while let Some(byte) = bytes.next().await {
                    send.send(byte).unwrap();
                }
            }
            name => say(format!("event: message\ndata: {}\n\n", text_result(id, name))),
        }
        StatusCode::ACCEPTED
    };
    Router::new().route("/sse", get(open)).route("/post", post(answer)).with_state(Session::default())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_of_a_remote_call_is_bounded_and_named() {
    let table = [
        ("huge", "16777216", "16777216"),
        ("huge_stream", "16777216", "16777216"),
        (
            "nonsense",
            "could not parse JSON response",
            "no answer within 2 s; the server was asked to cancel the call; it wrote: (no message) {\"jsonrpc\": nonsense",
        ),
        ("nonsense_stream", "it sent an event that is not a message: {\"jsonrpc\": nonsense", "it wrote: (no message)"),
        ("silent", "no answer within 2 s", "no answer within 2 s"),
        ("cut", "the connection was lost: the event stream broke", "the connection was lost: the event stream broke"),
        ("chatty", "no answer within 2 s", "no answer within 2 s"),
        ("broken", "500", "500"),
    ];
    let rows = table.map(|(tool, on_http, on_sse)| async move {
        let (http, sse) = (serve(streamable()).await, serve(legacy()).await);
        let mut wrong: Vec<String> = Vec::new();
        // 50 MB take their time on a busy machine; they must not end by the clock.
        let seconds = if tool.starts_with("huge") { 30 } else { 2 };
        let limits = json!({"timeout_seconds": seconds});
        let bench = Bench::new(json!({
            "http": with(json!({"url": format!("{http}/mcp"), "type": "http"}), limits.clone()),
            "sse": with(json!({"url": format!("{sse}/sse"), "type": "sse"}), limits.clone()),
        }));
        for (server, expected) in [("http", on_http), ("sse", on_sse)] {
            assert_eq!(bench.call(server, "fine", json!({})).await.to_text(), "fine", "{server}");
            let begun = Instant::now();
            let answer = bench.call(server, tool, json!({})).await;
            let (said, took) = (answer.to_text(), begun.elapsed());
            if !answer.is_error() || !said.contains(expected) || said.len() > 1000 || took > Duration::from_secs(seconds + 5) {
                wrong.push(format!("{server} {tool}, after {took:?}: {said}"));
            }
            // At once, or over a connection that is opened again.
            let mut again = String::new();
            for _ in 0..20 {
                again = bench.call(server, "fine", json!({})).await.to_text();
                if again == "fine" {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            if again != "fine" {
                wrong.push(format!("{server} after {tool}: {again}"));
            }
        }
        wrong
    });
    // All at once: most of them wait for a limit of time.
    let wrong = futures_util::future::join_all(rows).await.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Slow is not broken: an answer that comes byte by byte is an answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_answer_is_waited_for() {
    let (http, sse) = (serve(streamable()).await, serve(legacy()).await);
    let bench = Bench::new(json!({
        "http": {"url": format!("{http}/mcp")}, "sse": {"url": format!("{sse}/sse")}
    }));
    let offered = bench.pool.tools(None, PATIENCE).await;
    assert!(offered.problems.is_empty(), "{:?}", offered.problems);
    for server in ["http", "sse"] {
        assert_eq!(bench.call(server, "slow", json!({})).await.to_text(), "slow", "{server}");
    }
    let spoken: Vec<_> = bench.pool.status().iter().map(|status| status.dialect.unwrap()).collect();
    assert_eq!(spoken, ["http", "sse"], "found out without a `type`");
}

/// An address may not lead to another one: who may be reached was decided when it was registered.
#[tokio::test]
async fn redirects_are_not_followed() {
    let reached = Arc::new(Mutex::new(false));
    let seen = Arc::clone(&reached);
    let other = serve(Router::new().fallback(move || {
        *seen.lock().unwrap() = true;
        async { "here" }
    }))
    .await;
    let away = Router::new().fallback(move || async move { axum::response::Redirect::temporary(&other) });
    let url = serve(away).await;
    for kind in ["http", "sse"] {
        let bench = Bench::new(json!({"s": {"url": format!("{url}/mcp"), "type": kind}}));
        let message = bench.pool.tools(None, PATIENCE).await.problems[0].message.clone();
        assert!(message.contains("307"), "{kind}: {message}");
    }
    assert!(!*reached.lock().unwrap());
}
