//! The routes. Each route about a model has a file of its own, which uses `received` to read the request and `answer` to answer
//! it. `guard` has the checks before all routes, `trace` the log line and the metrics after them.

use std::{future::poll_fn, panic::AssertUnwindSafe, pin::pin, sync::Arc, task::Poll};

use axum::{
    Extension, Router,
    extract::{self, Request},
    middleware::{Next, from_fn_with_state},
    response::Response,
    routing::get,
};
use futures_util::FutureExt;
use serde_json::json;

use crate::{client::front::Kind, config::Mode};

mod account;
mod answer;
mod apart;
mod backends;
mod connection;
mod discard;
mod ending;
mod forward;
mod generate;
mod greeting;
mod guard;
mod health;
mod listen;
mod log;
mod metrics;
mod models;
mod ollama;
#[cfg_attr(not(feature = "otel"), path = "server/no_otel.rs")]
mod otel;
mod page;
mod received;
mod recording;
mod reload;
mod reply;
mod responses;
mod run;
mod state;
pub mod survey;
mod trace;
mod unknown;
mod woken;

use ending::{Ending, Stage};
use forward::Endpoint::{Ollama, OpenAi};
use received::Prefix;

pub use log::Lines;
pub use metrics::only_listed;
pub use run::serve;
pub use state::{App, Live, Settings, State, app, library};

/// All routes. The state may be replaced while they serve.
pub fn router(live: impl Into<Live>) -> Router {
    let live = live.into();
    let under = |prefix: Prefix| {
        let routes = Router::new()
            .route("/chat/completions", answer::route(Kind::OpenAi, answer::CHAT, answer::completions))
            .route("/completions", forward::route(OpenAi("/completions")))
            .route("/embeddings", forward::route(OpenAi("/embeddings")))
            .route("/messages", answer::route(Kind::Messages, OpenAi("/messages"), answer::message))
            .route(
                "/messages/count_tokens",
                answer::route(Kind::Messages, OpenAi("/messages/count_tokens"), answer::count_tokens),
            )
            .route("/responses", answer::route(Kind::Responses, OpenAi("/responses"), responses::create))
            .route("/responses/{id}", get(responses::one).delete(responses::delete))
            .route("/responses/{id}/input_items", get(responses::input_items))
            .route("/models", get(models::list))
            .route("/models/{*id}", get(models::one));
        let ollama = Router::new()
            .route("/chat", answer::route(Kind::Ollama, ollama::CHAT, ollama::chat))
            .route("/generate", answer::in_form(Kind::Ollama, ollama::generate))
            .route("/embed", forward::route(Ollama("/api/embed")))
            .route("/embeddings", forward::route(Ollama("/api/embeddings")))
            .route("/tags", get(ollama::tags))
            .route("/ps", get(ollama::running))
            .route("/show", answer::in_form(Kind::Ollama, ollama::show))
            .route("/version", get(ollama::version))
            // Clients check first whether a server answers at this address.
            .route("/hello", get(|| async { reply::json(&json!({})) }));
        let root = Router::new().route("/", get(page::root));
        root.merge(routes.clone()).nest("/v1", routes).nest("/api", ollama).layer(Extension(prefix))
    };
    Router::new()
        .merge(under(Prefix::default()))
        .nest("/off", under(Prefix { mode: Some(Mode::Off), ..Prefix::default() }))
        .nest("/shell", under(Prefix { mode: Some(Mode::Shell), ..Prefix::default() }))
        .nest("/react", under(Prefix { mode: Some(Mode::React), ..Prefix::default() }))
        .nest("/void", under(Prefix { profile: Some("void"), ..Prefix::default() }))
        .merge(live.app().process.mcp.routes())
        .route("/generate", generate::route(false))
        .route("/generate_with_mcp", generate::route(true))
        .route("/healthz", get(health::health))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::metrics))
        .merge(page::routes(&live))
        .fallback(unknown::unknown)
        .method_not_allowed_fallback(unknown::wrong_method)
        .layer(from_fn_with_state(live.clone(), around))
        .with_state(live)
}

/// What is around every route, from the outside in: `trace`, `discard`, `guard`, `apart`. It is one layer, because each layer of
/// axum copies all that is in it for each request.
async fn around(extract::State(app): extract::State<App>, request: Request, next: Next) -> Response {
    let (own, threads, ending) = (Arc::clone(&app), Arc::clone(&app.process.apart), app.process.ending.clone());
    let path = request.uri().path().to_owned();
    let served = |request| apart::apart(threads, request, |request| caught(ending, path, next.run(request)));
    let guarded = |request| guard::guard(own, request, served);
    trace::trace(app, request, |request| discard::discard(request, guarded)).await
}

/// The response, which is an error if the route panics, or if there is none when the time of grace is over.
async fn caught(ending: Ending, path: String, response: impl Future<Output = Response>) -> Response {
    let (mut over, mut caught) = (ending.reached(Stage::CutOff), pin!(AssertUnwindSafe(response).catch_unwind()));
    poll_fn(|cx| match caught.as_mut().poll(cx) {
        Poll::Ready(Ok(response)) => Poll::Ready(response),
        Poll::Ready(Err(_)) => Poll::Ready(reply::error_at(&path, &ending.panicked())),
        Poll::Pending => over.poll_unpin(cx).map(|()| reply::error_at(&path, &ending::cut_off())),
    })
    .await
}
