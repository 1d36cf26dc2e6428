//! Bypasses the parsers that Ollama has built in for some families. They read every answer of `/api/chat`, even if no tools were
//! sent, and fail with status 500 if a call is not written as they expect. `/api/generate` with `raw` does not use them. Its
//! prompt is the one that `/api/chat` would make.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Map, Value, json};

use super::{
    Backend, Kind, Prepared, Round, ToolMode,
    models::{loaded, send},
    rendered,
};
use crate::upstream::{Client, HttpRequest, Outgoing};

/// How long to wait until a model is unloaded.
const UNLOADS: Duration = Duration::from_secs(5);

/// The same request as a completion that bypasses Ollama's parsers. `None`: the request is sent unchanged, because the mode is not
/// `raw`, the backend is not Ollama, a message has images, this Ollama does not report the prompt, or the answer would begin
/// inside reasoning without a marker.
pub async fn unparsed(client: &Client, round: &Round<'_>, prepared: &Prepared) -> Option<Prepared> {
    let Outgoing::Http(request) = &prepared.outgoing else { return None };
    if round.backend.kind != Kind::Ollama || round.learned.tools != ToolMode::Raw {
        return None;
    }
    let mut body: Map<String, Value> = serde_json::from_slice(&request.body).ok()?;
    let shows_images = |message: &Value| message.get("images").is_some();
    if body.get("messages")?.as_array()?.iter().any(shows_images) {
        return None;
    }
    let prompt = rendered::prompt(client, round, &body).await?;
    let mut opens = round.adapter.framing.reasoning.iter().flat_map(|region| &region.open);
    if opens.any(|open| !open.is_empty() && prompt.trim_end().ends_with(open.as_str())) {
        return None;
    }
    body.retain(|field, _| field != "messages" && field != "tools");
    body.insert("prompt".into(), prompt.into());
    body.insert("raw".into(), true.into());
    let url = format!("{}/api/generate", round.backend.url);
    let request = HttpRequest { url, body: Value::Object(body).to_string().into(), ..request.clone() };
    Some(Prepared { outgoing: Outgoing::Http(request), ..prepared.clone() })
}

/// Reloads a model whose parser has failed. In Ollama 0.17.4, the failed request may wait forever until the rest of its answer is
/// read, and block all other requests to the model. Does nothing for other backends.
pub async fn load_anew(client: &Client, backend: &Backend, model: &str) {
    if backend.kind != Kind::Ollama {
        return;
    }
    let unload = json!({"model": model, "keep_alive": 0});
    let told = send(client, backend, Method::POST, format!("{}/api/generate", backend.url), Some(&unload)).await;
    tracing::info!(model, backend = backend.name, unloaded = told.is_ok(), "its parser failed: the model is loaded anew");
    let end = Instant::now() + UNLOADS;
    while matches!(loaded(client, backend, model).await, Ok(Some(_))) && Instant::now() < end {
        tokio::time::sleep(UNLOADS / 50).await;
    }
}
