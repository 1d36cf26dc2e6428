//! Answers chats: `POST /v1/chat/completions`, and `POST /v1/messages` (Anthropic's API, as Claude Code and Anthropic's SDKs speak
//! it). For these and the other protocols, [`respond`] makes the plan of a chat in the internal form, runs the turn, and writes the
//! answer in the form of the protocol that asked, streamed or collected.

use std::{pin::Pin, sync::Arc};

use axum::{
    body::Body,
    extract::{Request, State},
    response::Response,
    routing::{MethodRouter, post},
};
use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::{Map, Value, json};

use super::{
    ending::Ending,
    forward::{self, Endpoint},
    page::kept,
    received::{Received, Target, text},
    recording, reply,
    state::{App, Live},
};
use crate::{
    backend::{self, Learned},
    client::{
        self, Hints,
        front::{self, Head, TRACE, messages},
    },
    config::{Lowered, Mode, Tenant},
    error::Error,
    event::Note,
    mcp::pool::PATIENCE,
    openai::{self, ChatRequest},
    plan::{self, Caller, Passed, Plan, React},
    turn::{self, tap::Taps},
};

/// The header for warnings: what was not done as the request asked.
const WARNING: HeaderName = HeaderName::from_static("x-toolglot-warning");
/// Most warnings in the head of an answer, and their longest text in characters: many clients take no more than 100 headers of 64 kB.
const WARNINGS: usize = 16;
const WARNING_CHARS: usize = 500;

pub(super) const CHAT: Endpoint = Endpoint::OpenAi("/chat/completions");

/// A chat to answer.
pub(super) struct Asked {
    pub(super) received: Received,
    pub(super) target: Target,
    /// The mode; [`Mode::Off`] only with a recording, which has no endpoint to forward to.
    pub(super) mode: Mode,
    /// The protocol of the client.
    pub(super) front: front::Kind,
}

/// A route whose errors have the form of this protocol.
pub(super) fn in_form<H, A>(front: front::Kind, handler: H) -> MethodRouter<Live>
where
    H: Fn(App, Request) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Result<Response, Error>> + Send + 'static,
{
    post(move |State(app): State<App>, request: Request| {
        // An async block would hold the answer twice: as it was taken in, and as it is awaited.
        handler(app, request).map(move |answer| answer.unwrap_or_else(|error| reply::error(front, &error)))
    })
}

/// The route of a front: reads the body, finds its model and the mode, and calls the front. In mode `off`, the request is
/// forwarded to `endpoint`.
pub(super) fn route<H, A>(front: front::Kind, endpoint: Endpoint, handler: H) -> MethodRouter<Live>
where
    H: Fn(App, Asked) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Result<Response, Error>> + Send + 'static,
{
    in_form(front, move |app, request| served(front, endpoint, handler.clone(), app, request))
}

async fn served<H, A>(front: front::Kind, endpoint: Endpoint, handler: H, app: App, request: Request) -> Result<Response, Error>
where
    H: Fn(App, Asked) -> A,
    A: Future<Output = Result<Response, Error>>,
{
    let (received, target) = Received::with_target(&app, request, front).await?;
    match received.mode(&app, &target)? {
        // A recording has no endpoint of its own. Without tools, nothing is taken for a call: its text comes as it was written.
        Mode::Off if target.backend.kind == backend::Kind::Replay => {
            let received = Received { body: without_tools(&received.body)?, ..received };
            handler(app, Asked { received, target, mode: Mode::Off, front }).await
        }
        Mode::Off => forward::forward(&app, &target.backend, endpoint, received).await,
        mode => handler(app, Asked { received, target, mode, front }).await,
    }
}

/// The request without the tools that it offers.
fn without_tools(body: &[u8]) -> Result<Bytes, Error> {
    let mut request: Map<String, Value> = openai::object(body)?;
    request.retain(|name, _| !["tools", "tool_choice", "functions", "function_call"].contains(&name.as_str()));
    Ok(Value::Object(request).to_string().into())
}

/// The answer as an HTTP response: a stream if the chat asks for one, else one object.
pub(super) async fn respond(app: &App, asked: Asked, request: impl Into<front::Request>) -> Result<Response, Error> {
    let plan = plan(app, &asked, request.into()).await?;
    let mut warnings: Vec<HeaderValue> = plan.reply.warnings.iter().filter_map(warning).collect();
    let (front, taps) = (asked.front, taps(app, &asked, &plan));
    // A turn may be long: body and headers of the request are not needed any more.
    drop(asked);
    let mut response = if plan.chat.stream {
        let head = plan.reply.head.clone();
        events(&app.process.ending, head, Box::pin(turn::run(plan, app.turns.clone(), taps))).await?
    } else {
        let (answer, notes) = Box::pin(turn::collect(plan, app.turns.clone(), taps)).await?;
        warnings.extend(notes.iter().filter_map(warning));
        reply::json_text(front.body(&answer))
    };
    for warning in warnings.into_iter().take(WARNINGS) {
        response.headers_mut().append(WARNING, warning);
    }
    Ok(response)
}

/// The taps of the turn: the account of the request, a recording if wanted, and the page.
pub(super) fn taps(app: &App, asked: &Asked, plan: &Plan) -> Taps {
    let recording = app.process.settings.record.as_ref().map(|directory| recording::tap(directory, plan));
    let account = &asked.received.account;
    account.is_about(&asked.target);
    let mode = asked.mode.name();
    let entry = account.facts().entry.clone();
    let shown = entry.and_then(|entry| kept::tap(&entry, plan));
    [account.watch(plan, mode)].into_iter().chain(recording).chain(shown).collect()
}

/// How this chat will be answered.
pub(super) async fn plan(app: &App, asked: &Asked, mut request: front::Request) -> Result<Plan, Error> {
    let Asked { received, target, mode, front } = asked;
    let (mode, front) = (*mode, *front);
    let (headers, tenant) = (&received.headers, &received.sender.tenant);
    let user_agent = text(headers, header::USER_AGENT).unwrap_or_default().to_owned();
    let profile = received.prefix.profile.map(str::to_owned).or_else(|| app.config.profile.clone());
    let hints = Hints { user_agent: user_agent.clone(), profile };
    let react = match mode {
        Mode::React => Some(self::react(app, tenant, &mut request.chat, headers).await?),
        _ => None,
    };
    let mut incoming = client::read(request, &hints)?;
    let backend = Arc::clone(&target.backend);
    let described = app.backends.describe(&backend, &incoming.request.model).await;
    let (model, adapter) = (&*described.model, app.adapter_of(&described));
    // A request can name its own tools alone: where it names some, it excludes the registry's.
    if mode == Mode::Shell && !incoming.tools.is_limited {
        let offered = app.process.mcp.pool().tools(tenant.servers(None).as_deref(), PATIENCE).await;
        plan::offer(&mut incoming, &offered.tools, adapter.turns());
    }
    let offers_none = match &react {
        Some(react) => react.catalogue.tools.is_empty() && react.catalogue.problems.is_empty(),
        None => mode == Mode::Shell && incoming.tools.is_empty(),
    };
    if offers_none {
        let text = format!(
            "there are no tools to offer in mode `{}`: register an MCP server (`toolglot mcp add`), or set `builtin_tools = true` in `[mcp]`",
            mode.name()
        );
        tracing::warn!("{text}");
        incoming.warnings.push(Note::Warning { code: "no_tools", text });
    }
    let caller = Caller { tenant: tenant.prefix().to_owned(), client: user_agent };
    let learned = Learned::of(&*app.turns.store, &caller.tenant, &backend, &incoming.request.model, model).await;
    let passed = Passed {
        authorization: headers.get(header::AUTHORIZATION).cloned(),
        onward: forward::onward(&app.process.instance, headers),
    };
    let request = plan::Request { incoming, mode, front, backend, learned, model, adapter, caller, passed, react };
    let mut plan = plan::plan(&app.config, request)?;
    plan.reply.head.envelope.model.clone_from(&target.called);
    tracing::debug!(adapter = plan.adapter.name, offered = ?plan.tool_mode(), shape = ?plan.reply.shape, "chat");
    Ok(plan)
}

/// The stream as a response. An error before the first byte keeps its HTTP status.
async fn events(
    ending: &Ending,
    head: Head,
    mut turn: Pin<Box<impl Stream<Item = Result<Bytes, Error>> + Send + 'static>>,
) -> Result<Response, Error> {
    let first = turn.next().await.transpose()?.unwrap_or_default();
    let content_type = head.kind.content_type();
    let body = Body::from_stream(stream::iter([Ok(first)]).chain(ending.guarded(head, turn)));
    let mut response = reply::bytes(content_type, body);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

/// The warning, reduced to what a header can hold.
fn warning(note: &Note) -> Option<HeaderValue> {
    let Note::Warning { code, text } = note else { return None };
    let plain: String = text.chars().take(WARNING_CHARS).map(|c| if matches!(c, ' '..='~') { c } else { '?' }).collect();
    HeaderValue::from_str(&format!("{code}: {plain}")).ok()
}

pub(super) async fn completions(app: App, asked: Asked) -> Result<Response, Error> {
    let chat = ChatRequest::parse(&asked.received.body)?;
    let offers = !chat.tools.is_empty() || matches!(asked.mode, Mode::Shell | Mode::React);
    if asked.target.backend.kind == backend::Kind::OpenAi && wants_more_than_an_answer(&chat, offers)? {
        tracing::debug!("`n` > 1, or `logprobs`: the answer passes as it is, without a look for calls");
        return forward::forward(&app, &asked.target.backend, CHAT, asked.received).await;
    }
    respond(&app, asked, chat).await
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
    respond(&app, asked, chat).await
}

pub(super) async fn count_tokens(app: App, asked: Asked) -> Result<Response, Error> {
    let chat = messages::read(&asked.received.body)?;
    let plan = plan(&app, &asked, chat).await?;
    let tokens = turn::fit::tokens(&plan, &app.turns).await?;
    Ok(reply::json(&json!({"input_tokens": tokens})))
}

/// How this request runs tools. Its field `toolglot` says what it wants for itself, and goes no further.
async fn react(app: &App, tenant: &Tenant, chat: &mut ChatRequest, headers: &HeaderMap) -> Result<React, Error> {
    let lowered: Lowered = match chat.rest.shift_remove(TRACE) {
        None | Some(Value::Null) => Lowered::default(),
        Some(value) if !value.is_object() => return Err(Error::client(format!("`{TRACE}` must be an object"))),
        Some(value) => serde_json::from_value(value).map_err(|error| Error::client(format!("`{TRACE}`: {error}")))?,
    };
    let mut limits = app.config.react.lowered(&lowered);
    let pool = app.process.mcp.pool();
    for name in limits.servers.iter().flatten() {
        check_server(app, tenant, name)?;
    }
    limits.servers = tenant.servers(limits.servers.as_deref());
    let catalogue = Arc::new(pool.tools(limits.servers.as_deref(), PATIENCE).await);
    let trusted = app.config.mcp.serving.trusted_headers.iter().filter_map(|name| {
        let value = headers.get(name.as_str())?.to_str().ok()?;
        Some((name.clone(), value.to_owned()))
    });
    let (headers, registry) = (trusted.collect(), pool.registry().file().to_owned());
    Ok(React { limits, catalogue, headers, registry })
}

/// Fails if there is no server of this name. Servers that a tenant may not use do not exist for it.
fn check_server(app: &App, tenant: &Tenant, name: &str) -> Result<(), Error> {
    let pool = app.process.mcp.pool();
    if pool.has_server(name) && tenant.may_use_server(name) {
        return Ok(());
    }
    let snapshot = pool.registry().snapshot();
    let names = snapshot.servers.iter().map(|server| server.name.as_str()).filter(|name| tenant.may_use_server(name));
    let names: Vec<&str> = names.collect();
    let instead = if names.is_empty() { "there is none".to_owned() } else { format!("there are: {}", names.join(", ")) };
    Err(Error::client(format!("there is no MCP server `{name}`; {instead}")).with_code("mcp_server"))
}
