//! `POST /v1/chat/completions`: a request in any client's form -> one turn, streamed or collected.

use std::sync::atomic::Ordering;

use axum::{
    Extension,
    body::Body,
    extract::{Request, State},
    response::Response,
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::Value;

use super::{App, Prefix, forward, reply};
use crate::{
    backend::{Backend, Kind},
    client::{self, Hints},
    config::Mode,
    error::Error,
    event::Note,
    openai::ChatRequest,
    plan::{self, Caller, Learned, Passed, Plan},
    turn,
};

/// The header that chooses the mode of one request.
const MODE: &str = "x-toolglot-mode";
/// The header that says what was not done as the request asked.
const WARNING: HeaderName = HeaderName::from_static("x-toolglot-warning");

pub(super) async fn completions(State(app): State<App>, Extension(prefix): Extension<Prefix>, request: Request) -> Response {
    answer(&app, prefix, request).await.unwrap_or_else(|error| reply::error(&error))
}

async fn answer(app: &App, prefix: Prefix, request: Request) -> Result<Response, Error> {
    app.seen.chats.fetch_add(1, Ordering::Relaxed);
    let (head, body) = request.into_parts();
    let asked = asked_mode(&head.headers)?.or(prefix.mode);
    let body = forward::read(&head.headers, body, app.config.limits.body_bytes).await?;
    let called = forward::model(&body)?;
    let model = app.config.own_name(&called);
    let backend = super::backend_of(app, &model).await?;
    let body = if model == called { body } else { forward::renamed(&body, &model)? };
    if plan::mode(&app.config, &model, asked) == Mode::Off {
        return forward::forward(app, &backend, "/chat/completions", &head.headers, body).await;
    }
    let chat = ChatRequest::parse(&body)?;
    if several_answers(&chat) && backend.kind == Kind::OpenAi {
        tracing::warn!(model, "n > 1: the answers pass as they are, without a look for calls");
        return forward::forward(app, &backend, "/chat/completions", &head.headers, body).await;
    }
    drop(body);
    let streamed = chat.stream;
    let mut plan = plan(app, prefix, &head.headers, chat, backend).await?;
    plan.head.envelope.model = called;
    tracing::info!(
        model = plan.chat.model,
        backend = plan.backend.name,
        adapter = plan.adapter.name,
        tools = plan.tools.len(),
        offered = ?plan.learned.tools,
        shape = ?plan.shape,
        streamed,
        "chat"
    );
    let warnings: Vec<HeaderValue> = plan.warnings.iter().filter_map(warning).collect();
    let tap = app.recorder.as_ref().map(|recorder| recorder.tap(&plan));
    let mut response = match streamed {
        true => events(turn::run(plan, app.turns.clone(), tap)).await?,
        false => reply::json(&turn::collect(plan, app.turns.clone(), tap).await?),
    };
    for warning in warnings {
        response.headers_mut().append(WARNING, warning);
    }
    Ok(response)
}

pub(super) async fn plan(
    app: &App,
    prefix: Prefix,
    headers: &HeaderMap,
    chat: ChatRequest,
    backend: std::sync::Arc<Backend>,
) -> Result<Plan, Error> {
    let user_agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default().to_owned();
    let hints = Hints { user_agent: user_agent.clone(), profile: prefix.profile.map(str::to_owned), shape: None };
    let incoming = client::read(chat, &hints)?;
    let model = app.catalog.describe(&backend, &incoming.request.model).await;
    let caller = Caller { tenant: String::new(), client: user_agent };
    let key = Learned::key(&caller, &backend, &incoming.request.model);
    let learned = match app.turns.store.get(&key).await {
        // What cannot be read is of another version: as if nothing were known.
        Some(kept) => serde_json::from_slice(&kept).unwrap_or_default(),
        None => Learned::told(model.capabilities),
    };
    let passed = Passed { authorization: headers.get(header::AUTHORIZATION).cloned(), via: app.instance.via(headers) };
    plan::plan(&app.config, &app.library, plan::Request { incoming, backend, learned, model: &model, caller, passed })
}

/// The stream as an answer. An error that comes before anything else keeps its HTTP status.
async fn events(turn: impl Stream<Item = Result<Bytes, Error>> + Send + 'static) -> Result<Response, Error> {
    let mut turn = Box::pin(turn);
    let first = turn.next().await.transpose()?.unwrap_or_default();
    let body = Body::from_stream(stream::iter([Ok(first)]).chain(turn));
    let mut response = reply::bytes("text/event-stream", body);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

/// The mode that the request's header asks for.
fn asked_mode(headers: &HeaderMap) -> Result<Option<Mode>, Error> {
    match headers.get(MODE).map(|mode| mode.to_str().unwrap_or_default().to_ascii_lowercase()).as_deref() {
        None => Ok(None),
        Some("off") => Ok(Some(Mode::Off)),
        Some("rewrite") => Ok(Some(Mode::Rewrite)),
        Some(other) => Err(Error::client(format!("`{MODE}: {other}`: off and rewrite are possible"))),
    }
}

fn several_answers(chat: &ChatRequest) -> bool {
    chat.rest.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1)
}

/// The warning as far as a header can hold it.
fn warning(note: &Note) -> Option<HeaderValue> {
    let Note::Warning { code, text } = note else { return None };
    let plain: String = text.chars().map(|c| if matches!(c, ' '..='~') { c } else { '?' }).collect();
    HeaderValue::from_str(&format!("{code}: {plain}")).ok()
}
