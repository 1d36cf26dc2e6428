//! `toolglot serve` and `toolglot record`: configuration and log -> a running server.

use std::path::PathBuf;

use super::log::{self, Verbosity};
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
    #[command(flatten)]
    verbosity: Verbosity,
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
        Config::load(&self.overrides(), environment)
    }

    /// The same, where a key that cannot be had is a remark, not an error.
    pub(super) fn load_without_secrets(&self, environment: &Environment) -> Result<Config, Error> {
        Config::load(&Overrides { without_secrets: true, ..self.overrides() }, environment)
    }

    fn overrides(&self) -> Overrides {
        Overrides {
            file: self.config.clone(),
            listen: self.listen.clone(),
            backends: self.backend.clone(),
            ..Overrides::default()
        }
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
        log::start(environment, config.log_format, &self.verbosity)?;
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
