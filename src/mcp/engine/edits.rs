//! `POST /mcp/add`, `DELETE /mcp/remove`, `GET /mcp/list`: the registry over HTTP.

use axum::{
    body::Bytes,
    extract::{Query, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Engine;
use crate::{config::RegistryHttp, error::Error, mcp::pool::Status, openai::answer::error_body};

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
