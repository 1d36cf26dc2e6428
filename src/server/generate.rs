//! `POST /generate` and `POST /generate_with_mcp`: JSON-RPC 2.0 requests for one whole answer of a model. With tools,
//! toolglot runs those of the registry until the model answers. Errors are JSON-RPC errors with status 200;
//! a request that is refused before it is read (429, 413) has its own status. A request without `id` is a notification: it runs,
//! and its answer is status 204 without a body.

use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::{MethodRouter, post},
};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    answer::{self, Asked},
    received::Received,
    reply,
    state::{App, Live},
};
use crate::{
    client::front::{self, TRACE},
    config::{Mode, Tenant},
    error::{Blame, Error},
    openai::{self, ChatRequest},
    turn,
};

/// What is asked for.
#[derive(Debug, Deserialize)]
struct Params {
    model: Option<String>,
    messages: Vec<Value>,
    temperature: Option<f64>,
    max_output_tokens: Option<u64>,
    mcp_servers: Option<Vec<String>>,
    max_iterations: Option<u32>,
}

/// JSON-RPC's codes.
const PARSE_ERROR: i64 = -32700;
/// The request was refused before it was read.
const REFUSED: i64 = -32000;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;
/// Rounds, where the request does not say how many.
const ITERATIONS: u32 = 5;

/// A JSON-RPC error: its code, and the message.
struct Fault(i64, String);

/// `POST /generate`, and with tools `POST /generate_with_mcp`.
pub(super) fn route(tools: bool) -> MethodRouter<Live> {
    post(move |State(app): State<App>, request: Request| answer(app, request, tools))
}

async fn answer(app: App, request: Request, tools: bool) -> Response {
    let received = match Received::read(&app, request).await.and_then(Received::within_values) {
        Ok(received) => received,
        // It was not read: under the error's own status.
        Err(error) => {
            let mut response = failed(&Value::Null, &Fault(REFUSED, error.message));
            *response.status_mut() = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
            reply::add_headers(&mut response, &error.headers);
            return response;
        }
    };
    let request: Value = match openai::parse(&received.body) {
        Ok(request) => request,
        Err(error) => return failed(&Value::Null, &Fault(PARSE_ERROR, format!("not JSON: {error}"))),
    };
    let is_notification = request.get("jsonrpc") == Some(&json!("2.0")) && request.get("id").is_none();
    let id = request.get("id").cloned().unwrap_or_default();
    let response = match generate(&app, received, request, tools).await {
        Ok(result) => reply::json(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
        Err(fault) => failed(&id, &fault),
    };
    if is_notification { StatusCode::NO_CONTENT.into_response() } else { response }
}

async fn generate(app: &App, received: Received, request: Value, tools: bool) -> Result<Value, Fault> {
    let params = params(request)?;
    let called = match &params.model {
        Some(model) => model.clone(),
        None => first_model(app, &received.sender.tenant).await?,
    };
    received.list(app, &called);
    let target = app.target(&received.sender.tenant, called).await?;
    // The last answer, without tools, counts as one of the rounds.
    let rounds = params.max_iterations.unwrap_or(ITERATIONS).min(app.config.react.rounds) - 1;
    let tools = tools && rounds > 0;
    let chat = ChatRequest::from_value(chat(&target.model, params, tools.then_some(rounds)))?;
    let mode = if tools { Mode::React } else { Mode::Rewrite };
    received.sender.check(&app.config, tools.then_some(mode), mode)?;
    let asked = Asked { received, target, mode, front: front::Kind::OpenAi };
    let plan = answer::plan(app, &asked, chat.into()).await?;
    let taps = answer::taps(app, &asked, &plan);
    let (answer, _) = Box::pin(turn::collect(plan, app.turns.clone(), taps)).await?;
    let content = answer.pointer("/choices/0/message/content").and_then(Value::as_str).unwrap_or_default();
    let mut result = json!({"content": content, "model": asked.target.called});
    if let Some(usage) = answer.get("usage").filter(|usage| usage.get("total_tokens") != Some(&json!(0))) {
        result["usage"] = usage.clone();
    }
    let calls = answer.get(TRACE).and_then(|trace| trace.get("calls")).and_then(Value::as_array);
    let told = |call: &Value| json!({"name": call["name"], "arguments": call["arguments"], "result": call["result"]});
    result["tool_calls"] = calls.into_iter().flatten().map(told).collect();
    Ok(result)
}

/// The parameters of a request that is one of JSON-RPC 2.0.
fn params(request: Value) -> Result<Params, Fault> {
    let invalid = |message: &str| Err(Fault(INVALID_REQUEST, message.into()));
    let wrong = |message: &str| Err(Fault(INVALID_PARAMS, message.into()));
    let Value::Object(mut request) = request else { return invalid("the body must be one JSON-RPC request: an object") };
    if request.get("jsonrpc").is_some_and(|version| version != "2.0") {
        return invalid("`jsonrpc` must be \"2.0\"");
    }
    // The path decides what is done: any name will do.
    if request.get("method").is_some_and(|method| !method.is_string()) {
        return invalid("`method` must be a string");
    }
    let Some(params) = request.shift_remove("params").filter(Value::is_object) else {
        return wrong("`params` must be an object");
    };
    match serde_json::from_value::<Params>(params) {
        Err(error) => wrong(&format!("`params`: {error}")),
        Ok(params) if params.messages.is_empty() => wrong("`params.messages` is empty"),
        Ok(params) if params.max_iterations == Some(0) => wrong("`params.max_iterations` must be at least 1"),
        Ok(params) => Ok(params),
    }
}

/// The chat that it asks for.
fn chat(model: &str, params: Params, rounds: Option<u32>) -> Value {
    let mut chat = json!({"model": model, "messages": params.messages});
    if let Some(temperature) = params.temperature {
        chat["temperature"] = json!(temperature);
    }
    if let Some(tokens) = params.max_output_tokens {
        chat["max_tokens"] = json!(tokens);
    }
    if let Some(rounds) = rounds {
        // No names mean all servers.
        let servers = params.mcp_servers.filter(|servers| !servers.is_empty());
        chat[TRACE] = json!({"servers": servers, "rounds": rounds, "trace": true});
    }
    chat
}

/// The model of a request that names none.
async fn first_model(app: &App, tenant: &Tenant) -> Result<String, Fault> {
    let found = app.backends.current().await;
    let mut own = found.iter().flat_map(|found| &found.models).filter(|model| tenant.may_use(&model.id, &model.id));
    let first = own.next().map(|model| model.id.clone());
    first.ok_or_else(|| Fault(INTERNAL_ERROR, "no backend has a model".into()))
}

fn failed(id: &Value, fault: &Fault) -> Response {
    let Fault(code, message) = fault;
    tracing::warn!(code, message, "generate");
    reply::json(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}))
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        let code = if error.blame == Blame::Client { INVALID_PARAMS } else { INTERNAL_ERROR };
        Fault(code, error.message)
    }
}
