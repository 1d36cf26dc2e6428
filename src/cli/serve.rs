//! `toolglot serve` and `toolglot record`: read the configuration, start the log, run the server.

use std::path::PathBuf;

use super::{
    given::Given,
    log::{self, Verbosity},
    setup,
};
use crate::{
    config::Environment,
    error::Error,
    server::{self, Settings},
};

#[derive(Debug, clap::Args)]
pub(super) struct Serve {
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    verbosity: Verbosity,
    /// Write the log to this file instead of standard error; at 8 MB it becomes FILE.old
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
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

impl Serve {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Error> {
        self.start(environment, None)
    }

    fn start(self, environment: &Environment, record: Option<PathBuf>) -> Result<(), Error> {
        let config = self.given.load(environment)?;
        config.check_exposure()?;
        let log = Some(log::start(environment, config.log_format, &self.verbosity, self.log_file.as_deref())?);
        let served =
            server::serve(Settings { demo: self.demo, record, log, setup: setup::texts, ..Settings::of(config, environment) });
        if let (Some(_), Err(error)) = (&self.log_file, &served) {
            // Standard error hears of it too, but whoever reads the file does not.
            tracing::error!("{error}");
        }
        served
    }
}

impl Record {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Error> {
        self.serve.start(environment, Some(self.into))
    }
}
