//! `POST /generate` and `POST /generate_with_mcp`: JSON-RPC 2.0 requests for one whole answer of a model. With tools,
//! toolglot runs those of the registry until the model answers. Errors are JSON-RPC errors with status 200;
//! a request that is refused before it is read (429, 413) has its own status. A request without `id` is a notification: it runs,
//! and its answer is status 204 without a body.

use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    answer::{self, Asked},
    react,
    received::Received,
    reply,
    state::App,
};
use crate::{
    client::front::{self, TRACE},
    config::{Mode, Tenant},
    error::{Blame, Error},
    openai::{self, ChatRequest},
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

/// A JSON-RPC error.
struct Fault {
    code: i64,
    message: String,
}

/// `POST /generate`.
pub(super) async fn plain(State(app): State<App>, request: Request) -> Response {
    answer(&app, request, false).await
}

/// `POST /generate_with_mcp`.
pub(super) async fn with_mcp(State(app): State<App>, request: Request) -> Response {
    answer(&app, request, true).await
}

async fn answer(app: &App, request: Request, tools: bool) -> Response {
    app.process.counts.chat();
    let received = Received::read(app, request).await;
    let received = match received.and_then(|received| received.check_values().map(|()| received)) {
        Ok(received) => received,
        Err(error) => return refused(error),
    };
    let request: Value = match openai::parse(&received.body) {
        Ok(request) => request,
        Err(error) => return failed(&Value::Null, &Fault { code: PARSE_ERROR, message: format!("not JSON: {error}") }),
    };
    let is_notification = request.get("jsonrpc") == Some(&json!("2.0")) && request.get("id").is_none();
    let id = request.get("id").cloned().unwrap_or_default();
    match generate(app, received, request, tools).await {
        Ok(_) if is_notification => StatusCode::NO_CONTENT.into_response(),
        Err(Fault { code, message }) if is_notification => {
            tracing::warn!(code, message, "generate: a notification");
            StatusCode::NO_CONTENT.into_response()
        }
        Ok(result) => reply::json(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
        Err(fault) => failed(&id, &fault),
    }
}

async fn generate(app: &App, received: Received, request: Value, tools: bool) -> Result<Value, Fault> {
    let params = params(request)?;
    let called = match params.model.clone() {
        Some(model) => model,
        None => first_model(app, &received.sender.tenant).await?,
    };
    let target = app.target(&received.sender.tenant, called).await?;
    let tools = tools && react::has_servers(app, &received.sender.tenant);
    let chat = ChatRequest::from_value(chat(&target.model, params, tools)).map_err(invalid_params)?;
    let mode = if tools { Mode::React } else { Mode::Rewrite };
    received.sender.check(&app.config, tools.then_some(mode), mode)?;
    let asked = Asked { received, target, mode, front: front::Kind::OpenAi, last_counts: true };
    let answer = answer::collect(app, &asked, chat).await?;
    let content = answer.pointer("/choices/0/message/content").and_then(Value::as_str).unwrap_or_default();
    let mut result = json!({"content": content, "model": asked.target.called});
    if let Some(usage) = answer.get("usage").filter(|usage| usage.get("total_tokens") != Some(&json!(0))) {
        result["usage"] = usage.clone();
    }
    let calls = answer.get(TRACE).and_then(|trace| trace.get("calls")).and_then(Value::as_array);
    let calls = calls.into_iter().flatten().map(|call| {
        let field = |name: &str| call.get(name).cloned().unwrap_or_default();
        json!({"name": field("name"), "arguments": field("arguments"), "result": field("result")})
    });
    result["tool_calls"] = calls.collect();
    Ok(result)
}

/// The parameters of a request that is one of JSON-RPC 2.0.
fn params(request: Value) -> Result<Params, Fault> {
    let invalid = |message: &str| Fault { code: INVALID_REQUEST, message: message.into() };
    let Value::Object(mut request) = request else {
        return Err(invalid("the body must be one JSON-RPC request: an object"));
    };
    if request.get("jsonrpc").is_some_and(|version| version != "2.0") {
        return Err(invalid("`jsonrpc` must be \"2.0\""));
    }
    // The path decides what is done: any name will do.
    if request.get("method").is_some_and(|method| !method.is_string()) {
        return Err(invalid("`method` must be a string"));
    }
    let Some(params) = request.shift_remove("params").filter(Value::is_object) else {
        return Err(Fault { code: INVALID_PARAMS, message: "`params` must be an object".into() });
    };
    let params: Params =
        serde_json::from_value(params).map_err(|error| Fault { code: INVALID_PARAMS, message: format!("`params`: {error}") })?;
    if params.messages.is_empty() {
        return Err(Fault { code: INVALID_PARAMS, message: "`params.messages` is empty".into() });
    }
    if params.max_iterations == Some(0) {
        return Err(Fault { code: INVALID_PARAMS, message: "`params.max_iterations` must be at least 1".into() });
    }
    Ok(params)
}

/// The chat that it asks for.
fn chat(model: &str, params: Params, tools: bool) -> Value {
    let mut chat = json!({"model": model, "messages": params.messages});
    let mut set = |name: &str, value: Value| {
        if let Some(chat) = chat.as_object_mut().filter(|_| !value.is_null()) {
            chat.insert(name.into(), value);
        }
    };
    set("temperature", json!(params.temperature));
    set("max_tokens", json!(params.max_output_tokens));
    if tools {
        let rounds = params.max_iterations.unwrap_or(ITERATIONS);
        // No names mean all servers.
        let servers = params.mcp_servers.filter(|servers| !servers.is_empty());
        set(TRACE, json!({"servers": servers, "rounds": rounds, "trace": true}));
    }
    chat
}

/// The model of a request that names none.
async fn first_model(app: &App, tenant: &Tenant) -> Result<String, Fault> {
    let found = app.backends.current().await;
    let mut own = found.iter().flat_map(|found| &found.models).filter(|model| tenant.may_use(&model.id, &model.id));
    let first = own.next().map(|model| model.id.clone());
    first.ok_or_else(|| Fault { code: INTERNAL_ERROR, message: "no backend has a model".into() })
}

fn invalid_params(error: Error) -> Fault {
    Fault { code: INVALID_PARAMS, message: error.message }
}

fn failed(id: &Value, fault: &Fault) -> Response {
    let Fault { code, message } = fault;
    tracing::warn!(code, message, "generate");
    reply::json(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}))
}

/// The answer to a request that was not read, under the error's own status.
fn refused(error: Error) -> Response {
    let mut response = failed(&Value::Null, &Fault { code: REFUSED, message: error.message });
    *response.status_mut() = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    reply::add_headers(&mut response, &error.headers);
    response
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        let code = if error.blame == Blame::Client { INVALID_PARAMS } else { INTERNAL_ERROR };
        Fault { code, message: error.message }
    }
}
