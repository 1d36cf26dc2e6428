//! Turns values and errors into HTTP responses in the form of the requested API.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::Value;

use crate::{
    client::front::Kind,
    error::{Blame, Error},
    redact,
};

/// The failure in a response, as an extension for the log and the page.
#[derive(Debug, Clone)]
pub(super) struct Told(pub(super) String);

/// An error in the form of this path's API, with the error's status.
pub(super) fn error_at(path: &str, error: &Error) -> Response {
    let front = match path {
        _ if path.contains("/api/") => Kind::Ollama,
        _ if path.contains("/messages") => Kind::Messages,
        _ => Kind::OpenAi,
    };
    self::error(front, error)
}

/// An error, under its own status.
pub(super) fn error(front: Kind, error: &Error) -> Response {
    if error.blame != Blame::Client {
        tracing::warn!(status = error.status, code = error.code, "{error}");
    }
    let mut response = json(&front.error_body(error));
    *response.status_mut() = StatusCode::from_u16(front.status(error)).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    add_headers(&mut response, &error.headers);
    response.extensions_mut().insert(Told(error.to_string()));
    response
}

/// This value as JSON, or the error.
pub(super) fn json_or_error(front: Kind, answer: Result<Value, Error>) -> Response {
    answer.map_or_else(|error| self::error(front, &error), |value| json(&value))
}

/// Adds headers of a backend, except those that are already set. A backend may repeat a key in them.
pub(super) fn add_headers(response: &mut Response, headers: &[(String, String)]) {
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&redact::known(value))) {
            response.headers_mut().entry(name).or_insert(value);
        }
    }
}

/// A JSON body under status 200.
pub(super) fn json(value: &Value) -> Response {
    json_text(value.to_string())
}

/// A body that is JSON, under status 200.
pub(super) fn json_text(json: String) -> Response {
    bytes("application/json", Body::from(Bytes::from(json)))
}

/// A body of this content type under status 200.
pub(super) fn bytes(content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
