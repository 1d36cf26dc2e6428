//! Watches files and folders for changes on disk.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use notify::{RecursiveMode, Watcher};

/// How long there must be no further change before one is reported: editors write in several steps.
const REST: Duration = Duration::from_millis(100);

/// Calls `changed` whenever one of these files, or a file directly in one of these folders, was changed, created or removed.
/// Paths whose folder does not exist are ignored. `changed` runs in this future, at most every 100 ms. Never ends by itself.
///
/// # Errors
/// The system cannot watch a folder.
pub async fn watch(places: &[PathBuf], mut changed: impl FnMut()) -> Result<(), notify::Error> {
    let (tell, mut told) = tokio::sync::watch::channel(());
    let wanted = places.to_vec();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let ours = |path: &PathBuf| wanted.iter().any(|place| is_at(place, path));
        // Reading a file is an event, too.
        let changes = |event: notify::Event| !event.kind.is_access() && event.paths.iter().any(ours);
        if event.map_or(true, changes) {
            tell.send_replace(());
        }
    })?;
    for place in places {
        // The folder is watched, not the file: editors put a new file in its place.
        let folder = if place.is_dir() { place } else { folder(place) };
        if folder.is_dir() {
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
        }
    }
    while told.changed().await.is_ok() {
        tokio::time::sleep(REST).await;
        told.mark_unchanged();
        changed();
    }
    Ok(())
}

fn folder(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether a path is this place, or directly in it. Systems report paths in full, however a place was written.
fn is_at(place: &Path, path: &Path) -> bool {
    let name = place.file_name();
    path.file_name() == name || path.parent().and_then(Path::file_name) == name
}
