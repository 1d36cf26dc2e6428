//! Runs the server: starts its threads, prints the greeting, and ends on a signal once running answers are done.
//!
//! Each thread has its own runtime and accepts from the same sockets. So a busy thread takes no new connection, and an answer
//! never changes threads.

use std::{
    future, io, net,
    num::NonZeroUsize,
    sync::Arc,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::Router;
use futures_util::future::join_all;
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::{mpsc, watch},
    time::{sleep, timeout},
};

use super::{
    connection::{self, Room},
    greeting, listen, react, reload, router,
    settings::Settings,
    state::{App, Live, app},
};
use crate::{config::Config, error::Error};

/// How long the error events of the answers that are cut off may take to leave.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How long idle connections may take to end.
const CLOSING: Duration = Duration::from_secs(1);
/// How often a draining server checks whether answers still run.
const LOOK: Duration = Duration::from_millis(50);
/// How long the start waits for the shared store.
const STORE: Duration = Duration::from_secs(1);
/// How long MCP servers may take to end; and where time is up.
const FAREWELL: Duration = Duration::from_secs(5);
const HURRY: Duration = Duration::from_millis(300);
/// How often to look for backends while none was found.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Default number of threads. A piece of a stream costs the same on two threads as on one with few streams, and a sixth more
/// with 40, because fewer pieces share a wake-up; four threads cost up to a third more (tests/hostile/workers.py).
const WORKERS: usize = 2;

/// The stages of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Answers run, and connections are accepted.
    Running,
    /// Nothing runs any more, or time is up: connections are closed, and no new ones are accepted.
    Ending,
    Ended,
}

/// What each thread needs to serve.
#[derive(Clone)]
struct Shift {
    routes: Router,
    room: Arc<Room>,
    stage: watch::Receiver<Stage>,
    /// Closed once every thread is done.
    _done: mpsc::Sender<()>,
}

/// How the server was told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Everything was done.
    Done,
    /// Time was up, or somebody was out of patience: nothing waits any more.
    Now,
}

/// Listens and serves until a signal ends it.
///
/// # Errors
/// `address_taken` (exit code 3), `configuration` (2), or any other fault (1).
pub fn serve(settings: Settings) -> Result<(), Error> {
    let runtime = runtime()?;
    let served = runtime.block_on(run(settings));
    // What still runs has had its time of grace.
    runtime.shutdown_background();
    served
}

async fn run(settings: Settings) -> Result<(), Error> {
    // Before the server can be reached.
    let first = signal();
    survive_full_files();
    if SystemTime::now() < UNIX_EPOCH {
        // The HTTP library panics at each connection: no date can be written of such a time.
        return Err(Error::proxy("the clock of this machine is before 1970: set it, and start again").with_code("configuration"));
    }
    let config = &settings.config;
    let workers = config.workers.unwrap_or_else(usual_workers).get();
    let room = Room::new(config.limits.connections);
    let mut listening = listen::bind(&config.listen).await?;
    let app = app(settings)?;
    react::warn_of_missing(&app);
    if let Some(link) = app.turns.store.link() {
        link.opened(STORE).await;
    }
    let address = greeting::listening(&app, &listening);
    let live = Live::from(Arc::clone(&app));
    let sockets = std::mem::take(&mut listening.listeners).into_iter().map(TcpListener::into_std);
    let sockets: Vec<net::TcpListener> = sockets.collect::<io::Result<_>>().map_err(cannot_serve)?;
    let (to_stage, stage) = watch::channel(Stage::Running);
    let (done, mut all_done) = mpsc::channel(1);
    let shift = Shift { routes: router(live.clone()), room, stage, _done: done };
    for _ in 1..workers {
        start_thread(shift.clone(), &sockets)?;
    }
    let own = shift.serve(cloned(&sockets)?);
    let mut how = End::Done;
    let ended = tokio::select! {
        ended = own => ended,
        () = look_around(&app, &address) => Ok(()),
        () = follow_registry(&app) => Ok(()),
        () = reload::follow(&live) => Ok(()),
        told = end(&to_stage, &live, first, all_done.recv()) => {
            how = told;
            Ok(())
        }
    };
    let patience = if how == End::Now { HURRY } else { FAREWELL };
    let farewell = timeout(patience, async { tokio::join!(app.process.mcp.pool().shut_down(), flush(&app)) });
    tokio::select! {
        _ = farewell => {}
        () = signal() => {}
    }
    let _ = to_stage.send(Stage::Ended);
    ended
}

fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread().enable_all().build().map_err(cannot_serve)
}

fn cannot_serve(error: io::Error) -> Error {
    Error::proxy(format!("cannot serve: {error}"))
}

fn usual_workers() -> NonZeroUsize {
    let processors = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    NonZeroUsize::new(WORKERS).map_or(processors, |most| processors.min(most))
}

fn cloned(sockets: &[net::TcpListener]) -> Result<Vec<net::TcpListener>, Error> {
    sockets.iter().map(net::TcpListener::try_clone).collect::<io::Result<_>>().map_err(cannot_serve)
}

/// A further thread, which ends with the process.
fn start_thread(shift: Shift, sockets: &[net::TcpListener]) -> Result<(), Error> {
    let sockets = cloned(sockets)?;
    let runtime = runtime()?;
    let thread = thread::Builder::new().name("worker".into()).spawn(move || {
        if let Err(error) = runtime.block_on(shift.serve(sockets)) {
            tracing::error!(%error, "a thread has stopped to serve");
        }
        runtime.shutdown_background();
    });
    thread.map(|_| ()).map_err(cannot_serve)
}

impl Shift {
    /// Serves connections of these sockets until the end.
    async fn serve(self, sockets: Vec<net::TcpListener>) -> Result<(), Error> {
        let Shift { routes, room, stage, _done } = self;
        let reaches = |wanted: Stage| {
            let mut stage = stage.clone();
            async move {
                // An error means that the sender is gone: the end has come.
                let _ = stage.wait_for(|stage| *stage == wanted || *stage == Stage::Ended).await;
            }
        };
        let listeners: Vec<TcpListener> =
            sockets.into_iter().map(TcpListener::from_std).collect::<io::Result<_>>().map_err(cannot_serve)?;
        let serving = listeners
            .into_iter()
            .map(|listener| connection::serve(listener, routes.clone(), Arc::clone(&room), reaches(Stage::Ending)));
        tokio::select! {
            _ = join_all(serving) => {}
            () = reaches(Stage::Ended) => return Ok(()),
        }
        drop(_done);
        // Others may use what runs on this thread, such as connections to MCP servers.
        reaches(Stage::Ended).await;
        Ok(())
    }
}

/// Follows the registry's file. Never ends.
async fn follow_registry(app: &App) {
    let pool = app.process.mcp.pool();
    let watching = async {
        if let Err(error) = pool.registry().watch().await {
            tracing::warn!(%error, "changes of the registry count at the next start only");
        }
        future::pending::<()>().await
    };
    tokio::join!(watching, pool.follow());
}

/// Sends the spans that still wait.
async fn flush(app: &App) {
    if let Some(spans) = &app.process.spans {
        Arc::clone(spans).flush().await;
    }
}

/// Prints what was found, and looks again until something was. Never ends.
async fn look_around(app: &App, address: &str) {
    let first = app.backends.current().await;
    greeting::found(app, &first, address).await;
    let mut found = app.backends.has_backend();
    while !found {
        sleep(LOOK_AGAIN).await;
        let now = app.backends.current().await;
        found = app.backends.has_backend();
        if found {
            greeting::found(app, &now, address).await;
        }
    }
    future::pending().await
}

/// After the first signal: ends once everything is done, at the time limit, or at the second signal. New requests are refused
/// once a load balancer had time to notice. The address stays open, because a refusal with `retry-after` is better than no
/// answer.
async fn end(
    stage: &watch::Sender<Stage>,
    live: &Live,
    first: impl Future<Output = ()>,
    all_done: impl Future<Output = Option<()>>,
) -> End {
    first.await;
    // Caught from here on: whoever reads the line below may send it at once.
    let second = signal();
    let app = live.app();
    let Config { drain_seconds: seconds, drain_announce_seconds: announce_seconds, .. } = app.config;
    app.process.draining.announce();
    app.process.page.close();
    tracing::info!("ending; running answers have {seconds} s, a second signal ends them at once");
    if let Some(log) = &app.process.settings.log {
        log.close();
    }
    let idle = async {
        sleep(Duration::from_secs(announce_seconds)).await;
        app.process.draining.refuse();
        // Their clients open them again, elsewhere.
        app.process.mcp.end_sessions();
        while app.process.metrics.under_way() > 0 {
            sleep(LOOK).await;
        }
    };
    tokio::select! {
        () = idle => {}
        () = sleep(Duration::from_secs(announce_seconds.saturating_add(seconds))) => {
            app.process.ending.end();
            sleep(LAST_WORDS).await;
            return End::Now;
        }
        () = second => return End::Now,
    }
    let _ = stage.send(Stage::Ending);
    tokio::select! {
        _ = all_done => {}
        () = sleep(CLOSING) => {}
        () = signal() => {}
    }
    End::Done
}

/// SIGINT or SIGTERM, caught from this call on, even before anything waits for it.
fn signal() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let caught = {
        use tokio::signal::unix::{SignalKind, signal};
        [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok())
    };
    async move {
        #[cfg(unix)]
        {
            let [interrupted, terminated] = caught;
            tokio::select! {
                () = came(interrupted) => {}
                () = came(terminated) => {}
            }
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            future::pending::<()>().await;
        }
    }
}

/// Where a log reaches the limit for the size of a file (`ulimit -f`), it is not written on; without this, the process would end.
fn survive_full_files() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // SIGXFSZ on Linux (except on MIPS), macOS and the BSDs.
        if let Err(error) = signal(SignalKind::from_raw(25)) {
            tracing::warn!(%error, "a log at its limit (`ulimit -f`) will end this process");
        }
    }
}

#[cfg(unix)]
async fn came(signal: Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(mut signal) => _ = signal.recv().await,
        None => future::pending().await,
    }
}
