//! `GET /healthz`: whether the process serves, which backends answer, and what was repaired so far. `GET /readyz`: whether a
//! chat can be answered now. Between the first signal and the end, running answers continue, and new requests go elsewhere: a load
//! balancer sees it at `/readyz`, and what it still sends after the announced time is refused.

use std::{
    collections::BTreeMap,
    sync::atomic::{
        AtomicBool,
        Ordering::{self, Relaxed},
    },
};

use axum::{Extension, extract::State, response::Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::{backends::Found, guard::Sender, reply, state::App};
use crate::{backend::Kind, error::Error};

/// 200 if a backend answers; 503 if none does, or the server is about to end. Recordings count only if they were requested.
pub(super) async fn ready(State(app): State<App>) -> Response {
    let found = app.backends.current().await;
    let asked_for = app.config.backends.iter().any(|backend| backend.kind == Some(Kind::Replay));
    let counts = |found: &&Found| found.error.is_none() && (asked_for || found.backend.kind != Kind::Replay);
    let answering: Vec<&str> = found.iter().filter(counts).map(|found| found.backend.name.as_str()).collect();
    let draining = app.process.draining.is_announced();
    let ready = !answering.is_empty() && !draining;
    let mut response = reply::json(&json!({"ready": ready, "backends": answering, "draining": draining}));
    if !ready {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}

/// With client keys, only operators get more than the fact that it runs, because errors of backends contain addresses.
pub(super) async fn health(State(app): State<App>, Extension(sender): Extension<Sender>) -> Response {
    let seen = &app.process.seen;
    let mut health = json!({
        "status": "ok",
        "toolglot": env!("CARGO_PKG_VERSION"),
        "requests": {"models": seen.lists.load(Ordering::Relaxed), "chats": seen.chats.load(Ordering::Relaxed)},
    });
    let is_operator = !sender.tenant.name.is_empty() && sender.tenant.operator;
    if app.config.access.keys.is_empty() || is_operator {
        health["calls"] = json!(app.turns.tally.verdicts().collect::<BTreeMap<_, _>>());
        health["repairs"] = json!(app.turns.tally.rules().collect::<BTreeMap<_, _>>());
        health["asked_again"] = json!(app.turns.asked_again.load(Ordering::Relaxed));
        health["backends"] = app.backends.known().iter().map(backend).collect();
    }
    reply::json(&health)
}

fn backend(found: &Found) -> Value {
    json!({"name": found.backend.name, "answers": found.error.is_none(), "models": found.models.len(), "error": found.error})
}

/// How far the end has come.
#[derive(Debug, Default)]
pub(super) struct Draining {
    announced: AtomicBool,
    refuses: AtomicBool,
}

/// Paths that are served until the end: load balancers and metrics look at a draining server.
const OPEN: &[&str] = &["/healthz", "/readyz", "/metrics"];

impl Draining {
    /// From now on the server is not ready; requests are served still.
    pub(super) fn announce(&self) {
        self.announced.store(true, Relaxed);
    }

    /// From now on new requests are refused.
    pub(super) fn refuse(&self) {
        self.refuses.store(true, Relaxed);
    }

    pub(super) fn is_announced(&self) -> bool {
        self.announced.load(Relaxed)
    }
}

/// Refuses what comes too late. Nothing of such a request has been done: it may be sent again at once.
pub(super) fn refusal(app: &App, path: &str) -> Option<Response> {
    if !app.process.draining.refuses.load(Relaxed) || OPEN.contains(&path) {
        return None;
    }
    let mut error = Error::proxy("this toolglot is about to end; send the request again").with_status(503).with_code("draining");
    error.headers.push((header::RETRY_AFTER.to_string(), "1".into()));
    let mut response = reply::error_at(path, &error);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    Some(response)
}
