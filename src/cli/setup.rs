//! `toolglot setup CLIENT`: prints the settings for a client, with this proxy's address and a model. With `--write`, it also
//! writes them into the client's files, if the client has files that can be edited safely. The clients are data
//! (`setup/clients.toml`).

use std::{
    io::Write,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    given::Configured,
    output::{listed, print},
    run::{self, Place},
};
use crate::{
    atomic,
    config::{Environment, Listen},
    error::Error,
};
use journal::{Entry, Journal};

pub(super) mod journal;
#[cfg(test)]
mod tests;

/// Shows the settings for a client.
#[derive(Debug, Args)]
pub struct Setup {
    /// claude, codex, qwen, void, continue, zed, cline, roo, opencode, goose, open-webui or copilot
    client: String,
    /// The model to write into the settings [default: the first one of the running proxy]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    #[command(flatten)]
    configured: Configured,
    /// Also write the settings that can be written; a copy of the old file is kept next to it
    #[arg(long)]
    write: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Client {
    title: String,
    steps: String,
    #[serde(default)]
    files: Vec<File>,
}

/// A file under the user's home.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    path: String,
    /// A JSON object whose members are merged into those of the file.
    merge: Option<String>,
    /// The whole file, which is ours alone.
    text: Option<String>,
}

const CLIENTS: &str = include_str!("setup/clients.toml");

impl Setup {
    /// Runs the command. What was done is written to `remarks`.
    ///
    /// # Errors
    /// What was wrong, for `main` to print.
    pub fn run(self, environment: &Environment, out: &mut dyn Write, remarks: &mut dyn Write) -> Result<(), Error> {
        let client: Client = listed(CLIENTS, "client", &self.client)?;
        let config = self.configured.load(environment)?;
        let address = reachable(&config.listen);
        let place = match run::place(&config, address, self.model.as_deref()) {
            Ok(place) => place,
            // Nobody knows the models now, or the one that is named.
            Err(_) => {
                let model = self.model.clone().unwrap_or_else(|| "MODEL".into());
                Place { address, model, context: config.limits.context_tokens }
            }
        };
        // In TOML and JSON a backslash would begin an escape.
        let home_text = environment.home().unwrap_or_default().display().to_string().replace('\\', "/");
        let filled = |text: &str| place.fill(text.trim_start_matches('\n')).replace("{home}", &home_text);
        print(out, &format!("{}\n\n{}\n", client.title, filled(&client.steps)))?;
        if client.files.is_empty() && self.write {
            return Err(Error::client(format!("nothing of {}'s settings can be installed: enter them by hand", client.title)));
        }
        let home = || environment.home().ok_or_else(|| Error::proxy("the home directory is not known: set HOME"));
        for part in &client.files {
            let file = home()?.join(&part.path);
            let before = read(&file)?;
            let own = part.own(&filled)?;
            let after = part.over(before.as_deref().unwrap_or_default(), own.clone(), &filled)?;
            print(out, &format!("\n~/{}:\n\n{after}\n", part.path))?;
            if self.write {
                let installed = install(&file, before.as_deref(), &after)?;
                // Without a reader of standard error there is nobody to tell.
                let _ = writeln!(remarks, "{}", installed.said);
                if installed.changed {
                    let mut journal = Journal::read(environment)?;
                    let backups = installed.backup.into_iter().collect();
                    journal.add(Entry { client: self.client.clone(), file, before, after, merged: own, backups });
                    journal.write(environment)?;
                }
            }
        }
        Ok(())
    }
}

impl File {
    /// The members to merge; `None` if the whole file is toolglot's.
    fn own(&self, filled: &dyn Fn(&str) -> String) -> Result<Option<Value>, Error> {
        let read = |text: &String| serde_json::from_str(&filled(text)).map_err(|error| self.broken(&error.to_string()));
        self.merge.as_ref().map(read).transpose()
    }

    /// The new content of the file. Members of a merged file that are not ours stay, in their order.
    fn over(&self, before: &str, own: Option<Value>, filled: &dyn Fn(&str) -> String) -> Result<String, Error> {
        let Some(own) = own else {
            return Ok(filled(self.text.as_deref().unwrap_or_default()).trim_end().to_owned());
        };
        let mut whole = match before.trim() {
            "" => Value::Object(Map::new()),
            text => serde_json::from_str(text).map_err(|error| self.broken(&format!("is not a JSON object ({error})")))?,
        };
        merge(&mut whole, own).map_err(|what| self.broken(&what))?;
        serde_json::to_string_pretty(&whole).map_err(|error| self.broken(&error.to_string()))
    }

    fn broken(&self, what: &str) -> Error {
        Error::proxy(format!("{}: {what}; mend it by hand first", self.path))
    }
}

/// Puts the members of an object into another one.
fn merge(into: &mut Value, own: Value) -> Result<(), String> {
    match (into, own) {
        (Value::Object(into), Value::Object(own)) => own.into_iter().try_for_each(|(key, value)| match value {
            Value::Object(_) => merge(into.entry(key.clone()).or_insert_with(|| Value::Object(Map::new())), value)
                .map_err(|what| format!("`{key}` {what}")),
            value => {
                into.insert(key, value);
                Ok(())
            }
        }),
        _ => Err("is not a JSON object".into()),
    }
}

/// The address at which a client on this machine reaches the proxy.
pub(super) fn reachable(listen: &Listen) -> SocketAddr {
    let one = listen.addresses.first().copied().filter(|address| !address.ip().is_unspecified());
    one.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, listen.port()).into())
}

/// The file's text; `None` if there is no file.
pub(super) fn read(file: &Path) -> Result<Option<String>, Error> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::proxy(format!("cannot read {}: {error}", file.display()))),
    }
}

/// What became of a file.
pub(super) struct Installed {
    /// In words.
    pub(super) said: String,
    changed: bool,
    /// The copy of what it was.
    backup: Option<PathBuf>,
}

/// Writes the file, and a copy of the old one next to it.
pub(super) fn install(file: &Path, before: Option<&str>, after: &str) -> Result<Installed, Error> {
    let failed = |error: std::io::Error| Error::proxy(format!("cannot write {}: {error}", file.display()));
    if before.is_some_and(|before| before.trim() == after.trim()) {
        return Ok(Installed { said: format!("{} has it already", file.display()), changed: false, backup: None });
    }
    let backup = before.filter(|before| !before.is_empty()).map(|_| free_name(file));
    if let Some(backup) = &backup {
        std::fs::copy(file, backup).map_err(failed)?;
    }
    atomic::write(file, format!("{}\n", after.trim_end()).as_bytes()).map_err(failed)?;
    let kept = backup.as_ref().map(|backup| format!("; what it was is in {}", backup.display())).unwrap_or_default();
    Ok(Installed { said: format!("installed in {}{kept}", file.display()), changed: true, backup })
}

/// A name for the backup that no earlier one has.
fn free_name(file: &Path) -> PathBuf {
    let name = |n: u32| {
        let number = if n == 0 { String::new() } else { format!(".{n}") };
        file.with_file_name(format!("{}.backup{number}", file.file_name().unwrap_or_default().to_string_lossy()))
    };
    (0..).map(name).find(|name| !name.exists()).unwrap_or_else(|| name(0))
}
