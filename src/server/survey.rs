//! Finds out how toolglot would ask each model of each backend, and why, for `toolglot doctor`, `toolglot models`, the page and
//! the lines at the start. It uses the same backends, plan and turn that serve clients, and what was learned about the model, so
//! its report is what happens to a client that sends `tools`.

use std::sync::{Arc, atomic::Ordering};

use futures_util::future::join_all;
use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    answer::{self, Asked},
    forward::{self, Endpoint},
    received::Received,
    state::App,
};
use crate::{
    adapter::{Adapter, Found},
    backend::{self, Backend, Capabilities, Kind, Learned, Model, ToolMode},
    client::front,
    config::{Mode, Tenant},
    error::Error,
    openai::ChatRequest,
    plan::{self, Plan},
    redact, store,
    turn::{self, tap::Tap},
};

/// A backend, as it answers now. Serialized, it is the report for programs.
#[derive(Debug, Serialize)]
pub struct Surveyed {
    /// The backend itself.
    #[serde(skip)]
    pub backend: Arc<Backend>,
    /// Its name, as one line.
    pub name: String,
    /// Its address, as one line.
    pub url: String,
    /// What it is, for people.
    pub kind: &'static str,
    /// Its version, if it reports one.
    pub version: Option<String>,
    /// Whether it answers.
    pub reachable: bool,
    /// Why it did not answer, if it did not.
    pub error: Option<String>,
    /// What should be corrected in its configuration.
    pub note: Option<String>,
    /// Number of models that it lists.
    pub listed: usize,
    /// The described models.
    pub models: Vec<ModelReport>,
}

/// A model, and how toolglot would ask it.
#[derive(Debug, Serialize)]
pub struct ModelReport {
    /// Its name, as one line.
    pub name: String,
    /// The adapter that reads it; serialized, its name.
    #[serde(serialize_with = "adapter_name")]
    pub adapter: Arc<Adapter>,
    /// Why this adapter was chosen.
    pub adapter_why: String,
    /// How well the adapter is tested, in one word.
    pub proof: &'static str,
    /// What that word means.
    pub proof_means: &'static str,
    /// How its tools would be offered.
    pub tools: ToolMode,
    /// Why they would be offered so.
    pub tools_why: &'static str,
    /// What it can do, in words; `None` if the backend does not say.
    pub capabilities: Option<Vec<&'static str>>,
    /// Its context, in tokens.
    pub context: Option<u64>,
    /// What came of its last trial, in words, where the command line has looked it up.
    pub tried: Option<String>,
    /// Contradictions between its chat template and the adapter or the backend.
    pub notes: Vec<String>,
}

/// The result of a chat.
#[derive(Debug)]
pub struct Tried {
    /// The completion in OpenAI's form.
    pub completion: Value,
    /// What the model's refusals taught.
    pub learned: Learned,
    /// How often the model was asked again, hidden from the client.
    pub asked_again: u64,
}

/// Maximum number of models of a backend that are described; the others are only counted.
const MODELS: usize = 100;
/// The largest answer of a backend.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// All backends with their models, or only the models of this name.
pub async fn survey(app: &App, model: Option<&str>) -> Vec<Surveyed> {
    let found = app.backends.current().await;
    let looks = found.iter().map(|found| async {
        let wanted = found.models.iter().filter(|listed| model.is_none_or(|model| super::backends::is(listed, model)));
        let is_silent = found.error.is_some();
        let version = if is_silent { None } else { backend::version(&app.turns.client, &found.backend).await };
        Surveyed {
            name: redact::line(&found.backend.name),
            url: redact::line(&found.backend.url),
            kind: found.backend.traits().title,
            version: version.as_deref().map(redact::line),
            reachable: !is_silent,
            error: found.error.clone(),
            note: misplaced(app, &found.backend),
            listed: found.models.len(),
            models: join_all(wanted.take(MODELS).map(|listed| look(app, &found.backend, listed))).await,
            backend: found.backend.clone(),
        }
    });
    join_all(looks).await
}

/// What is wrong with the configured URL of a backend that was found at another one.
fn misplaced(app: &App, found: &Backend) -> Option<String> {
    let given = app.config.backends.iter().find(|given| given.name == found.name && given.kind == Some(Kind::OpenAi))?;
    let (given, real) = (redact::line(&given.url), redact::line(&found.url));
    (given != real).then(|| format!("its API is at {real}: correct `url = \"{given}\"`"))
}

/// Where backends are looked for, if none is configured.
pub fn places(app: &App) -> String {
    let places = app.backends.places().map(|backend| format!("{} at {}", backend.name, redact::line(&backend.url)));
    places.collect::<Vec<_>>().join(", ")
}

/// One chat, as a client would have it in mode `rewrite`; `tap` watches.
///
/// # Errors
/// As [`planned`] and [`turn::collect`].
pub async fn ask(app: &App, chat: ChatRequest, tap: Option<Box<dyn Tap>>) -> Result<Tried, Error> {
    let plan = planned(app, chat).await?;
    let (planned, key) = (plan.asking.learned.clone(), plan.learned_key());
    let asked_again = || app.turns.asked_again.load(Ordering::Relaxed);
    let before = asked_again();
    let (completion, _) = turn::collect(plan, app.turns.clone(), tap.into_iter().collect()).await?;
    let learned = store::read(&*app.turns.store, &key).await.unwrap_or(planned);
    Ok(Tried { completion, learned, asked_again: asked_again() - before })
}

/// How this chat would be answered in mode `rewrite`.
///
/// # Errors
/// 404 `model_not_found`, or the model cannot be asked.
pub async fn planned(app: &App, mut chat: ChatRequest) -> Result<Plan, Error> {
    let target = app.target(&Tenant::default(), std::mem::take(&mut chat.model)).await?;
    chat.model.clone_from(&target.model);
    let (received, front) = (Received::default(), front::Kind::OpenAi);
    let asked = Asked { received, target, mode: Mode::Rewrite, front };
    answer::plan(app, &asked, chat.into()).await
}

/// The same chat without toolglot: the answer of the backend's own endpoint to this body.
///
/// # Errors
/// 404 `model_not_found`, or the error of the backend.
pub async fn straight(app: &App, body: &Value) -> Result<Value, Error> {
    let model = body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
    let target = app.target(&Tenant::default(), model).await?;
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    let sent = forward::send(app, &target.backend, Endpoint::OpenAi("/chat/completions"), &headers, body.to_string().into());
    let bytes = forward::accepted(&target.backend, sent.await?).await?.collect(ANSWER_BYTES).await?;
    serde_json::from_slice(&bytes).map_err(|error| Error::backend(format!("the backend did not answer with JSON: {error}")))
}

/// Words of a backend's error, and what to do about it.
const REMEDIES: [(&[&str], &str); 2] = [
    (&["cannot reach", "does not answer", "nothing that is known"], "start it, or correct its `url`"),
    (&["401", "403", "key", "nauthorized", "orbidden"], "give its key by `api_key_env` or `api_key_file`"),
];

/// Problems that keep the user from an answer, each with its remedy.
pub fn problems(found: &[Surveyed], model: Option<&str>, places: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for silent in found {
        let Some(error) = &silent.error else { continue };
        let is_told = |(words, _): &&(&[&str], &str)| words.iter().any(|word| error.contains(word));
        let remedy = REMEDIES.iter().find(is_told).map_or("look at its own log", |(_, remedy)| *remedy);
        problems.push(format!("backend {} at {}: {error}; {remedy}", silent.name, silent.url));
    }
    let real: Vec<&Surveyed> = found.iter().filter(|found| found.backend.kind != Kind::Replay).collect();
    if real.is_empty() {
        problems.push(format!("no backend: looked for {places}; start one, or name one with --backend URL"));
    }
    for empty in real.iter().filter(|found| found.error.is_none() && found.listed == 0) {
        problems.push(format!("backend {} has no models: load or pull one there", empty.name));
    }
    if let Some(model) = model.filter(|_| !real.is_empty() && found.iter().all(|found| found.models.is_empty())) {
        problems.push(format!(
            "no backend that answers lists the model {model}: `toolglot doctor` without --model shows their names"
        ));
    }
    problems
}

/// How this model would be spoken to.
pub(super) async fn look(app: &App, backend: &Arc<Backend>, listed: &Model) -> ModelReport {
    let model = match backend.traits().describes {
        true => Arc::clone(&app.backends.describe(backend, &listed.id).await.model),
        false => Arc::new(listed.clone()),
    };
    let reader = plan::reader(&app.config, &app.library, &listed.id, &model);
    let route = app.config.route(&listed.id).and_then(|route| route.tools);
    let learned = Learned::of(&*app.turns.store, Tenant::default().prefix(), backend, &listed.id, &model).await.on_route(route);
    let mut notes = notes(app, &listed.id, &model, &reader, learned.tools);
    notes.extend(learned.rewrites.iter().map(|rewrite| format!("learned in the last day: {}", rewrite.title())));
    let (proof, proof_means) = reader.adapter.proven();
    ModelReport {
        name: redact::line(&model.id),
        adapter: reader.adapter,
        adapter_why: reader.why,
        proof,
        proof_means,
        tools: learned.tools,
        tools_why: learned.why(route, &model),
        capabilities: model.capabilities.map(words),
        context: model.context,
        tried: None,
        notes: notes.iter().map(|note| redact::line(note)).collect(),
    }
}

fn words(can: Capabilities) -> Vec<&'static str> {
    let all = [(can.tools, "tools"), (can.thinking, "thinking"), (can.vision, "vision")];
    all.into_iter().filter_map(|(has, name)| has.then_some(name)).collect()
}

fn adapter_name<S: Serializer>(adapter: &Arc<Adapter>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&adapter.name)
}

/// Notes about the chat template: the family is known by other ones, or this one cannot carry tools.
fn notes(app: &App, name: &str, model: &Model, reader: &Found, mode: ToolMode) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(template) = model.template.as_deref() else { return notes };
    let by_name = app.library.find(name, None).adapter;
    let read_as = &reader.adapter;
    let missing: Vec<&str> = by_name.signs.templates.iter().map(String::as_str).filter(|text| !template.contains(text)).collect();
    if by_name.name != read_as.name && !missing.is_empty() {
        notes.push(format!(
            "its name is that of `{}`, its chat template that of `{}`: it is read by the template",
            by_name.name, read_as.name
        ));
    } else if !missing.is_empty() {
        notes.push(format!(
            "its chat template differs from every known one of its family: it lacks {}; calls may look different than expected (try it with --try)",
            missing.join(" and ")
        ));
    }
    if mode == ToolMode::Native && !template.to_lowercase().contains("tool") {
        notes.push("its chat template has no place for tools; if it never calls, set `tools = \"prompt\"` on its route".into());
    }
    notes
}
