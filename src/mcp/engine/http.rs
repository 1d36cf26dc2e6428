//! The MCP routes: streamable HTTP at `/mcp`, the older SSE transport at `/sse`, the registry under `/mcp/`. Clients may be
//! given either address, so both accept both transports if the request shows which one it means.

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Query, Request, State},
    response::{IntoResponse, Response},
    routing::{any, delete, get, post},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Caller, Engine, REQUEST_BYTES, sse};
use crate::{config::RegistryHttp, error::Error, mcp::pool::Status, openai::answer::error_body};

impl Engine {
    /// All routes of our MCP server and of the registry. Checks of Host, Origin and key belong in front of them
    /// (`server::guard`).
    pub fn routes<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        Router::new()
            .route("/mcp", any(streamable))
            .route("/sse", any(either))
            .route("/sse/message", post(sse::message))
            .route("/mcp/add", post(add))
            .route("/mcp/remove", delete(remove))
            .route("/mcp/list", get(list))
            .layer(DefaultBodyLimit::max(REQUEST_BYTES))
            .with_state(self.clone())
    }

    /// Ends a session. The specification wants 404 for one that does not exist any more, and leaves the status of success to HTTP:
    /// the SDK's 202 would say that the session is still to be ended (RFC 9110, section 9.3.5).
    async fn end(&self, request: Request) -> Response {
        let id = request.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(SessionId::from);
        if let Some(id) = id {
            // Another instance that shares the store may have begun it.
            let is_here = self.sessions.has_session(&id).await.unwrap_or(false);
            let is_known = match &self.streamable.config.session_store {
                Some(store) if !is_here => matches!(store.load(&id).await, Ok(Some(_))),
                _ => is_here,
            };
            if !is_known {
                return (StatusCode::NOT_FOUND, "there is no such session").into_response();
            }
        }
        let mut response = self.streamable.handle(request).await.into_response();
        if response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        response
    }
}

const SESSION: &str = "mcp-session-id";

/// `/sse`: a GET without a session is of the old dialect, everything else of the new one.
async fn either(State(engine): State<Engine>, head: Parts, body: Bytes) -> Response {
    if head.method == Method::GET && !head.headers.contains_key(SESSION) {
        return sse::open(&engine, head.extensions.get::<Caller>()).await;
    }
    streamable(State(engine), head, body).await
}

/// `/mcp`.
async fn streamable(State(engine): State<Engine>, head: Parts, body: Bytes) -> Response {
    // The SDK answers such a body in plain text.
    if head.method == Method::POST
        && let Err(refused) = sse::read(&body)
    {
        return *refused;
    }
    let begins = !head.headers.contains_key(SESSION);
    let mut request = Request::from_parts(head, Body::from(body));
    if request.method() == Method::POST && begins && !takes_events(request.headers()) {
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        return engine.direct.handle(request).await.into_response();
    }
    if request.method() == Method::DELETE {
        return engine.end(request).await;
    }
    engine.streamable.handle(request).await.into_response()
}

fn takes_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.into_iter().any(|value| value.contains("text/event-stream"))
}

#[derive(Debug, Deserialize)]
struct Add {
    name: String,
    url: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Remove {
    name: Option<String>,
}

/// `POST /mcp/add {"name": .., "url": ..}`.
pub(super) async fn add(State(engine): State<Engine>, headers: HeaderMap, body: Bytes) -> Response {
    aside(move || {
        allowed(&engine, &headers)?;
        let Add { name, url } = serde_json::from_slice(&body)
            .map_err(|error| Error::client(format!("the body must be {{\"name\": .., \"url\": ..}}: {error}")))?;
        engine.pool().registry().put_url(&name, &url)?;
        tracing::info!(server = name, url, "registered over HTTP");
        Ok(json!({"name": name, "url": url, "message": "registered"}))
    })
    .await
}

/// `DELETE /mcp/remove {"name": ..}`, also `?name=..`.
pub(super) async fn remove(
    State(engine): State<Engine>,
    Query(query): Query<Remove>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    aside(move || {
        allowed(&engine, &headers)?;
        let inside = || serde_json::from_slice::<Remove>(&body).ok().and_then(|remove| remove.name);
        let name = query.name.or_else(inside).ok_or_else(|| Error::client("the body must be {\"name\": ..}"))?;
        engine.pool().registry().remove(&name)?;
        tracing::info!(server = name, "removed over HTTP");
        Ok(json!({"name": name, "message": "removed"}))
    })
    .await
}

/// `GET /mcp/list`.
pub(super) async fn list(State(engine): State<Engine>, headers: HeaderMap) -> Response {
    answer(
        allowed(&engine, &headers)
            .map(|()| json!({"servers": engine.pool().status().iter().map(Status::to_value).collect::<Vec<_>>()})),
    )
}

/// The answer of what edits the registry, on a thread that may wait for the disk.
async fn aside(edit: impl FnOnce() -> Result<Value, Error> + Send + 'static) -> Response {
    let edited = tokio::task::spawn_blocking(edit).await;
    answer(edited.unwrap_or_else(|_| Err(Error::proxy("toolglot failed inside; this is a bug"))))
}

fn allowed(engine: &Engine, headers: &HeaderMap) -> Result<(), Error> {
    let options = &engine.shared.options;
    match options.registry_http {
        RegistryHttp::On => Ok(()),
        RegistryHttp::Off => {
            Err(Error::client("the registry cannot be used over HTTP (`mcp.registry_http` is off)").with_status(403))
        }
        RegistryHttp::Token => {
            let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
            match &options.token {
                Some(token) if token.is_bearer_of(given) => Ok(()),
                _ => Err(Error::client("the registry wants its token (`Authorization: Bearer ..`)").with_status(401)),
            }
        }
    }
}

fn answer(result: Result<Value, Error>) -> Response {
    match result {
        Ok(value) => axum::Json(value).into_response(),
        Err(error) => {
            let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, axum::Json(error_body(&error))).into_response()
        }
    }
}
