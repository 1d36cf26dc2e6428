//! Mode `shell`: the form of the commands, and whether a shell would find the program that they run.

use super::{Config, Mode};
use crate::error::Error;

/// How a command reaches the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellVia {
    /// A fenced block in the text, which the user runs.
    #[default]
    Block,
    /// The client's tool `run_command`, if it offers one.
    RunCommand,
}

/// What a command contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellForm {
    /// `toolglot call <id>`: safe in bash, zsh, PowerShell and cmd alike.
    #[default]
    Id,
    /// `toolglot call <name> '<arguments>'`, with `--config` if the configuration is not the user's own file, for POSIX shells and
    /// fish. Long ones fall back to the id.
    #[serde(alias = "fish")]
    Posix,
}

impl Config {
    /// Checks that mode `shell` can work: its commands must be found where the user's shell looks.
    ///
    /// # Errors
    /// 400 `shell_not_available` if `toolglot` is not in PATH.
    pub fn check_runner(&self) -> Result<(), Error> {
        if self.runner_found {
            Ok(())
        } else {
            Err(Error::client(
                "mode `shell` writes commands that begin with `toolglot`, which is not found in PATH: install it \
                 (`cargo install --path .`), or put a link to the program into a folder of PATH, and start again",
            )
            .with_code("shell_not_available"))
        }
    }

    /// The same, if the configuration itself selects the mode.
    pub(super) fn check_shell(&self) -> Result<(), Error> {
        if self.mode == Mode::Shell || self.routes.iter().any(|route| route.mode == Some(Mode::Shell)) {
            self.check_runner()
        } else {
            Ok(())
        }
    }
}
