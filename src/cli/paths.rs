//! `toolglot paths`: lists every file and folder that toolglot uses, and says how it found the configuration.

use std::{io::Write, path::PathBuf};

use clap::Args;
use serde::Serialize;

use super::{
    given::Configured,
    output::{json, print},
    service,
    setup::journal,
};
use crate::{
    config::{Environment, Overlay, data_directory, user_file},
    error::Error,
};

#[derive(Debug, Args)]
pub(super) struct Paths {
    #[command(flatten)]
    configured: Configured,
    /// Write one JSON array instead of a table
    #[arg(long)]
    json: bool,
}

/// A file or folder.
#[derive(Debug, Serialize)]
struct Place {
    what: &'static str,
    path: PathBuf,
    exists: bool,
    /// What it is for.
    meaning: &'static str,
}

impl Paths {
    pub(super) fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let places = self.places(environment)?;
        let shown = |Place { what, path, exists, meaning }: &Place| {
            let there = if *exists { "" } else { " (does not exist)" };
            format!("{what:13}  {}{there}\n{:13}  {meaning}\n", path.display(), "")
        };
        print(out, &if self.json { json(&places)? } else { places.iter().map(shown).collect() })
    }

    fn places(&self, environment: &Environment) -> Result<Vec<Place>, Error> {
        let config = self.configured.load(environment)?;
        let (file, how) = match &config.file {
            Some(file) if self.configured.config.is_some() => (file.clone(), "named by --config"),
            Some(file) if environment.get("TOOLGLOT_CONFIG").is_some() => (file.clone(), "named by TOOLGLOT_CONFIG"),
            Some(file) if config.here => (file.clone(), "found in the working directory"),
            _ => (user_file(environment), "this user's own; `toolglot init` writes it"),
        };
        let passed_over = config.passed_over.map(|file| ("passed over", file, "in the working directory, of another program"));
        let (Overlay::Named(adapters) | Overlay::Usual(adapters)) = config.adapters;
        let all = [
            Some(("configuration", file, how)),
            passed_over,
            Some(("registry", config.mcp.registry, "the MCP servers")),
            Some(("adapters", adapters, "adapter files over the built-in ones")),
            Some(("state", config.mcp.state, "pins of MCP tools, calls that wait for `toolglot call`, trials of models")),
            Some(("database", config.mcp.database, "of the built-in tools")),
            Some(("setup", journal::file(environment), "what `toolglot setup --write` changed")),
            Some(("service", service::file(environment)?, "starts toolglot at login; `toolglot service install` writes it")),
            service::log_file(environment).map(|log| ("log", log, "of the service")),
            Some(("data", data_directory(environment), "this user's data")),
        ];
        let place = |(what, path, meaning): (_, PathBuf, _)| {
            let exists = path.symlink_metadata().is_ok();
            Place { what, path, exists, meaning }
        };
        Ok(all.into_iter().flatten().map(place).collect())
    }
}
