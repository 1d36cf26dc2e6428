//! `POST /v1/chat/completions`: OpenAI's chat completions.

use std::sync::atomic::Ordering;

use axum::{
    extract::{Request, State},
    response::Response,
};
use serde_json::Value;

use super::{
    answer::{self, Asked},
    forward::{self, Endpoint},
    received::Received,
    reply,
    state::App,
};
use crate::{backend::Kind, client::front, config::Mode, error::Error, openai::ChatRequest};

const FRONT: front::Kind = front::Kind::OpenAi;

pub(super) async fn completions(State(app): State<App>, request: Request) -> Response {
    answered(&app, request).await.unwrap_or_else(|error| reply::error(FRONT, &error))
}

async fn answered(app: &App, request: Request) -> Result<Response, Error> {
    app.seen.chats.fetch_add(1, Ordering::Relaxed);
    let endpoint = Endpoint::OpenAi("/chat/completions");
    let (mut received, target) = Received::with_target(app, request).await?;
    let mode = received.mode(app, &target)?;
    if mode == Mode::Off {
        return forward::forward(app, &target.backend, endpoint, received).await;
    }
    let chat = ChatRequest::parse(&received.body)?;
    if target.backend.kind == Kind::OpenAi && wants_more_than_an_answer(&chat) {
        tracing::warn!(target.model, "`n` > 1, or `logprobs`: the answer passes as it is, without a look for calls");
        return forward::forward(app, &target.backend, endpoint, received).await;
    }
    received.forget_body();
    answer::respond(app, &received, &target, Asked { mode, front: FRONT, last_counts: false }, chat).await
}

/// Several answers at once, or probabilities of tokens where no call is looked for: only the backend's own bytes have that.
fn wants_more_than_an_answer(chat: &ChatRequest) -> bool {
    let several = chat.rest.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1);
    let logprobs = chat.rest.get("logprobs").and_then(Value::as_bool) == Some(true);
    several || (logprobs && chat.tools.is_empty())
}
