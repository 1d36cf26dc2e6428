//! The models of all backends as OpenAI's list. Clients poll it every few seconds, so it is answered from memory and not
//! logged.

use std::{collections::HashSet, iter, sync::atomic::Ordering};

use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use http::{HeaderMap, header};
use serde_json::{Value, json};

use super::{backends::Found, guard::Sender, received::text, reply, state::App};
use crate::{
    backend::{Backend, Model},
    client::front::{Kind, messages::ALIAS},
    config::Tenant,
    error::Error,
};

/// Claude Code shows only models with `claude` in their name; others take such a name for a model of Anthropic's.
const CLAUDE_CODE: &[&str] = &["claude-code/", "claude-cli/"];

pub(super) async fn list(State(app): State<App>, Extension(sender): Extension<Sender>, headers: HeaderMap) -> Response {
    app.process.metrics.lists.fetch_add(1, Ordering::Relaxed);
    let found = app.backends.current().await;
    let mut data = entries(&app, &sender.tenant, &found);
    let agent = text(&headers, header::USER_AGENT).unwrap_or_default();
    if CLAUDE_CODE.iter().any(|name| agent.starts_with(name)) {
        let aliases = data.iter().filter_map(|entry| Some(entry_of(&format!("{ALIAS}{}", entry["id"].as_str()?), "toolglot")));
        let aliases: Vec<Value> = aliases.collect();
        data.extend(aliases);
    }
    let id = |entry: Option<&Value>| entry.map_or(Value::Null, |entry| entry["id"].clone());
    let (first, last) = (id(data.first()), id(data.last()));
    reply::json(&json!({"object": "list", "data": data, "has_more": false, "first_id": first, "last_id": last}))
}

pub(super) async fn one(State(app): State<App>, Extension(sender): Extension<Sender>, Path(id): Path<String>) -> Response {
    let found = app.backends.current().await;
    let entry = entries(&app, &sender.tenant, &found).into_iter().find(|entry| entry["id"] == id.as_str());
    let missing = || Error::client(format!("there is no model `{id}`")).with_status(404).with_code("model_not_found");
    reply::json_or_error(Kind::OpenAi, entry.ok_or_else(missing))
}

/// The models that the tenant may use, each followed by its aliases. If two backends have a model of the same name, the first one
/// serves it.
pub(super) fn named<'a>(
    app: &'a App,
    tenant: &'a Tenant,
    found: &'a [Found],
) -> impl Iterator<Item = (String, &'a Backend, &'a Model)> {
    let mut seen = HashSet::new();
    let all = found.iter().flat_map(|found| found.models.iter().map(|model| (found.backend.as_ref(), model)));
    let names = all.flat_map(|(backend, model)| {
        let names = iter::once(model.id.clone()).chain(app.config.further_names(&model.id));
        names.map(move |name| (name, backend, model))
    });
    names.filter(move |(name, _, model)| tenant.may_use(&model.id, name) && seen.insert(name.clone()))
}

fn entries(app: &App, tenant: &Tenant, found: &[Found]) -> Vec<Value> {
    named(app, tenant, found).map(|(name, backend, _)| entry_of(&name, &backend.name)).collect()
}

/// A model in the words of OpenAI's list and of Anthropic's.
fn entry_of(name: &str, owner: &str) -> Value {
    json!({
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": owner,
        "type": "model",
        "display_name": name.strip_prefix(ALIAS).unwrap_or(name),
        "created_at": "1970-01-01T00:00:00Z",
    })
}
