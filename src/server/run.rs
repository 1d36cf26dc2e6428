//! Runs the server: starts its threads, prints the greeting, and ends on a signal once running answers are done.
//!
//! Each thread has its own runtime and accepts from the same sockets. So a busy thread takes no new connection, and an answer
//! never changes threads.

use std::{
    future, io, net,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use futures_util::future::join_all;
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::mpsc,
    time::{sleep, timeout},
};

use super::{
    connection::{self, Room, Shift},
    ending::Stage,
    greeting, listen, reload, router,
    state::{App, Live, Settings, app},
};
use crate::{error::Error, lock::Hold};

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
/// Shortest time between two waits for events, with many clients. It is nothing beside the time of a token.
const CYCLE: Duration = Duration::from_micros(200);
/// How often to look for backends while none was found.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Default number of threads. A piece of a stream costs the same on two threads as on one with few streams, and a sixth more
/// with 40, because fewer pieces share a wake-up; four threads cost up to a third more (tests/hostile/workers.py).
const WORKERS: usize = 2;

/// Listens and serves until a signal ends it.
///
/// # Errors
/// `address_taken` (exit code 3), `configuration` (2), or any other fault (1).
pub fn serve(settings: Settings) -> Result<(), Error> {
    let room = Room::new(settings.config.limits.connections);
    let runtime = runtime(&room)?;
    let served = runtime.block_on(run(settings, room));
    // What still runs has had its time of grace.
    runtime.shutdown_background();
    served
}

async fn run(settings: Settings, room: Arc<Room>) -> Result<(), Error> {
    // Before the server can be reached.
    let first = signal();
    survive_full_files();
    if SystemTime::now() < UNIX_EPOCH {
        // The HTTP library panics at each connection: no date can be written of such a time.
        return Err(Error::proxy("the clock of this machine is before 1970: set it, and start again").with_code("configuration"));
    }
    let config = &settings.config;
    let workers = config.workers.unwrap_or_else(usual_workers).get();
    let mut listening = listen::bind(&config.listen).await?;
    let app = app(settings)?;
    if let Some(link) = app.turns.store.link() {
        link.opened(STORE).await;
    }
    let address = greeting::listening(&app, &listening);
    let live = Live::from(Arc::clone(&app));
    let sockets = std::mem::take(&mut listening.listeners).into_iter().map(TcpListener::into_std);
    let sockets: Vec<net::TcpListener> = sockets.collect::<io::Result<_>>().map_err(cannot_serve)?;
    let ending = app.process.ending.clone();
    let (done, mut all_done) = mpsc::channel(1);
    let shift = Shift { routes: router(live.clone()), room, ending: ending.clone(), done };
    for _ in 1..workers {
        start_thread(shift.clone(), &sockets)?;
    }
    let own = work(shift, cloned(&sockets)?);
    let mut patience = FAREWELL;
    let ended = tokio::select! {
        ended = own => ended,
        () = look_around(&app, &address) => Ok(()),
        () = follow_registry(&app) => Ok(()),
        () = reload::follow(&live) => Ok(()),
        is_done = end(&live, first, all_done.recv()) => {
            patience = if is_done { FAREWELL } else { HURRY };
            Ok(())
        }
    };
    let flush = async {
        if let Some(spans) = &app.process.spans {
            spans.flush().await;
        }
    };
    let farewell = timeout(patience, async { tokio::join!(app.process.mcp.pool().shut_down(), flush) });
    tokio::select! {
        _ = farewell => {}
        () = signal() => {}
    }
    ending.reach(Stage::Ended);
    ended
}

fn runtime(room: &Arc<Room>) -> Result<Runtime, Error> {
    let (room, waited) = (Arc::clone(room), Mutex::new(Instant::now()));
    let runtime = Builder::new_current_thread().on_thread_park(move || rest(&room, &waited)).enable_all().build();
    runtime.map_err(cannot_serve)
}

/// Called before a thread waits for events, with the time of the last call. With many clients, the thread waits at most every
/// [`CYCLE`], so that more events come together. Network cards limit their interrupts in the same way.
fn rest(room: &Room, waited: &Mutex<Instant>) {
    if room.is_crowded() {
        let mut waited = waited.hold();
        thread::sleep(CYCLE.saturating_sub(waited.elapsed()));
        *waited = Instant::now();
    }
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
    let runtime = runtime(&shift.room)?;
    let thread = thread::Builder::new().name("worker".into()).spawn(move || {
        if let Err(error) = runtime.block_on(work(shift, sockets)) {
            tracing::error!(%error, "a thread has stopped to serve");
        }
        runtime.shutdown_background();
    });
    thread.map(|_| ()).map_err(cannot_serve)
}

/// Serves connections of these sockets until the end.
async fn work(shift: Shift, sockets: Vec<net::TcpListener>) -> Result<(), Error> {
    let ended = shift.ending.reached(Stage::Ended);
    let listeners: Vec<TcpListener> =
        sockets.into_iter().map(TcpListener::from_std).collect::<io::Result<_>>().map_err(cannot_serve)?;
    join_all(listeners.into_iter().map(|listener| connection::serve(listener, shift.clone()))).await;
    drop(shift);
    // Others may use what runs on this thread, such as connections to MCP servers.
    ended.await;
    Ok(())
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

/// Prints what was found, and looks again until something was. Never ends.
async fn look_around(app: &App, address: &str) {
    greeting::found(app, address).await;
    if !app.backends.has_backend() {
        while !app.backends.has_backend() {
            sleep(LOOK_AGAIN).await;
            app.backends.current().await;
        }
        greeting::found(app, address).await;
    }
    future::pending().await
}

/// After the first signal: ends once everything is done, at the time limit, or at the second signal. New requests are refused
/// once a load balancer had time to notice. The address stays open, because a refusal with `retry-after` is better than no
/// answer. Gives whether everything was done; if not, nothing waits any more.
async fn end(live: &Live, first: impl Future<Output = ()>, all_done: impl Future<Output = Option<()>>) -> bool {
    first.await;
    // Caught from here on: whoever reads the line below may send it at once.
    let second = signal();
    let app = live.app();
    let (seconds, announce_seconds) = (app.config.drain_seconds, app.config.drain_announce_seconds);
    let ending = &app.process.ending;
    ending.reach(Stage::Announced);
    tracing::info!("ending; running answers have {seconds} s, a second signal ends them at once");
    ending.dismiss();
    let idle = async {
        sleep(Duration::from_secs(announce_seconds)).await;
        ending.reach(Stage::Refusing);
        // Their clients open them again, elsewhere.
        app.process.mcp.end_sessions();
        while app.process.metrics.under_way() > 0 {
            sleep(LOOK).await;
        }
    };
    tokio::select! {
        () = idle => {}
        () = sleep(Duration::from_secs(announce_seconds.saturating_add(seconds))) => {
            ending.reach(Stage::CutOff);
            sleep(LAST_WORDS).await;
            return false;
        }
        () = second => return false,
    }
    ending.reach(Stage::Closing);
    tokio::select! {
        _ = all_done => {}
        () = sleep(CLOSING) => {}
        () = signal() => {}
    }
    true
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
            use futures_util::{FutureExt, future::select_all};
            let waits = caught.into_iter().flatten().map(|mut signal| async move { signal.recv().await }.boxed());
            select_all(waits.chain([future::pending().boxed()])).await;
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

#[cfg(test)]
mod tests {
    use super::{super::connection::CROWD, *};

    #[test]
    fn only_with_many_clients_events_wait_for_each_other() {
        let (room, waited) = (Room::new(100), Mutex::new(Instant::now()));
        let time_of = |waits: u32| {
            let begun = Instant::now();
            (0..waits).for_each(|_| rest(&room, &waited));
            begun.elapsed()
        };
        let _few: Vec<_> = (1..CROWD).map(|_| room.enter()).collect();
        assert!(time_of(1000) < 1000 * CYCLE);
        let _one_more = room.enter();
        time_of(1);
        assert!(time_of(50) >= 50 * CYCLE);
    }
}
