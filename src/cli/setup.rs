//! `toolglot setup CLIENT`: the name of a client -> what to enter where, with this proxy's address; for Void also into its file.
//! The clients are data (`setup/clients.toml`).

use std::{
    io::Write,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    atomic,
    config::{Config, Environment, Overrides},
    error::Error,
};

#[cfg(test)]
mod tests;

/// Shows the settings for a client.
#[derive(Debug, Args)]
pub struct Setup {
    /// void, continue, zed, cline, roo, opencode, goose, open-webui or copilot
    client: String,
    /// The model to write into the settings
    #[arg(long, value_name = "NAME", default_value = "MODEL")]
    model: String,
    /// The configuration file, for the port [default: proxy.toml in the working directory, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the proxy listens, if not as the configuration says
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Install what can be installed, after showing it; the file as it was is kept beside it
    #[arg(long)]
    write: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clients {
    client: Vec<Client>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Client {
    name: String,
    title: String,
    steps: String,
    file: Option<Part>,
}

/// A part of a JSON file under the user's home.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    path: String,
    /// The object of the file that gets the part.
    under: String,
    key: String,
    value: String,
}

// === impl Setup ===

impl Setup {
    /// Runs the command; `remarks` hears what was done.
    pub fn run(self, environment: &Environment, out: &mut dyn Write, remarks: &mut dyn Write) -> Result<(), Error> {
        let clients = clients()?;
        let Some(client) = clients.iter().find(|client| client.name == self.client) else {
            let names: Vec<&str> = clients.iter().map(|client| client.name.as_str()).collect();
            return Err(Error::client(format!("there is no client `{}`; there are: {}", self.client, names.join(", "))));
        };
        let overrides = Overrides { file: self.config.clone(), listen: self.listen.clone(), ..Overrides::default() };
        let listen = Config::load(&overrides, environment)?.listen;
        let one = listen.addresses.first().copied().filter(|address| !address.ip().is_unspecified());
        let address = one.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, listen.port()).into());
        let filled = |text: &str| fill(text, address, &self.model);
        let written = |error| Error::proxy(format!("standard output: {error}"));
        writeln!(out, "{}\n\n{}", client.title, filled(&client.steps)).map_err(written)?;
        let Some(part) = &client.file else {
            return match self.write {
                true => {
                    Err(Error::client(format!("nothing of {}'s settings can be installed: enter them by hand", client.title)))
                }
                false => Ok(()),
            };
        };
        let home = environment.home().ok_or_else(|| Error::proxy("the home directory is not known: set HOME"))?;
        let file = home.join(&part.path);
        let before = read(&file)?;
        let after = merged(&before, part, &filled(&part.value))?;
        writeln!(out, "\n{after}").and_then(|()| out.flush()).map_err(written)?;
        if self.write {
            let said = install(&file, &before, &after)?;
            // Without a reader of standard error there is nobody to tell.
            let _ = writeln!(remarks, "{said}");
        }
        Ok(())
    }
}

fn clients() -> Result<Vec<Client>, Error> {
    let clients: Clients = toml::from_str(include_str!("setup/clients.toml"))
        .map_err(|error| Error::proxy(format!("the list of clients inside of this program is broken: {error}")))?;
    Ok(clients.client)
}

fn fill(text: &str, address: SocketAddr, model: &str) -> String {
    let root = format!("http://{address}");
    text.trim_start_matches('\n')
        .replace("{v1}", &format!("{root}/v1"))
        .replace("{root}", &root)
        .replace("{port}", &address.port().to_string())
        .replace("{model}", model)
}

/// The file's text; `""` if there is none.
fn read(file: &Path) -> Result<String, Error> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::proxy(format!("cannot read {}: {error}", file.display()))),
    }
}

/// The file with the part in it; everything else stays, in its order.
fn merged(before: &str, part: &Part, value: &str) -> Result<String, Error> {
    let broken = |what: String| Error::proxy(format!("{}: {what}; mend it by hand first", part.path));
    let mut whole: Map<String, Value> = match before.trim() {
        "" => Map::new(),
        text => serde_json::from_str(text).map_err(|error| broken(format!("is not a JSON object ({error})")))?,
    };
    let value: Value = serde_json::from_str(value).map_err(|error| broken(error.to_string()))?;
    let under = whole.entry(&part.under).or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(under) = under else { return Err(broken(format!("`{}` is not an object", part.under))) };
    under.insert(part.key.clone(), value);
    serde_json::to_string_pretty(&whole).map_err(|error| broken(error.to_string()))
}

/// Writes the file, with what it was beside it; says what was done.
fn install(file: &Path, before: &str, after: &str) -> Result<String, Error> {
    let failed = |error: std::io::Error| Error::proxy(format!("cannot write {}: {error}", file.display()));
    if before.trim() == after.trim() {
        return Ok(format!("{} has it already", file.display()));
    }
    let mut said = String::new();
    if !before.is_empty() {
        let backup = free_name(file);
        std::fs::copy(file, &backup).map_err(failed)?;
        said = format!("; what it was is in {}", backup.display());
    }
    atomic::write(file, format!("{after}\n").as_bytes()).map_err(failed)?;
    Ok(format!("installed in {}{said}", file.display()))
}

/// A name for the backup that no earlier one has.
fn free_name(file: &Path) -> PathBuf {
    let name = |n: u32| {
        let number = if n == 0 { String::new() } else { format!(".{n}") };
        file.with_extension(format!("json.backup{number}"))
    };
    (0..).map(name).find(|name| !name.exists()).unwrap_or_else(|| name(0))
}
