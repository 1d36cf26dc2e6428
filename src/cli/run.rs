//! `toolglot run AGENT`: starts a coding agent that uses the models of this proxy. The agent gets
//! its settings through its environment, its arguments, and files in a private folder: none of the user's own files is changed.
//! If no proxy listens, `run` starts one and stops it when the agent ends.

use std::{
    io::Write,
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, ExitCode, Stdio},
    time::Duration,
};

use clap::{Args, builder::PossibleValuesParser};

use super::{
    given::Configured,
    output::remark,
    setup::{
        self,
        clients::{self, Agent, Place},
    },
};
use crate::{
    atomic,
    backend::{self, Backend, Kind},
    config::{Environment, data_directory},
    error::Error,
    redact,
    upstream::{Client, Timeouts},
};

#[cfg(test)]
mod tests;

/// Starts a coding agent on local models.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// The agent; without it, those that are installed are named
    #[arg(value_parser = PossibleValuesParser::new(clients::agent_names()))]
    agent: Option<String>,
    /// The model [default: the first one]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    #[command(flatten)]
    configured: Configured,
    /// Arguments for the agent itself
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

/// A proxy that `run` has started. It ends when this is dropped.
struct Daemon(Child);

/// How long a proxy may take to listen.
const START: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// The recordings inside of this program have such names.
const RECORDED: &str = "demo/";

impl Run {
    /// Runs the command. Returns the agent's exit code; 1 for one that a signal has ended.
    pub(super) fn run(self, environment: &Environment, remarks: &mut dyn Write) -> Result<ExitCode, Error> {
        let mut agents = clients::agents()?;
        let Some(name) = &self.agent else {
            let installed = agents.keys().filter(|name| environment.find(name).is_some());
            let installed: Vec<&str> = installed.map(String::as_str).collect();
            return Err(Error::client(match installed.as_slice() {
                [] => "none of the agents is installed here: `toolglot run NAME` says how to get one".to_owned(),
                some => format!("say which agent; installed here: {}", some.join(", ")),
            }));
        };
        let Some(agent) = agents.remove(name) else { return Err(Error::client(format!("there is no agent `{name}`"))) };
        let Some(program) = environment.find(name) else {
            return Err(Error::client(format!("`{name}` is not installed: {}", agent.install)));
        };
        let config = self.configured.load_own(environment, remarks)?;
        let address = setup::reachable(&config.listen);
        let daemon = if models(address)?.is_none() { Some(self.start(address)?) } else { None };
        let (model, context) = known_model(address, self.model.as_deref())?;
        let size = context.map_or_else(|| "unknown context".to_owned(), |context| format!("{context} tokens of context"));
        let since = if daemon.is_some() { "which was started for it and ends with it" } else { "which was running" };
        remark(remarks, &format!("{name} uses {model} ({size}) through toolglot at http://{address}, {since}"));
        let folder = data_directory(environment).join("agents").join(name);
        let slashes = |path: PathBuf| path.display().to_string().replace('\\', "/");
        let (home, own) = (slashes(environment.home().unwrap_or_default()), slashes(folder.clone()));
        let place = Place { address, model, context, home, profile: own };
        profile(&agent, &place, &folder)?;
        let mut command = Command::new(program);
        for (name, value) in &agent.environment {
            command.env(name, place.fill(value));
        }
        let own = if self.arguments.is_empty() { &agent.alone } else { &self.arguments };
        command.args(agent.arguments.iter().map(|argument| place.fill(argument))).args(own);
        tracing::debug!(?place, "starting the agent");
        let ended = command.status().map_err(|error| Error::proxy(format!("cannot start `{name}`: {error}")));
        drop(daemon);
        Ok(ended?.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
    }

    /// Starts a proxy, and waits until it listens and has looked for models.
    fn start(&self, address: SocketAddr) -> Result<Daemon, Error> {
        let failed = |error: std::io::Error| Error::proxy(format!("cannot start the proxy: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["serve", "--own"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
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
                return Err(Error::proxy(format!("the proxy ended at once ({status}): `toolglot serve --own` shows why")));
            }
            if models(address)?.is_some() {
                return Ok(daemon);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Err(Error::proxy("the proxy does not answer: `toolglot serve --own` shows why"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes what the agent reads from its private folder. What else it keeps there stays: its conversations, the user's choices.
fn profile(agent: &Agent, place: &Place, folder: &std::path::Path) -> Result<(), Error> {
    if !folder.is_absolute() && !agent.files.is_empty() {
        return Err(Error::proxy("the home directory is not known: set HOME"));
    }
    for part in &agent.files {
        let file = folder.join(&part.path);
        let before = setup::read(&file)?.unwrap_or_default();
        let text = format!("{}\n", part.over(&before, place)?);
        atomic::write(&file, text.as_bytes())
            .map_err(|error| Error::proxy(format!("cannot write {}: {error}", file.display())))?;
    }
    Ok(())
}

/// The names of the models of the proxy at this address; `None` if nothing listens there.
fn models(address: SocketAddr) -> Result<Option<Vec<String>>, Error> {
    let found = ask(address, async |client, proxy| backend::models(&client, &proxy).await.ok())?;
    Ok(found.map(|models| models.into_iter().map(|model| model.id).collect()))
}

/// The model that is meant, and its context if anybody knows it. A recording is meant only where it is named.
pub(super) fn known_model(address: SocketAddr, wanted: Option<&str>) -> Result<(String, Option<u64>), Error> {
    let nobody = || Error::proxy(format!("no toolglot runs at {address}: start it with `toolglot serve`"));
    let known = models(address)?.ok_or_else(nobody)?;
    let model = match wanted {
        Some(wanted) if known.iter().any(|name| name == wanted) => wanted.to_owned(),
        Some(_) if known.is_empty() => return Err(no_backend(&known)),
        Some(wanted) => return Err(Error::client(format!("there is no model `{wanted}`; there are: {}", known.join(", ")))),
        None => {
            let own = || known.iter().filter(|name| !name.starts_with(RECORDED));
            own().find(|name| is_plain(name)).or_else(|| own().next()).cloned().ok_or_else(|| no_backend(&known))?
        }
    };
    if !is_plain(&model) {
        return Err(Error::client(format!(
            "`{}` is no name for settings and commands, because of its signs: give the model another one with `[[alias]]`",
            redact::line(&model)
        )));
    }
    let described = ask(address, async |client, proxy| backend::describe(&client, &proxy, &model).await)?;
    Ok((model, described.ok().and_then(|model| model.context)))
}

/// Whether a name means only itself to shells and in the settings of clients, which replace `$NAME`, `{env:NAME}`, `{file:PATH}`
/// and the like. The names are those that a backend gives.
fn is_plain(model: &str) -> bool {
    !model.starts_with('-') && !model.contains(|c: char| c.is_control() || "\"'`$%!{}<>|;&*?".contains(c))
}

fn no_backend(known: &[String]) -> Error {
    let start = "no backend has a model: start Ollama (`ollama serve`), LM Studio or llama.cpp, or name one in the configuration; \
                 `toolglot doctor` shows where they are looked for";
    let recorded = known.first().map(|name| format!("; to try recorded answers: --model {name}")).unwrap_or_default();
    Error::proxy(format!("{start}{recorded}"))
}

/// Asks the proxy in Ollama's API, which tells most about a model.
fn ask<T>(address: SocketAddr, question: impl AsyncFnOnce(Client, Backend) -> T) -> Result<T, Error> {
    let client = Client::new(Timeouts::default());
    let proxy = Backend::open("toolglot", Kind::Ollama, format!("http://{address}"));
    super::block_on(async { Ok(question(client, proxy).await) })
}
