//! `POST /v1/chat/completions` and `POST /api/chat`: a request in any client's form -> one turn, streamed or collected.

use std::sync::{Arc, atomic::Ordering};

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

use super::{
    App, Prefix,
    forward::{self, Endpoint},
    ollama, react, reply,
};
use crate::{
    backend::{Backend, Kind},
    client::{self, Hints, front},
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

/// What a request says beside its body.
pub(super) struct Asked<'a> {
    pub(super) prefix: Prefix,
    pub(super) mode: Mode,
    pub(super) front: front::Kind,
    pub(super) headers: &'a HeaderMap,
    /// In mode `react`: the turn that winds up counts as one of the rounds.
    pub(super) last_counts: bool,
}

pub(super) async fn completions(State(app): State<App>, Extension(prefix): Extension<Prefix>, request: Request) -> Response {
    answer(&app, prefix, front::Kind::OpenAi, request).await
}

pub(super) async fn ollama(State(app): State<App>, Extension(prefix): Extension<Prefix>, request: Request) -> Response {
    answer(&app, prefix, front::Kind::Ollama, request).await
}

async fn answer(app: &App, prefix: Prefix, front: front::Kind, request: Request) -> Response {
    answered(app, prefix, front, request).await.unwrap_or_else(|error| reply::error(front, &error))
}

async fn answered(app: &App, prefix: Prefix, front: front::Kind, request: Request) -> Result<Response, Error> {
    app.seen.chats.fetch_add(1, Ordering::Relaxed);
    let (head, body) = request.into_parts();
    let asked = asked_mode(&head.headers)?.or(prefix.mode);
    let body = forward::read(&head.headers, body, app.config.limits.body_bytes).await?;
    let called = forward::model(&body)?;
    let model = app.config.own_name(&called);
    let backend = super::backend_of(app, &model).await?;
    let endpoint = match front {
        front::Kind::OpenAi => Endpoint::OpenAi("/chat/completions"),
        front::Kind::Ollama => Endpoint::Ollama("/api/chat"),
    };
    let body = if model == called { body } else { forward::renamed(&body, &model)? };
    let mode = plan::mode(&app.config, &model, asked.or_else(|| app.config.mode_of_name(&called)));
    match mode {
        Mode::Off => return forward::forward(app, &backend, endpoint, &head.headers, body).await,
        Mode::Rewrite | Mode::React => {}
        Mode::Shell => app.config.check_runner()?,
    }
    let chat = match front {
        front::Kind::OpenAi => ChatRequest::parse(&body)?,
        front::Kind::Ollama => front::ollama::read(&body)?,
    };
    if front == front::Kind::Ollama && chat.messages.is_empty() {
        return ollama::load(app, &backend, endpoint, &head.headers, &model, body).await;
    }
    if backend.kind == Kind::OpenAi && wants_more_than_an_answer(&chat) {
        tracing::warn!(model, "`n` > 1, or `logprobs`: the answer passes as it is, without a look for calls");
        return forward::forward(app, &backend, endpoint, &head.headers, body).await;
    }
    drop(body);
    let streamed = chat.stream;
    let asked = Asked { prefix, mode, front, headers: &head.headers, last_counts: false };
    let mut plan = plan(app, asked, chat, backend).await?;
    plan.head.envelope.model = called;
    tracing::info!(
        model = plan.chat.model,
        backend = plan.backend.name,
        adapter = plan.adapter.name,
        tools = plan.tools.len(),
        offered = ?plan.tool_mode(),
        shape = ?plan.shape,
        streamed,
        "chat"
    );
    let mut warnings: Vec<HeaderValue> = plan.warnings.iter().filter_map(warning).collect();
    let tap = app.recorder.as_ref().map(|recorder| recorder.tap(&plan));
    let mut response = match streamed {
        true => events(front, turn::run(plan, app.turns.clone(), tap)).await?,
        false => {
            let (answer, notes) = turn::collect(plan, app.turns.clone(), tap).await?;
            warnings.extend(notes.iter().filter_map(warning));
            reply::json(&answer)
        }
    };
    for warning in warnings {
        response.headers_mut().append(WARNING, warning);
    }
    Ok(response)
}

pub(super) async fn plan(app: &App, asked: Asked<'_>, mut chat: ChatRequest, backend: Arc<Backend>) -> Result<Plan, Error> {
    let Asked { prefix, mode, front, headers, last_counts } = asked;
    let user_agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default().to_owned();
    let profile = prefix.profile.map(str::to_owned).or_else(|| app.config.profile.clone());
    let hints = Hints { user_agent: user_agent.clone(), profile, shape: None };
    let react = match mode {
        Mode::React => Some(react::of(app, &mut chat, headers, last_counts).await?),
        _ => None,
    };
    let mut incoming = client::read(chat, &hints)?;
    if mode == Mode::Shell {
        for tool in app.mcp.pool().tools(None, crate::mcp::pool::PATIENCE).await.tools {
            incoming.tools.add(tool.to_tool());
        }
    }
    let model = app.catalog.describe(&backend, &incoming.request.model).await;
    let caller = Caller { tenant: String::new(), client: user_agent };
    let key = Learned::key(&caller, &backend, &incoming.request.model);
    let learned = match app.turns.store.get(&key).await {
        // What cannot be read is of another version: as if nothing were known.
        Some(kept) => serde_json::from_slice(&kept).unwrap_or_default(),
        None => Learned::told(model.capabilities),
    };
    let passed = Passed { authorization: headers.get(header::AUTHORIZATION).cloned(), via: app.instance.via(headers) };
    plan::plan(
        &app.config,
        &app.library,
        plan::Request { incoming, mode, front, backend, learned, model: &model, caller, passed, react },
    )
}

/// The stream as an answer. An error that comes before anything else keeps its HTTP status.
async fn events(front: front::Kind, turn: impl Stream<Item = Result<Bytes, Error>> + Send + 'static) -> Result<Response, Error> {
    let mut turn = Box::pin(turn);
    let first = turn.next().await.transpose()?.unwrap_or_default();
    let body = Body::from_stream(stream::iter([Ok(first)]).chain(turn));
    let mut response = reply::bytes(front.content_type(), body);
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
        Some("shell") => Ok(Some(Mode::Shell)),
        Some("react") => Ok(Some(Mode::React)),
        Some(other) => Err(Error::client(format!("`{MODE}: {other}`: off, rewrite, shell and react are possible"))),
    }
}

/// Several answers at once, or probabilities of tokens where no call is looked for: only the backend's own bytes have that.
fn wants_more_than_an_answer(chat: &ChatRequest) -> bool {
    let several = chat.rest.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1);
    let logprobs = chat.rest.get("logprobs").and_then(Value::as_bool) == Some(true);
    several || (logprobs && chat.tools.is_empty())
}

/// The warning as far as a header can hold it.
fn warning(note: &Note) -> Option<HeaderValue> {
    let Note::Warning { code, text } = note else { return None };
    let plain: String = text.chars().map(|c| if matches!(c, ' '..='~') { c } else { '?' }).collect();
    HeaderValue::from_str(&format!("{code}: {plain}")).ok()
}
