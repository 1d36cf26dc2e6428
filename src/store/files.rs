//! The store in files: one file per value, which only its user can read. Several processes may use it at the same time (the
//! daemon and the command line), and values outlive them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::{Key, Store, Stored, VALUE_BYTES};
use crate::atomic;

/// A folder of values. A file has a line with its expiry (seconds since 1970), then the value.
#[derive(Debug, Clone)]
pub struct Files {
    folder: PathBuf,
}

impl Files {
    /// A store in this folder, which is created for the first value. Removes expired values.
    pub fn new(folder: impl Into<PathBuf>) -> Files {
        let folder = folder.into();
        atomic::clear(&folder);
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            // Reading removes what has expired; what cannot be read is not ours.
            let _ = read(&entry.path());
        }
        Files { folder }
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name = Sha256::digest(format!("{}\n{:?}\n{}", key.tenant, key.kind, key.id));
        self.folder.join(format!("{name:x}"))
    }

    fn write(&self, key: &Key, value: &[u8], ttl: Duration) -> io::Result<()> {
        let ends = SystemTime::now().checked_add(ttl).and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let ends = ends.map_or(u64::MAX, |at| at.as_secs().saturating_add(1));
        atomic::write(&self.path(key), &[format!("{ends}\n").as_bytes(), value].concat())
    }
}

impl Store for Files {
    fn get<'a>(&'a self, key: &'a Key) -> Stored<'a, Option<Bytes>> {
        let path = self.path(key);
        aside(move || read(&path))
    }

    fn put<'a>(&'a self, key: Key, value: Bytes, ttl: Duration) -> Stored<'a, bool> {
        let files = self.clone();
        aside(move || value.len() <= VALUE_BYTES && files.write(&key, &value, ttl).is_ok())
    }

    fn take<'a>(&'a self, key: &'a Key) -> Stored<'a, Option<Bytes>> {
        let path = self.path(key);
        aside(move || {
            // Whoever succeeds in renaming it has it.
            let taken = path.with_extension(format!("{}.taken", std::process::id()));
            let value = fs::rename(&path, &taken).ok().and_then(|()| read(&taken));
            let _ = fs::remove_file(&taken);
            value
        })
    }
}

/// Runs a closure on a thread that may block. If it panics, there is no value.
fn aside<'a, T: Default + Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Stored<'a, T> {
    let running = tokio::task::spawn_blocking(work);
    Box::pin(async { running.await.unwrap_or_default() })
}

/// The value of a file that has not expired; an expired one is removed.
fn read(path: &Path) -> Option<Bytes> {
    let bytes = Bytes::from(atomic::read_bytes(path).ok()?);
    let end = memchr::memchr(b'\n', &bytes)?;
    let ends: u64 = std::str::from_utf8(bytes.get(..end)?).ok()?.parse().ok()?;
    if ends <= SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs() {
        // Somebody else may have been faster.
        let _ = fs::remove_file(path);
        return None;
    }
    Some(bytes.slice(end + 1..))
}

#[cfg(test)]
mod tests;
