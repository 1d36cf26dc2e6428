//! `toolglot run AGENT`: starts a coding agent that uses the models of this proxy. The agent gets its settings through its
//! environment and its arguments; no file is written. If no proxy listens, `run` starts one and stops it when the agent ends.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use clap::Args;
use serde::Deserialize;

use super::{given::Configured, output::listed};
use crate::{
    backend::{self, Backend, Kind, Model},
    config::{Config, Environment},
    error::Error,
    upstream::{Client, Timeouts},
};

#[cfg(test)]
mod tests;

/// Starts a coding agent on local models.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// claude, codex, opencode, qwen or goose
    agent: String,
    /// The model [default: the first one]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    #[command(flatten)]
    configured: Configured,
    /// Arguments for the agent itself
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Agent {
    /// How to get it.
    install: String,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    arguments: Vec<String>,
}

/// The address of the proxy, and the model.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) address: SocketAddr,
    pub(super) model: String,
    /// Tokens of context.
    pub(super) context: u64,
}

/// A proxy that `run` has started. It ends when this is dropped.
struct Daemon(Child);

/// The agents, by the names of their programs.
const AGENTS: &str = include_str!("run/agents.toml");
/// How long a proxy may take to listen.
const START: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl Run {
    /// Runs the command. Returns the agent's exit status.
    pub(super) fn run(self, environment: &Environment) -> Result<ExitStatus, Error> {
        let agent: Agent = listed(AGENTS, "agent", &self.agent)?;
        let Some(program) = environment.find(&self.agent) else {
            return Err(Error::client(format!("`{}` is not installed: {}", self.agent, agent.install)));
        };
        let config = self.configured.load(environment)?;
        let address = super::setup::reachable(&config.listen);
        let daemon = if models(address)?.is_empty() { Some(self.start(address)?) } else { None };
        let place = place(&config, address, self.model.as_deref())?;
        let mut command = Command::new(program);
        for (name, value) in &agent.environment {
            command.env(name, place.fill(value));
        }
        command.args(agent.arguments.iter().map(|argument| place.fill(argument))).args(&self.arguments);
        tracing::debug!(?place, "starting the agent");
        let ended = command.status().map_err(|error| Error::proxy(format!("cannot start `{}`: {error}", self.agent)));
        drop(daemon);
        ended
    }

    /// Starts a proxy, and waits until it has models.
    fn start(&self, address: SocketAddr) -> Result<Daemon, Error> {
        let failed = |error: std::io::Error| Error::proxy(format!("cannot start the proxy: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.arg("serve").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(file) = &self.configured.config {
            command.arg("--config").arg(file);
        }
        if let Some(listen) = &self.configured.listen {
            command.arg("--listen").arg(listen);
        }
        let mut daemon = Daemon(command.spawn().map_err(failed)?);
        let begun = std::time::Instant::now();
        while begun.elapsed() < START {
            if let Some(status) = daemon.0.try_wait().map_err(failed)? {
                return Err(Error::proxy(format!("the proxy ended at once ({status}): `toolglot serve` shows why")));
            }
            if !models(address)?.is_empty() {
                return Ok(daemon);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Err(Error::proxy("no backend has a model: `toolglot doctor` shows what was looked for"))
    }
}

impl Place {
    /// The text with its placeholders filled in.
    pub(super) fn fill(&self, text: &str) -> String {
        let root = format!("http://{}", self.address);
        text.replace("{v1}", &format!("{root}/v1"))
            .replace("{root}", &root)
            .replace("{port}", &self.address.port().to_string())
            .replace("{model}", &self.model)
            .replace("{context}", &self.context.to_string())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The models of the proxy at this address; none if nothing listens there.
fn models(address: SocketAddr) -> Result<Vec<Model>, Error> {
    ask(address, async |client, proxy| backend::models(&client, &proxy).await.unwrap_or_default())
}

/// The model that is meant, and its context as the proxy knows it.
pub(super) fn place(config: &Config, address: SocketAddr, wanted: Option<&str>) -> Result<Place, Error> {
    let known = models(address)?;
    let names = || known.iter().map(|model| model.id.as_str()).collect::<Vec<_>>().join(", ");
    let model = match wanted {
        Some(wanted) if known.iter().any(|model| model.id == wanted) => wanted.to_owned(),
        Some(wanted) => return Err(Error::client(format!("there is no model `{wanted}`; there are: {}", names()))),
        None => match known.first() {
            Some(first) => first.id.clone(),
            None => return Err(Error::proxy("no backend has a model: `toolglot doctor` shows what was looked for")),
        },
    };
    let described = ask(address, async |client, proxy| backend::describe(&client, &proxy, &model).await)?;
    let context = described.ok().and_then(|model| model.context).unwrap_or(config.limits.context_tokens);
    Ok(Place { address, model, context })
}

/// Asks the proxy in Ollama's API, which tells most about a model.
fn ask<T>(address: SocketAddr, question: impl AsyncFnOnce(Client, Backend) -> T) -> Result<T, Error> {
    let client = Client::new(Timeouts::default());
    let proxy = Backend::open("toolglot", Kind::Ollama, format!("http://{address}"));
    super::block_on(async { Ok(question(client, proxy).await) })
}
