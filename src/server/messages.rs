//! `POST /v1/messages` and `/v1/messages/count_tokens`: Anthropic's API, as Claude Code and Anthropic's SDKs speak it.

use std::sync::atomic::Ordering;

use axum::{
    extract::{Request, State},
    response::Response,
};
use http::{HeaderName, HeaderValue};
use serde_json::json;

use super::{
    answer::{self, Asked},
    forward::{self, Endpoint},
    received::Received,
    reply,
    state::App,
};
use crate::{
    client::front::{self, messages},
    config::Mode,
    error::Error,
    turn,
};

const FRONT: front::Kind = front::Kind::Messages;

pub(super) async fn create(State(app): State<App>, request: Request) -> Response {
    named(answered(&app, request).await)
}

async fn answered(app: &App, request: Request) -> Result<Response, Error> {
    app.seen.chats.fetch_add(1, Ordering::Relaxed);
    let (mut received, target) = Received::with_target_named(app, request, messages::without_alias).await?;
    let mode = received.mode(app, &target)?;
    if mode == Mode::Off {
        return forward::forward(app, &target.backend, Endpoint::OpenAi("/messages"), received).await;
    }
    let chat = messages::read(&received.body)?;
    received.forget_body();
    answer::respond(app, &received, &target, Asked { mode, front: FRONT, last_counts: false }, chat).await
}

pub(super) async fn count(State(app): State<App>, request: Request) -> Response {
    named(counted(&app, request).await)
}

async fn counted(app: &App, request: Request) -> Result<Response, Error> {
    let (received, target) = Received::with_target_named(app, request, messages::without_alias).await?;
    let mode = received.mode(app, &target)?;
    if mode == Mode::Off {
        return forward::forward(app, &target.backend, Endpoint::OpenAi("/messages/count_tokens"), received).await;
    }
    let chat = messages::read(&received.body)?;
    let asked = Asked { mode, front: FRONT, last_counts: false };
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
