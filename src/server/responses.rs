//! `POST /v1/responses` and the routes of stored responses: OpenAI's API, as Codex and OpenAI's SDKs use it. With `store`
//! (the default), a response is kept with its items for a day. A request that names an earlier response continues its
//! conversation: the items of all responses before it come first. An item may also be named by its id.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Extension,
    body::Body,
    extract::{Path, State},
    response::Response,
};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    answer::{self, Asked},
    guard::Sender,
    reply,
    state::App,
};
use crate::{
    client::front::{self, Collected, responses},
    error::Error,
    openai,
    store::{self, Common, Key, Kind},
};

const FRONT: front::Kind = front::Kind::Responses;

pub(super) async fn create(app: App, asked: Asked) -> Result<Response, Error> {
    let received = &asked.received;
    let mut body = openai::json(&received.body)?;
    let limit = app.config.limits.body_bytes;
    let stored = Stored::new(&app, received.sender.tenant.prefix());
    let items = stored.resolved(responses::items(body.get("input"))?, limit).await?;
    let previous = match body.get("previous_response_id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id.clone()),
        Some(_) => return Err(Error::client("`previous_response_id` must be a string: the id of an earlier response")),
    };
    let before = match &previous {
        Some(previous) => stored.history(previous, limit).await?,
        None => Vec::new(),
    };
    let earlier = before.len();
    if previous.is_some() || !items.is_empty() {
        body["input"] = before.into_iter().chain(items.iter().cloned()).collect();
    }
    let kept = body.get("store").and_then(Value::as_bool) != Some(false);
    let request = responses::read(body, earlier)?;
    let streamed = request.chat.stream;
    let response = if request.chat.messages.is_empty() {
        // It asks for the model to be loaded.
        let plan = answer::plan(&app, &asked, request).await?;
        reply::json(&Collected::new(plan.reply.head).into_value())
    } else {
        answer::respond(&app, asked, request).await?
    };
    if !kept {
        return Ok(response);
    }
    Ok(keeping(stored, Kept { previous, input: items, response: Value::Null }, streamed, response))
}

/// The same response, kept when it has ended.
fn keeping(stored: Stored, mut kept: Kept, streamed: bool, response: Response) -> Response {
    let (head, body) = response.into_parts();
    let ended = move |piece: &Bytes| if streamed { responses::finished(piece) } else { serde_json::from_slice(piece).ok() };
    let body = async_stream::stream! {
        let mut pieces = body.into_data_stream();
        while let Some(piece) = pieces.next().await {
            if let Some(response) = piece.as_ref().ok().and_then(&ended) {
                kept.response = response;
                stored.keep(&kept).await;
            }
            yield piece;
        }
    };
    Response::from_parts(head, Body::from_stream(body))
}

pub(super) async fn one(State(app): State<App>, Extension(sender): Extension<Sender>, Path(id): Path<String>) -> Response {
    let found = Stored::new(&app, sender.tenant.prefix()).find(&id).await;
    reply::json_or_error(FRONT, found.map(|kept| kept.response))
}

pub(super) async fn delete(State(app): State<App>, Extension(sender): Extension<Sender>, Path(id): Path<String>) -> Response {
    let deleted = Stored::new(&app, sender.tenant.prefix()).delete(&id).await;
    reply::json_or_error(FRONT, deleted.map(|()| json!({"id": id, "object": "response", "deleted": true})))
}

pub(super) async fn input_items(
    State(app): State<App>,
    Extension(sender): Extension<Sender>,
    Path(id): Path<String>,
) -> Response {
    let found = Stored::new(&app, sender.tenant.prefix()).find(&id).await;
    let list = found.map(|Kept { input, .. }| {
        let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
        let (first, last) = (id(input.first()), id(input.last()));
        json!({"object": "list", "data": input, "first_id": first, "last_id": last, "has_more": false})
    });
    reply::json_or_error(FRONT, list)
}

/// Maximum number of responses in a conversation that is put together.
const MOST: usize = 1000;
/// Why a response or an item may be missing.
const WHY: &str =
    "its id is wrong, it was sent with `store: false`, was not read to its end, is older than a day, or was too large";

/// What is kept of a response.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// The one that it followed.
    previous: Option<String>,
    /// The items that it answered.
    input: Vec<Value>,
    response: Value,
}

/// The responses of a tenant.
struct Stored {
    store: Arc<dyn Common>,
    tenant: String,
}

impl Stored {
    fn new(app: &App, tenant: &str) -> Stored {
        Stored { store: app.turns.store.clone(), tenant: tenant.to_owned() }
    }

    /// Keeps a response. What is too large for the store is not kept.
    async fn keep(&self, kept: &Kept) {
        let id = kept.response["id"].as_str().unwrap_or_default();
        store::write(&*self.store, self.key(id), kept, store::DAY).await;
    }

    /// # Errors
    /// 404 if it is not kept.
    async fn find(&self, id: &str) -> Result<Kept, Error> {
        let found = store::read(&*self.store, &self.key(id)).await;
        found.ok_or_else(|| not_found(self.missing(id)))
    }

    /// # Errors
    /// 404 if it is not kept.
    async fn delete(&self, id: &str) -> Result<(), Error> {
        let found = self.store.take(&self.key(id)).await;
        found.map(drop).ok_or_else(|| not_found(self.missing(id)))
    }

    /// The items of this response and of all those that it follows, in their order.
    async fn history(&self, id: &str, limit: usize) -> Result<Vec<Value>, Error> {
        let (mut next, mut turns, mut room) = (Some(id.to_owned()), Vec::new(), limit);
        while let Some(id) = next {
            let mut kept = self.read(&id, &mut room).await?.ok_or_else(|| self.missing(&id))?;
            if turns.len() == MOST {
                return Err(too_long());
            }
            next = kept.previous.take();
            turns.push(kept);
        }
        let items = turns.into_iter().rev().flat_map(|mut kept| {
            let output = output(&mut kept);
            kept.input.into_iter().chain(output)
        });
        Ok(items.collect())
    }

    /// A response, if it is kept. Its size is taken from the room for all that a request refers to.
    async fn read(&self, id: &str, room: &mut usize) -> Result<Option<Kept>, Error> {
        let Some(value) = self.store.get(&self.key(id)).await else { return Ok(None) };
        *room = room.checked_sub(value.len()).ok_or_else(too_long)?;
        Ok(serde_json::from_slice(&value).ok())
    }

    /// The items, with those to which they refer in the place of the references.
    ///
    /// # Errors
    /// 404 if such an item is not kept.
    async fn resolved(&self, items: Vec<Value>, limit: usize) -> Result<Vec<Value>, Error> {
        let mut found: HashMap<String, Vec<Value>> = HashMap::new();
        let mut room = limit;
        let mut resolved = Vec::with_capacity(items.len());
        for (at, item) in items.into_iter().enumerate() {
            let Some(wanted) = responses::referred(&item) else {
                resolved.push(item);
                continue;
            };
            let answer = responses::answer_of(wanted).unwrap_or_default();
            if !found.contains_key(&answer) {
                let kept = self.read(&answer, &mut room).await?;
                found.insert(answer.clone(), kept.map(|mut kept| output(&mut kept)).unwrap_or_default());
            }
            let kept = found.get(&answer).into_iter().flatten().find(|item| item["id"] == wanted);
            resolved.push(kept.cloned().ok_or_else(|| {
                let what = format!("`input[{at}]` refers to the item `{wanted}`, which is not kept: {WHY}; send the item itself");
                self.absent(&answer).unwrap_or_else(|| not_found(Error::client(what).with_code("item_not_found")))
            })?);
        }
        Ok(resolved)
    }

    fn key(&self, id: &str) -> Key {
        Key { tenant: self.tenant.clone(), kind: Kind::Response, id: id.to_owned() }
    }

    fn missing(&self, id: &str) -> Error {
        self.absent(id).unwrap_or_else(|| {
            Error::client(format!("the response `{id}` is not kept: {WHY}; send the whole conversation"))
                .with_code("previous_response_not_found")
        })
    }

    /// The error if a response may be missing only because the shared store is.
    fn absent(&self, id: &str) -> Option<Error> {
        self.store.link().filter(|link| !link.is_present())?;
        let what =
            format!("the response `{id}` is not kept on this instance, and the shared store does not answer; try again soon");
        Some(Error::proxy(what).with_status(503).with_code("store_absent"))
    }
}

fn output(kept: &mut Kept) -> Vec<Value> {
    serde_json::from_value(kept.response["output"].take()).unwrap_or_default()
}

fn too_long() -> Error {
    Error::client("the earlier responses to which this request refers are too long").with_code("context_length_exceeded")
}

/// The same, for a request about one response or item.
fn not_found(error: Error) -> Error {
    if error.status == 400 { error.with_status(404) } else { error }
}
