//! The process environment as a value that can be passed around and faked in tests. toolglot's own variables are
//! `TOOLGLOT_CONFIG` (`locate`), `TOOLGLOT_LISTEN` (`Config::parse`), `TOOLGLOT_LOG` and `OLLAMA_HOST` (both here); `toolglot
//! --help` lists them. `TOOLGLOT_INSIDE` is for its children alone (`mcp/pool/process`).

use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::{Path, PathBuf},
};

#[cfg(test)]
mod tests;

/// The variables of the process whose values are valid Unicode.
#[derive(Clone)]
pub struct Environment {
    system: System,
    /// Names as [`Environment::spelled`] writes them.
    variables: BTreeMap<String, String>,
}

/// The system, which decides how variables are spelled and where programs and a user's files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux and other Unix systems.
    Unix,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// The value of `PATHEXT` if it is not set.
const EXTENSIONS: &str = ".com;.exe;.bat;.cmd";

impl System {
    /// The system that this program was built for.
    const OWN: System = if cfg!(windows) {
        System::Windows
    } else if cfg!(target_os = "macos") {
        System::MacOs
    } else {
        System::Unix
    };
}

impl Environment {
    /// The variables of this process.
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Environment {
        let text =
            |(name, value): (std::ffi::OsString, std::ffi::OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Environment::on(System::OWN, std::env::vars_os().filter_map(text))
    }

    /// These variables on this system.
    pub(crate) fn on(system: System, variables: impl IntoIterator<Item = (String, String)>) -> Environment {
        let mut environment = Environment { system, variables: BTreeMap::new() };
        variables.into_iter().for_each(|(name, value)| environment.set(&name, value));
        environment
    }

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(&*self.spelled(name)).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The same environment with other values of these variables.
    pub fn with<'a>(&self, variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Environment {
        let mut environment = self.clone();
        variables.into_iter().for_each(|(name, value)| environment.set(name, value.to_owned()));
        environment
    }

    fn set(&mut self, name: &str, value: String) {
        self.variables.insert(self.spelled(name).into_owned(), value);
    }

    /// The name as it is stored: on Windows, names ignore case (`Path`).
    fn spelled<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.system == System::Windows { name.to_uppercase().into() } else { name.into() }
    }

    /// The system whose rules apply.
    pub fn system(&self) -> System {
        self.system
    }

    /// Whether colours may be written to a terminal (<https://no-color.org>).
    pub fn allows_colours(&self) -> bool {
        self.get("NO_COLOR").is_none()
    }

    /// The user's home directory; `None`: `HOME` (on Windows `USERPROFILE`) is not set.
    pub fn home(&self) -> Option<PathBuf> {
        self.get(if self.system == System::Windows { "USERPROFILE" } else { "HOME" }).map(PathBuf::from)
    }

    /// The directory where programs keep this user's settings.
    pub fn settings_directory(&self) -> Option<PathBuf> {
        self.directory([("XDG_CONFIG_HOME", ".config"), ("APPDATA", "AppData/Roaming")])
    }

    /// The directory where programs keep this user's data on this machine.
    fn data_directory(&self) -> Option<PathBuf> {
        self.directory([("XDG_DATA_HOME", ".local/share"), ("LOCALAPPDATA", "AppData/Local")])
    }

    /// The directory that a variable names, else this one in the user's home: on Unix, on Windows. macOS has one for all.
    fn directory(&self, [unix, windows]: [(&str, &str); 2]) -> Option<PathBuf> {
        let (variable, usual) = match self.system {
            System::MacOs => return Some(self.home()?.join("Library/Application Support")),
            System::Windows => windows,
            System::Unix => unix,
        };
        self.get(variable).map(PathBuf::from).or_else(|| Some(self.home()?.join(usual)))
    }

    /// The program that a command starts: the first file of this name in `PATH`, on Windows with an extension of `PATHEXT` unless
    /// it has one. A command with a folder is looked for only there.
    pub fn find(&self, command: &str) -> Option<PathBuf> {
        let windows = self.system == System::Windows;
        let is_path = command.contains('/') || (windows && command.contains('\\'));
        let folders: Vec<PathBuf> = match self.get("PATH") {
            _ if is_path => vec![PathBuf::new()],
            Some(path) => {
                path.split(if windows { ';' } else { ':' }).filter(|folder| !folder.is_empty()).map(PathBuf::from).collect()
            }
            None => Vec::new(),
        };
        let names = self.names(command);
        folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))).find(|file| is_program(file))
    }

    /// The names of files that a command may mean, in the order of the search.
    fn names(&self, command: &str) -> Vec<String> {
        if self.system != System::Windows {
            return vec![command.to_owned()];
        }
        let extensions: Vec<String> = self.get("PATHEXT").unwrap_or(EXTENSIONS).split(';').map(str::to_lowercase).collect();
        if extensions.iter().any(|extension| !extension.is_empty() && command.to_lowercase().ends_with(extension)) {
            vec![command.to_owned()]
        } else {
            extensions.iter().map(|extension| format!("{command}{extension}")).collect()
        }
    }

    /// The URL where Ollama's own command looks for its server: `OLLAMA_HOST`, else port 11434 of this machine.
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

impl Default for Environment {
    fn default() -> Environment {
        Environment::on(System::OWN, [])
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
        Environment::default().with(variables)
    }
}

/// The directory of this user's data (state and databases): `~/.local/share/toolglot` on Linux.
pub fn data_directory(environment: &Environment) -> PathBuf {
    environment.data_directory().unwrap_or_default().join("toolglot")
}
