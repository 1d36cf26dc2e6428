//! Records what `setup --write` put into clients' files, so that `purge` can undo it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    atomic,
    config::{Environment, data_directory},
    error::Error,
};

/// Everything that was written, one entry for each file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(in crate::cli) struct Journal {
    pub(in crate::cli) entries: Vec<Entry>,
}

/// What was written into one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::cli) struct Entry {
    /// Whose file it is.
    pub(in crate::cli) client: String,
    pub(in crate::cli) file: PathBuf,
    /// The file without toolglot's part; `None`: it did not exist.
    pub(in crate::cli) before: Option<String>,
    /// The file as toolglot wrote it.
    pub(in crate::cli) after: String,
    /// The members that were merged into it; `None`: the whole file is toolglot's.
    pub(in crate::cli) merged: Option<Value>,
    /// Copies next to it.
    pub(in crate::cli) backups: Vec<PathBuf>,
}

/// What undoing makes of a file.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum Undone {
    /// It gets this text.
    Text(String),
    /// It is removed, because it contained nothing else.
    Removed,
    /// It is left alone: it was changed, and toolglot's part can no longer be identified.
    Foreign,
}

/// Where the journal is.
pub(in crate::cli) fn file(environment: &Environment) -> PathBuf {
    data_directory(environment).join("setup.json")
}

/// Keeps other processes from changing the journal and the files of clients until it is dropped.
pub(in crate::cli) fn lock(environment: &Environment) -> Result<fs::File, Error> {
    let file = file(environment);
    atomic::lock(&file)
        .map_err(|error| Error::proxy(format!("this file was not changed, {} cannot be locked: {error}", file.display())))
}

impl Journal {
    /// The journal, empty if there is none.
    pub(in crate::cli) fn read(environment: &Environment) -> Result<Journal, Error> {
        let file = file(environment);
        let Some(text) = super::read(&file)? else { return Ok(Journal::default()) };
        serde_json::from_str(&text).map_err(|error| Error::proxy(format!("{}: {error}", file.display())))
    }

    /// A file's text without what an earlier entry wrote into it: what is no longer written must not stay.
    pub(super) fn without_ours(&self, file: &Path, text: Option<&str>) -> Option<String> {
        let known = self.entries.iter().find(|known| known.file == file);
        match known.and_then(|known| Some(known.undone(text?))) {
            Some(Undone::Text(text)) => Some(text),
            Some(Undone::Removed) => None,
            Some(Undone::Foreign) | None => text.map(str::to_owned),
        }
    }

    /// Adds what is written into a file, in the place of an earlier entry, whose copies stay known.
    pub(in crate::cli) fn add(&mut self, mut entry: Entry) {
        if let Some(at) = self.entries.iter().position(|known| known.file == entry.file) {
            let known = self.entries.remove(at);
            entry.backups.splice(0..0, known.backups);
        }
        self.entries.push(entry);
    }

    /// Writes the journal.
    pub(in crate::cli) fn write(&self, environment: &Environment) -> Result<(), Error> {
        let file = file(environment);
        let text = super::super::output::json(self)?;
        atomic::write(&file, text.as_bytes()).map_err(|error| Error::proxy(format!("{}: {error}", file.display())))
    }
}

impl Entry {
    /// What taking our part out would do now; `None` if the file is gone.
    pub(in crate::cli) fn undoing(&self) -> Result<Option<Undone>, Error> {
        Ok(super::read(&self.file)?.map(|text| self.undone(&text)))
    }

    fn undone(&self, current: &str) -> Undone {
        let before = || self.before.clone().map_or(Undone::Removed, Undone::Text);
        // The second: it was noted and never written, or is undone already.
        if current.trim() == self.after.trim() || self.before.as_deref() == Some(current) {
            return before();
        }
        let object = |text: &str| super::clients::members(text).ok();
        let (Some(Value::Object(merged)), Some(mut whole)) = (&self.merged, object(current)) else { return Undone::Foreign };
        let old = self.before.as_deref().and_then(object).unwrap_or_default();
        take_out(&mut whole, merged, &old);
        if whole.is_empty() { before() } else { Undone::Text(format!("{:#}\n", Value::Object(whole))) }
    }
}

/// Takes members out of an object that are still as they were put in; they become what they were before.
fn take_out(whole: &mut Map<String, Value>, merged: &Map<String, Value>, old: &Map<String, Value>) {
    for (key, ours) in merged {
        let before = old.get(key);
        let goes = match (whole.get_mut(key), ours) {
            (Some(Value::Object(inner)), Value::Object(ours)) => {
                take_out(inner, ours, before.and_then(Value::as_object).unwrap_or(&Map::new()));
                inner.is_empty() && before.is_none()
            }
            (Some(value), ours) if value == ours => {
                if let Some(before) = before {
                    *value = before.clone();
                }
                before.is_none()
            }
            _ => false,
        };
        if goes {
            whole.shift_remove(key);
        }
    }
}

/// Writes or removes the file.
pub(in crate::cli) fn undo(file: &Path, undone: &Undone) -> std::io::Result<()> {
    match undone {
        Undone::Text(text) => atomic::write(file, text.as_bytes()),
        Undone::Removed => fs::remove_file(file),
        Undone::Foreign => Ok(()),
    }
}
