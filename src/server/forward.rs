//! Requests that pass as they are: mode `off`, text completions, embeddings. Body and answer are bytes that nobody looks
//! into, except for the model's name, which selects the backend.

use axum::{
    body::Body,
    extract::{Request, State},
    response::Response,
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;

use super::{App, reply};
use crate::{
    backend::{Backend, Kind},
    error::Error,
    upstream::{self, HttpRequest, Outgoing},
};

/// Headers that belong to one connection, or that we write ourselves.
const OURS: &[HeaderName] = &[
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::CONTENT_LENGTH,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
    header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
];

pub(super) async fn completions(State(app): State<App>, request: Request) -> Response {
    pass(&app, "/completions", request).await
}

pub(super) async fn embeddings(State(app): State<App>, request: Request) -> Response {
    pass(&app, "/embeddings", request).await
}

async fn pass(app: &App, path: &str, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let answered = async {
        let body = read(&head.headers, body, app.config.limits.body_bytes).await?;
        let asked = model(&body)?;
        let model = app.config.own_name(&asked);
        let backend = super::backend_of(app, &model).await?;
        let body = if model == asked { body } else { renamed(&body, &model)? };
        forward(app, &backend, path, &head.headers, body).await
    };
    answered.await.unwrap_or_else(|error| reply::error(&error))
}

/// Sends the body to the backend's own OpenAI endpoint and passes on what it answers.
pub(super) async fn forward(
    app: &App,
    backend: &Backend,
    path: &str,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<Response, Error> {
    let base = match backend.kind {
        Kind::OpenAi => backend.url.clone(),
        Kind::Ollama => format!("{}/v1", backend.url),
        Kind::Google | Kind::Replay => {
            return Err(Error::client(format!(
                "the backend `{}` has no OpenAI endpoint of its own to pass this on to",
                backend.name
            ))
            .with_status(501)
            .with_code("not_supported"));
        }
    };
    let mut sent = HeaderMap::new();
    for name in [header::CONTENT_TYPE, header::ACCEPT] {
        if let Some(value) = headers.get(&name) {
            sent.insert(name, value.clone());
        }
    }
    if let Some(value) = backend.authorization(headers.get(header::AUTHORIZATION)) {
        sent.insert(header::AUTHORIZATION, value);
    }
    if let Some(value) = app.instance.via(headers) {
        sent.insert(header::VIA, value);
    }
    let request = HttpRequest { method: Method::POST, url: format!("{base}{path}"), headers: sent, body };
    backend.turn().await?;
    let answer = app.turns.client.send(Outgoing::Http(request)).await?;
    let mut response = Response::new(Body::from_stream(stream(answer.body)));
    *response.status_mut() = answer.status;
    let passed = answer.headers.iter().filter(|(name, _)| !OURS.contains(name));
    response.headers_mut().extend(passed.map(|(name, value)| (name.clone(), value.clone())));
    Ok(response)
}

/// The bytes as they come; a connection that breaks behind us breaks before us too.
fn stream(mut body: Box<dyn upstream::Body>) -> impl futures_util::Stream<Item = Result<Bytes, Error>> + Send {
    async_stream::try_stream! {
        let mut buffer = BytesMut::new();
        while body.read(&mut buffer).await? > 0 {
            yield buffer.split().freeze();
        }
    }
}

/// The body of a request, at most `limit` bytes.
pub(super) async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, Error> {
    let too_large = || {
        Error::client(format!("the request body is larger than {limit} bytes (`limits.body_bytes` in proxy.toml)"))
            .with_status(413)
            .with_code("request_too_large")
    };
    let declared =
        headers.get(header::CONTENT_LENGTH).and_then(|length: &HeaderValue| length.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|declared| declared > limit) {
        return Err(too_large());
    }
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => Err(too_large()),
        Err(error) => Err(Error::client(format!("the request body broke off: {error}"))),
    }
}

/// The body with the model's own name, where the client wrote another one of its names.
pub(super) fn renamed(body: &[u8], model: &str) -> Result<Bytes, Error> {
    let mut body: Value =
        serde_json::from_slice(body).map_err(|error| Error::client(format!("the body is not JSON: {error}")))?;
    if let Some(object) = body.as_object_mut() {
        object.insert("model".into(), model.into());
    }
    Ok(body.to_string().into())
}

/// The model that a body names; nothing else of it is looked at.
pub(super) fn model(body: &[u8]) -> Result<String, Error> {
    #[derive(serde::Deserialize)]
    struct Named {
        model: String,
    }
    let named: Named = serde_json::from_slice(body)
        .map_err(|error| Error::client(format!("the body must be JSON with the name of a `model`: {error}")))?;
    Ok(named.model)
}
