//! Ollama's own API, for clients that look for an Ollama: its lists and descriptions cover the models of all backends. Also
//! its text completion. The chat is written in `client/front/ollama.rs`. With toolglot, every model that chats can call tools, so
//! each is listed as able to.

use axum::{
    Extension,
    body::Body,
    extract::{Request, State},
    response::Response,
};
use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{
    answer::{self, Asked},
    backends,
    forward::{self, Endpoint},
    guard::Sender,
    models,
    received::{Prefix, Received, Target},
    reply,
    state::App,
};
use crate::{
    backend::{self, Backend, Dialect, Kind, Model},
    client::front::{
        self, Collected, Head,
        ollama::{By, Generate, from_chat, loaded},
    },
    config::Mode,
    error::Error,
    event::{Delta, Event, Sink},
    openai::{self, answer::Envelope},
    plan, recorded,
};

const FRONT: front::Kind = front::Kind::Ollama;
pub(super) const CHAT: Endpoint = Endpoint::Ollama("/api/chat");
/// The version of Ollama whose API this is; Codex asks for 0.13.4 or newer.
const VERSION: &str = "0.13.5";
/// Clients need a date, which is unknown for models of other servers.
const LONG_AGO: &str = "2025-01-01T00:00:00Z";
/// The largest text completion, with what is around each of its words.
const COMPLETION_BYTES: usize = 16 * 1024 * 1024;

pub(super) async fn chat(app: App, asked: Asked) -> Result<Response, Error> {
    let chat = front::ollama::read(&asked.received.body)?;
    if chat.messages.is_empty() {
        // It asks for the model to be loaded.
        return match asked.target.backend.kind {
            Kind::Ollama => forward::forward(&app, &asked.target.backend, CHAT, asked.received).await,
            _ => Ok(reply::json(&loaded(&asked.target.model, plan::now()))),
        };
    }
    answer::respond(&app, asked, chat).await
}

pub(super) async fn version() -> Response {
    reply::json(&json!({"version": VERSION}))
}

pub(super) async fn tags(
    State(app): State<App>,
    Extension(prefix): Extension<Prefix>,
    Extension(sender): Extension<Sender>,
) -> Response {
    let found = app.backends.current().await;
    let models = models::named(&app, &sender.tenant, &found).map(|(name, backend, model)| {
        let mut entry = model.entry.clone().unwrap_or_else(|| unlisted(&app, backend, model));
        if rewrites(&app, prefix, &model.id)
            && let Some(Value::Array(capabilities)) = entry.get_mut("capabilities")
        {
            add_tools(capabilities);
        }
        called(entry, name)
    });
    reply::json(&json!({"models": models.collect::<Vec<_>>()}))
}

/// The models in memory, of every Ollama; others do not tell.
pub(super) async fn running(State(app): State<App>, Extension(sender): Extension<Sender>) -> Response {
    let found = app.backends.current().await;
    let ollamas = found.iter().filter(|found| found.backend.kind == Kind::Ollama).map(|found| async {
        let asked = tokio::time::timeout(backends::PATIENCE, backend::running(&app.turns.client, &found.backend)).await;
        (&found.backend.name, asked.ok().and_then(Result::ok).unwrap_or_default())
    });
    let told = futures_util::future::join_all(ollamas).await;
    let models = models::named(&app, &sender.tenant, &found).filter_map(|(name, backend, model)| {
        let (_, own) = told.iter().find(|(of, _)| **of == backend.name)?;
        let entry = own.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some(&model.id))?;
        Some(called(entry.clone(), name))
    });
    reply::json(&json!({"models": models.collect::<Vec<_>>()}))
}

/// An entry of a list under the name that clients use.
fn called(mut entry: Value, name: String) -> Value {
    if let Value::Object(entry) = &mut entry {
        entry.insert("name".into(), json!(name));
        entry.insert("model".into(), json!(name));
    }
    entry
}

pub(super) async fn show(app: App, request: Request) -> Result<Response, Error> {
    let Received { body, prefix, sender, .. } = Received::read(&app, request).await?.within_values()?;
    let mut question: Map<String, Value> = openai::object(&body)?;
    let old = question.shift_remove("name");
    let named = question.get("model").filter(|name| name.as_str() != Some("")).cloned().or(old);
    let Some(Value::String(called)) = named else { return Err(Error::client("the body must name a `model`")) };
    let Target { model: name, backend, .. } = app.target(&sender.tenant, called).await?;
    if backend.kind != Kind::Ollama {
        return described(&app, &backend, &name).await;
    }
    question.insert("model".into(), json!(name));
    let mut shown = backend::show(&app.turns.client, &backend, &Value::Object(question)).await?;
    if let Some(shown) = shown.as_object_mut().filter(|_| rewrites(&app, prefix, &name)) {
        // Older versions do not report capabilities: their models are taken to chat.
        let capabilities = shown.entry("capabilities").or_insert_with(|| json!(["completion"]));
        capabilities.as_array_mut().map(add_tools);
        if let Some(Value::Object(facts)) = shown.get_mut("model_info") {
            cap_context(facts, app.config.limits.context_tokens);
        }
    }
    Ok(reply::json(&shown))
}

/// A model of a backend that is no Ollama, in Ollama's words.
async fn described(app: &App, backend: &Backend, name: &str) -> Result<Response, Error> {
    let found = app.backends.current().await;
    if !found.iter().any(|found| found.models.iter().any(|model| model.id == name)) {
        return Err(Error::client(format!("model '{name}' not found")).with_status(404).with_code("model_not_found"));
    }
    let model = &app.backends.describe(backend, name).await.model;
    let family = family(app, model);
    let known = model.capabilities.unwrap_or_default();
    let capabilities = [("completion", true), ("tools", true), ("thinking", known.thinking), ("vision", known.vision)];
    let capabilities: Vec<&str> = capabilities.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    let mut facts = Map::new();
    facts.insert("general.architecture".into(), json!(family));
    facts.insert("general.basename".into(), json!(name));
    if let Some(context) = model.context {
        facts.insert(format!("{family}.context_length"), json!(context));
    }
    Ok(reply::json(&json!({
        "modelfile": "",
        "parameters": "",
        "template": model.template.as_deref().unwrap_or_default(),
        "details": details(&family),
        "model_info": facts,
        "capabilities": capabilities,
        "modified_at": LONG_AGO,
    })))
}

pub(super) async fn generate(app: App, request: Request) -> Result<Response, Error> {
    let (received, target) = Received::with_target(&app, request, FRONT).await?;
    if target.backend.kind == Kind::Ollama {
        return forward::forward(&app, &target.backend, Endpoint::Ollama("/api/generate"), received).await;
    }
    let Generate { streamed, by } = front::ollama::read_generate(&received.body)?;
    let envelope = Envelope { model: target.called.clone(), created: plan::now(), ..Envelope::default() };
    let completion = match by {
        By::Loading => return Ok(reply::json(&from_chat(loaded(&envelope.model, envelope.created)))),
        By::Completion(completion) => completion,
        By::Chat(body) => {
            let received = Received { body: body.to_string().into(), ..received };
            let asked = Asked { received, target, mode: Mode::Rewrite, front: FRONT };
            return prompted(chat(app, asked).await?, streamed).await;
        }
    };
    let (begun, body) = (Instant::now(), Bytes::from(completion.to_string()));
    let sent = forward::send(&app, &target.backend, Endpoint::OpenAi("/completions"), &received.headers, body);
    let bytes = forward::accepted(&target.backend, sent.await?).await?.collect(COMPLETION_BYTES).await?;
    let (mut answer, mut usage) = (Collected::new(Head { kind: FRONT, envelope, ..Head::default() }), None);
    recorded::read(Some(Dialect::OpenAi), [&*bytes], &mut |delta: Delta<'_>| match delta {
        Delta::Text(_, text) => answer.event(Event::Text(text)),
        Delta::Usage(counted) => usage = Some(counted),
        Delta::Finish(reason) => answer.event(Event::Finish { reason, usage }),
        // Ollama does not tell of the first, and a text completion has no second.
        Delta::StopSequence(_) | Delta::Call(_) => {}
    })?;
    answer.elapsed(begun.elapsed());
    let content_type = if streamed { FRONT.content_type() } else { "application/json" };
    // A completion is a few words: they leave as one line.
    Ok(reply::bytes(content_type, Body::from(format!("{}\n", from_chat(answer.into_value())))))
}

/// A chat's answer in the words of `/api/generate`.
async fn prompted(answer: Response, streamed: bool) -> Result<Response, Error> {
    let (parts, body) = answer.into_parts();
    let unread = |error: serde_json::Error| Error::proxy(error.to_string());
    if !streamed {
        let body = axum::body::to_bytes(body, usize::MAX).await.map_err(|error| Error::proxy(error.to_string()))?;
        return Ok(Response::from_parts(parts, Body::from(from_chat(openai::parse(&body).map_err(unread)?).to_string())));
    }
    // Each piece is made of whole lines.
    let lines = body.into_data_stream().map(move |piece| {
        let mut out = String::new();
        for line in piece.map_err(|error| Error::proxy(error.to_string()))?.split(|byte| *byte == b'\n') {
            if !line.is_empty() {
                out.push_str(&format!("{}\n", from_chat(openai::parse(line).map_err(unread)?)));
            }
        }
        Ok::<_, Error>(Bytes::from(out))
    });
    Ok(Response::from_parts(parts, Body::from_stream(lines)))
}

/// Whether calls of this model are found and handed over, for requests under this prefix.
fn rewrites(app: &App, prefix: Prefix, model: &str) -> bool {
    plan::mode(&app.config, model, prefix.mode) != Mode::Off
}

fn add_tools(capabilities: &mut Vec<Value>) {
    let has = |name: &str| capabilities.iter().any(|capability| capability == name);
    if has("completion") && !has("tools") {
        capabilities.push(json!("tools"));
    }
}

/// A client that fills the model's context must know the one that is asked for, not the largest that there could be.
fn cap_context(facts: &mut Map<String, Value>, cap: u64) {
    for (name, value) in facts.iter_mut() {
        if name.ends_with(".context_length") && value.as_u64().is_some_and(|context| context > cap) {
            *value = json!(cap);
        }
    }
}

/// The list's entry for a model of a backend that is no Ollama.
fn unlisted(app: &App, backend: &Backend, model: &Model) -> Value {
    let digest = Sha256::digest(format!("{}\n{}", backend.name, model.id));
    json!({
        "name": model.id,
        "model": model.id,
        "modified_at": LONG_AGO,
        "size": 0,
        "digest": format!("{digest:x}"),
        "details": details(&family(app, model)),
    })
}

/// Clients need the fields; what is not known is empty.
fn details(family: &str) -> Value {
    json!({"parent_model": "", "format": "", "family": family, "families": [family], "parameter_size": "", "quantization_level": ""})
}

/// The family as the adapter that reads the model names it.
fn family(app: &App, model: &Model) -> String {
    plan::reader(&app.config, &app.library, &model.id, model).adapter.name.clone()
}
