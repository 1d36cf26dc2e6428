//! `toolglot call`: runs one tool, given by name and arguments or by the id of a stored call, and prints its answer. It needs
//! no running daemon.

use std::{io::Write, path::PathBuf, sync::Arc, time::Duration};

use clap::Args;
use serde_json::{Map, Value};

use super::{
    given,
    output::{self, print, remark},
};
use crate::{
    config::{Config, Environment, Overrides, state_directory},
    error::Error,
    fix::Schemas,
    mcp::{
        self,
        catalogue::{Catalogue, Offered},
        pool::{BUILT_IN, Call as PoolCall, Pool},
        response::McpResponse,
    },
    store::{self, Files, Key, Kind, Store},
};

/// Runs one tool of a registered MCP server or of the built-in ones.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Call {
    /// `server__tool`, `server.tool`, a bare name that only one server has, or the id of a waiting call
    name: String,
    /// The arguments as JSON; `-` reads them from standard input [default: {}]
    arguments: Option<String>,
    /// Read the arguments from a file
    #[arg(long, value_name = "FILE", conflicts_with = "arguments")]
    file: Option<PathBuf>,
    /// Print the whole answer as JSON
    #[arg(long)]
    json: bool,
    /// Time limit in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    #[command(flatten)]
    source: Source,
}

/// The options that locate the registry.
#[derive(Debug, Clone, Default, Args)]
pub struct Source {
    /// The configuration file [default: see `toolglot paths`]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// The registry [default: the one of the configuration]
    #[arg(long, value_name = "FILE", global = true)]
    registry: Option<PathBuf>,
}

/// A call that mode `shell` has left for this command.
#[derive(Debug, Clone, serde::Deserialize)]
struct Waiting {
    /// The configuration file of the proxy.
    config: Option<PathBuf>,
    name: String,
    /// Its arguments, as JSON text.
    arguments: String,
    /// Whether the call itself is in the store that the configuration names, and this entry only refers to it.
    #[serde(default)]
    shared: bool,
}

/// The call to make.
struct Wanted {
    name: String,
    /// Its arguments, as JSON text.
    arguments: String,
    config: Config,
    /// Where it waits; `None`: the command line says it all.
    kept: Option<(Arc<dyn Store>, Key)>,
}

/// The end of `toolglot call --help`.
const AFTER_HELP: &str = "The tool's answer goes to standard output; every five seconds, standard error says that it still runs.
Exit codes: 0 it answered, 1 it failed (the answer says why) or could not be called, 2 wrong command line or configuration.";
/// How long to wait for a server to start. It may have to be downloaded first.
pub(super) const PATIENCE: Duration = Duration::from_secs(25);
/// How often to report that a tool still runs: some clients end a command that is silent for 8 s.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long to wait for the shared store.
const STORE: Duration = Duration::from_secs(2);

impl Source {
    /// The configuration, with the registry that the command line names.
    pub(super) fn config(&self, environment: &Environment) -> Result<Config, Error> {
        let mut config = load(self.config.clone(), environment)?;
        if let Some(registry) = &self.registry {
            config.mcp.registry = registry.clone();
        }
        Ok(config)
    }

    /// See [`whole_pool`].
    pub(super) fn pool(&self, environment: &Environment) -> Result<Arc<Pool>, Error> {
        whole_pool(self.config(environment)?, environment)
    }
}

impl Call {
    /// Runs the command. Reports about long calls go to `beat`.
    ///
    /// # Errors
    /// What was wrong. If the tool fails, the error's text is already printed.
    pub fn run(self, environment: &Environment, out: &mut dyn Write, beat: &mut dyn Write) -> Result<(), Error> {
        let given = self.given()?;
        super::block_on(async {
            let waiting = match given {
                Some(_) => None,
                None => Wanted::waiting(environment, &self.name, &self.source).await?,
            };
            let wanted = match waiting {
                Some(waiting) => waiting,
                None => {
                    let (name, config) = (self.name.clone(), self.source.config(environment)?);
                    Wanted { name, arguments: given.unwrap_or_default(), config, kept: None }
                }
            };
            let pool = whole_pool(wanted.config.clone(), environment)?;
            let called = beating(beat, &wanted.name, self.call(&pool, &wanted)).await;
            let ended = called.and_then(|response| self.show(&response, &wanted.name, out));
            pool.shut_down().await;
            ended
        })
    }

    fn given(&self) -> Result<Option<String>, Error> {
        match (&self.file, self.arguments.as_deref()) {
            (Some(file), _) => output::read(file).map(Some),
            (None, Some("-")) => output::typed(&mut std::io::stdin().lock(), "the arguments").map(Some),
            (None, given) => Ok(given.map(str::to_owned)),
        }
    }

    async fn call(&self, pool: &Pool, wanted: &Wanted) -> Result<McpResponse, Error> {
        let offered = candidates(pool, &wanted.name).await;
        let tool = find(&offered, &wanted.name)?;
        let arguments = read(tool, &wanted.arguments)?;
        let call = PoolCall { consent: true, timeout: self.timeout, ..PoolCall::default() };
        // Last, so that nothing that fails before uses it up. Of several processes, one gets it.
        if let Some((store, key)) = &wanted.kept
            && store.take(key).await.is_none()
        {
            return Err(gone(&key.id));
        }
        Ok(pool.call(&tool.service, arguments, &call).await)
    }

    fn show(&self, response: &McpResponse, name: &str, out: &mut dyn Write) -> Result<(), Error> {
        let text = if self.json { response.to_value().to_string() } else { response.to_text() };
        print(out, &(text + "\n"))?;
        if response.is_error() { Err(Error::tool(format!("{name} failed"))) } else { Ok(()) }
    }
}

/// Waits for the tool and the start of its server, and reports from time to time that it still waits.
async fn beating<T>(beat: &mut dyn Write, name: &str, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    let mut passed = Duration::ZERO;
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(HEARTBEAT) => {
                passed += HEARTBEAT;
                remark(beat, &format!("{name} runs, {} s", passed.as_secs()));
            }
        }
    }
}

/// A pool with the built-in tools, whatever the configuration says: the user has named one.
pub(super) fn whole_pool(mut config: Config, environment: &Environment) -> Result<Arc<Pool>, Error> {
    config.mcp.builtin_tools = true;
    pool(&config, environment)
}

/// A pool with the tools of this configuration.
pub(super) fn pool(config: &Config, environment: &Environment) -> Result<Arc<Pool>, Error> {
    mcp::open(&config.mcp, environment, Arc::new(Files::new(&config.mcp.state)))
}

fn load(file: Option<PathBuf>, environment: &Environment) -> Result<Config, Error> {
    given::load(Overrides { file, ..Overrides::default() }, environment, &mut std::io::stderr())
}

impl Wanted {
    /// The call that waits under this id; `None` if the text may be a tool's name.
    ///
    /// # Errors
    /// The text can only be an id, and no call waits under it.
    async fn waiting(environment: &Environment, id: &str, source: &Source) -> Result<Option<Wanted>, Error> {
        let (files, key) = (Files::new(state_directory(environment)), Key::local(Kind::SpooledCall, id));
        let kept = read_waiting(&files, &key).await?;
        // The configuration of the proxy that stored the call, wherever the command runs.
        let config = match &kept {
            Some(Waiting { config: Some(file), .. }) => load(Some(file.clone()), environment)?,
            Some(_) => Config::parse("", None, &Overrides::default(), environment)?,
            None if is_id(id) => source.config(environment)?,
            None => return Ok(None),
        };
        if let Some(Waiting { name, arguments, shared: false, .. }) = kept {
            return Ok(Some(Wanted { name, arguments, config, kept: Some((Arc::new(files), key)) }));
        }
        // The proxy of this machine knows where it is.
        let Some(shared) = &config.store else { return Err(gone(id)) };
        // Nobody else waits: rather late than a call that was taken and is lost.
        let store = store::open(&store::Place { patience: STORE, ..shared.place()? })?;
        if let Some(link) = store.link() {
            link.opened(STORE).await;
        }
        match read_waiting(&*store, &key).await? {
            Some(Waiting { name, arguments, .. }) => Ok(Some(Wanted { name, arguments, config, kept: Some((store, key)) })),
            None if store.link().is_none_or(store::Link::is_present) => Err(gone(id)),
            None => Err(Error::proxy(format!(
                "the call `{id}` may wait in the store that instances share (`store`), which does not answer now; run this again later"
            ))),
        }
    }
}

async fn read_waiting(store: &dyn Store, key: &Key) -> Result<Option<Waiting>, Error> {
    let Some(bytes) = store.get(key).await else { return Ok(None) };
    let call = serde_json::from_slice(&bytes);
    call.map(Some).map_err(|error| Error::proxy(format!("the call that waits under `{}` cannot be read: {error}", key.id)))
}

fn gone(id: &str) -> Error {
    Error::client(format!("no call waits under `{id}`: it has run already, or has expired; ask the model for it again"))
}

/// Whether it has the form of an id: a name, `-`, and 24 letters and digits.
fn is_id(text: &str) -> bool {
    text.rsplit_once('-').is_some_and(|(_, secret)| secret.len() == 24 && secret.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// The tools that the name can mean. If it names a server, only that one is started.
async fn candidates(pool: &Pool, name: &str) -> Catalogue {
    let only_ours = [BUILT_IN.to_owned()];
    let ours = pool.tools(Some(&only_ours), PATIENCE).await;
    if ours.tools.iter().any(|tool| tool.service.tool == name) || ours.resolve(name, &[]).is_some() {
        return ours;
    }
    let snapshot = pool.registry().snapshot();
    let names_it =
        |server: &String| name.strip_prefix(server).is_some_and(|rest| rest.starts_with("__") || rest.starts_with('.'));
    let named: Vec<String> = snapshot.servers.iter().map(|server| server.name.clone()).filter(names_it).collect();
    pool.tools(Some(&*named).filter(|named| !named.is_empty()), PATIENCE).await
}

fn find<'t>(offered: &'t Catalogue, name: &str) -> Result<&'t Offered, Error> {
    if let Some(tool) = offered.resolve(name, &[]) {
        return Ok(tool);
    }
    let same: Vec<String> =
        offered.tools.iter().filter(|tool| tool.service.tool == name).map(|tool| tool.service.full_name()).collect();
    let mut message = if same.is_empty() {
        format!("there is no tool `{name}`; `toolglot mcp tools` lists them")
    } else {
        format!("several servers have `{name}`: {}", same.join(", "))
    };
    for problem in &offered.problems {
        message.push_str(&format!("\n  {}: {}", problem.server, problem.message));
    }
    Err(Error::client(message).with_status(404))
}

fn read(tool: &Offered, source: &str) -> Result<Map<String, Value>, Error> {
    let source = if source.trim().is_empty() { "{}" } else { source };
    let arguments = tool.arguments(source, &Schemas::default());
    arguments.map_err(|why| Error::client(format!("{}: {why}", tool.service.full_name())))
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).ok_or("a number of seconds is wanted")
}
