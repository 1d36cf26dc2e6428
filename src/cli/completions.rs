//! `toolglot completions` and `toolglot man`: shell completions and manual pages, generated from the definition of the
//! command line.

use std::{io::Write, path::PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use super::{
    given::Configured,
    output::print,
    run,
    setup::{self, clients::Names},
};
use crate::{config::Environment, error::Error};

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    #[arg(required_unless_present = "models")]
    shell: Option<Shell>,
    /// Write the names of the running proxy's models, which the scripts ask for
    #[arg(long, hide = true)]
    models: bool,
}

#[derive(Debug, Args)]
pub(super) struct Man {
    /// The folder for the pages, one for each command
    #[arg(value_name = "DIRECTORY")]
    into: PathBuf,
}

/// What a script runs to complete the name of a model.
const MODELS: &str = "$(toolglot completions --models 2>/dev/null)";

impl Completions {
    pub(super) fn run(self, mut command: Command, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let Some(shell) = self.shell else {
            let config = Configured::default().load_own(environment, &mut std::io::sink())?;
            let names = run::models(setup::reachable(&config.listen))?.unwrap_or_default();
            // Bash expands what it completes.
            let plain = names.iter().filter(|name| run::is_plain(name));
            return print(out, &plain.map(|name| format!("{name}\n")).collect::<String>());
        };
        // The generator panics where it cannot write; a vector takes everything.
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, "toolglot", &mut script);
        print(out, &with_models(shell, &String::from_utf8_lossy(&script)))
    }
}

/// The script, with the models of the running proxy after `--model`: the generator knows only names that are fixed, and for fish none.
fn with_models(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => {
            let option = |end: &str| format!("--model)\n                    COMPREPLY=($(compgen {end} \"${{cur}}\"))");
            script.replace(&option("-f"), &option(&format!("-W \"{MODELS}\" --")))
        }
        Shell::Zsh => {
            let function = format!("_toolglot_models() {{ compadd -- ${{(f)\"{MODELS}\"}} }}\n");
            let lines = script.lines().map(|line| match line {
                "#compdef toolglot" => format!("{line}\n\n{function}"),
                line if line.contains("--model=[") => line.replace(":_default'", ":_toolglot_models'") + "\n",
                line => format!("{line}\n"),
            });
            lines.collect()
        }
        Shell::Fish => {
            let after =
                |command: &str, what: &str| format!("complete -c toolglot -n \"__fish_seen_subcommand_from {command}\" {what}\n");
            let names = |names: Names| format!("-f -a \"{}\"", names.list().collect::<Vec<_>>().join(" "));
            let model = after("run setup", "-l model -r -f -a \"(toolglot completions --models 2>/dev/null)\"");
            format!("{script}{}{}{model}", after("run", &names(Names::Agents)), after("setup", &names(Names::Clients)))
        }
        _ => script.to_owned(),
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
        let completions = Completions { shell: Some(shell), models: false };
        completions.run(crate::cli::Cli::command(), &Environment::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn models_are_asked_for_when_they_are_needed() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = script(shell);
            assert!(text.contains("toolglot completions --models") && text.contains("openclaw"), "{shell}");
            // The definition, where there is one, and its use after `--model`.
            assert!(shell != Shell::Zsh || text.matches("_toolglot_models").count() > 2);
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
