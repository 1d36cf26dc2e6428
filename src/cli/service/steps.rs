//! What each verb of `toolglot service` does on each system, as data: the commands, and when the definition is written or
//! removed.

use std::path::Path;

use clap::Subcommand;

use crate::{cli::given::Configured, config::System};

/// What is asked of the service.
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Start toolglot now and at every login, with the configuration that is found from here
    Install(Configured),
    /// Start it
    Start,
    /// Stop it until the next login
    Stop,
    /// Show whether it runs
    Status,
    /// Show the end of its log
    Logs,
    /// Stop it, and start it no more
    Uninstall,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The definition is written.
    Write,
    /// The definition is removed.
    Remove,
    /// A command runs. One that `may_fail` undoes what need not be there.
    Run { command: Vec<String>, may_fail: bool },
}

/// The name of the systemd unit.
pub(super) const UNIT: &str = "toolglot.service";
/// The name of the LaunchAgent.
pub(super) const LABEL: &str = "io.github.toolglot";
/// The name of the task.
const TASK: &str = "toolglot";

/// The steps, in order; `user` is the number of the user, for launchd.
pub(super) fn steps(system: System, verb: &Verb, file: &Path, user: u32) -> Vec<Step> {
    match system {
        System::Unix => systemd(verb),
        System::MacOs => launchd(verb, file, user),
        System::Windows => task_scheduler(verb, file),
    }
}

fn systemd(verb: &Verb) -> Vec<Step> {
    let control = |words: &[&str]| run(&[&["systemctl", "--user"], words].concat());
    match verb {
        Verb::Install(_) => {
            vec![Step::Write, control(&["daemon-reload"]), control(&["enable", UNIT]), control(&["restart", UNIT])]
        }
        Verb::Start => vec![control(&["start", UNIT])],
        Verb::Stop => vec![control(&["stop", UNIT])],
        Verb::Status => vec![control(&["--no-pager", "status", UNIT])],
        Verb::Logs => vec![run(&["journalctl", "--user", "--no-pager", "--lines", "100", "--unit", UNIT])],
        Verb::Uninstall => {
            vec![may_fail(control(&["disable", "--now", UNIT])), Step::Remove, may_fail(control(&["daemon-reload"]))]
        }
    }
}

fn launchd(verb: &Verb, file: &Path, user: u32) -> Vec<Step> {
    let file = file.display().to_string();
    let session = format!("gui/{user}");
    let service = format!("{session}/{LABEL}");
    let control = |words: &[&str]| run(&[&["launchctl"], words].concat());
    match verb {
        Verb::Install(_) => {
            vec![Step::Write, may_fail(control(&["bootout", &service])), control(&["bootstrap", &session, &file])]
        }
        Verb::Start => vec![control(&["kickstart", &service])],
        // It ends with code 0, after which launchd leaves it alone.
        Verb::Stop => vec![control(&["kill", "SIGTERM", &service])],
        Verb::Status | Verb::Logs => vec![control(&["print", &service])],
        Verb::Uninstall => vec![may_fail(control(&["bootout", &service])), Step::Remove],
    }
}

fn task_scheduler(verb: &Verb, file: &Path) -> Vec<Step> {
    let file = file.display().to_string();
    let control = |words: &[&str]| run(&[&["schtasks"], words].concat());
    let start = control(&["/Run", "/TN", TASK]);
    let stop = control(&["/End", "/TN", TASK]);
    match verb {
        Verb::Install(_) => {
            vec![Step::Write, may_fail(stop), control(&["/Create", "/F", "/TN", TASK, "/XML", &file]), start]
        }
        Verb::Start => vec![start],
        Verb::Stop => vec![stop],
        Verb::Status | Verb::Logs => vec![control(&["/Query", "/TN", TASK, "/V", "/FO", "LIST"])],
        Verb::Uninstall => vec![may_fail(stop), may_fail(control(&["/Delete", "/F", "/TN", TASK])), Step::Remove],
    }
}

fn run(words: &[&str]) -> Step {
    Step::Run { command: words.iter().map(|word| (*word).to_owned()).collect(), may_fail: false }
}

fn may_fail(step: Step) -> Step {
    match step {
        Step::Run { command, .. } => Step::Run { command, may_fail: true },
        other => other,
    }
}
