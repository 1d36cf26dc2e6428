//! Around the parsers that Ollama has built in for some families. They read every answer of `/api/chat`, also where no tools were
//! sent, and answer with status 500 where a call is not written as they expect. Text that is completed as it is (`raw` of
//! `/api/generate`) passes them by; the prompt is the one that `/api/chat` would make (`_debug_render_only`).

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Map, Value, json};

use super::{
    Backend, Kind, Prepared, Round, ToolMode,
    models::{loaded, send},
};
use crate::upstream::{Client, HttpRequest, Outgoing};

/// How long a model may take to go.
const UNLOADS: Duration = Duration::from_secs(5);

/// The same request past Ollama's parsers, where its parser shall be kept out. `None`: the request goes as it is, because
/// it goes elsewhere or holds images, because this Ollama does not tell the prompt, or because the answer would begin inside of
/// reasoning, and nothing in it would say so.
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
    let told = send(client, round.backend, request.method.clone(), request.url.clone(), Some(&question(&body))).await;
    let told = told.inspect_err(|error| tracing::debug!(model = round.chat.model, "no prompt: {error}")).ok()?;
    let prompt = told.get("_debug_info")?.get("rendered_template")?.as_str()?;
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

/// Has a model loaded anew whose parser has failed. That request of an Ollama (0.17.4) may wait forever for somebody to read the
/// rest of its answer, and keeps all others of the model from their turn.
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

/// Asks for the prompt. An Ollama that does not know the field writes one token instead.
fn question(body: &Map<String, Value>) -> Value {
    let mut body = body.clone();
    body.insert("_debug_render_only".into(), true.into());
    body.insert("stream".into(), false.into());
    let options = body.entry("options").or_insert_with(|| json!({}));
    if let Value::Object(options) = options {
        options.insert("num_predict".into(), 1.into());
    }
    Value::Object(body)
}
