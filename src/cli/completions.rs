//! `toolglot completions` and `toolglot man`: shell completions and manual pages, generated from the definition of the
//! command line.

use std::{io::Write, path::PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use super::output::print;
use crate::error::Error;

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

#[derive(Debug, Args)]
pub(super) struct Man {
    /// The folder for the pages, one for each command
    #[arg(value_name = "DIRECTORY")]
    into: PathBuf,
}

impl Completions {
    pub(super) fn run(self, mut command: Command, out: &mut dyn Write) -> Result<(), Error> {
        // The generator panics where it cannot write; a vector takes everything.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "toolglot", &mut script);
        print(out, &String::from_utf8_lossy(&script))
    }
}

impl Man {
    pub(super) fn run(self, command: Command) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::proxy(format!("{}: {error}", self.into.display()));
        std::fs::create_dir_all(&self.into).map_err(failed)?;
        clap_mangen::generate_to(command, &self.into).map_err(failed)
    }
}
