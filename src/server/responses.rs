//! `POST /v1/responses` and the routes of stored responses: OpenAI's API, as Codex and OpenAI's SDKs use it. With `store`
//! (the default), a response is kept with its items for a day. A request that names an earlier response continues its
//! conversation: the items of all responses before it come first.

use axum::{
    body::Body,
    extract::{Path, Request, State},
    response::Response,
};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    answer::{self, Asked},
    reply,
    state::App,
};
use crate::{
    client::front::{self, responses},
    error::Error,
    openai,
    store::{self, Key, Kind, Store},
};

const FRONT: front::Kind = front::Kind::Responses;
/// How long a response is kept.
const TTL: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);
/// Maximum number of responses in a conversation that is put together.
const MOST: usize = 1000;

/// What is kept of a response.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// The one that it followed.
    previous: Option<String>,
    /// The items that it answered.
    input: Vec<Value>,
    response: Value,
}

pub(super) async fn create(app: App, asked: Asked) -> Result<Response, Error> {
    let received = &asked.received;
    let mut body = openai::json(&received.body)?;
    let items = responses::items(body.get("input"))?;
    let previous = match body.get("previous_response_id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id.clone()),
        Some(_) => return Err(Error::client("`previous_response_id` must be a string: the id of an earlier response")),
    };
    let tenant = received.sender.tenant.prefix().to_owned();
    if let Some(previous) = &previous {
        let mut all = history(&app, &tenant, previous, app.config.limits.body_bytes).await?;
        all.extend(items.iter().cloned());
        body["input"] = Value::Array(all);
    }
    let kept = body.get("store").and_then(Value::as_bool) != Some(false);
    let request = responses::read(body)?;
    let streamed = request.chat.stream;
    let response = if request.chat.messages.is_empty() {
        // It asks for the model to be loaded.
        reply::json(&answer::empty(&app, &asked, request).await?)
    } else {
        answer::respond(&app, asked, request).await?
    };
    if !kept {
        return Ok(response);
    }
    Ok(keeping(app.turns.store.clone(), tenant, Kept { previous, input: items, response: Value::Null }, streamed, response))
}

/// The same response, kept when it is whole. What is too large for the store is not kept.
fn keeping(store: std::sync::Arc<dyn Store>, tenant: String, kept: Kept, streamed: bool, response: Response) -> Response {
    let (head, body) = response.into_parts();
    let body = async_stream::stream! {
            let mut pieces = body.into_data_stream();
            while let Some(piece) = pieces.next().await {
                let found = piece.as_ref().ok().and_then(|piece: &Bytes| if streamed {
    responses::finished(piece)
    } else {
    serde_json::from_slice(piece).ok()
    });
                if let Some(response) = found {
                    let id = response["id"].as_str().unwrap_or_default().to_owned();
                    let kept = Kept { response, input: kept.input.clone(), previous: kept.previous.clone() };
                    store::write(&*store, key(&tenant, &id), &kept, TTL).await;
                }
                yield piece;
            }
        };
    Response::from_parts(head, Body::from_stream(body))
}

pub(super) async fn one(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    let found = find(&app, &tenant(&request), &id).await;
    found.map_or_else(|error| reply::error(FRONT, &error), |kept| reply::json(&kept.response))
}

pub(super) async fn delete(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    match app.turns.store.take(&key(&tenant(&request), &id)).await {
        Some(_) => reply::json(&json!({"id": id, "object": "response", "deleted": true})),
        None => reply::error(FRONT, &not_found(&app, &id)),
    }
}

pub(super) async fn input_items(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    let found = find(&app, &tenant(&request), &id).await;
    found.map_or_else(
        |error| reply::error(FRONT, &error),
        |kept| {
            let ids = |item: Option<&Value>| item.and_then(|item| item.get("id")).cloned();
            let (first, last) = (ids(kept.input.first()), ids(kept.input.last()));
            reply::json(&json!({"object": "list", "data": kept.input, "first_id": first, "last_id": last, "has_more": false}))
        },
    )
}

/// The items of this response and of all those that it follows, in their order.
async fn history(app: &App, tenant: &str, id: &str, limit: usize) -> Result<Vec<Value>, Error> {
    let mut next = Some(id.to_owned());
    let mut turns = Vec::new();
    let mut bytes = 0;
    while let Some(id) = next {
        let value = app.turns.store.get(&key(tenant, &id)).await.ok_or_else(|| missing(app, &id))?;
        bytes += value.len();
        if turns.len() == MOST || bytes > limit {
            return Err(
                Error::client("the conversation behind `previous_response_id` is too long").with_code("context_length_exceeded")
            );
        }
        let kept: Kept = serde_json::from_slice(&value).map_err(|_| missing(app, &id))?;
        next = kept.previous.clone();
        turns.push(kept);
    }
    let items = turns.into_iter().rev().flat_map(|mut kept| {
        let output = match kept.response["output"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        kept.input.into_iter().chain(output)
    });
    Ok(items.collect())
}

async fn find(app: &App, tenant: &str, id: &str) -> Result<Kept, Error> {
    let found = store::read(&*app.turns.store, &key(tenant, id)).await;
    found.ok_or_else(|| not_found(app, id))
}

fn tenant(request: &Request) -> String {
    request.extensions().get::<super::sender::Sender>().map(|sender| sender.tenant.prefix().to_owned()).unwrap_or_default()
}

fn key(tenant: &str, id: &str) -> Key {
    Key { tenant: tenant.to_owned(), kind: Kind::Response, id: id.to_owned() }
}

fn missing(app: &App, id: &str) -> Error {
    if app.turns.store.link().is_some_and(|link| !link.is_present()) {
        let what =
            format!("the response `{id}` is not kept on this instance, and the shared store does not answer; try again soon");
        return Error::proxy(what).with_status(503).with_code("store_absent");
    }
    Error::client(format!(
        "the response `{id}` is not kept: it was sent with `store: false`, is older than a day, or was too large; send the whole conversation"
    ))
    .with_code("previous_response_not_found")
}

/// The same, for a request about that response alone.
fn not_found(app: &App, id: &str) -> Error {
    let error = missing(app, id);
    if error.status == 400 { error.with_status(404) } else { error }
}
