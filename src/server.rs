//! The routes. Each route about a model has a file of its own, which uses `received` to read the request and `answer` to answer
//! it. `guard` has the checks before all routes, `trace` the log line and the metrics after them.

use std::sync::Arc;

use axum::{
    Extension, Router,
    middleware::{from_fn, from_fn_with_state, map_response},
    routing::{get, post},
};
use tower::{ServiceBuilder, util::MapRequestLayer};
use tower_http::catch_panic::CatchPanicLayer;

use crate::{client::front::Kind, config::Mode, error::Error};

mod account;
mod answer;
mod apart;
mod backends;
mod chat;
mod connection;
mod discard;
mod draining;
mod forward;
mod generate;
mod greeting;
mod guard;
mod health;
mod listen;
mod messages;
mod metrics;
mod models;
mod ollama;
mod otel;
mod page;
mod react;
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

use forward::Endpoint::{Ollama, OpenAi};
use received::Prefix;

pub use run::serve;
pub use state::{App, Live, Settings, State, app, library};

/// All routes. The state may be replaced while they serve.
pub fn router(live: impl Into<Live>) -> Router {
    let live = live.into();
    let asked = MapRequestLayer::new(answer::counted(Arc::clone(&live.app().process)));
    let named = map_response(messages::named);
    let under = |prefix: Prefix| {
        let routes = Router::new()
            .route("/chat/completions", answer::route(Kind::OpenAi, chat::ENDPOINT, chat::completions).layer(asked.clone()))
            .route("/completions", forward::route(OpenAi("/completions")))
            .route("/embeddings", forward::route(OpenAi("/embeddings")))
            .route(
                "/messages",
                answer::route(Kind::Messages, OpenAi("/messages"), messages::create).layer(asked.clone()).layer(named.clone()),
            )
            .route(
                "/messages/count_tokens",
                answer::route(Kind::Messages, OpenAi("/messages/count_tokens"), messages::count).layer(named.clone()),
            )
            .route("/responses", answer::route(Kind::Responses, OpenAi("/responses"), responses::create).layer(asked.clone()))
            .route("/responses/{id}", get(responses::one).delete(responses::delete))
            .route("/responses/{id}/input_items", get(responses::input_items))
            .route("/models", get(models::list))
            .route("/models/{*id}", get(models::one));
        let ollama = Router::new()
            .route("/chat", answer::route(Kind::Ollama, ollama::CHAT, ollama::chat).layer(asked.clone()))
            .route("/generate", answer::in_form(Kind::Ollama, ollama::generate))
            .route("/embed", forward::route(Ollama("/api/embed")))
            .route("/embeddings", forward::route(Ollama("/api/embeddings")))
            .route("/tags", get(ollama::tags))
            .route("/ps", get(ollama::running))
            .route("/show", answer::in_form(Kind::Ollama, ollama::show))
            .route("/version", get(ollama::version))
            .route("/hello", get(messages::hello));
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
        .route("/generate", post(generate::plain).layer(asked.clone()))
        .route("/generate_with_mcp", post(generate::with_mcp).layer(asked.clone()))
        .route("/healthz", get(health::health))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::metrics))
        .merge(page::routes(&live))
        .fallback(unknown::unknown)
        .method_not_allowed_fallback(unknown::wrong_method)
        .layer(
            // From the outside in.
            ServiceBuilder::new()
                .layer(from_fn_with_state(live.clone(), trace::trace))
                .layer(from_fn(discard::discard))
                .layer(from_fn_with_state(live.clone(), guard::guard))
                .layer(from_fn_with_state(Arc::clone(&live.app().process.apart), apart::apart))
                .layer(CatchPanicLayer::custom(|_| {
                    reply::error(Kind::OpenAi, &Error::proxy("toolglot failed inside; this is a bug"))
                })),
        )
        .with_state(live)
}
