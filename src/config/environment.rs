//! The process environment -> a value that can be passed around and faked in tests.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The variables of the process, as far as they are text.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// The variables of this process.
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Environment {
        let text =
            |(name, value): (std::ffi::OsString, std::ffi::OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Environment { variables: std::env::vars_os().filter_map(text).collect() }
    }

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The user's home directory.
    pub fn home(&self) -> Option<PathBuf> {
        self.get(if cfg!(windows) { "USERPROFILE" } else { "HOME" }).map(PathBuf::from)
    }

    /// Whether a command of this name would be found in `PATH`.
    pub fn finds(&self, command: &str) -> bool {
        let folders = self.get("PATH").unwrap_or_default();
        let file = format!("{command}{}", std::env::consts::EXE_SUFFIX);
        std::env::split_paths(folders).any(|folder| is_program(&folder.join(&file)))
    }

    /// Where Ollama's own command would look for its server: `OLLAMA_HOST`, else port 11434 of this machine.
    pub fn ollama_url(&self) -> String {
        let written = self.get("OLLAMA_HOST").unwrap_or_default().trim().trim_end_matches('/');
        let (scheme, rest) = match written.split_once("://") {
            Some((scheme, rest)) => (scheme, rest),
            None => ("http", written),
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let usual_port = match (scheme, written.contains("://")) {
            ("https", _) => "443",
            (_, true) => "80",
            (_, false) => "11434",
        };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => (authority, usual_port),
        };
        // A server that listens everywhere is reached on loopback.
        let host = match host {
            "" | "0.0.0.0" => "127.0.0.1",
            "[::]" => "[::1]",
            other => other,
        };
        format!("{scheme}://{host}:{port}{path}")
    }

    /// The filter of the log on standard error (`TOOLGLOT_LOG`, in the form of `RUST_LOG`).
    pub fn log_filter(&self) -> &str {
        self.get("TOOLGLOT_LOG").unwrap_or("toolglot=info,warn")
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keys of all kinds are in there.
        f.write_str("Environment(..)")
    }
}

fn is_program(file: &Path) -> bool {
    #[cfg(unix)]
    let may_run = |found: &std::fs::Metadata| std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = |_: &std::fs::Metadata| true;
    std::fs::metadata(file).is_ok_and(|found| found.is_file() && may_run(&found))
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(variables: [(&str, &str); N]) -> Environment {
        Environment { variables: variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect() }
    }
}

/// Where a user's own files lie when there is no configuration file: `$XDG_DATA_HOME/toolglot` and its relatives.
pub fn data_directory(environment: &Environment) -> PathBuf {
    let home = || environment.get("HOME").map(PathBuf::from);
    let base = if cfg!(windows) {
        environment.get("APPDATA").map(PathBuf::from)
    } else if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Application Support"))
    } else {
        environment.get("XDG_DATA_HOME").map(PathBuf::from).or_else(|| home().map(|home| home.join(".local/share")))
    };
    base.unwrap_or_default().join("toolglot")
}
