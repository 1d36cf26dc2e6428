//! The page for people: `GET /` in a browser. It shows the last turns (what the client sent, what the model wrote, what the
//! client got), why something is or is not a call, and the state of backends, models and MCP servers. Three files are
//! embedded in the binary; all data comes as JSON from the routes under `/ui`.
//!
//! This machine may see it, and so may every holder of a client key, who sees only the turns of that key.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::atomic::Ordering,
    time::{Duration, Instant, UNIX_EPOCH},
};

use axum::{
    Extension, Router,
    body::Body,
    extract::{Path, Request, State},
    middleware::{Next, from_fn_with_state, map_response},
    response::{
        Response,
        sse::{self, Sse},
    },
    routing::get,
};
use futures_util::{Stream, StreamExt, future::ready, stream};
use http::{HeaderName, HeaderValue, header};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    account::{Account, milliseconds},
    answer::in_form,
    guard::{Local, Sender},
    metrics::only_listed,
    received::{Received, text},
    recording, reply,
    state::{App, Live},
    survey,
};
use crate::{
    client::front::Kind,
    config::{Exchanges, Mode},
    error::Error,
    mcp::{
        catalogue::{Catalogue, Offered},
        pool::{Call, Called, PATIENCE, Status},
        registry::Permission,
    },
    redact,
};

pub(super) mod bypass;
mod detail;
pub(super) mod kept;
pub(super) mod turns;

use kept::copied;

const PAGE: &str = include_str!("page/index.html");
/// The path of the style sheet, and of the script.
pub(super) const CSS: &str = "/ui/page.css";
pub(super) const SCRIPT: &str = "/ui/page.js";
/// The policy: only the page's own files run, and no other page can put it into a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// A page that hears nothing else hears this often that the server is there.
const SILENCE: Duration = Duration::from_secs(15);
/// How long a tool may take while a person waits.
const LONGEST: Duration = Duration::from_secs(120);

/// The body of `POST /ui/bypass`.
#[derive(Deserialize)]
struct Passing {
    /// 0 ends it.
    minutes: u64,
    #[serde(default)]
    model: String,
}

/// The routes of the page, apart from `/`.
pub(super) fn routes(live: &Live) -> Router<Live> {
    let data = Router::new()
        .route("/ui/events", get(events))
        .route("/ui/turns", get(list))
        .route("/ui/turns/{number}", get(one))
        .route("/ui/turns/{number}/fixture", get(save))
        .route("/ui/state", get(status))
        .route("/ui/log", get(super::log::lines))
        .route("/ui/normalize", in_form(Kind::OpenAi, detail::normalize))
        .route("/ui/bypass", in_form(Kind::OpenAi, pass))
        .route("/ui/tools", get(tools))
        .route("/ui/tool", in_form(Kind::OpenAi, run))
        .layer(from_fn_with_state(live.clone(), only_here));
    let file = |content_type, text: &'static str| get(move || async move { reply::bytes(content_type, Body::from(text)) });
    let files = Router::new()
        .route(CSS, file("text/css; charset=utf-8", include_str!("page/page.css")))
        .route(SCRIPT, file("text/javascript; charset=utf-8", include_str!("page/page.js")));
    data.merge(files).layer(map_response(secured))
}

/// Whether a path is one of the page's own.
pub(super) fn is_surface(path: &str) -> bool {
    path == "/ui" || path.starts_with("/ui/")
}

/// `GET /`: people get the page, clients that look for an Ollama its words.
pub(super) async fn root(Extension(prefix): Extension<super::Prefix>, request: Request) -> Response {
    // Browsers write HTML first.
    let wants_a_page = text(request.headers(), header::ACCEPT).is_some_and(|list| list.starts_with("text/html"));
    if !wants_a_page || prefix.mode.is_some() || prefix.profile.is_some() {
        return reply::bytes("text/plain; charset=utf-8", Body::from("Ollama is running"));
    }
    let page = PAGE.replace("<!--version-->", env!("CARGO_PKG_VERSION"));
    let mut page = secured(reply::bytes("text/html; charset=utf-8", Body::from(page))).await;
    page.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    page
}

/// The rows, the latest first; the last hour by minute; and whether what is said is kept.
async fn list(State(app): State<App>, Extension(sender): Extension<Sender>) -> Response {
    let (page, owner) = (&app.process.page, &sender.tenant.name);
    reply::json(&json!({"turns": page.rows(owner), "hour": page.hour(owner), "keeps": app.config.exchanges == Exchanges::Memory}))
}

/// What was said in one turn.
async fn one(
    State(app): State<App>,
    Extension(sender): Extension<Sender>,
    Extension(account): Extension<Account>,
    Path(number): Path<u64>,
) -> Response {
    let Some(row) = app.process.page.get(&sender.tenant.name, number) else { return missing() };
    account.goes_apart().await;
    let detail = row.content.as_ref().map(|kept| detail::detail(&copied(kept)));
    reply::json(&json!({"row": row.to_value(), "detail": detail}))
}

/// One turn as a file that `toolglot check` replays.
async fn save(
    State(app): State<App>,
    Extension(sender): Extension<Sender>,
    Extension(account): Extension<Account>,
    Path(number): Path<u64>,
) -> Response {
    let Some(row) = app.process.page.get(&sender.tenant.name, number) else { return missing() };
    let Some(kept) = &row.content else { return missing() };
    account.goes_apart().await;
    let saved = kept::fixture(&row, &copied(kept), &app.library);
    let text = match saved {
        Ok(text) => text,
        Err(what) => return reply::error(Kind::OpenAi, &Error::client(what).with_status(409)),
    };
    let mut response = reply::bytes("text/plain; charset=utf-8", Body::from(text));
    let name = format!("attachment; filename=\"{}-{}.txt\"", recording::plain(&row.model), row.number);
    if let Ok(name) = HeaderValue::from_str(&name) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    response
}

fn missing() -> Response {
    let what = "this turn is not there any more, or what was said in it was not kept";
    reply::error(Kind::OpenAi, &Error::client(what).with_status(404))
}

/// What happens, as server-sent events: `turn` with a row, `lagged` where this page was too slow to hear everything.
async fn events(
    State(app): State<App>,
    Extension(sender): Extension<Sender>,
) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>> + Send> {
    let owner = sender.tenant.name.clone();
    let told = app.process.ending.followed(app.process.page.changes.subscribe()).filter_map(move |told| {
        ready(match told {
            Ok((of, row)) if *of == *owner => Some(sse::Event::default().event("turn").data(row)),
            Ok(_) => None,
            Err(_) => Some(sse::Event::default().event("lagged").data("{}")),
        })
    });
    let first = sse::Event::default().comment("toolglot");
    // A page stays open for days, without the state of today.
    Sse::new(stream::iter([first]).chain(told).map(Ok)).keep_alive(sse::KeepAlive::new().interval(SILENCE).text("still here"))
}

/// `POST /ui/bypass` `{"minutes": 10, "model": "..."}`: without a model, all of them.
async fn pass(app: App, request: Request) -> Result<Response, Error> {
    let expected = "{\"minutes\": 10}, with a `model` or without";
    let (Received { sender, .. }, asked) = Received::json::<Passing>(&app, request, expected).await?;
    sender.check(&app.config, Some(Mode::Off), Mode::Off)?;
    app.process.bypass.set(&sender.tenant.name, &asked.model, asked.minutes);
    tracing::warn!(minutes = asked.minutes, model = asked.model, "everything passes as it is: the page asked for it");
    Ok(reply::json(&json!({"bypass": app.process.bypass.active(&sender.tenant.name)})))
}

/// Without client keys, only this machine: `insecure` opens models, not conversations.
async fn only_here(State(app): State<App>, request: Request, next: Next) -> Response {
    let local = request.extensions().get::<Local>().map(|local| local.0.ip());
    let is_here = local.is_none_or(|ip| ip.to_canonical().is_loopback());
    if app.config.access.keys.is_empty() && !is_here {
        let what = "without client keys, the page is for the machine that toolglot runs on; `api_keys_file` opens it to others";
        return reply::error(Kind::OpenAi, &Error::client(what).with_status(403).with_code("page_not_allowed"));
    }
    next.run(request).await
}

/// The headers that keep others out of the page, on each of its answers.
async fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The body of `POST /ui/tool`.
#[derive(Deserialize)]
struct Asked {
    /// The name under which it is offered.
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// `GET /ui/state`: backends, models and MCP servers, problems with their remedies, and counters.
async fn status(State(app): State<App>, Extension(sender): Extension<Sender>) -> Response {
    let surveyed = survey::survey(&app, None).await;
    let mut problems = survey::problems(&surveyed, None, &survey::places(&app));
    let seen = &app.process.metrics;
    let (lists, chats) = (seen.lists.load(Ordering::Relaxed), seen.chats.load(Ordering::Relaxed));
    if lists > 0 && chats == 0 {
        problems.push(only_listed(lists));
    }
    let settings = &app.process.settings;
    let setup = (settings.setup)(&settings.config.listen).into_iter().map(|(name, text)| (name, Value::from(text)));
    let counts = app.process.page.counts(&sender.tenant.name);
    reply::json(&json!({
        "setup": setup.collect::<Map<_, _>>(),
        "version": env!("CARGO_PKG_VERSION"),
        "backends": surveyed,
        "problems": problems,
        "servers": app.process.mcp.pool().status().iter().map(|status| server(&app, status)).collect::<Vec<_>>(),
        "counts": counts.iter().map(|(model, counts)| json!({"model": model, "counts": counts})).collect::<Vec<_>>(),
        "rules": app.turns.tally.rules().collect::<BTreeMap<_, _>>(),
        "bypass": app.process.bypass.active(&sender.tenant.name).iter().map(|(model, left)| json!({"model": model, "seconds": left})).collect::<Vec<_>>(),
    }))
}

/// A server of the registry, with its latest calls.
fn server(app: &App, status: &Status) -> Value {
    let mut value = status.to_value();
    let calls = app.process.mcp.pool().latest_calls(&status.name);
    let call = |called: &Called| {
        let at = called.at.duration_since(UNIX_EPOCH).map_or(0, milliseconds);
        json!({"tool": redact::line(&called.tool), "failed": called.failed, "at": at, "ms": milliseconds(called.took)})
    };
    value["calls"] = calls.iter().map(call).collect();
    value
}

/// `GET /ui/tools`, for operators only, as the next one: the tools as models see them, and why others are not there.
async fn tools(State(app): State<App>, Extension(sender): Extension<Sender>) -> Response {
    let Catalogue { tools, problems, .. } = offered(&app, &sender).await;
    let problems: Vec<Value> =
        problems.iter().map(|problem| json!({"server": problem.server, "message": redact::line(&problem.message)})).collect();
    reply::json(&json!({"tools": tools.iter().map(described).collect::<Vec<_>>(), "problems": problems}))
}

/// `POST /ui/tool`: runs a tool for the person at the page. Pressing the button is the consent.
async fn run(app: App, request: Request) -> Result<Response, Error> {
    let (received, asked) = Received::json::<Asked>(&app, request, "{\"name\": ..., \"arguments\": {...}}").await?;
    let catalogue = offered(&app, &received.sender).await;
    let tool = catalogue.tools.iter().find(|tool| tool.wire_name == asked.name);
    let tool = tool.ok_or_else(|| Error::client(format!("there is no tool `{}`", redact::line(&asked.name))).with_status(404))?;
    let begun = Instant::now();
    let call = Call { consent: true, timeout: Some(LONGEST), ..Call::default() };
    let response = app.process.mcp.pool().call(&tool.service, asked.arguments, &call).await;
    tracing::info!(server = tool.service.server, tool = tool.service.tool, failed = response.is_error(), "tried on the page");
    let ms = milliseconds(begun.elapsed());
    Ok(reply::json(&json!({"failed": response.is_error(), "ms": ms, "text": response.to_text()})))
}

/// The tools that this sender may use.
async fn offered(app: &App, sender: &Sender) -> Catalogue {
    app.process.mcp.pool().tools(sender.tenant.servers(None).as_deref(), PATIENCE).await
}

fn described(offered: &Offered) -> Value {
    json!({
        "name": offered.wire_name,
        "server": offered.service.server,
        "tool": offered.service.tool,
        "description": offered.description,
        "schema": serde_json::from_str::<Value>(&offered.schema).unwrap_or_default(),
        "effect": offered.effect.as_str(),
        "asks": offered.permission == Permission::Ask,
        "tokens": offered.tokens(),
    })
}

#[cfg(test)]
mod tests;
