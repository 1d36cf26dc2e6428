//! `POST /v1/chat/completions`: OpenAI's chat completions. `POST /v1/messages` and `/v1/messages/count_tokens`: Anthropic's API, as
//! Claude Code and Anthropic's SDKs speak it.

use axum::response::Response;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::{
    answer::{self, Asked},
    forward::{self, Endpoint},
    reply,
    state::App,
};
use crate::{
    backend::Kind,
    client::front::{self, functions, messages},
    config::Mode,
    error::Error,
    openai::ChatRequest,
    turn,
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

pub(super) async fn message(app: App, asked: Asked) -> Result<Response, Error> {
    let chat = messages::read(&asked.received.body)?;
    answer::respond(&app, asked, chat).await
}

pub(super) async fn count_tokens(app: App, asked: Asked) -> Result<Response, Error> {
    let chat = messages::read(&asked.received.body)?;
    let plan = answer::plan(&app, &asked, chat).await?;
    let tokens = turn::fit::tokens(&plan, &app.turns).await?;
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
