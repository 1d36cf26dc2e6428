//! `toolglot init`: writes a configuration file in which every key is a comment, to the place where toolglot looks for it.

use std::{io::Write, path::PathBuf};

use clap::Args;

use super::{output::print, setup};
use crate::{
    config::{Environment, user_file},
    error::Error,
};

#[derive(Debug, Args)]
pub(super) struct Init {
    /// Where to write it [default: this user's own, see `toolglot paths`]
    file: Option<PathBuf>,
    /// Replace an existing file; a copy of it is kept next to the new one
    #[arg(long)]
    force: bool,
}

/// The file: all keys are comments, with their defaults.
const COMMENTED: &str = include_str!("../../proxy.toml");

impl Init {
    pub(super) fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let file = self.file.unwrap_or_else(|| user_file(environment));
        if environment.settings_directory().is_none() && file == user_file(environment) {
            let what = "the home directory is not known, so nobody would find the file: set HOME, or name a file";
            return Err(Error::client(what));
        }
        if file.exists() && !self.force {
            let what = format!("{} exists; --force replaces it and keeps the old one next to it", file.display());
            return Err(Error::client(what));
        }
        let before = setup::read(&file)?;
        let said = setup::install(&file, before.as_deref(), COMMENTED, |_| Ok(()))?;
        print(out, &(said + "\n"))
    }
}
