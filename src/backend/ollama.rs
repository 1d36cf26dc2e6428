//! The prompt that Ollama makes from a chat (`_debug_render_only` of `/api/chat`). It shows whether Ollama prints the tools so that
//! a model can read them. It also bypasses the parsers that Ollama has built in for some families: they read every answer of
//! `/api/chat`, even if no tools were sent, and fail with status 500 if a call is not written as they expect. `/api/generate` with
//! `raw` does not use them, and gets the same prompt.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Map, Value, json};

use super::{
    Backend, Kind, Model, Prepared, Round, ToolMode,
    models::{ask, loaded, send},
    prevent::completion,
};
use crate::upstream::{Client, HttpRequest, Outgoing};

/// How a template prints a tool, or the parameters of one, as a whole.
const WHOLE: [&str; 3] = [".", ".Function", ".Function.Parameters"];
/// The beginning of a tool's parameters as Go prints a struct that has no form of its own.
const STRUCT: &str = "{object <nil>";

/// Whether this Ollama may print the tools as Go structs instead of JSON: the model's template prints whole tools. Templates that
/// print all tools at once, or that name each field, are not affected.
pub fn may_garble_tools(backend: &Backend, model: &Model) -> bool {
    let Some(template) = model.template.as_deref().filter(|_| backend.kind == Kind::Ollama) else { return false };
    let mut actions = template.split("{{").skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0));
    template.contains(".Tools") && actions.any(|action| WHOLE.contains(&action.trim_matches('-').trim()))
}

/// Whether Ollama prints the tools of a request as Go structs, which models read badly: `{"function": {get_weather Get the weather
/// {object <nil> <nil> [city] ..}}}`. Ollama has done so since 0.14.0 (ollama/ollama#14601). `None`: that is known
/// already, or the request has no tools.
pub async fn garbles_tools(client: &Client, round: &Round<'_>, prepared: &Prepared) -> Option<bool> {
    let Outgoing::Http(request) = &prepared.outgoing else { return None };
    if !round.learned.tools_unseen {
        return None;
    }
    let body: Map<String, Value> = serde_json::from_slice(&request.body).ok()?;
    body.get("tools")?;
    Some(prompt(client, round, request, body).await.is_some_and(|prompt| prompt.contains(STRUCT)))
}

/// The prompt for the body of a chat. `None`: this Ollama does not report it; a version that does not know the field generates one
/// token instead.
async fn prompt(client: &Client, round: &Round<'_>, request: &HttpRequest, mut body: Map<String, Value>) -> Option<String> {
    body.insert("_debug_render_only".into(), true.into());
    body.insert("stream".into(), false.into());
    let options = body.entry("options").or_insert_with(|| json!({}));
    if let Value::Object(options) = options {
        options.insert("num_predict".into(), 1.into());
    }
    let asked = HttpRequest { body: Value::Object(body).to_string().into(), ..request.clone() };
    let told = ask(client, round.backend, asked).await;
    let told = told.inspect_err(|error| tracing::debug!(model = round.chat.model, status = error.status, "no prompt")).ok()?;
    told.get("_debug_info")?.get("rendered_template")?.as_str().map(str::to_owned)
}

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
    let body: Map<String, Value> = serde_json::from_slice(&request.body).ok()?;
    let shows_images = |message: &Value| message.get("images").is_some();
    if body.get("messages")?.as_array()?.iter().any(shows_images) {
        return None;
    }
    let prompt = prompt(client, round, request, body).await?;
    completion(round, prepared, "/api/generate", &prompt, |body| {
        body.retain(|field, _| field != "messages" && field != "tools");
        body.insert("raw".into(), true.into());
    })
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
