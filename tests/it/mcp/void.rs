//! What Void does with an MCP server, step by step, as its SDK sends it: protocol 2025-03-26 over streamable HTTP; the light is
//! green once the tools are listed; every name gets six random characters and `_` in front, cut off again before a call;
//! every value is a string; of a result it reads `content[0]`, which must be a text, and of an error nothing.

use std::sync::Arc;

use axum::{body::Body, http::Request};
use serde_json::{Value, json};
use toolglot::mcp::engine::{Engine, Options};
use tower::ServiceExt;

use super::{Bench, serving::rpc, shell};

/// One server entry of Void's `mcp.json`.
struct Void {
    routes: axum::Router,
    session: Option<String>,
}

// === impl Void ===

impl Void {
    /// Connects; an `Err` is the red light.
    async fn connect(engine: &Engine) -> Result<(Void, Vec<String>), String> {
        let mut void = Void { routes: engine.routes(), session: None };
        let hello = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "void-client", "version": "0.1.0"}});
        let greeting = void.send(rpc(0, "initialize", hello)).await?;
        if greeting["result"]["protocolVersion"] != "2025-03-26" {
            return Err(format!("another protocol: {greeting}"));
        }
        void.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        let listed = void.send(rpc(1, "tools/list", json!({}))).await?;
        let tools = listed["result"]["tools"].as_array().ok_or_else(|| listed.to_string())?;
        Ok((void, tools.iter().map(|tool| format!("k3x9ab_{}", tool["name"].as_str().unwrap())).collect()))
    }

    /// Calls a tool by its prefixed name; what Void shows its model.
    async fn call(&mut self, prefixed: &str, arguments: Value) -> Result<String, String> {
        let (_, name) = prefixed.split_once('_').unwrap();
        self.call_by(name, arguments).await
    }

    async fn call_by(&mut self, name: &str, arguments: Value) -> Result<String, String> {
        let answer = self.send(rpc(2, "tools/call", json!({"name": name, "arguments": arguments}))).await?;
        let result = answer.get("result").ok_or("{}")?;
        let first = &result["content"][0];
        match (result["isError"] == true, first["type"].as_str(), first["text"].as_str()) {
            (false, Some("text"), Some(text)) => Ok(text.to_owned()),
            _ => Err("{}".into()),
        }
    }

    async fn send(&mut self, body: Value) -> Result<Value, String> {
        let mut request = Request::post("/mcp").header("host", "127.0.0.1:8000");
        request = request.header("content-type", "application/json").header("accept", "application/json, text/event-stream");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        let answer = self.routes.clone().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap();
        let status = answer.status().as_u16();
        if let Some(session) = answer.headers().get("mcp-session-id") {
            self.session = Some(session.to_str().unwrap().to_owned());
        }
        let bytes = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match status {
            200 => Ok(event(&text).unwrap_or(Value::Null)),
            202 => Ok(Value::Null),
            _ => Err(format!("{status}: {text}")),
        }
    }
}

/// The message of a JSON body or of the last event of a stream.
fn event(text: &str) -> Option<Value> {
    let data = text.lines().rev().filter_map(|line| line.strip_prefix("data:")).find(|data| !data.trim().is_empty());
    serde_json::from_str(data.unwrap_or(text).trim()).ok()
}

#[tokio::test]
async fn the_light_is_green_and_calls_come_back_as_text() {
    let bench = Bench::new(json!({"x": shell("text done"), "dead": {"url": "http://127.0.0.1:9/mcp"}}));
    let (mut void, names) = Void::connect(&bench.engine(true)).await.unwrap();
    let expected = ["calculate_vacation_days", "get_all_employees", "get_employee_info", "search_docs", "x__act"]
        .map(|name| format!("k3x9ab_{name}"));
    assert_eq!(names, expected, "a server that is down takes nothing away");
    let days = void.call(&names[0], json!({"employee_id": "EMP001", "year": "2025"})).await.unwrap();
    assert!(days.contains("11.5"), "{days}");
    assert_eq!(void.call(&names[4], json!({})).await.as_deref(), Ok("done"));
    // A prefix that was not cut off does no harm.
    assert_eq!(void.call_by(&names[4], json!({})).await.as_deref(), Ok("done"));
    assert!(void.call_by(&names[0], json!({"employee_id": "EMP001", "year": "2025"})).await.unwrap().contains("11.5"));
}

#[tokio::test]
async fn errors_reach_the_model_only_as_text() {
    let bench = Bench::new(json!({"x": shell(r#"reply '{"isError":true,"content":[{"type":"text","text":"no such page"}]}'"#)}));
    let (mut void, _) = Void::connect(&bench.engine(true)).await.unwrap();
    assert_eq!(void.call("k3x9ab_x__act", json!({})).await.unwrap_err(), "{}", "what Void makes of an error");
    let options = Options { gateway: true, errors_as_text: true, ..Options::default() };
    let (mut void, _) = Void::connect(&Engine::new(Arc::clone(&bench.pool), options)).await.unwrap();
    for (name, arguments, expected) in [
        ("k3x9ab_x__act", json!({}), "ERROR: no such page"),
        ("k3x9ab_get_employee_info", json!({"employee_id": "EMP404"}), "no employee `EMP404`"),
        ("k3x9ab_get_employee_info", json!({"employee": "EMP001"}), "employee"),
        ("k3x9ab_nothing", json!({}), "there is no tool `nothing`"),
    ] {
        let said = void.call(name, arguments).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(said.starts_with("ERROR: ") && said.contains(expected), "{name}: {said}");
    }
}
