//! Rereads `proxy.toml` and the adapters when they change on disk or at SIGHUP. A faulty file changes nothing. [`reload`] names
//! the keys that take effect only at the next start.

use std::{cell::RefCell, future, path::PathBuf, sync::Arc};

use super::state::{Live, State};
use crate::{config::Overlay, error::Error, watch::watch};

/// Reloads whenever the files change. Never ends.
pub(super) async fn follow(live: &Live) {
    let app = live.app();
    let mut places: Vec<PathBuf> = app.config.file.clone().into_iter().collect();
    let (Overlay::Named(adapters) | Overlay::Usual(adapters)) = &app.config.adapters;
    if adapters.is_dir() {
        places.push(adapters.clone());
    }
    drop(app);
    // Editors write more than once, and scripts send more than one signal: the same fault is said once.
    let said = RefCell::new(None);
    let again = || {
        let error = reload(live).err().map(|error| error.message);
        if let Some(error) = error.as_ref().filter(|error| said.borrow().as_ref() != Some(*error)) {
            tracing::error!("{error}; the configuration stays as it was");
        }
        said.replace(error);
    };
    let watching = async {
        if let Err(error) = watch(&places, again).await {
            tracing::warn!(%error, "changes of the configuration count at the next start, or after SIGHUP");
        }
        future::pending::<()>().await
    };
    tokio::join!(watching, hang_ups(again));
}

/// Reads everything again.
///
/// # Errors
/// What is wrong, with file and line. Nothing has changed then.
pub(super) fn reload(live: &Live) -> Result<(), Error> {
    let now = live.app();
    let mut config = now.config.again(&now.process.settings.environment)?;
    let before = &now.config;
    for (key, differs) in [
        ("listen", config.listen != before.listen),
        ("mcp", config.mcp != before.mcp),
        ("store", config.store != before.store),
        ("log_format", config.log_format != before.log_format),
        ("workers", config.workers != before.workers),
        ("limits.connections", config.limits.connections != before.limits.connections),
    ] {
        if differs {
            tracing::warn!("the change of `{key}` counts at the next start");
        }
    }
    config.listen = before.listen.clone();
    config.mcp = before.mcp.clone();
    config.store.clone_from(&before.store);
    config.check_exposure()?;
    let has_other_keys = config.access.keys != before.access.keys;
    live.replace(Arc::new(State::renewed(&now, config)?));
    if has_other_keys {
        // Whoever still has a key opens them again.
        now.process.ending.dismiss();
    }
    tracing::info!("the configuration has been read again");
    Ok(())
}

/// Reloads at SIGHUP. Never ends.
async fn hang_ups(again: impl Fn()) {
    #[cfg(unix)]
    if let Ok(mut signals) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()) {
        while signals.recv().await.is_some() {
            again();
        }
    }
    #[cfg(not(unix))]
    let _ = again;
    future::pending().await
}
