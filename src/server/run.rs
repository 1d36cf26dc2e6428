//! A running server: it listens, tells the user what it found, and ends on a signal once running answers are done.

use std::{future, sync::Arc, time::Duration};

use axum::serve::ListenerExt;
use futures_util::future::try_join_all;
use tokio::{net::TcpListener, sync::watch};

use super::{
    greeting, listen, router,
    state::{App, Live, Settings, app},
};
use crate::error::Error;

/// How long running answers may go on after the first signal; the second ends them at once.
const GRACE: Duration = Duration::from_secs(10);
/// How often to look again while no backend was found.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Listens and serves until a signal ends it.
pub async fn serve(settings: Settings) -> Result<(), Error> {
    let listening = listen::bind(&settings.config.listen).await?;
    let app = app(settings)?;
    let address = greeting::listening(&app, &listening);
    let live = Live::from(Arc::clone(&app));
    let (stop, stopped) = watch::channel(false);
    let servers = listening.listeners.into_iter().map(|listener| serve_one(listener, live.clone(), stopped.clone()));
    let served = tokio::select! {
        served = try_join_all(servers) => served.map(|_| ()),
        () = look_around(&app, &address) => Ok(()),
        () = end(stop, &app) => Ok(()),
        () = follow_registry(&app) => Ok(()),
    };
    app.mcp.pool().shut_down().await;
    served
}

async fn serve_one(listener: TcpListener, live: Live, mut stopped: watch::Receiver<bool>) -> Result<(), Error> {
    let stop = async move {
        // An error means that the sender is gone, which is the same.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    let listener = listener.tap_io(|socket| {
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "no TCP_NODELAY");
        }
    });
    // Made ready once: a bare router would be built anew for each connection.
    axum::serve(listener, router(live).into_make_service())
        .with_graceful_shutdown(stop)
        .await
        .map_err(|error| Error::proxy(format!("cannot serve: {error}")))
}

/// Keeps the MCP servers as the registry's file says. Never ends.
async fn follow_registry(app: &App) {
    let pool = app.mcp.pool();
    let watching = async {
        if let Err(error) = pool.registry().watch().await {
            tracing::warn!(%error, "changes of the registry count at the next start only");
        }
        future::pending::<()>().await
    };
    tokio::join!(watching, pool.follow());
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
    future::pending().await
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
            future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => _ = signal.recv().await,
            Err(_) => future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = future::pending::<()>();
    tokio::select! {
        () = interrupted => {}
        () = terminated => {}
    }
}
