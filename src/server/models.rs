//! The models of all backends -> OpenAI's list. Clients poll it every few seconds: answered from the catalog, without a word
//! in the log.

use std::collections::HashSet;

use axum::{
    extract::{Path, State},
    response::Response,
};
use serde_json::{Value, json};

use super::{App, catalog::Found, reply};
use crate::error::Error;

pub(super) async fn list(State(app): State<App>) -> Response {
    let found = app.catalog.current().await;
    reply::json(&json!({"object": "list", "data": entries(&found)}))
}

pub(super) async fn one(State(app): State<App>, Path(id): Path<String>) -> Response {
    let found = app.catalog.current().await;
    match entries(&found).into_iter().find(|entry| entry["id"] == id.as_str()) {
        Some(entry) => reply::json(&entry),
        None => reply::error(&Error::client(format!("there is no model `{id}`")).with_status(404).with_code("model_not_found")),
    }
}

/// One entry per name; of two backends with the same name the first one serves it.
fn entries(found: &[Found]) -> Vec<Value> {
    let mut seen = HashSet::new();
    let all = found.iter().flat_map(|found| found.models.iter().map(|model| (found.backend.name.as_str(), model)));
    all.filter(|(_, model)| seen.insert(model.id.as_str()))
        .map(|(backend, model)| json!({"id": model.id, "object": "model", "created": 0, "owned_by": backend}))
        .collect()
}
