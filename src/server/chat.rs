//! `POST /v1/chat/completions`: OpenAI's chat completions.

use axum::response::Response;
use serde_json::Value;

use super::{
    answer::{self, Asked},
    forward::{self, Endpoint},
    state::App,
};
use crate::{backend::Kind, error::Error, openai::ChatRequest};

pub(super) const ENDPOINT: Endpoint = Endpoint::OpenAi("/chat/completions");

pub(super) async fn completions(app: App, asked: Asked) -> Result<Response, Error> {
    let chat = ChatRequest::parse(&asked.received.body)?;
    if asked.target.backend.kind == Kind::OpenAi && wants_more_than_an_answer(&chat) {
        tracing::warn!(
            target.model = asked.target.model,
            "`n` > 1, or `logprobs`: the answer passes as it is, without a look for calls"
        );
        return forward::forward(&app, &asked.target.backend, ENDPOINT, asked.received).await;
    }
    answer::respond(&app, asked, chat).await
}

/// Several answers at once, or probabilities of tokens where no call is looked for: only the backend's own bytes have that.
fn wants_more_than_an_answer(chat: &ChatRequest) -> bool {
    let several = chat.rest.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1);
    let logprobs = chat.rest.get("logprobs").and_then(Value::as_bool) == Some(true);
    several || (logprobs && chat.tools.is_empty())
}
