//! `toolglot serve` and `toolglot record`: read the configuration, start the log, run the server.

use std::path::PathBuf;

use super::{given::Given, log, setup};
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
    log: log::Options,
    /// Offer the recorded models too, to try it without a model
    #[arg(long)]
    demo: bool,
}

/// `toolglot record`: the same proxy, and every chat becomes a fixture file.
#[derive(Debug, clap::Args)]
pub(super) struct Record {
    /// The directory for the files, one for each chat
    #[arg(long, value_name = "DIRECTORY", default_value = "recorded")]
    pub(super) into: PathBuf,
    #[command(flatten)]
    pub(super) serve: Serve,
}

impl Serve {
    /// Runs the server until it is stopped. `record`: the folder that every chat is written into.
    pub(super) fn run(self, environment: &Environment, record: Option<PathBuf>) -> Result<(), Error> {
        let config = self.given.load(environment)?;
        config.check_exposure()?;
        let log = Some(log::start(environment, config.log_format, &self.log)?);
        let served =
            server::serve(Settings { demo: self.demo, record, log, setup: setup::texts, ..Settings::of(config, environment) });
        if let (Some(_), Err(error)) = (&self.log.log_file, &served) {
            // Standard error hears of it too, but whoever reads the file does not.
            tracing::error!("{error}");
        }
        served
    }
}
