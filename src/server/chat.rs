//! `POST /v1/chat/completions`: OpenAI's chat completions.

use axum::response::Response;
use serde_json::Value;

use super::{
    answer::{self, Asked},
    forward::{self, Endpoint},
    state::App,
};
use crate::{
    backend::Kind,
    client::front::{self, functions},
    config::Mode,
    error::Error,
    openai::ChatRequest,
};

pub(super) const ENDPOINT: Endpoint = Endpoint::OpenAi("/chat/completions");

pub(super) async fn completions(app: App, mut asked: Asked) -> Result<Response, Error> {
    let mut chat = ChatRequest::parse(&asked.received.body, &app.process.lists)?;
    if functions::read(&mut chat)? {
        asked.front = front::Kind::Functions;
    }
    let offers = !chat.tools.is_empty() || matches!(asked.mode, Mode::Shell | Mode::React);
    if asked.target.backend.kind == Kind::OpenAi && wants_more_than_an_answer(&chat, offers)? {
        tracing::debug!(
            target.model = asked.target.model,
            "`n` > 1, or `logprobs`: the answer passes as it is, without a look for calls"
        );
        return forward::forward(&app, &asked.target.backend, ENDPOINT, asked.received).await;
    }
    answer::respond(&app, asked, chat).await
}

/// Several answers at once, or probabilities of tokens: only the backend's own bytes have that, and nobody looks for calls in them.
///
/// # Errors
/// 400 for several answers where tools are offered.
fn wants_more_than_an_answer(chat: &ChatRequest, offers_tools: bool) -> Result<bool, Error> {
    let several = chat.rest.get("n").and_then(Value::as_u64).filter(|n| *n > 1);
    if let Some(n) = several.filter(|_| offers_tools) {
        return Err(Error::client(format!(
            "`n` is {n}, but with tools toolglot gives one answer: send the request {n} times, or without tools, or in mode `off`"
        )));
    }
    let logprobs = chat.rest.get("logprobs").and_then(Value::as_bool) == Some(true);
    Ok(several.is_some() || (logprobs && !offers_tools))
}
