//! `POST /v1/responses` and the routes of stored responses: OpenAI's API, as Codex and OpenAI's SDKs use it. With `store`
//! (the default), a response is kept with its items for a day. A request that names an earlier response continues its
//! conversation: the items of all responses before it come first. An item may also be named by its id.

use axum::{
    Extension,
    body::Body,
    extract::{Path, State},
    response::Response,
};
use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{
    answer::{self, Asked},
    guard::Sender,
    reply,
    state::App,
};
use crate::{
    client::front::{self, responses},
    error::Error,
    openai,
};

mod stored;

use stored::{Kept, Stored};

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
        reply::json(&answer::empty(&app, &asked, request).await?)
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
