//! What all requests share. It is built once from the settings at the start, and replaced as a whole when they change.

use std::{path::PathBuf, sync::Arc};

use arc_swap::ArcSwap;
use axum::extract::FromRef;
use tokio::sync::Semaphore;

use super::{
    apart::Apart,
    backends::{Backends, Described},
    ending::Ending,
    log::Lines,
    metrics::Metrics,
    otel::Spans,
    page::{bypass::Bypass, turns::Turns},
    received::Target,
    recording,
    unknown::Missed,
};
use crate::{
    adapter::{Adapter, Library},
    backend::Backend,
    client::profile,
    config::{Config, Environment, Listen, Overlay, Tenant, nearest},
    error::Error,
    mcp::{self, engine::Engine, registry::Registry},
    plan,
    store::{self, Common, Files, Memory},
    turn, upstream,
};

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The validated configuration.
    pub config: Config,
    /// Whether to offer the recorded models even if there are backends.
    pub demo: bool,
    /// Where to look for Ollama if no backend is configured.
    pub ollama: String,
    /// The directory into which every chat is recorded.
    pub record: Option<PathBuf>,
    /// The lines of the log, if they can be followed.
    pub log: Option<Arc<Lines>>,
    /// What to enter in each client that talks to this address, by the client's name, for the page; `{origin}` stands for the page's
    /// own address.
    pub setup: fn(&Listen) -> Vec<(String, String)>,
    /// The environment in which the registry of MCP servers expands variables.
    pub environment: Environment,
}

impl Settings {
    /// A server of this configuration: no demo, no recording.
    pub fn of(config: Config, environment: &Environment) -> Settings {
        let ollama = environment.ollama_url();
        let environment = environment.clone();
        Settings { config, demo: false, ollama, record: None, log: None, setup: |_| Vec::new(), environment }
    }
}

/// The state that all requests share. A request uses one state from its start to its end.
pub struct State {
    pub(super) config: Config,
    pub(super) backends: Backends,
    pub(super) library: Library,
    pub(super) turns: turn::Shared,
    pub(super) process: Arc<Process>,
}

/// The part of the state that no reload replaces.
pub(super) struct Process {
    /// With the configuration at the start.
    pub(super) settings: Settings,
    /// Its name in `Via`, which tells that a request has come back. A new one per start.
    pub(super) instance: String,
    pub(super) apart: Arc<Apart>,
    pub(super) mcp: Engine,
    pub(super) metrics: Arc<Metrics>,
    /// `None`: no collector is configured.
    pub(super) spans: Option<Spans>,
    pub(super) missed: Missed,
    pub(super) page: Arc<Turns>,
    pub(super) bypass: Bypass,
    pub(super) ending: Ending,
}

/// The state, as routes get it.
pub type App = Arc<State>;

/// The state for new requests. Replacing it does not affect running ones.
#[derive(Clone)]
pub struct Live(Arc<ArcSwap<State>>);

impl Live {
    /// The current state.
    pub fn app(&self) -> App {
        self.0.load_full()
    }

    /// Replaces the state for new requests.
    pub fn replace(&self, app: App) {
        self.0.store(app);
    }
}

impl From<App> for Live {
    fn from(app: App) -> Live {
        Live(Arc::new(ArcSwap::new(app)))
    }
}

impl FromRef<Live> for App {
    fn from_ref(live: &Live) -> App {
        live.app()
    }
}

impl State {
    /// The same server with another configuration. Learned facts stay; backends are looked up again.
    pub(super) fn renewed(&self, config: Config) -> Result<State, Error> {
        State::new(config, Arc::clone(&self.process), self.turns.clone())
    }

    fn new(config: Config, process: Arc<Process>, turns: turn::Shared) -> Result<State, Error> {
        let backends = Backends::new(&config, &process.settings, turns.client.clone());
        Ok(State { backends, library: library(&config)?, turns, process, config })
    }

    /// The servers whose tools are run.
    pub fn registry(&self) -> &Registry {
        self.process.mcp.pool().registry()
    }

    /// The adapter of a model: chosen once for each description, because configuration and library never change in a state.
    pub(super) fn adapter_of(&self, described: &Described) -> Arc<Adapter> {
        let Described { model, adapter } = described;
        Arc::clone(adapter.get_or_init(|| plan::reader(&self.config, &self.library, &model.id, model).adapter))
    }

    /// The model with the name that a client used, and its backend. Models that the tenant may not use do not exist for it.
    pub(super) async fn target(&self, tenant: &Tenant, called: String) -> Result<Target, Error> {
        let model = self.config.own_name(&called);
        let found = if tenant.may_use(&model, &called) {
            self.backend_of(&model).await
        } else {
            Err(Error::client("").with_status(404).with_code("model_not_found"))
        };
        match (found, &tenant.models) {
            (Ok(backend), _) => Ok(Target { called, model, backend }),
            // Why it is not there may name models of others.
            (Err(error), Some(own)) => {
                let what = match error.status {
                    404 => format!("there is no model `{called}` for your key, which is for: {}", own.join(", ")),
                    _ => format!("no backend that has the model `{called}` answers"),
                };
                Err(Error { message: what, ..error })
            }
            (Err(error), None) => Err(error),
        }
    }

    /// The backend that serves this model (by its own name): that of its route, else the one that has it.
    async fn backend_of(&self, model: &str) -> Result<Arc<Backend>, Error> {
        let Some(name) = self.config.route(model).and_then(|route| route.backend.as_deref()) else {
            return self.backends.locate(model).await;
        };
        self.backends.named(name).await.ok_or_else(|| Error::proxy(format!("the backend `{name}` is not there")))
    }
}

/// The shared state of a server with these settings. Connects to no backend and no MCP server.
///
/// # Errors
/// The adapters, the registry, the store or the folder for recordings cannot be used (`configuration`), or threads cannot be
/// started.
pub fn app(settings: Settings) -> Result<App, Error> {
    let mut mcp = settings.config.mcp.clone();
    mcp.builtin_tools |= settings.demo;
    let files = Arc::new(Files::new(&mcp.state));
    let pool = mcp::open(&mcp, &settings.environment, files.clone())?;
    let store: Arc<dyn Common> = match &settings.config.store {
        Some(shared) => store::open(&shared.place()?)?,
        None => Arc::new(Memory::default()),
    };
    settings.record.as_deref().map_or(Ok(()), recording::prepare)?;
    let process = Arc::new(Process {
        mcp: Engine::sharing(Arc::clone(&pool), mcp.serving, Some(Arc::clone(&store))),
        instance: format!("toolglot-{}", uuid::Uuid::new_v4().simple()),
        apart: Apart::new()?,
        metrics: Arc::default(),
        spans: Spans::of(&settings.environment),
        missed: Missed::default(),
        page: Arc::default(),
        bypass: Bypass::default(),
        ending: Ending::default(),
        settings,
    });
    let turns = turn::Shared {
        client: upstream::Client::new(upstream::Timeouts::default()),
        store,
        spool: files,
        schemas: Arc::default(),
        tally: Arc::default(),
        asked_again: Arc::default(),
        without_client: Arc::new(Semaphore::new(turn::WITHOUT_CLIENT)),
        pool,
    };
    State::new(process.settings.config.clone(), process, turns).map(Arc::new)
}

/// The adapters of a configuration.
///
/// # Errors
/// The configuration names an adapter or a client profile that does not exist.
pub fn library(config: &Config) -> Result<Library, Error> {
    let wrong = |message: String| Error::proxy(message).with_code("configuration");
    let library = match &config.adapters {
        Overlay::Usual(directory) if !directory.is_dir() => Library::embedded(),
        Overlay::Usual(directory) | Overlay::Named(directory) => Library::with_overlay(directory),
    };
    let library = library.map_err(|error| error.with_code("configuration"))?;
    if let Some(name) = config.profile.as_deref().filter(|name| profile::by_name(name).is_none()) {
        let known: Vec<&str> = profile::names().collect();
        return Err(wrong(format!("`profile` names the client `{name}`; there are: {}", known.join(", "))));
    }
    for route in &config.routes {
        if let Some(name) = route.adapter.as_deref().filter(|name| library.get(name).is_none()) {
            let known: Vec<&str> = library.iter().map(|adapter| adapter.name.as_str()).collect();
            let near = nearest(name, &known).map(|near| format!(", such as `{near}`")).unwrap_or_default();
            let model = &route.model;
            return Err(wrong(format!("the route for `{model}` names adapter `{name}`; `toolglot adapters` lists all{near}")));
        }
    }
    Ok(library)
}
