//! What load balancers and monitors read. `GET /healthz`: whether the process serves, which backends answer, and what was repaired
//! so far. `GET /readyz`: whether a chat can be answered now. `GET /metrics`: everything that is counted, in the text format of
//! Prometheus (version 0.0.4).

use std::{collections::BTreeMap, sync::atomic::Ordering};

use axum::{Extension, body::Body, extract::State, response::Response};
use http::StatusCode;
use prometheus_client::{
    encoding::prometheus_text,
    metrics::{counter::ConstCounter, family::Family, gauge::ConstGauge, gauge::Gauge},
    registry::Registry,
};
use serde_json::{Value, json};

use super::{
    backends::Found,
    ending::Stage,
    guard::Sender,
    metrics::{Counters, add},
    reply,
    state::App,
};
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

/// `GET /metrics`.
pub(super) async fn metrics(State(app): State<App>) -> Response {
    reply::bytes(prometheus_text::CONTENT_TYPE, Body::from(exposed(&app)))
}

fn exposed(app: &App) -> String {
    let mut registry = Registry::default();
    app.process.metrics.register(&mut registry);
    let fixes = Counters::default();
    for (rule, count) in app.turns.tally.rules() {
        add(&fixes, [("rule", rule)], count);
    }
    registry.register("toolglot_fixes", "Repairs of calls, by rule", fixes);
    let again = ConstCounter::new(app.turns.asked_again.load(Ordering::Relaxed));
    registry.register("toolglot_reasks", "Refused calls that were answered to the model", again);
    let calls = Counters::default();
    for (server, failed, count) in app.process.mcp.pool().calls() {
        add(&calls, [("server", &server), ("result", if failed { "failed" } else { "ok" })], count);
    }
    registry.register("toolglot_mcp_calls", "Calls of MCP servers and built-in tools, by server and result", calls);
    if let Some(link) = app.turns.store.link() {
        let present = ConstGauge::new(u64::from(link.is_present()));
        registry.register("toolglot_store_present", "Whether the shared store answers", present);
        let operations = ConstCounter::new(link.operations());
        registry.register("toolglot_store_operations", "Commands that were sent to the shared store", operations);
        let help = "Commands that the shared store failed or did not answer in time";
        registry.register("toolglot_store_failures", help, ConstCounter::new(link.failures()));
    }
    let panics = ConstCounter::new(app.process.ending.panics());
    registry.register("toolglot_panics", "Faults inside toolglot, each of which ended one turn", panics);
    let held_bytes = Family::<[(&str, &str); 1], Gauge>::default();
    // All of it is bounded; the rest of the process's memory is code, and requests under way.
    for (holder, bytes) in [
        ("store", app.turns.store.held_bytes()),
        ("schemas", app.turns.schemas.held_bytes()),
        ("tool_lists", app.process.lists.held_bytes()),
        ("page", app.process.page.held_bytes()),
    ] {
        held_bytes.get_or_create(&[("holder", holder)]).set(bytes.try_into().unwrap_or(i64::MAX));
    }
    registry.register("toolglot_held_bytes", "Bytes that are held between requests, by what holds them", held_bytes);
    if let Some(bytes) = resident_bytes() {
        registry.register("process_resident_memory_bytes", "Resident memory of the process", ConstGauge::new(bytes));
    }
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = prometheus_text::encode(&mut out, &registry);
    out
}

/// The resident memory in bytes, on Linux. Other systems have their own tools.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
