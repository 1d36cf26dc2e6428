//! The servers in `mcp.json`. The file is read at the start and whenever it changes on disk. Every edit is written at once
//! and atomically, in the file's own dialect, with its comments and unknown keys.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::address;
use crate::{atomic, config::Environment, error::Error, lock::Hold, redact, watch};

mod document;
mod server;
#[cfg(test)]
mod tests;

use document::Document;
pub(super) use server::{Dialect, Launch, Target};
pub use server::{Permission, Server};

/// The registered servers.
pub struct Registry {
    file: PathBuf,
    environment: Environment,
    current: tokio::sync::watch::Sender<Arc<Snapshot>>,
    /// Locked while the file is read, changed and written; [`atomic::lock`] does the same for other processes.
    writing: Mutex<()>,
}

/// The state of the registry at one moment.
#[derive(Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The usable servers, in the order of the file.
    pub servers: Vec<Arc<Server>>,
    /// Entries that are unusable or disabled.
    pub unusable: Vec<Unusable>,
    /// Names of entries, and what is doubtful about them: a key of toolglot's that is probably misspelt (the entry may be another
    /// client's too, so that it is used), a name that two entries have.
    pub doubts: Vec<(String, String)>,
}

impl Snapshot {
    /// Whether a server has this name, usable or not.
    pub fn has(&self, name: &str) -> bool {
        self.servers.iter().any(|server| server.name == name) || self.unusable.iter().any(|entry| entry.name == name)
    }
}

/// An entry that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// The name in the registry.
    pub name: String,
    /// Address or command line as the file writes it.
    pub address: String,
    /// What is wrong with it; `None` if it is disabled.
    pub error: Option<String>,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// Names that were registered.
    pub taken: Vec<String>,
    /// Names that were skipped: already registered, or invalid.
    pub known: Vec<String>,
    /// Names that were skipped, because they start toolglot's own MCP server.
    pub ours: Vec<String>,
    /// Keys that were not imported, by server.
    pub left_out: Vec<(String, &'static str)>,
}

/// How often to check whether a missing folder exists.
const MISSING: Duration = Duration::from_secs(2);
/// A registry without servers.
const EMPTY: &str = "[]\n";

impl Registry {
    /// Opens the registry. A missing file is an empty one. An unusable entry is not an error.
    ///
    /// # Errors
    /// The file cannot be read or parsed.
    pub fn open(file: impl Into<PathBuf>, environment: Environment) -> Result<Registry, Error> {
        let file = file.into();
        let registry = Registry { file, environment, current: Default::default(), writing: Mutex::new(()) };
        atomic::clear(registry.folder());
        registry.reload()?;
        Ok(registry)
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The folder that names inside the file are relative to.
    pub fn folder(&self) -> &Path {
        self.file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// The environment that variables are expanded with.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The servers now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.borrow())
    }

    /// The server of this name, if it can be used.
    pub fn get(&self, name: &str) -> Option<Arc<Server>> {
        self.current.borrow().servers.iter().find(|server| server.name == name).cloned()
    }

    /// Tells of every change.
    pub fn subscribe(&self) -> tokio::sync::watch::Receiver<Arc<Snapshot>> {
        self.current.subscribe()
    }

    /// Reads the file again. If that fails, nothing changes. Returns the names of the servers that came, went or changed.
    ///
    /// # Errors
    /// `configuration`: the file cannot be read or parsed. A faulty entry is no error; the snapshot lists it with the reason.
    pub fn reload(&self) -> Result<BTreeSet<String>, Error> {
        let document = self.read()?;
        let now = Snapshot::of(&document, &self.environment);
        let before = self.snapshot();
        let differ = before.differ(&now);
        if *before != now {
            self.current.send_replace(Arc::new(now));
        }
        Ok(differ)
    }

    /// Registers a server. `replace`: also in the place of one of the same name.
    ///
    /// # Errors
    /// 400: the name or the entry is not valid. 409: the name is taken. The file cannot be read or written.
    pub fn add(&self, name: &str, entry: &Map<String, Value>, replace: bool) -> Result<(), Error> {
        server::check_name(name).map_err(Error::client)?;
        Server::parse(name, entry, &self.environment).map_err(|error| Error::client(format!("`{name}`: {error}")))?;
        self.edit(|document| match document.entries().iter().find(|(own, _)| own == name && !replace) {
            Some((_, old)) => {
                let old = redact::line(&server::address(old));
                Err(Error::client(format!("there is an MCP server `{name}` already: {old}")).with_status(409))
            }
            None => {
                document.put(name, entry);
                Ok(())
            }
        })
    }

    /// Registers a server by its URL, for callers that may do no more than that: no commands, no variables. A known server gets
    /// the new URL. If its host or port differs, the rest of the old entry is removed, because its headers and parameters are not
    /// for another server.
    ///
    /// # Errors
    /// 400: the name or the URL is not valid, or the URL has a variable. The file cannot be read or written.
    pub fn put_url(&self, name: &str, url: &str) -> Result<(), Error> {
        server::check_name(name).map_err(Error::client)?;
        address::parse(url).map_err(Error::client)?;
        if url.contains("${") {
            return Err(Error::client("variables cannot be used here: write them into the file"));
        }
        self.edit(|document| {
            let entries = document.entries();
            let old = entries.iter().find(|(own, _)| own == name).map(|(_, entry)| entry);
            let old_url = old.and_then(|old| Some((old.get("url")?.as_str()?, old)));
            match old_url {
                Some((before, old)) if address::is_same_origin(before, url) && !old.contains_key("command") => {
                    document.set(name, "url", &json!(url));
                }
                _ => document.put(name, &Map::from_iter([("url".to_owned(), json!(url))])),
            }
            Ok(())
        })
    }

    /// Removes a server.
    ///
    /// # Errors
    /// 404 if there is none of this name.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        self.edit(|document| match document.remove(name) {
            true => Ok(()),
            false => Err(Error::client(format!("there is no MCP server `{name}`")).with_status(404)),
        })
    }

    /// Imports the servers of another client's file, but only how to reach them. What their tools may do is decided in this
    /// registry, so keys that permit or change something are skipped.
    ///
    /// # Errors
    /// 400: the text is not such a file. The registry's own file cannot be read or written.
    pub fn import(&self, text: &str) -> Result<Imported, Error> {
        let other = Document::parse(text).map_err(Error::client)?;
        let mut imported = Imported::default();
        self.edit(|document| {
            let own: Vec<String> = document.entries().into_iter().map(|(name, _)| name).collect();
            for (name, mut entry) in other.entries() {
                if own.contains(&name) || server::check_name(&name).is_err() {
                    imported.known.push(name);
                    continue;
                }
                if server::is_ours(&entry) {
                    imported.ours.push(name);
                    continue;
                }
                imported.left_out.extend(server::take_policies(&mut entry).into_iter().map(|key| (name.clone(), key)));
                document.put(&name, &entry);
                imported.taken.push(name);
            }
            Ok(())
        })?;
        Ok(imported)
    }

    /// Watches the file and reads it again when it changes. Never ends by itself. A missing file is created empty, its folder only
    /// when a server is registered.
    ///
    /// # Errors
    /// The file cannot be watched.
    pub async fn watch(&self) -> Result<(), Error> {
        while !self.folder().is_dir() {
            tokio::time::sleep(MISSING).await;
        }
        if !self.file.exists()
            && let Err(error) = self.create()
        {
            // Nothing is lost yet; registering a server would fail with the same words.
            tracing::warn!(%error, file = %self.file.display(), "the registry cannot be created");
        }
        let watched = watch::watch(std::slice::from_ref(&self.file), || match self.reload() {
            Ok(differ) if differ.is_empty() => {}
            Ok(differ) => tracing::info!(servers = ?differ, "mcp.json has changed"),
            Err(error) => tracing::warn!(%error, "the MCP servers stay as they were"),
        });
        watched.await.map_err(|error| Error::proxy(format!("{} cannot be watched: {error}", self.file.display())))
    }

    fn read(&self) -> Result<Document, Error> {
        let text = match atomic::read(&self.file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => EMPTY.to_owned(),
            read => read.map_err(|error| configuration(format!("cannot read {}: {error}", self.file.display())))?,
        };
        Document::parse(&text).map_err(|error| configuration(format!("{}: {error}", self.file.display())))
    }

    /// Creates the file, unless another process has done so meanwhile.
    fn create(&self) -> std::io::Result<()> {
        let _others = atomic::lock(&self.file)?;
        if self.file.exists() { Ok(()) } else { atomic::write(&self.file, EMPTY.as_bytes()) }
    }

    /// Reads the file, changes it and writes it. If the change fails, nothing is written.
    fn edit(&self, change: impl FnOnce(&Document) -> Result<(), Error>) -> Result<(), Error> {
        let _writing = self.writing.hold();
        let _others = atomic::lock(&self.file).map_err(|error| write_error(&self.file, &error))?;
        let document = self.read()?;
        change(&document)?;
        atomic::write(&self.file, document.to_text().as_bytes()).map_err(|error| write_error(&self.file, &error))?;
        self.reload().map(drop)
    }
}

impl Snapshot {
    fn of(document: &Document, environment: &Environment) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for (name, entry) in document.entries() {
            if snapshot.has(&name) {
                tracing::warn!(server = name, "mcp.json has this name twice; the first one counts");
                let doubt = format!("another entry is named `\"{name}\"`, too; only the first one counts");
                snapshot.doubts.push((name, doubt));
                continue;
            }
            for doubt in server::misspelt(&entry) {
                tracing::warn!(server = name, "mcp.json: {doubt}");
                snapshot.doubts.push((name.clone(), doubt));
            }
            match Server::parse(&name, &entry, environment) {
                Ok(Some(server)) => snapshot.servers.push(Arc::new(server)),
                unusable => {
                    snapshot.unusable.push(Unusable { name, address: server::address(&entry), error: unusable.err() });
                }
            }
        }
        snapshot
    }

    /// The names of the servers that are not the same in both.
    fn differ(&self, now: &Snapshot) -> BTreeSet<String> {
        let without = |these: &Snapshot, those: &Snapshot| -> BTreeSet<String> {
            these.servers.iter().filter(|server| !those.servers.contains(server)).map(|server| server.name.clone()).collect()
        };
        &without(self, now) | &without(now, self)
    }
}

fn configuration(message: String) -> Error {
    Error::proxy(message).with_code("configuration")
}

fn write_error(file: &Path, error: &std::io::Error) -> Error {
    Error::proxy(format!("cannot write {}: {error}", file.display()))
}
