//! `toolglot service`: runs toolglot at every login of this user, without administrator rights. It installs a systemd user
//! unit, a LaunchAgent, or a logon task of Windows.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use clap::Args;

use super::{
    given::Configured,
    output::{self, remark},
};
use crate::{
    atomic,
    config::{Config, Environment, Overrides, System, data_directory, user_file},
    error::Error,
};

mod definition;
mod steps;
#[cfg(test)]
mod tests;

use definition::Job;
use steps::Verb;

#[derive(Debug, Args)]
pub(super) struct Service {
    #[command(subcommand)]
    verb: Verb,
}

/// Variables that the service gets as they are at its installation: a login starts it without those of a shell.
const VARIABLES: [&str; 5] = ["PATH", "OLLAMA_HOST", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TOOLGLOT_LOG"];
const NO_SESSION: &str = "; there is no login session of this user here: log in as this user (not by su or sudo), or let \
                          `toolglot serve` be started the way this machine starts its programs";
/// How much of a log is shown.
const SHOWN_BYTES: usize = 16 * 1024;

impl Service {
    pub(super) fn run(self, environment: &Environment, out: &mut dyn Write, remarks: &mut dyn Write) -> Result<(), Error> {
        let at = file(environment)?;
        match (&self.verb, log_file(environment)) {
            (Verb::Install(configured), _) => return install(&self.verb, configured, environment, remarks),
            _ if !at.exists() => return Err(Error::client("the service is not installed: `toolglot service install`")),
            (Verb::Logs, Some(log)) => {
                let text = output::read(&log)?;
                return output::print(out, &text[text.ceil_char_boundary(text.len().saturating_sub(SHOWN_BYTES))..]);
            }
            _ => {}
        }
        let failures = take(&self.verb, &[], environment)?;
        if matches!(self.verb, Verb::Uninstall) {
            failures.iter().for_each(|failed| remark(remarks, &failed.message));
            remark(remarks, &format!("{} is removed; what still runs of it ends when you log out", at.display()));
        }
        Ok(())
    }
}

/// The file that defines the service.
pub(super) fn file(environment: &Environment) -> Result<PathBuf, Error> {
    let known = |folder: Option<PathBuf>| folder.ok_or_else(|| Error::proxy("the home directory is not known: set HOME"));
    Ok(match environment.system() {
        System::Unix => known(environment.settings_directory())?.join("systemd/user").join(steps::UNIT),
        System::MacOs => known(environment.home())?.join(format!("Library/LaunchAgents/{}.plist", steps::LABEL)),
        System::Windows => data_directory(environment).join("service.xml"),
    })
}

/// The file that the service writes its log to, where the system keeps none.
pub(super) fn log_file(environment: &Environment) -> Option<PathBuf> {
    (environment.system() != System::Unix).then(|| data_directory(environment).join("service.log"))
}

/// Stops the service and removes it.
pub(super) fn uninstall(environment: &Environment) -> Result<(), Error> {
    take(&Verb::Uninstall, &[], environment).map(|_| ())
}

fn install(verb: &Verb, configured: &Configured, environment: &Environment, remarks: &mut dyn Write) -> Result<(), Error> {
    let config = configured.load(environment)?;
    take(verb, &definition::bytes(environment.system(), &job(&config, environment)?), environment)?;
    let mut say = |text: String| remark(remarks, &text);
    say(format!("installed in {}; it listens on port {}", file(environment)?.display(), config.listen.port()));
    for (name, what) in unset_at_login(&config, environment)? {
        say(format!("backend {name}: {what}, as the service sees it: put the key into a file (`api_key_file`)"));
    }
    if environment.system() == System::Unix {
        say("it ends when you log out; `loginctl enable-linger` lets it run from the start of the machine on".into());
    }
    Ok(())
}

/// What the service runs.
fn job(config: &Config, environment: &Environment) -> Result<Job, Error> {
    let program = std::env::current_exe().map_err(|error| Error::proxy(format!("where this program is: {error}")))?;
    let path = |path: &Path| path.display().to_string();
    let options = [
        // The user's own file is found without a word, and may be written later.
        ("--config", config.file.as_deref().filter(|file| **file != user_file(environment)).map(path)),
        ("--listen", config.overrides.listen.as_deref().or(environment.get("TOOLGLOT_LISTEN")).map(str::to_owned)),
        ("--log-file", log_file(environment).as_deref().map(path)),
    ];
    let options = options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
    let command = [path(&program), "serve".to_owned()].into_iter().chain(options.flatten()).collect();
    let kept = VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), environment.get(name)?.to_owned())));
    let user = match (environment.get("USERDOMAIN"), environment.get("USERNAME")) {
        (Some(domain), Some(user)) => format!("{domain}\\{user}"),
        (_, user) => user.unwrap_or_default().to_owned(),
    };
    Ok(Job { command, variables: kept.collect(), user })
}

/// Backends whose key is in a variable that a login does not set.
fn unset_at_login(config: &Config, environment: &Environment) -> Result<Vec<(String, String)>, Error> {
    if environment.system() == System::Windows {
        // Variables of a user are set at login there.
        return Ok(Vec::new());
    }
    let kept = ["HOME"].iter().chain(&VARIABLES).filter_map(|name| Some((*name, environment.get(name)?)));
    let at_login = Environment::default().with(kept);
    let overrides = Overrides { file: config.file.clone(), without_secrets: true, ..config.overrides.clone() };
    let seen = Config::load(&overrides, &at_login)?;
    Ok(seen.backends.into_iter().filter_map(|backend| Some((backend.name, backend.missing?))).collect())
}

/// Takes the steps; gives what failed of those that may fail, each failure once.
fn take(verb: &Verb, definition: &[u8], environment: &Environment) -> Result<Vec<Error>, Error> {
    let mut failures: Vec<Error> = Vec::new();
    let file = file(environment)?;
    let failed = |error: std::io::Error| Error::proxy(format!("{}: {error}", file.display()));
    for step in steps::steps(environment.system(), verb) {
        let (step, may_fail) = step.strip_prefix('-').map_or((*step, false), |step| (step, true));
        let done = match step {
            "write" => atomic::write(&file, definition).map_err(failed),
            "remove" => std::fs::remove_file(&file).map_err(failed),
            command => run(&steps::words(command, &file, user_id(environment)), environment),
        };
        match done {
            Err(error) if !may_fail => return Err(error),
            // Where there is no session, each command says the same.
            Err(error) if failures.is_empty() => failures.push(error),
            _ => {}
        }
    }
    Ok(failures)
}

fn run(words: &[String], environment: &Environment) -> Result<(), Error> {
    let Some((name, arguments)) = words.split_first() else { return Ok(()) };
    let program = environment.find(name).ok_or_else(|| {
        Error::proxy(format!(
            "`{name}` is not on this machine: start `toolglot serve` the way your system starts programs at login"
        ))
    })?;
    let mut command = Command::new(program);
    let started = command.args(arguments).stderr(Stdio::piped()).spawn().and_then(Child::wait_with_output);
    let ended = started.map_err(|error| Error::proxy(format!("cannot run `{name}`: {error}")))?;
    let said = String::from_utf8_lossy(&ended.stderr);
    if ended.status.success() {
        // Nobody is left to hear that standard error is closed.
        let _ = std::io::stderr().write_all(said.as_bytes());
        return Ok(());
    }
    // As systemctl says it where a user has no session.
    let remedy = if said.contains("Failed to connect to") { NO_SESSION } else { "" };
    Err(Error::proxy(format!("`{}` failed ({}): {}{remedy}", words.join(" "), ended.status, said.trim())))
}

/// The number of this user: that of the owner of the home directory.
fn user_id(environment: &Environment) -> u32 {
    let home = environment.home().and_then(|home| std::fs::metadata(home).ok());
    #[cfg(unix)]
    let id = home.map(|home| std::os::unix::fs::MetadataExt::uid(&home));
    #[cfg(not(unix))]
    let id = home.map(|_| 0);
    id.unwrap_or_default()
}
