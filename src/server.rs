//! Sockets -> requests -> answers: the routes, the checks before them, and a shutdown that lets running answers end.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    Extension, Router,
    middleware::from_fn_with_state,
    response::Response,
    routing::{get, post},
};
use futures_util::future::try_join_all;
use http::{Method, Uri};
use serde_json::json;
use tokio::{net::TcpListener, sync::watch};
use tower_http::catch_panic::CatchPanicLayer;

use crate::{
    adapter::Library,
    backend::Backend,
    client::{front::Kind, profile},
    config::{Config, Environment, Mode, Overlay},
    error::Error,
    mcp::{
        self,
        engine::{Engine, Options},
        registry::Registry,
    },
    store::{Files, Memory},
    turn, upstream,
};

mod catalog;
mod chat;
mod forward;
mod generate;
mod greeting;
mod guard;
mod listen;
mod models;
mod ollama;
mod react;
mod record;
mod reply;
pub mod survey;

/// How a server is started.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The validated configuration.
    pub config: Config,
    /// Offer the recorded models even if there are backends.
    pub demo: bool,
    /// Where to look for Ollama if no backend is configured.
    pub ollama: String,
    /// The directory into which every chat is recorded.
    pub record: Option<PathBuf>,
    /// What the registry of MCP servers expands variables with.
    pub environment: Environment,
}

/// What all requests share.
pub struct State {
    config: Config,
    instance: guard::Instance,
    catalog: catalog::Catalog,
    library: Library,
    turns: turn::Shared,
    recorder: Option<record::Recorder>,
    mcp: Engine,
    seen: Seen,
}

/// How often clients have asked, for whoever wonders why nothing happens.
#[derive(Debug, Default)]
struct Seen {
    /// For the list of models.
    lists: AtomicU64,
    /// For an answer.
    chats: AtomicU64,
}

/// What all requests share, as handlers get it.
pub type App = Arc<State>;

impl State {
    /// The servers whose tools are run.
    pub fn registry(&self) -> &Registry {
        self.mcp.pool().registry()
    }
}

/// What a path prefix decides for the requests under it.
#[derive(Debug, Clone, Copy, Default)]
struct Prefix {
    mode: Option<Mode>,
    /// The name of a client's profile.
    profile: Option<&'static str>,
}

/// How long running answers may go on after the first signal; the second ends them at once.
const GRACE: Duration = Duration::from_secs(10);
/// How often to look again while no backend was found.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Listens and serves until a signal ends it.
pub async fn serve(settings: Settings) -> Result<(), Error> {
    let listening = listen::bind(&settings.config.listen).await?;
    let app = app(settings)?;
    let address = greeting::listening(&app, &listening);
    let (stop, stopped) = watch::channel(false);
    let servers = listening.listeners.into_iter().map(|listener| serve_one(listener, app.clone(), stopped.clone()));
    let served = tokio::select! {
        served = try_join_all(servers) => served.map(|_| ()),
        () = look_around(&app, &address) => Ok(()),
        () = end(stop, &app) => Ok(()),
        () = follow_registry(&app) => Ok(()),
    };
    app.mcp.pool().shut_down().await;
    served
}

/// Keeps the MCP servers as the registry's file says. Never ends.
async fn follow_registry(app: &App) {
    let pool = app.mcp.pool();
    let watching = async {
        if let Err(error) = pool.registry().watch().await {
            tracing::warn!(%error, "changes of the registry count at the next start only");
        }
        std::future::pending::<()>().await
    };
    tokio::join!(watching, pool.follow());
}

/// The adapters of a configuration; the names that it uses of adapters and clients must exist.
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
            let known = known.join(", ");
            return Err(wrong(format!("the route for `{}` names the adapter `{name}`; there are: {known}", route.model)));
        }
    }
    Ok(library)
}

/// The shared state of a server with these settings.
pub fn app(settings: Settings) -> Result<App, Error> {
    let client = upstream::Client::new(upstream::Timeouts::default())?;
    let library = library(&settings.config)?;
    let mut mcp = settings.config.mcp.clone();
    mcp.builtin_tools |= settings.demo;
    let files = Arc::new(Files::new(&mcp.state));
    let pool = mcp::open(&mcp, &settings.environment, files.clone())?;
    Ok(Arc::new(State {
        mcp: Engine::new(Arc::clone(&pool), Options::from(&mcp)),
        instance: guard::Instance::new(),
        catalog: catalog::Catalog::new(&settings, client.clone()),
        library,
        turns: turn::Shared {
            client,
            store: Arc::new(Memory::default()),
            spool: files,
            schemas: Arc::default(),
            tally: Arc::default(),
            asked_again: Arc::default(),
            pool,
        },
        recorder: settings.record.map(record::Recorder::new).transpose()?,
        seen: Seen::default(),
        config: settings.config,
    }))
}

/// All routes.
pub fn router(app: App) -> Router {
    let under = |prefix: Prefix| {
        let routes = Router::new()
            .route("/chat/completions", post(chat::completions))
            .route("/completions", post(forward::completions))
            .route("/embeddings", post(forward::embeddings))
            .route("/models", get(models::list))
            .route("/models/{*id}", get(models::one));
        let ollama = Router::new()
            .route("/chat", post(chat::ollama))
            .route("/generate", post(ollama::generate))
            .route("/embed", post(forward::embed))
            .route("/embeddings", post(forward::old_embeddings))
            .route("/tags", get(ollama::tags))
            .route("/show", post(ollama::show))
            .route("/version", get(ollama::version));
        let root = Router::new().route("/", get(greeting::root));
        root.merge(routes.clone()).nest("/v1", routes).nest("/api", ollama).layer(Extension(prefix))
    };
    Router::new()
        .merge(under(Prefix::default()))
        .nest("/off", under(Prefix { mode: Some(Mode::Off), ..Prefix::default() }))
        .nest("/shell", under(Prefix { mode: Some(Mode::Shell), ..Prefix::default() }))
        .nest("/react", under(Prefix { mode: Some(Mode::React), ..Prefix::default() }))
        .nest("/void", under(Prefix { profile: Some("void"), ..Prefix::default() }))
        .merge(app.mcp.routes())
        .route("/generate", post(generate::plain))
        .route("/generate_with_mcp", post(generate::with_mcp))
        .route("/healthz", get(health))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(CatchPanicLayer::custom(|_| reply::error(Kind::OpenAi, &Error::proxy("toolglot failed inside; this is a bug"))))
        .layer(from_fn_with_state(app.clone(), guard::guard))
        .with_state(app)
}

async fn serve_one(listener: TcpListener, app: App, mut stopped: watch::Receiver<bool>) -> Result<(), Error> {
    let stop = async move {
        // An error means that the sender is gone, which is the same.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    let listener = axum::serve::ListenerExt::tap_io(listener, |socket| {
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "no TCP_NODELAY");
        }
    });
    // Made ready once: a bare router would be built anew for each connection.
    axum::serve(listener, router(app).into_make_service())
        .with_graceful_shutdown(stop)
        .await
        .map_err(|error| Error::proxy(format!("cannot serve: {error}")))
}

/// Says what was found; looks again until something was. Never ends.
async fn look_around(app: &App, address: &str) {
    let first = app.catalog.current().await;
    greeting::found(app, &first, address);
    let mut found = app.catalog.has_backend();
    while !found {
        tokio::time::sleep(LOOK_AGAIN).await;
        let now = app.catalog.current().await;
        found = app.catalog.has_backend();
        if found {
            greeting::found(app, &now, address);
        }
    }
    std::future::pending().await
}

/// The backend that serves this model: the one of its route, else the one that has it.
async fn backend_of(app: &App, model: &str) -> Result<Arc<Backend>, Error> {
    let Some(name) = app.config.route(model).and_then(|route| route.backend.as_deref()) else {
        return app.catalog.locate(model).await;
    };
    app.catalog.named(name).await.ok_or_else(|| Error::proxy(format!("the backend `{name}` is not there")))
}

/// Ends some time after the first signal, or at the second.
async fn end(stop: watch::Sender<bool>, app: &App) {
    signal().await;
    app.mcp.end_sessions();
    tracing::info!("ending; running answers have {} s, a second signal ends them at once", GRACE.as_secs());
    let _ = stop.send(true);
    tokio::select! {
        () = tokio::time::sleep(GRACE) => {}
        () = signal() => {}
    }
}

/// SIGINT or SIGTERM.
async fn signal() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => _ = signal.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        () = interrupted => {}
        () = terminated => {}
    }
}

async fn health(axum::extract::State(app): axum::extract::State<App>) -> Response {
    let found = app.catalog.known();
    reply::json(&json!({
        "status": "ok",
        "toolglot": env!("CARGO_PKG_VERSION"),
        "requests": {"models": app.seen.lists.load(Ordering::Relaxed), "chats": app.seen.chats.load(Ordering::Relaxed)},
        "calls": app.turns.tally.verdicts().collect::<BTreeMap<_, _>>(),
        "repairs": app.turns.tally.rules().collect::<BTreeMap<_, _>>(),
        "asked_again": app.turns.asked_again.load(Ordering::Relaxed),
        "backends": found.iter().map(|found| json!({"name": found.backend.name, "models": found.models.len(), "error": found.error})).collect::<Vec<_>>(),
    }))
}

async fn unknown(method: Method, uri: Uri) -> Response {
    let missing = format!("there is no {method} {}; see /v1/chat/completions and /v1/models", uri.path());
    reply::error_at(uri.path(), &Error::client(missing).with_status(404))
}

async fn wrong_method(method: Method, uri: Uri) -> Response {
    reply::error_at(uri.path(), &Error::client(format!("{} does not take {method}", uri.path())).with_status(405))
}
