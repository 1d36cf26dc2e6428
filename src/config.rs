//! One validated [`Config`] from `proxy.toml`, the command line and the environment. Every key is optional. An unknown or
//! contradictory key is an error that names the line and, if one is near, the key that was meant. Only this module reads the
//! environment.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::{atomic, error::Error, event::ARGUMENT_BYTES};
use locate::Located;
use secret::Source;

mod access;
mod backend;
mod checks;
mod environment;
mod expand;
mod listen;
mod locate;
mod mcp;
mod raw;
mod react;
mod route;
mod secret;
mod shell;
mod store;
#[cfg(test)]
mod tests;

pub use access::{Access, ClientKey, Tenant, in_both};
pub use backend::{Backend, Kind};
pub use environment::{Environment, System, data_directory};
pub use expand::expand;
pub use listen::{DEFAULT_PORT, Listen};
pub use locate::{user_directory, user_file};
pub use mcp::{Mcp, McpServing, RegistryHttp, state_directory};
pub use raw::{Options, quoting_line};
pub use react::{Lowered, Progress, RESULT_BYTES_AT_LEAST, React};
pub use route::matches;
pub use route::{Alias, Route, ToolMode};
pub use secret::{Secret, bearer};
pub use shell::{ShellForm, ShellVia};
pub use store::SharedStore;
pub use toolglot_core::toml_error::{explained, nearest};

/// The validated configuration. `proxy.toml` describes each key for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The file that it was read from, if any.
    pub file: Option<PathBuf>,
    /// Whether that was found in the working directory, and nobody named it.
    pub here: bool,
    /// A `proxy.toml` in the working directory that is not used: it belongs to another program, or the command does not look there.
    pub passed_over: Option<PathBuf>,
    /// The options of the command line, for when the file is read again.
    pub overrides: Overrides,
    /// What the file says, of which the fields below are what it comes to.
    pub options: Options,
    /// Where to listen: one port, one address or both loopback addresses.
    pub listen: Listen,
    /// The file that such a command has to name: `toolglot call` finds only the user's own file in every folder.
    pub shell_config: Option<PathBuf>,
    /// Whether `toolglot` is in the user's `PATH`, where the commands of mode `shell` look for it.
    pub runner_found: bool,
    /// Directory of adapter files that replace embedded ones of the same name.
    pub adapters: Overlay,
    /// How often the model is asked again after a refused call, before the client learns of it (0 to 3).
    pub retry: u8,
    /// Whether clients are told from time to time that a call is being written.
    pub progress: bool,
    /// The backends. Empty: toolglot looks for them on this machine.
    pub backends: Vec<Backend>,
    /// MCP servers, built-in tools, and toolglot's own MCP server.
    pub mcp: Mcp,
    /// Who may use the server.
    pub access: Access,
    /// The store that several instances share; `None`: state in memory.
    pub store: Option<SharedStore>,
    /// How many seconds running answers may continue after the first signal, once new requests are refused.
    pub drain_seconds: u64,
    /// Accepted names in the `Host` header, without port, in addition to loopback and the listening address.
    pub allowed_hosts: Vec<String>,
    /// Accepted origins of pages, in addition to loopback (`https://chat.example`, `chrome-extension://id`).
    pub allowed_origins: Vec<String>,
}

/// What happens to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Request and answer pass as bytes, untouched.
    Off,
    /// Calls are found, repaired and delivered in the client's form.
    #[default]
    Rewrite,
    /// As `Rewrite`; calls of the registry's tools are delivered as shell commands.
    Shell,
    /// As `Rewrite`; toolglot runs calls of the registry's tools, and the model continues with the results.
    React,
}

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// A directory of adapter files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlay {
    /// Named in the configuration: it must exist.
    Named(PathBuf),
    /// The usual place: used if it exists.
    Usual(PathBuf),
}

/// The turns whose content the page keeps in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exchanges {
    /// The latest ones, within bounds.
    #[default]
    Memory,
    /// None: times, counts and verdicts alone.
    Off,
}

/// Limits of sizes, in bytes unless noted otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// A candidate whose name is still unknown becomes text beyond this size, in bytes.
    pub held_bytes: usize,
    /// The largest arguments of a call, in bytes. A larger call is refused; in text, the rest of the answer is
    /// discarded. More than 8 MiB (`event::ARGUMENT_BYTES`) has no effect: the fixer refuses such a call.
    pub argument_bytes: usize,
    /// The largest request body, in bytes.
    pub body_bytes: usize,
    /// Maximum number of connected clients.
    pub connections: usize,
    /// The largest context that toolglot requests from Ollama, in tokens.
    pub context_tokens: u64,
    /// The share of a model's context that a client's tools may take, in percent. Beyond it, their descriptions are shortened.
    pub tools_percent: u64,
}

/// Options of the command line, which take precedence over the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// `--config`: the file; without it, the first of: `TOOLGLOT_CONFIG`, toolglot's own `proxy.toml` in the working directory
    /// (see [`Overrides::here`]), the user's own.
    pub file: Option<PathBuf>,
    /// Whether the command looks into the working directory.
    pub here: bool,
    /// `--listen`.
    pub listen: Option<String>,
    /// `--backend URL` or `--backend KIND=URL`, added to the backends of the file. One of the same name replaces it.
    pub backends: Vec<String>,
    /// For commands that do not serve: a missing secret is not an error, but reported in [`Backend::missing`] and
    /// [`Access::missing`].
    pub without_secrets: bool,
}

impl Config {
    /// Reads the file (if any), applies the command line and the environment, and checks the result.
    ///
    /// # Errors
    /// `configuration`: file, line, what is wrong, and what was probably meant.
    pub fn load(overrides: &Overrides, environment: &Environment) -> Result<Config, Error> {
        let Located { file, here, passed_over } =
            locate::locate(overrides.file.as_deref(), Path::new(""), overrides.here, environment);
        let text = match &file {
            Some(file) => atomic::read(file)
                .map_err(|error| Error::proxy(format!("cannot read the configuration {}: {error}", file.display()))),
            None => Ok(String::new()),
        };
        let config = text.and_then(|text| Config::parse(&text, file.as_deref(), overrides, environment));
        config.map(|config| Config { here, passed_over, ..config }).map_err(|error| error.with_code("configuration"))
    }

    /// The same from a text; `file` is where it came from. Precedence: command line, `TOOLGLOT_LISTEN`, file, default.
    ///
    /// # Errors
    /// As [`Config::load`], without a code.
    pub fn parse(text: &str, file: Option<&Path>, overrides: &Overrides, environment: &Environment) -> Result<Config, Error> {
        let raw = raw::read(text, file)?;
        Config::checked(raw, file, overrides, environment).map_err(|error| raw::placed(error, text, file))
    }

    fn checked(raw: Options, file: Option<&Path>, overrides: &Overrides, environment: &Environment) -> Result<Config, Error> {
        // Paths in a file are relative to it.
        let base = match file.map(|file| file.parent().unwrap_or(Path::new(""))) {
            Some(directory) => directory.to_owned(),
            None => user_directory(environment),
        };
        let listen = [
            ("--listen", overrides.listen.as_deref()),
            ("TOOLGLOT_LISTEN", environment.get("TOOLGLOT_LISTEN")),
            ("listen", raw.listen.as_deref()),
        ];
        let listen = match listen.into_iter().find_map(|(named, text)| Some((named, text?))) {
            Some((named, text)) => {
                text.parse().map_err(|error: Error| Error { message: format!("`{named}`: {}", error.message), ..error })?
            }
            None => Listen::default(),
        };
        let source = Source { base: &base, environment, without_secrets: overrides.without_secrets };
        let mut backends: Vec<Backend> = raw.backends.iter().map(|backend| backend.checked(source)).collect::<Result<_, _>>()?;
        for flag in &overrides.backends {
            let added = Backend::from_flag(flag)?;
            backends.retain(|backend| backend.name != added.name);
            backends.push(added);
        }
        let store = SharedStore::read(&raw, source)?;
        let (keys, missing) = access::keys(&raw, source)?;
        let exposed = listen.is_beyond_loopback();
        let config = Config {
            access: Access { keys, missing, insecure: raw.insecure, modes: raw.modes.clone() },
            store,
            drain_seconds: raw.drain_seconds.unwrap_or(10),
            mcp: raw.mcp.check(source, exposed)?,
            listen,
            shell_config: file.filter(|file| **file != user_file(environment)).map(Path::to_owned),
            runner_found: environment.find("toolglot").is_some(),
            adapters: match &raw.adapters {
                Some(named) => Overlay::Named(base.join(named)),
                None => Overlay::Usual(user_directory(environment).join("adapters")),
            },
            retry: raw.retry.as_ref().map_or(1, |raw::Retry::Times(times)| *times),
            progress: raw.progress.unwrap_or(true),
            backends,
            allowed_hosts: raw.allowed_hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            allowed_origins: raw.allowed_origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect(),
            file: file.map(Path::to_owned),
            here: false,
            passed_over: None,
            overrides: overrides.clone(),
            options: raw,
        };
        config.check().map(|()| config)
    }

    /// Reads the configuration again, from its file and with the same command line. An empty file is refused, because editors
    /// empty a file before they write it.
    ///
    /// # Errors
    /// As [`Config::load`]; an empty file.
    pub fn again(&self, environment: &Environment) -> Result<Config, Error> {
        if let Some(file) = self.file.as_ref().filter(|file| file.metadata().is_ok_and(|known| known.len() == 0)) {
            return Err(Error::proxy(format!("{} is empty", file.display())));
        }
        Config::load(&Overrides { file: self.file.clone(), here: false, ..self.overrides.clone() }, environment)
    }

    /// The first route whose glob matches the model.
    pub fn route(&self, model: &str) -> Option<&Route> {
        self.routes.iter().find(|route| matches(&route.model, model))
    }
}

impl Deref for Config {
    type Target = Options;

    fn deref(&self) -> &Options {
        &self.options
    }
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 4] = [Mode::Off, Mode::Rewrite, Mode::Shell, Mode::React];

    /// The mode as configuration and requests write it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Rewrite => "rewrite",
            Mode::Shell => "shell",
            Mode::React => "react",
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            held_bytes: 16 * 1024,
            argument_bytes: ARGUMENT_BYTES,
            body_bytes: 16 * 1024 * 1024,
            connections: 1000,
            context_tokens: 32 * 1024,
            tools_percent: 50,
        }
    }
}
