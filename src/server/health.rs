//! `GET /healthz`: whether it runs, what its backends say, and what has been repaired so far.

use std::{collections::BTreeMap, sync::atomic::Ordering};

use axum::{extract::State, response::Response};
use serde_json::json;

use super::{reply, state::App};

pub(super) async fn health(State(app): State<App>) -> Response {
    let found = app.catalog.known();
    reply::json(&json!({
        "status": "ok",
        "toolglot": env!("CARGO_PKG_VERSION"),
        "requests": {"models": app.seen.lists.load(Ordering::Relaxed), "chats": app.seen.chats.load(Ordering::Relaxed)},
        "calls": app.turns.tally.verdicts().collect::<BTreeMap<_, _>>(),
        "repairs": app.turns.tally.rules().collect::<BTreeMap<_, _>>(),
        "asked_again": app.turns.asked_again.load(Ordering::Relaxed),
        "backends": found.iter().map(|found| json!({"name": found.backend.name, "models": found.models.len(), "error": found.error})).collect::<Vec<_>>(),
    }))
}
