//! The backends, configured or discovered on this machine, and the models that each of them has now. Kept for seconds,
//! because clients ask every five.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, OnceLock},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use tokio::time::timeout;

use super::state::Settings;
use crate::{
    adapter::Adapter,
    backend::{self, Backend, Kind, Model, Profile},
    config::{self, Config},
    error::Error,
    lock::Hold,
    redact,
    upstream::Client,
};

/// The backends and their models.
pub(super) struct Backends {
    client: Client,
    /// The backends of the configuration, or else the usual ports of this machine.
    asked: Vec<Place>,
    configured: bool,
    /// The recorded models.
    replay: Arc<Backend>,
    demo: bool,
    known: Mutex<Known>,
    /// Only one lookup runs at a time, and all who wait for it use its result.
    looking: tokio::sync::Mutex<()>,
}

/// A backend to look for.
struct Place {
    backend: Arc<Backend>,
    /// Whether its API is unknown until it answers.
    unknown: bool,
}

#[derive(Default)]
struct Known {
    found: Arc<[Found]>,
    at: Option<Instant>,
    /// By backend and model: until when it holds, and what was told.
    described: HashMap<(String, String), (Instant, Arc<Described>)>,
}

/// A model as its backend describes it.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) model: Arc<Model>,
    /// Chosen for the first request (`State::adapter_of`).
    pub(super) adapter: OnceLock<Arc<Adapter>>,
}

/// A backend and what it offers.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) backend: Arc<Backend>,
    /// Its models; the last known ones while it does not answer.
    pub(super) models: Vec<Model>,
    /// Why it did not answer.
    pub(super) error: Option<String>,
}

/// A list younger than this is used without asking again.
const FRESH: Duration = Duration::from_secs(3);
/// If a list is younger than this, a name that it does not contain is unknown.
const JUST_NOW: Duration = Duration::from_millis(500);
/// How long a backend may take to list its models.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How long a model's description is valid: models are replaced under the same name.
const DESCRIBED: Duration = Duration::from_secs(5 * 60);
/// How long to wait before a backend that did not describe a model is asked again.
const SILENT: Duration = Duration::from_secs(30);
/// Maximum number of descriptions that are kept.
const DESCRIPTIONS: usize = 1000;

impl Backends {
    pub(super) fn new(config: &Config, settings: &Settings, client: Client) -> Backends {
        let configured = !config.backends.is_empty();
        let usual = || {
            [
                Backend::open("ollama", Kind::Ollama, &settings.ollama),
                Backend::open("lm-studio", Kind::OpenAi, "http://127.0.0.1:1234/v1"),
                Backend::open("llama.cpp", Kind::OpenAi, "http://127.0.0.1:8080/v1"),
            ]
        };
        // In the place of one of them, the proxy would find itself.
        let own = config.listen.port();
        let elsewhere = |backend: &Backend| url::Url::parse(&backend.url).is_ok_and(|url| url.port() != Some(own));
        let place = |backend, unknown| Place { backend: Arc::new(backend), unknown };
        let asked: Vec<Place> = if configured {
            config.backends.iter().map(|given| place(Backend::from(given), given.kind.is_none())).collect()
        } else {
            usual().into_iter().filter(elsewhere).map(|backend| place(backend, false)).collect()
        };
        Backends {
            client,
            demo: settings.demo && asked.iter().all(|place| place.backend.kind != Kind::Replay),
            asked,
            configured,
            replay: Arc::new(Backend::from(&config::Backend::replay())),
            known: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
        }
    }

    /// The last known lists, however old.
    pub(super) fn known(&self) -> Arc<[Found]> {
        self.known.hold().found.clone()
    }

    /// The current lists, at most seconds old.
    pub(super) async fn current(&self) -> Arc<[Found]> {
        self.no_older_than(FRESH).await
    }

    /// The backend that has this model. Asks again if no backend is known to have it.
    pub(super) async fn locate(&self, model: &str) -> Result<Arc<Backend>, Error> {
        if let Some(backend) = offering(&self.known(), model) {
            return Ok(backend);
        }
        let found = self.no_older_than(JUST_NOW).await;
        match offering(&found, model) {
            Some(backend) => Ok(backend),
            None => only_one(&found).ok_or_else(|| nobody_has(model, &found)),
        }
    }

    /// The configured backend of this name, as a route gives it.
    pub(super) async fn named(&self, name: &str) -> Option<Arc<Backend>> {
        // Who serves it is known once it has answered; until then it is looked for again, every few seconds.
        let known = self.known();
        let answered = |found: &&Found| found.backend.name == name && found.error.is_none();
        if let Some(found) = known.iter().find(answered) {
            return Some(Arc::clone(&found.backend));
        }
        let found = self.current().await;
        found.iter().map(|found| &found.backend).find(|backend| backend.name == name).cloned()
    }

    /// The description of a model. If the backend does not answer in time, only the name is known.
    pub(super) async fn describe(&self, backend: &Backend, model: &str) -> Arc<Described> {
        let key = (backend.name.clone(), model.to_owned());
        let now = Instant::now();
        let kept = self.known.hold().described.get(&key).filter(|(until, _)| *until > now).map(|(_, model)| model.clone());
        if let Some(kept) = kept {
            return kept;
        }
        // Boxed, as the next look is: this is rare, and the future of every request would hold it.
        let (holds, described) = match timeout(PATIENCE, Box::pin(backend::describe(&self.client, backend, model))).await {
            Ok(Ok(described)) => (DESCRIBED, described),
            failed => {
                tracing::debug!(backend = backend.name, model, ?failed, "no description");
                (SILENT, Model::named(model))
            }
        };
        let described = Arc::new(Described { model: Arc::new(described), adapter: OnceLock::new() });
        let mut known = self.known.hold();
        if known.described.len() >= DESCRIPTIONS {
            known.described.clear();
        }
        known.described.insert(key, (now + holds, described.clone()));
        described
    }

    /// Whether there is anything but recordings.
    pub(super) fn has_backend(&self) -> bool {
        self.configured || self.known().iter().any(|found| found.backend.kind != Kind::Replay)
    }

    /// The usual places of this machine, where they are looked at.
    pub(super) fn places(&self) -> impl Iterator<Item = &Backend> {
        self.asked.iter().filter(|_| !self.configured).map(|place| &*place.backend)
    }

    async fn no_older_than(&self, age: Duration) -> Arc<[Found]> {
        let young = || {
            Some(self.known.hold()).filter(|known| known.at.is_some_and(|at| at.elapsed() < age)).map(|known| known.found.clone())
        };
        if let Some(found) = young() {
            return found;
        }
        let _one_at_a_time = self.looking.lock().await;
        if let Some(found) = young() {
            return found;
        }
        Box::pin(self.look()).await
    }

    async fn look(&self) -> Arc<[Found]> {
        let before = self.known();
        // What was discovered stays; as long as nothing was, all the usual places are asked.
        let discovered = !self.configured && before.iter().any(|found| found.backend.kind != Kind::Replay);
        let known = |place: &Place| before.iter().find(|found| found.backend.name == place.backend.name);
        let asked = self.asked.iter().map(|place| (place, known(place)));
        let asked = asked.filter(|(_, known)| !discovered || known.is_some());
        let looks = asked.map(|(place, known)| async move {
            let backend = &place.backend;
            let answer = match timeout(PATIENCE, self.ask(place, known)).await {
                Ok(Ok((models, backend))) => return Some(Found { backend, models, error: None }),
                Ok(Err(error)) => error.message,
                Err(_) => format!("no list of models within {} s", PATIENCE.as_secs()),
            };
            tracing::debug!(backend = backend.name, answer, "no list of models");
            match known {
                Some(known) => Some(Found { error: Some(answer), ..known.clone() }),
                None => self.configured.then(|| Found { backend: backend.clone(), models: Vec::new(), error: Some(answer) }),
            }
        });
        let mut found: Vec<Found> = join_all(looks).await.into_iter().flatten().collect();
        if self.demo || (!self.configured && found.is_empty()) {
            let models = backend::models(&self.client, &self.replay).await.unwrap_or_default();
            found.push(Found { backend: self.replay.clone(), models, error: None });
        }
        let found: Arc<[Found]> = found.into();
        let mut known = self.known.hold();
        known.found = found.clone();
        known.at = Some(Instant::now());
        found
    }

    /// The models of a backend, and at the first time what it is and who serves it.
    async fn ask(&self, place: &Place, known: Option<&Found>) -> Result<(Vec<Model>, Arc<Backend>), Error> {
        let backend = &place.backend;
        if let Some(known) = known.filter(|known| known.error.is_none()) {
            return Ok((backend::models(&self.client, &known.backend).await?, known.backend.clone()));
        }
        if place.unknown {
            let Some(found) = backend::detect(&self.client, backend).await else {
                let url = &backend.url;
                let what = format!("nothing that is known answers at {url}; if something runs there, give its `kind`");
                return Err(Error::backend(what));
            };
            return Ok((backend::models(&self.client, &found).await?, Arc::new(found)));
        }
        let backend = match backend.below_v1() {
            // llama.cpp has a list here too, but its other paths without `/v1` are of another API.
            Some(below) if backend::models(&self.client, &below).await.is_ok() => Arc::new(below),
            _ => backend.clone(),
        };
        let models = backend::models(&self.client, &backend).await?;
        if backend.kind != Kind::OpenAi || backend.profile != Profile::Generic {
            return Ok((models, backend));
        }
        let profile = backend::profile(&self.client, &backend).await?;
        Ok((models, Arc::new(Backend { profile, ..Backend::clone(&backend) })))
    }
}

fn offering(found: &[Found], model: &str) -> Option<Arc<Backend>> {
    found.iter().find(|found| found.models.iter().any(|listed| is(listed, model))).map(|found| found.backend.clone())
}

/// Whether this is the model of that name: Ollama lists `name:latest` and takes `name`.
pub(super) fn is(listed: &Model, name: &str) -> bool {
    listed.id == name || listed.id.strip_suffix(":latest") == Some(name)
}

/// If there is a single backend, it gets every name: it may have models that it does not list, and its own error is the best.
fn only_one(found: &[Found]) -> Option<Arc<Backend>> {
    let mut real = found.iter().filter(|found| found.backend.kind != Kind::Replay);
    match (real.next(), real.next()) {
        (Some(one), None) => Some(one.backend.clone()),
        _ => None,
    }
}

fn nobody_has(model: &str, found: &[Found]) -> Error {
    let silent: Vec<String> =
        found.iter().filter_map(|found| found.error.as_ref().map(|error| format!("{}: {error}", found.backend.name))).collect();
    if !silent.is_empty() {
        let silent = silent.join("; ");
        return Error::backend(format!("no backend that answers has the model `{model}`; silent: {silent}")).with_status(503);
    }
    let mut seen = HashSet::new();
    let ids = found.iter().flat_map(|found| &found.models).map(|model| &model.id).filter(|id| seen.insert(*id));
    let models: Vec<String> = ids.take(20).map(|id| redact::line(id)).collect();
    let instead = if models.is_empty() {
        "there is no backend either: start Ollama, or name one with --backend".to_owned()
    } else {
        format!("there are: {}", models.join(", "))
    };
    Error::client(format!("there is no model `{model}`; {instead}")).with_status(404).with_code("model_not_found")
}
