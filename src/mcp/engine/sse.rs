//! The server side of HTTP with server-sent events as of 2024-11-05: `GET /sse` opens a session and says where to post, `POST
//! /sse/message` accepts a message at once, and the stream carries the answers.

use std::{
    convert::Infallible,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::Bytes,
    extract::{Query, State},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::{StreamExt, stream};
use http::{StatusCode, request::Parts};
use rmcp::model::ClientJsonRpcMessage;
use serde_json::json;
use tokio::sync::mpsc::error::TrySendError;

use super::{
    Caller, Engine,
    sessions::{IDLE, with_service_info},
};
use crate::lock::Hold;

/// How often a stream without messages shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Both spellings that clients use.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Address {
    #[serde(alias = "sessionId")]
    session_id: String,
}

/// `GET /sse`. The session ends with its stream, which ends if the client does not greet. A client that has greeted may be silent
/// as long as it likes: unlike one of streamable HTTP, it would not begin again by itself.
pub(super) async fn open(engine: &Engine, caller: Option<&Caller>) -> Response {
    let (id, output) = engine.open(caller.map(|caller| Arc::clone(&caller.name))).await;
    let endpoint = Event::default().event("endpoint").data(format!("/sse/message?session_id={id}"));
    let messages = stream::unfold((output, IDLE), |(mut output, patience)| async move {
        let message = tokio::time::timeout(patience, output.recv()).await.ok()??;
        let data = serde_json::to_string(&with_service_info(message)).ok()?;
        Some((Event::default().event("message").data(data), (output, Duration::MAX)))
    });
    let events = stream::once(std::future::ready(endpoint)).chain(messages).map(Ok::<_, Infallible>);
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

/// `POST /sse/message?session_id=..`.
pub(super) async fn message(State(engine): State<Engine>, Query(address): Query<Address>, parts: Parts, body: Bytes) -> Response {
    let mut message = match read(&body) {
        Ok(message) => message,
        Err(refused) => return *refused,
    };
    // As the SDK does it for streamable HTTP: policies may read headers.
    message.insert_extension(parts);
    let sent = engine.sessions.used.hold().get_mut(&*address.session_id).and_then(|used| {
        used.at = Instant::now();
        Some(used.input.as_ref()?.try_send(message))
    });
    match sent {
        Some(Ok(())) => (StatusCode::ACCEPTED, "Accepted").into_response(),
        Some(Err(TrySendError::Full(_))) => {
            error(StatusCode::SERVICE_UNAVAILABLE, -32000, "too many messages of this MCP session wait")
        }
        Some(Err(TrySendError::Closed(_))) | None => {
            error(StatusCode::NOT_FOUND, -32001, "there is no such MCP session; open one with GET /sse")
        }
    }
}

/// The message in a body, or the answer to a body that holds none.
pub(super) fn read(body: &[u8]) -> Result<ClientJsonRpcMessage, Box<Response>> {
    serde_json::from_slice(body).map_err(|what| {
        let (code, text) = match serde_json::from_slice::<serde::de::IgnoredAny>(body) {
            Ok(_) => (-32600, format!("this is not a JSON-RPC message: {what}")),
            Err(_) => (-32700, format!("this is not JSON: {what}")),
        };
        Box::new(error(StatusCode::BAD_REQUEST, code, &text))
    })
}

/// An error of the transport in JSON-RPC's form.
pub(super) fn error(status: StatusCode, code: i64, message: &str) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    (status, axum::Json(body)).into_response()
}
