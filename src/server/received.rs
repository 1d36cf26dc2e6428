//! A request -> its body, the model that the body names, and the backend that serves it: how every route of a model begins.

use std::sync::Arc;

use axum::{body::Body, extract::Request};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;

use super::{guard::Sender, state::App};
use crate::{backend::Backend, config::Mode, error::Error, plan};

/// The header that chooses the mode of one request.
const MODE: &str = "x-toolglot-mode";

/// What a path prefix decides for the requests under it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Prefix {
    pub(super) mode: Option<Mode>,
    /// The name of a client's profile.
    pub(super) profile: Option<&'static str>,
}

/// A request whose body has arrived.
#[derive(Debug, Clone, Default)]
pub(super) struct Received {
    pub(super) headers: HeaderMap,
    pub(super) prefix: Prefix,
    pub(super) sender: Sender,
    pub(super) body: Bytes,
}

/// A model that a client asked for.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The name that the client used: answers carry it.
    pub(super) called: String,
    /// The backend's own name.
    pub(super) model: String,
    /// The backend that serves it.
    pub(super) backend: Arc<Backend>,
}

// === impl Received ===

impl Received {
    /// Reads the body, up to `limits.body_bytes`.
    pub(super) async fn read(app: &App, request: Request) -> Result<Received, Error> {
        let (head, body) = request.into_parts();
        let body = read(&head.headers, body, app.config.limits.body_bytes).await?;
        let prefix = head.extensions.get::<Prefix>().copied().unwrap_or_default();
        let sender = head.extensions.get::<Sender>().cloned().unwrap_or_default();
        Ok(Received { headers: head.headers, prefix, sender, body })
    }

    /// Reads the body and finds the model that its field `model` names. The body carries the backend's own name then.
    pub(super) async fn with_target(app: &App, request: Request) -> Result<(Received, Target), Error> {
        let mut received = Received::read(app, request).await?;
        let target = Target::find(app, model(&received.body)?).await?;
        if target.model != target.called {
            received.body = renamed(&received.body, &target.model)?;
        }
        Ok((received, target))
    }

    /// What happens to the answer: as the header says, or else the path, the model's name, its route, the configuration.
    pub(super) fn mode(&self, app: &App, target: &Target) -> Result<Mode, Error> {
        let asked = asked_mode(&self.headers)?.or(self.prefix.mode).or_else(|| app.config.mode_of_name(&target.called));
        let mode = plan::mode(&app.config, &target.model, asked);
        if mode == Mode::Shell {
            app.config.check_runner()?;
        }
        Ok(mode)
    }
}

// === impl Target ===

impl Target {
    /// The model that a client calls so.
    pub(super) async fn find(app: &App, called: String) -> Result<Target, Error> {
        let model = app.config.own_name(&called);
        let backend = app.backend_of(&model).await?;
        Ok(Target { called, model, backend })
    }
}

// === private ===

/// The body of a request, at most `limit` bytes.
async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, Error> {
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
fn renamed(body: &[u8], model: &str) -> Result<Bytes, Error> {
    let mut body: Value =
        serde_json::from_slice(body).map_err(|error| Error::client(format!("the body is not JSON: {error}")))?;
    if let Some(object) = body.as_object_mut() {
        object.insert("model".into(), model.into());
    }
    Ok(body.to_string().into())
}

/// The model that a body names; nothing else of it is looked at.
fn model(body: &[u8]) -> Result<String, Error> {
    #[derive(serde::Deserialize)]
    struct Named {
        model: String,
    }
    let named: Named = serde_json::from_slice(body)
        .map_err(|error| Error::client(format!("the body must be JSON with the name of a `model`: {error}")))?;
    Ok(named.model)
}

/// The mode that the request's header asks for.
fn asked_mode(headers: &HeaderMap) -> Result<Option<Mode>, Error> {
    match headers.get(MODE).map(|mode| mode.to_str().unwrap_or_default().to_ascii_lowercase()).as_deref() {
        None => Ok(None),
        Some("off") => Ok(Some(Mode::Off)),
        Some("rewrite") => Ok(Some(Mode::Rewrite)),
        Some("shell") => Ok(Some(Mode::Shell)),
        Some("react") => Ok(Some(Mode::React)),
        Some(other) => Err(Error::client(format!("`{MODE}: {other}`: off, rewrite, shell and react are possible"))),
    }
}
