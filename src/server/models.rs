//! The models of all backends -> OpenAI's list. Clients poll it every few seconds: answered from the catalog, without a word
//! in the log.

use std::{collections::HashSet, iter, sync::atomic::Ordering};

use axum::{
    extract::{Path, State},
    response::Response,
};
use serde_json::{Value, json};

use super::{App, catalog::Found, reply};
use crate::error::Error;

pub(super) async fn list(State(app): State<App>) -> Response {
    app.seen.lists.fetch_add(1, Ordering::Relaxed);
    let found = app.catalog.current().await;
    reply::json(&json!({"object": "list", "data": entries(&app, &found)}))
}

pub(super) async fn one(State(app): State<App>, Path(id): Path<String>) -> Response {
    let found = app.catalog.current().await;
    match entries(&app, &found).into_iter().find(|entry| entry["id"] == id.as_str()) {
        Some(entry) => reply::json(&entry),
        None => reply::error(&Error::client(format!("there is no model `{id}`")).with_status(404).with_code("model_not_found")),
    }
}

/// One entry per name, the further names behind their models; of two backends with the same name the first one serves it.
fn entries(app: &App, found: &[Found]) -> Vec<Value> {
    let mut seen = HashSet::new();
    let mut entries = Vec::new();
    for (backend, model) in found.iter().flat_map(|found| found.models.iter().map(|model| (&found.backend.name, &model.id))) {
        for name in iter::once(model.clone()).chain(app.config.further_names(model)) {
            if seen.insert(name.clone()) {
                entries.push(json!({"id": name, "object": "model", "created": 0, "owned_by": backend}));
            }
        }
    }
    entries
}
