//! `toolglot serve` and `toolglot record`: configuration and log -> a running server.

use std::{io::IsTerminal, path::PathBuf};

use tracing::Level;
use tracing_subscriber::{EnvFilter, filter::filter_fn, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{
    config::{Config, Environment, Overrides},
    error::Error,
    server,
};

/// Where the configuration comes from.
#[derive(Debug, clap::Args)]
pub(super) struct Given {
    /// The configuration file [default: proxy.toml in the working directory, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the proxy listens; a loopback address means both families [default: 127.0.0.1:8000]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// A backend beside those of the file: http://host:port, or with its kind: ollama=http://host:11434, openai=http://host:port/v1
    #[arg(long, value_name = "[KIND=]URL")]
    backend: Vec<String>,
}

/// `toolglot serve`.
#[derive(Debug, clap::Args)]
pub(super) struct Serve {
    #[command(flatten)]
    given: Given,
    /// Offer the recorded models too, to try it without a model
    #[arg(long)]
    demo: bool,
}

/// `toolglot record`: the same proxy, and every chat becomes a fixture file.
#[derive(Debug, clap::Args)]
pub(super) struct Record {
    /// The directory for the files, one for each chat
    #[arg(long, value_name = "DIRECTORY", default_value = "recorded")]
    into: PathBuf,
    #[command(flatten)]
    serve: Serve,
}

// === impl Given ===

impl Given {
    /// The configuration with the command line over it.
    pub(super) fn load(&self, environment: &Environment) -> Result<Config, Error> {
        let overrides = Overrides { file: self.config.clone(), listen: self.listen.clone(), backends: self.backend.clone() };
        Config::load(&overrides, environment)
    }
}

// === impl Serve ===

impl Serve {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Error> {
        self.start(environment, None)
    }

    fn start(self, environment: &Environment, record: Option<PathBuf>) -> Result<(), Error> {
        let config = self.given.load(environment)?;
        config.check_exposure()?;
        start_log(environment)?;
        let settings = server::Settings {
            config,
            demo: self.demo,
            ollama: environment.ollama_url(),
            record,
            environment: environment.clone(),
        };
        server::serve(settings)
    }
}

// === impl Record ===

impl Record {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Error> {
        self.serve.start(environment, Some(self.into))
    }
}

/// The log goes to standard error, in colours only where a person looks at it.
fn start_log(environment: &Environment) -> Result<(), Error> {
    let filter = EnvFilter::try_new(environment.log_filter())
        .map_err(|error| Error::proxy(format!("TOOLGLOT_LOG is no filter: {error}")).with_code("configuration"))?;
    // The MCP SDK traces whole messages, with the arguments that policies hide: no filter of a user lets them through.
    let no_messages = filter_fn(|event| *event.level() != Level::TRACE || !event.target().starts_with("rmcp"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .finish()
        .with(no_messages)
        .try_init()
        .map_err(|error| Error::proxy(format!("cannot start the log: {error}")))
}
