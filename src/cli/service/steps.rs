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

/// The name of the systemd unit.
pub(super) const UNIT: &str = "toolglot.service";
/// The name of the LaunchAgent.
pub(super) const LABEL: &str = "io.github.toolglot";

/// The steps, in order: the definition is written (`write`) or removed (`remove`), or a command runs. One that begins with `-` may
/// fail, because it undoes what need not be there. [`words`] fills in what is in braces.
pub(super) fn steps(system: System, verb: &Verb) -> &'static [&'static str] {
    match (system, verb) {
        (System::Unix, Verb::Install(_)) => {
            &["write", "systemctl --user daemon-reload", "systemctl --user enable {unit}", "systemctl --user restart {unit}"]
        }
        (System::Unix, Verb::Start) => &["systemctl --user start {unit}"],
        (System::Unix, Verb::Stop) => &["systemctl --user stop {unit}"],
        (System::Unix, Verb::Status) => &["systemctl --user --no-pager status {unit}"],
        (System::Unix, Verb::Logs) => &["journalctl --user --no-pager --lines 100 --unit {unit}"],
        (System::Unix, Verb::Uninstall) => {
            &["-systemctl --user disable --now {unit}", "remove", "-systemctl --user daemon-reload"]
        }
        (System::MacOs, Verb::Install(_)) => &["write", "-launchctl bootout {service}", "launchctl bootstrap {session} {file}"],
        (System::MacOs, Verb::Start) => &["launchctl kickstart {service}"],
        // It ends with code 0, after which launchd leaves it alone.
        (System::MacOs, Verb::Stop) => &["launchctl kill SIGTERM {service}"],
        (System::MacOs, Verb::Status | Verb::Logs) => &["launchctl print {service}"],
        (System::MacOs, Verb::Uninstall) => &["-launchctl bootout {service}", "remove"],
        (System::Windows, Verb::Install(_)) => &[
            "write",
            "-schtasks /End /TN toolglot",
            "schtasks /Create /F /TN toolglot /XML {file}",
            "schtasks /Run /TN toolglot",
        ],
        (System::Windows, Verb::Start) => &["schtasks /Run /TN toolglot"],
        (System::Windows, Verb::Stop) => &["schtasks /End /TN toolglot"],
        (System::Windows, Verb::Status | Verb::Logs) => &["schtasks /Query /TN toolglot /V /FO LIST"],
        (System::Windows, Verb::Uninstall) => &["-schtasks /End /TN toolglot", "-schtasks /Delete /F /TN toolglot", "remove"],
    }
}

/// The words of a step's command; `user` is the number of the user, by which launchd knows the login session.
pub(super) fn words(command: &str, file: &Path, user: u32) -> Vec<String> {
    let filled = |word: &str| match word {
        "{file}" => file.display().to_string(),
        "{unit}" => UNIT.to_owned(),
        "{session}" => format!("gui/{user}"),
        "{service}" => format!("gui/{user}/{LABEL}"),
        word => word.to_owned(),
    };
    command.split(' ').map(filled).collect()
}
