//! `toolglot completions` and `toolglot man`: shell completions and manual pages, generated from the definition of the
//! command line.

use std::{io::Write, path::PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use super::{output::print, setup::clients};
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
        let mut script = String::from_utf8_lossy(&script).into_owned();
        if self.shell == Shell::Fish {
            // For fish, the generator leaves the values of arguments out.
            let names: [(&str, Vec<&str>); 2] =
                [("run", clients::agent_names().collect()), ("setup", clients::names().collect())];
            for (command, names) in names {
                let words = names.join(" ");
                script += &format!("complete -c toolglot -n \"__fish_seen_subcommand_from {command}\" -f -a \"{words}\"\n");
            }
        }
        print(out, &script)
    }
}

impl Man {
    pub(super) fn run(self, command: Command) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::proxy(format!("{}: {error}", self.into.display()));
        std::fs::create_dir_all(&self.into).map_err(failed)?;
        clap_mangen::generate_to(command, &self.into).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn script(shell: Shell) -> String {
        let mut out = Vec::new();
        Completions { shell }.run(crate::cli::Cli::command(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_shell_gets_the_names_of_clients() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            assert!(script(shell).contains("openclaw"), "{shell}");
        }
    }

    /// In the shell itself: agents after `run`, clients after `setup`.
    #[cfg(unix)]
    #[test]
    fn bash_completes_agents_and_clients() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), script(Shell::Bash)).unwrap();
        for (command, word, found) in [("run", "openc", "openclaw opencode"), ("setup", "zed", "zed"), ("run", "zed", "")] {
            let line = format!(
                "source {}; COMP_WORDS=(toolglot {command} {word}); COMP_CWORD=2; _toolglot toolglot {word} {command}; echo ${{COMPREPLY[@]}}",
                file.path().display()
            );
            let output = std::process::Command::new("bash").args(["--norc", "-c", &line]).output().unwrap();
            let mut names: Vec<&str> = str::from_utf8(&output.stdout).unwrap().split_whitespace().collect();
            names.sort_unstable();
            assert_eq!(names.join(" "), found, "{command} {word}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
