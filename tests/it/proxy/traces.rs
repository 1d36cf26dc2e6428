//! Spans for a collector of OpenTelemetry: what they say and what they never say, and that nobody waits for a collector.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    chat::{done, text},
    client,
};
use crate::{
    cli::{Running, toolglot},
    fake::{Fake, Script, Step},
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// A model at an Ollama: what the last message says decides what it does.
async fn model() -> Fake {
    Fake::start(|seen| match seen.line.as_str() {
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        "POST /v1/chat/completions" if seen.body.contains("break down") => Script::json(500, r#"{"error":"out of memory"}"#),
        "POST /api/chat" if seen.body.contains("who works here") && !seen.body.contains("Mina Park") => {
            Script::lines(vec![text(r#"{"name": "get_all_employees", "arguments": {}}"#), done("stop")])
        }
        "POST /api/chat" => Script::lines(vec![text("a private answer"), done("stop")]),
        _ => Script::json(404, r#"{"error":"not here"}"#),
    })
    .await
}

/// The daemon before this model, with these variables.
async fn daemon(folder: &std::path::Path, model: &Fake, variables: &[(&str, &str)]) -> Running {
    let config = format!("[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\n[mcp]\nbuiltin_tools = true\n", model.url);
    std::fs::write(folder.join("proxy.toml"), config).unwrap();
    let mut command = toolglot(folder, &["serve", "--listen", "127.0.0.1:0"]);
    command.envs(variables.iter().copied()).env("OTEL_BSP_SCHEDULE_DELAY", "200");
    tokio::task::spawn_blocking(move || Running::of(&mut command, "http://127.0.0.1:")).await.unwrap()
}

/// Asks, and reads the whole answer.
async fn ask(daemon: &Running, path: &str, words: &str, parent: Option<&str>) -> u16 {
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": words}]});
    let mut request = client().post(format!("{}{path}", daemon.url())).header("content-type", "application/json");
    if let Some(parent) = parent {
        request = request.header("traceparent", parent).header("tracestate", "vendor=1");
    }
    let response = request.body(body.to_string()).send().await.unwrap();
    let status = response.status().as_u16();
    response.text().await.unwrap();
    status
}

/// The spans that the collector has, once there are so many.
async fn spans(collector: &Fake, many: usize) -> Vec<Value> {
    for _ in 0..1000 {
        let requests = collector.seen("POST /v1/traces");
        let bodies = requests.iter().map(|seen| serde_json::from_str::<Value>(&seen.body).unwrap());
        let spans: Vec<Value> =
            bodies.flat_map(|body| body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()).collect();
        if spans.len() >= many {
            return spans;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the collector has fewer than {many} spans: {:?}", collector.seen("POST /v1/traces"));
}

/// The value of an attribute, whatever its type.
fn attribute(span: &Value, key: &str) -> Value {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|attribute| attribute["key"] == key);
    found.and_then(|found| found["value"].as_object()?.values().next().cloned()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_a_span_in_its_callers_trace() {
    let (model, collector) = (model().await, Fake::start(|_| Script::json(200, "{}")).await);
    let folder = tempfile::tempdir().unwrap();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=c0llector-key"),
        ("OTEL_SERVICE_NAME", "desk"),
    ];
    let mut daemon = daemon(folder.path(), &model, &variables).await;
    let parent = format!("00-{TRACE}-{CALLER}-01");
    assert_eq!(ask(&daemon, "/v1/chat/completions", "a private question", Some(&parent)).await, 200);
    let sent = model.seen("POST /api/chat").pop().unwrap().head;
    let unsampled = format!("00-{TRACE}-{CALLER}-00");
    assert_eq!(ask(&daemon, "/v1/chat/completions", "a private question", Some(&unsampled)).await, 200);
    let passed = model.seen("POST /api/chat").pop().unwrap().head;
    assert_eq!(ask(&daemon, "/off/v1/chat/completions", "break down", None).await, 500);
    let of_tools = "00-11111111111111111111111111111111-2222222222222222-01";
    assert_eq!(ask(&daemon, "/react/v1/chat/completions", "who works here?", Some(of_tools)).await, 200);
    // Nothing to see in a list of models.
    client().get(format!("{}/v1/models", daemon.url())).send().await.unwrap();
    spans(&collector, 1).await;
    #[cfg(unix)]
    {
        // What waits is sent before the end.
        daemon.terminate();
        assert_eq!(daemon.ended(Duration::from_secs(10)), 0);
    }
    let spans = spans(&collector, 3).await;
    let kinds: Vec<(&Value, &Value)> = spans.iter().map(|span| (&span["name"], &span["kind"])).collect();
    assert_eq!(spans.len(), 3, "{kinds:?}");
    let (chat, failed, react) = (&spans[0], &spans[1], &spans[2]);

    assert_eq!((&chat["traceId"], &chat["parentSpanId"]), (&json!(TRACE), &json!(CALLER)));
    assert_eq!((&chat["name"], &chat["kind"], &chat["status"]["code"]), (&json!("chat m"), &json!(3), &json!(0)));
    let own = chat["spanId"].as_str().unwrap();
    assert!(sent.contains(&format!("traceparent: 00-{TRACE}-{own}-01")) && sent.contains("tracestate: vendor=1"), "{sent}");
    let goes_on = |line: &str| line.starts_with(&format!("traceparent: 00-{TRACE}-")) && line.ends_with("-00");
    assert!(passed.lines().any(goes_on), "{passed}");
    let port = model.url.rsplit(':').next().unwrap();
    for (key, value) in [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!("ollama")),
        ("gen_ai.request.model", json!("m")),
        ("gen_ai.response.model", json!("m")),
        ("gen_ai.usage.input_tokens", json!("7")),
        ("gen_ai.usage.output_tokens", json!("3")),
        ("gen_ai.response.finish_reasons", json!({"values": [{"stringValue": "stop"}]})),
        ("server.address", json!("127.0.0.1")),
        ("server.port", json!(port)),
        ("error.type", Value::Null),
        ("toolglot.mode", json!("rewrite")),
        ("toolglot.calls", json!("0")),
    ] {
        assert_eq!(attribute(chat, key), value, "{key} of {chat}");
    }
    let nanoseconds = |key: &str| chat[key].as_str().unwrap().parse::<u128>().unwrap();
    assert!(nanoseconds("startTimeUnixNano") < nanoseconds("endTimeUnixNano"));

    assert_eq!((attribute(failed, "error.type"), &failed["status"]["code"]), (json!("500"), &json!(2)));
    assert!(failed["parentSpanId"] == "" && failed["traceId"] != TRACE, "{failed}");

    assert_eq!(attribute(react, "toolglot.mode"), "react");

    let requests = collector.seen("POST /v1/traces");
    assert!(requests.iter().all(|seen| seen.head.contains("x-team: c0llector-key")));
    let resource = serde_json::from_str::<Value>(&requests[0].body).unwrap()["resourceSpans"][0]["resource"].clone();
    assert_eq!(attribute(&resource, "service.name"), "desk");
    let all: String = requests.iter().map(|seen| seen.body.as_str()).collect();
    assert!(!all.contains("private") && !all.contains("who works here") && !all.contains("c0llector-key"), "{all}");
    assert!(!daemon.said().contains("c0llector-key"), "{}", daemon.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_a_collector() {
    let model = model().await;
    let hanging = Fake::start(|_| Script::events(vec![Step::Hang])).await;
    let folder = tempfile::tempdir().unwrap();
    let variables = [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", hanging.url.as_str()), ("OTEL_EXPORTER_OTLP_TIMEOUT", "60000")];
    let mut daemon = daemon(folder.path(), &model, &variables).await;
    ask(&daemon, "/v1/chat/completions", "go", None).await;
    hanging.wait_for("POST /").await;
    // While the collector has the first batch and says nothing.
    for _ in 0..20 {
        assert_eq!(ask(&daemon, "/v1/chat/completions", "go", None).await, 200);
    }
    #[cfg(unix)]
    {
        daemon.terminate();
        assert_eq!(daemon.ended(Duration::from_secs(15)), 0);
    }
    drop(daemon);

    // What a collector refuses is said once.
    let refusing = Fake::start(|_| Script::json(400, r#"{"message":"no spans here"}"#)).await;
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", refusing.url.as_str())];
    let daemon = self::daemon(folder.path(), &model, &variables).await;
    ask(&daemon, "/v1/chat/completions", "go", None).await;
    for _ in 0..1000 {
        if daemon.said().contains("does not take spans: Operation failed: HTTP export failed with status code: 400") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it is not said: {}", daemon.said());
}
