//! The page for people: `GET /` in a browser. It shows the last turns (what the client sent, what the model wrote, what the
//! client got), why something is or is not a call, and the state of backends, models and MCP servers. Three files are
//! embedded in the binary; all data comes as JSON from the routes under `/ui`.
//!
//! This machine may see it, and so may every holder of a client key, who sees only the turns of that key.

use std::{convert::Infallible, net::IpAddr, time::Duration};

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
use futures_util::Stream;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

use super::{
    account::Account,
    answer::in_form,
    guard::{Local, Sender},
    received::{Received, text},
    recording, reply,
    state::{App, Live},
};
use crate::{
    client::front::Kind,
    config::{Exchanges, Mode},
    error::Error,
};

pub(super) mod bypass;
mod detail;
pub(super) mod kept;
mod playground;
mod status;
pub(super) mod turns;

use kept::copied;
use turns::Change;

const PAGE: &str = include_str!("page/index.html");
/// The path of the style sheet, and of the script.
pub(super) const CSS: &str = "/ui/page.css";
pub(super) const SCRIPT: &str = "/ui/page.js";
/// The policy: only the page's own files run, and no other page can put it into a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// A page that hears nothing else hears this often that the server is there.
const SILENCE: Duration = Duration::from_secs(15);
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
        .route("/ui/state", get(status::status))
        .route("/ui/log", get(super::log::lines))
        .route("/ui/normalize", in_form(Kind::OpenAi, playground::normalize))
        .route("/ui/bypass", in_form(Kind::OpenAi, pass))
        .route("/ui/tools", get(status::tools))
        .route("/ui/tool", in_form(Kind::OpenAi, status::run))
        .layer(from_fn_with_state(live.clone(), only_here));
    let files = Router::new().route(CSS, get(css)).route(SCRIPT, get(script));
    data.merge(files).layer(map_response(secured))
}

/// Whether a path is one of the page's own.
pub(super) fn is_surface(path: &str) -> bool {
    path == "/ui" || path.starts_with("/ui/")
}

/// `GET /`: people get the page, clients that look for an Ollama its words.
pub(super) async fn root(Extension(prefix): Extension<super::Prefix>, request: Request) -> Response {
    if !wants_a_page(request.headers()) || prefix.mode.is_some() || prefix.profile.is_some() {
        return reply::bytes("text/plain; charset=utf-8", Body::from("Ollama is running"));
    }
    let page = PAGE.replace("<!--version-->", env!("CARGO_PKG_VERSION"));
    let mut page = secured(reply::bytes("text/html; charset=utf-8", Body::from(page))).await;
    page.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    page
}

async fn css() -> Response {
    reply::bytes("text/css; charset=utf-8", Body::from(include_str!("page/page.css")))
}

async fn script() -> Response {
    reply::bytes("text/javascript; charset=utf-8", Body::from(include_str!("page/page.js")))
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
    let (mut changes, owner) = (app.process.page.listen(), sender.tenant.name.clone());
    // A page stays open for days; the configuration may change meanwhile.
    drop(app);
    let told = async_stream::stream! {
        yield Ok(sse::Event::default().comment("toolglot"));
        loop {
            match changes.recv().await {
                Ok(Change::Row(of, row)) if *of == *owner => yield Ok(sse::Event::default().event("turn").data(row)),
                Ok(Change::Row(..)) => {}
                Err(RecvError::Lagged(_)) => yield Ok(sse::Event::default().event("lagged").data("{}")),
                Ok(Change::End) | Err(RecvError::Closed) => return,
            }
        }
    };
    Sse::new(told).keep_alive(sse::KeepAlive::new().interval(SILENCE).text("still here"))
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
    if app.config.access.keys.is_empty() && !is_here(&request) {
        let what = "without client keys, the page is for the machine that toolglot runs on; `api_keys_file` opens it to others";
        return reply::error(Kind::OpenAi, &Error::client(what).with_status(403).with_code("page_not_allowed"));
    }
    next.run(request).await
}

fn is_here(request: &Request) -> bool {
    let local: Option<IpAddr> = request.extensions().get::<Local>().map(|local| local.0.ip());
    local.is_none_or(|ip| ip.to_canonical().is_loopback())
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

/// Whether HTML is the first that the sender accepts, as browsers write it.
fn wants_a_page(headers: &HeaderMap) -> bool {
    text(headers, header::ACCEPT).is_some_and(|list| list.starts_with("text/html"))
}

#[cfg(test)]
mod tests;
