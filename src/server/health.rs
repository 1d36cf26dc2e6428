//! What load balancers and people read. `GET /healthz`: whether the process serves, which backends answer, and what was repaired
//! so far. `GET /readyz`: whether a chat can be answered now.

use std::{collections::BTreeMap, sync::atomic::Ordering};

use axum::{Extension, extract::State, response::Response};
use http::StatusCode;
use serde_json::{Value, json};

use super::{backends::Found, ending::Stage, guard::Sender, reply, state::App};
use crate::{backend::Kind, redact};

/// 200 if a backend answers; 503 if none does, or the server is about to end. Recordings count only if they were requested. With
/// client keys, only operators get the names of the backends.
pub(super) async fn ready(State(app): State<App>, Extension(sender): Extension<Sender>) -> Response {
    let found = app.backends.current().await;
    let asked_for = app.config.backends.iter().any(|backend| backend.kind == Some(Kind::Replay));
    let counts = |found: &&Found| found.error.is_none() && (asked_for || found.backend.kind != Kind::Replay);
    let answering: Vec<&str> = found.iter().filter(counts).map(|found| found.backend.name.as_str()).collect();
    let draining = app.process.ending.has_reached(Stage::Announced);
    let ready = !answering.is_empty() && !draining;
    let mut said = json!({"ready": ready, "draining": draining});
    if sees_backends(&app, &sender) {
        said["backends"] = json!(answering);
    }
    let mut response = reply::json(&said);
    if !ready {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}

/// With client keys, only operators get more than the fact that it runs, because errors of backends contain addresses.
pub(super) async fn health(State(app): State<App>, Extension(sender): Extension<Sender>) -> Response {
    let seen = &app.process.metrics;
    let mut health = json!({
        "status": "ok",
        "toolglot": env!("CARGO_PKG_VERSION"),
        "requests": {"models": seen.lists.load(Ordering::Relaxed), "chats": seen.chats.load(Ordering::Relaxed)},
    });
    if sees_backends(&app, &sender) {
        health["calls"] = json!(app.turns.tally.verdicts().collect::<BTreeMap<_, _>>());
        health["repairs"] = json!(app.turns.tally.rules().collect::<BTreeMap<_, _>>());
        health["asked_again"] = json!(app.turns.asked_again.load(Ordering::Relaxed));
        health["configuration"] = json!(app.config.file);
        health["backends"] = app.backends.known().iter().map(backend).collect();
    }
    reply::json(&health)
}

/// Without client keys everybody may list the models anyway.
fn sees_backends(app: &App, sender: &Sender) -> bool {
    app.config.access.keys.is_empty() || !sender.tenant.name.is_empty() && sender.tenant.operator
}

fn backend(found: &Found) -> Value {
    json!({"name": found.backend.name, "url": redact::line(&found.backend.url), "answers": found.error.is_none(), "models": found.models.len(), "error": found.error})
}
