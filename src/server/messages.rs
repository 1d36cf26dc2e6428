//! `POST /v1/messages` and `/v1/messages/count_tokens`: Anthropic's API, as Claude Code and Anthropic's SDKs speak it.

use axum::response::Response;
use http::{HeaderName, HeaderValue};
use serde_json::json;

use super::{
    answer::{self, Asked},
    reply,
    state::App,
};
use crate::{client::front::messages, error::Error, turn};

pub(super) async fn create(app: App, asked: Asked) -> Result<Response, Error> {
    let chat = messages::read(&asked.received.body)?;
    answer::respond(&app, asked, chat).await
}

pub(super) async fn count(app: App, asked: Asked) -> Result<Response, Error> {
    let chat = messages::read(&asked.received.body)?;
    let plan = answer::plan(&app, &asked, chat).await?;
    let tokens = turn::count::tokens(&plan, &app.turns).await?;
    Ok(reply::json(&json!({"input_tokens": tokens})))
}

/// Clients check first whether a server answers at this address.
pub(super) async fn hello() -> Response {
    reply::json(&json!({}))
}

/// Each answer has an id, by which people ask about it.
pub(super) async fn named(mut response: Response) -> Response {
    let id = format!("req_{}", uuid::Uuid::new_v4().simple());
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HeaderName::from_static("request-id"), id);
    }
    response
}
