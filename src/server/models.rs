//! The models of all backends -> OpenAI's list. Clients poll it every few seconds: answered from the catalog, without a word
//! in the log.

use std::{collections::HashSet, iter, sync::atomic::Ordering};

use axum::{
    extract::{Path, State},
    response::Response,
};
use serde_json::{Value, json};

use super::{catalog::Found, reply, state::App};
use crate::{
    backend::{Backend, Model},
    client::front::Kind,
    error::Error,
};

pub(super) async fn list(State(app): State<App>) -> Response {
    app.seen.lists.fetch_add(1, Ordering::Relaxed);
    let found = app.catalog.current().await;
    reply::json(&json!({"object": "list", "data": entries(&app, &found)}))
}

pub(super) async fn one(State(app): State<App>, Path(id): Path<String>) -> Response {
    let found = app.catalog.current().await;
    match entries(&app, &found).into_iter().find(|entry| entry["id"] == id.as_str()) {
        Some(entry) => reply::json(&entry),
        None => reply::error(
            Kind::OpenAi,
            &Error::client(format!("there is no model `{id}`")).with_status(404).with_code("model_not_found"),
        ),
    }
}

/// Each model under its name and behind it under its further names; of two backends with the same name the first one serves
/// it.
pub(super) fn named<'a>(app: &'a App, found: &'a [Found]) -> impl Iterator<Item = (String, &'a Backend, &'a Model)> {
    let mut seen = HashSet::new();
    let all = found.iter().flat_map(|found| found.models.iter().map(|model| (found.backend.as_ref(), model)));
    let names = all.flat_map(|(backend, model)| {
        let names = iter::once(model.id.clone()).chain(app.config.further_names(&model.id));
        names.map(move |name| (name, backend, model))
    });
    names.filter(move |(name, _, _)| seen.insert(name.clone()))
}

fn entries(app: &App, found: &[Found]) -> Vec<Value> {
    named(app, found)
        .map(|(name, backend, _)| json!({"id": name, "object": "model", "created": 0, "owned_by": backend.name}))
        .collect()
}
