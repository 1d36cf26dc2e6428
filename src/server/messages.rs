//! `POST /v1/messages` and `/v1/messages/count_tokens`: Anthropic's API, as Claude Code and Anthropic's SDKs speak it.

use axum::{
    extract::{Request, State},
    response::Response,
};
use http::{HeaderName, HeaderValue};
use serde_json::json;

use super::{
    answer::{self, Begun},
    forward::Endpoint,
    reply,
    state::App,
};
use crate::{
    client::front::{self, messages},
    error::Error,
    turn,
};

const FRONT: front::Kind = front::Kind::Messages;

pub(super) async fn create(State(app): State<App>, request: Request) -> Response {
    named(answered(&app, request).await)
}

async fn answered(app: &App, request: Request) -> Result<Response, Error> {
    let (mut received, target, asked) = match answer::begin(app, request, FRONT, Endpoint::OpenAi("/messages")).await? {
        Begun::Ours(received, target, asked) => (received, target, asked),
        Begun::Passed(response) => return Ok(response),
    };
    let chat = messages::read(&received.body)?;
    received.forget_body();
    answer::respond(app, &received, &target, asked, chat).await
}

pub(super) async fn count(State(app): State<App>, request: Request) -> Response {
    named(counted(&app, request).await)
}

async fn counted(app: &App, request: Request) -> Result<Response, Error> {
    let endpoint = Endpoint::OpenAi("/messages/count_tokens");
    let (received, target, asked) = match answer::begin(app, request, FRONT, endpoint).await? {
        Begun::Ours(received, target, asked) => (received, target, asked),
        Begun::Passed(response) => return Ok(response),
    };
    let chat = messages::read(&received.body)?;
    let plan = answer::plan(app, &received, &target, asked, chat).await?;
    let tokens = turn::count::tokens(&plan, &app.turns).await?;
    Ok(reply::json(&json!({"input_tokens": tokens})))
}

/// Clients look at once whether anybody answers at this address.
pub(super) async fn hello() -> Response {
    reply::json(&json!({}))
}

/// Each answer has an id, by which people ask about it.
fn named(answered: Result<Response, Error>) -> Response {
    let mut response = answered.unwrap_or_else(|error| reply::error(FRONT, &error));
    let id = format!("req_{}", uuid::Uuid::new_v4().simple());
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HeaderName::from_static("request-id"), id);
    }
    response
}
