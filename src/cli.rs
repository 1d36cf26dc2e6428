//! The command line: runs one command and returns its exit code. Logs and messages go to standard error, data to standard
//! output.
//!
//! Exit codes: 0 done (also if the reader closed the pipe), 1 failed, 2 wrong command line or configuration, 3 the address to
//! listen on is taken.
//!
//! Each command has a `run`, which prints data to `out`. `main` prints its error, whose code decides the exit code.

use std::{
    io::{self, BufWriter, IsTerminal, Write},
    process::ExitCode,
};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{config, error::Error, redact};

pub mod adapters;
pub mod call;
mod check;
mod completions;
mod doctor;
pub mod fix;
mod given;
mod init;
mod log;
mod logs;
pub mod mcp;
mod models;
pub mod normalize;
mod output;
mod paths;
mod proxy;
mod purge;
mod run;
mod serve;
mod service;
pub mod setup;
mod update;

/// A local daemon that turns the tool calls of local models into the form that the client executes.
#[derive(Debug, Parser)]
#[command(name = "toolglot", version = VERSION, max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the proxy (the usual command)
    Serve(serve::Serve),
    /// Run the proxy and write every chat into a fixture file (without headers and keys)
    Record(serve::Record),
    /// Show what the proxy makes of a model's text
    Normalize(normalize::Normalize),
    /// Repair the arguments of a tool call
    Fix(fix::Fix),
    /// Look at backends, models and clients, and say what is wrong
    Doctor(doctor::Doctor),
    /// List the models, and how each of them is read and asked
    Models(models::Models),
    /// List the adapters, or tell which one a model gets
    Adapters(adapters::Adapters),
    /// Validate adapters, configuration and registry
    Check(check::Check),
    /// Run one tool of an MCP server, or a built-in one
    Call(call::Call),
    /// Manage MCP servers
    Mcp(mcp::Mcp),
    /// Run a coding agent (Claude Code, Codex, opencode and others) on local models
    Run(run::Run),
    /// Show the settings for a client, and install them where that is possible
    Setup(setup::Setup),
    /// Follow the log of the running proxy
    Logs(logs::Logs),
    /// Say how to update, by the way it was installed
    Update,
    /// Run the proxy at every login
    Service(service::Service),
    /// Write a configuration file in which every key is a comment
    Init(init::Init),
    /// Show which files and folders are used
    Paths(paths::Paths),
    /// Remove what toolglot has left on this machine, and undo `setup --write`
    Purge(purge::Purge),
    /// Write the completions of a shell
    Completions(completions::Completions),
    /// Write the manual pages
    Man(completions::Man),
}

/// Standard output for data. It is not a failure if the reader closes the pipe. A terminal gets no character that controls it: the
/// texts are those of servers and models.
struct Output<W: Write> {
    inner: BufWriter<W>,
    closed: bool,
    terminal: bool,
}

/// The version, with the commit and the system that it was built for.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("TOOLGLOT_BUILD"), ")");

/// The end of `toolglot --help`. `main` returns these codes.
const AFTER_HELP: &str =
    "Exit codes: 0 done, 1 failed, 2 wrong command line or configuration, 3 the address to listen on is taken.
Environment: TOOLGLOT_CONFIG (the configuration file), TOOLGLOT_LISTEN (as --listen), TOOLGLOT_LOG (filter of the log, as in \
RUST_LOG), OLLAMA_HOST (where to look for Ollama), NO_COLOR (no colours in the log).";

/// The commands of `toolglot --help`, in groups.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Every day", &["serve", "run", "setup", "models", "logs", "service", "init", "update", "purge"]),
    ("If something is wrong", &["doctor", "check", "record", "paths"]),
    ("MCP", &["mcp", "call"]),
    ("For developers", &["normalize", "fix", "adapters", "completions", "man"]),
];

/// The command line, whose help lists the commands in groups.
fn command() -> clap::Command {
    let command = Cli::command();
    let mut groups = String::new();
    for (title, names) in GROUPS {
        groups.push_str(&format!("\n{title}:\n"));
        for one in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            groups.push_str(&format!("  {:12}  {about}\n", one.get_name()));
        }
    }
    command.help_template(format!("{{about}}\n\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}{{after-help}}"))
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let environment = config::Environment::of_process();
    let mut output = Output { inner: BufWriter::new(io::stdout()), closed: false, terminal: io::stdout().is_terminal() };
    let mut ended = ExitCode::SUCCESS;
    let matches = command().get_matches();
    let result = match Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()).command {
        Command::Serve(serve) => serve.run(&environment, None),
        Command::Record(serve::Record { into, serve }) => serve.run(&environment, Some(into)),
        Command::Normalize(normalize) => normalize.run(&mut io::stdin().lock(), &mut output),
        Command::Fix(fix) => fix.run(&mut io::stdin().lock(), &mut output, &mut io::stderr().lock()),
        Command::Doctor(doctor) => doctor.run(&environment, &mut output),
        Command::Adapters(adapters) => adapters.run(&environment, &mut output),
        Command::Check(check) => check.run(&environment, &mut output),
        Command::Call(call) => call.run(&environment, &mut output, &mut io::stderr().lock()),
        Command::Run(run) => run.run(&environment, &mut io::stderr().lock()).map(|code| ended = code),
        Command::Setup(setup) => setup.run(&environment, &mut output, &mut io::stderr().lock()),
        Command::Models(models) => models.run(&environment, &mut output, &mut io::stderr().lock()),
        Command::Service(service) => service.run(&environment, &mut output, &mut io::stderr().lock()),
        Command::Logs(logs) => logs.run(&environment, &mut output),
        Command::Update => update::run(&environment, &mut output),
        Command::Init(init) => init.run(&environment, &mut output),
        Command::Paths(paths) => paths.run(&environment, &mut output),
        Command::Purge(purge) => purge.run(&environment, &mut io::stdin().lock(), &mut output),
        Command::Completions(completions) => completions.run(command(), &mut output),
        Command::Man(man) => man.run(Cli::command()),
        Command::Mcp(mcp) => mcp.run(&environment, &mut output, &mut io::stderr().lock()),
    };
    let result = result.and_then(|()| output.flush().map_err(output::broken));
    match result {
        Err(error) if !output.closed => {
            output::remark(&mut io::stderr(), &error.message);
            match error.code.as_deref() {
                Some("configuration") => ExitCode::from(2),
                Some("address_taken") => ExitCode::from(3),
                _ => ExitCode::FAILURE,
            }
        }
        _ => ended,
    }
}

/// Runs a future on a runtime of its own, which ends at once afterwards (a reader of standard input does not end).
fn block_on<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = built.map_err(|error| Error::proxy(format!("cannot start: {error}")))?;
    let ended = runtime.block_on(future);
    runtime.shutdown_background();
    ended
}

impl<W: Write> Output<W> {
    fn noted<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.closed |= result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        result
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.terminal {
            let text = redact::printable(&String::from_utf8_lossy(bytes).replace("\r\n", "\n"));
            self.inner.write_all(text.as_bytes()).map(|()| bytes.len())
        } else {
            self.inner.write(bytes)
        };
        self.noted(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.inner.flush();
        self.noted(flushed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_controlled_and_a_pipe_gets_every_byte() {
        let text = "one\r\n\ttwo \u{1b}]0;title\u{7}\u{202e}\u{9b}31m\rgr\u{fc}n\n";
        let written = |terminal| {
            let mut output = Output { inner: BufWriter::new(Vec::new()), closed: false, terminal };
            output::print(&mut output, text).unwrap();
            String::from_utf8(output.inner.into_inner().unwrap()).unwrap()
        };
        assert_eq!(written(true), "one\n\ttwo \\u{1b}]0;title\\u{7}\\u{202e}\\u{9b}31m\\rgr\u{fc}n\n");
        assert_eq!(written(false), text);
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut named: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Cli::command();
        let mut all: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        named.sort_unstable();
        all.sort_unstable();
        assert_eq!(named, all);
    }
}
