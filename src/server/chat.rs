//! `POST /v1/chat/completions`: OpenAI's chat completions.

use axum::{
    extract::{Request, State},
    response::Response,
};
use serde_json::Value;

use super::{
    answer::{self, Begun},
    forward::{self, Endpoint},
    reply,
    state::App,
};
use crate::{backend::Kind, client::front, error::Error, openai::ChatRequest};

const FRONT: front::Kind = front::Kind::OpenAi;

pub(super) async fn completions(State(app): State<App>, request: Request) -> Response {
    answered(&app, request).await.unwrap_or_else(|error| reply::error(FRONT, &error))
}

async fn answered(app: &App, request: Request) -> Result<Response, Error> {
    let endpoint = Endpoint::OpenAi("/chat/completions");
    let (mut received, target, asked) = match answer::begin(app, request, FRONT, endpoint).await? {
        Begun::Ours(received, target, asked) => (received, target, asked),
        Begun::Passed(response) => return Ok(response),
    };
    let chat = ChatRequest::parse(&received.body)?;
    if target.backend.kind == Kind::OpenAi && wants_more_than_an_answer(&chat) {
        tracing::warn!(target.model, "`n` > 1, or `logprobs`: the answer passes as it is, without a look for calls");
        return forward::forward(app, &target.backend, endpoint, received).await;
    }
    received.forget_body();
    answer::respond(app, &received, &target, asked, chat).await
}

/// Several answers at once, or probabilities of tokens where no call is looked for: only the backend's own bytes have that.
fn wants_more_than_an_answer(chat: &ChatRequest) -> bool {
    let several = chat.rest.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1);
    let logprobs = chat.rest.get("logprobs").and_then(Value::as_bool) == Some(true);
    several || (logprobs && chat.tools.is_empty())
}
