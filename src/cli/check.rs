//! `toolglot check`: reports the faults of adapters, configuration and registry with file and line.

use std::{
    fmt,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use walkdir::{DirEntry, WalkDir};

use super::output::{print, read};
use crate::{
    adapter::{Adapter, GENERIC, Library},
    config::{Config, Environment, Overlay, Overrides, quoting_line},
    error::Error,
    mcp::{
        pool::BUILT_IN,
        registry::{Registry, Snapshot},
    },
    recorded::{self, check::Places},
    server,
};

mod faults;
#[cfg(test)]
mod tests;

use faults::library_faults;

/// Validates adapters, configuration and registry: everything that `serve` would read, or one path.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// Record the current results of the fixtures next to the adapters (*.txt) instead of comparing them
    #[arg(long)]
    update: bool,
    /// A directory of adapter files with their fixtures, one adapter file, one fixture (*.txt), a proxy.toml or an mcp.json
    /// [default: everything that `serve` would read]
    path: Option<PathBuf>,
}

/// The checked files, and their faults.
#[derive(Default)]
struct Findings {
    update: bool,
    looked_at: Vec<String>,
    /// In which file and line, if known, and what is wrong.
    faults: Vec<String>,
}

/// A fixture with nothing to compare: only that every cut gives the same was checked.
const WITHOUT_EVENTS: &str = "without expected events (`--update` writes them)";
/// Maximum depth of fixtures below their adapters.
const DEPTH: usize = 2;

impl Check {
    /// Runs the command. Writes faults to `out`.
    ///
    /// # Errors
    /// There are faults, or something cannot be read.
    pub(super) fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let mut findings = Findings { update: self.update, ..Findings::default() };
        match &self.path {
            None => findings.everything(environment)?,
            Some(path) if path.is_dir() => findings.overlay(path, None)?,
            Some(path) if path.extension().is_some_and(|extension| extension == "json") => {
                findings.registry(path, environment);
            }
            Some(path) if path.extension().is_some_and(|extension| extension == "txt") => findings.fixture(path)?,
            Some(path) if is_adapter(path)? => findings.overlay(path.parent().unwrap_or(Path::new("")), Some(path))?,
            Some(path) => findings.configuration(Some(path), environment)?,
        }
        let text: String = findings.faults.iter().map(|fault| format!("{fault}\n")).collect();
        let faults = match findings.faults.len() {
            1 => "1 fault".to_owned(),
            count => format!("{count} faults"),
        };
        print(out, &format!("{text}{} checked, {faults}\n", findings.looked_at.join(", ")))?;
        if text.is_empty() { Ok(()) } else { Err(Error::proxy(faults).with_code("configuration")) }
    }
}

/// Whether a TOML file is an adapter's: it has forms of calls, or keys outside of tables that a configuration does not have.
fn is_adapter(path: &Path) -> Result<bool, Error> {
    let text = read(path)?;
    let is_call = |line: &str| line.trim_start().starts_with("[[call]]");
    let key = |line: &str| line.split_once('=').map(|(key, _)| key.trim().to_owned());
    let mut keys = text.lines().take_while(|line| !line.trim_start().starts_with('[')).filter_map(key);
    let is_own = |key: String| ["proof", "models", "templates"].contains(&key.as_str());
    Ok(text.lines().any(is_call) || keys.any(is_own))
}

impl Findings {
    fn add(&mut self, place: impl fmt::Display, what: impl fmt::Display) {
        self.faults.push(format!("{place}: {what}"));
    }

    /// Adds a fault of a file, with the line that it is about.
    fn add_at(&mut self, path: &Path, line: Option<usize>, what: impl fmt::Display) {
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        self.add(format_args!("{}{line}", path.display()), what);
    }

    fn everything(&mut self, environment: &Environment) -> Result<(), Error> {
        let library = Library::embedded()?;
        self.looked_at.push(format!("{} built-in adapters", library.iter().count()));
        for (name, what) in library_faults(&library, |_| true) {
            self.add(format!("{name}.toml"), what);
        }
        self.configuration(None, environment)
    }

    /// A configuration with all that it names.
    fn configuration(&mut self, file: Option<&Path>, environment: &Environment) -> Result<(), Error> {
        let overrides = Overrides { file: file.map(Path::to_owned), here: true, without_secrets: true, ..Overrides::default() };
        let config = match Config::load(&overrides, environment) {
            Ok(config) => config,
            Err(error) => {
                self.looked_at.push("configuration".into());
                // Its message begins with the place.
                self.faults.push(error.message);
                return Ok(());
            }
        };
        let passed_over = config.passed_over.as_ref();
        self.looked_at.extend(passed_over.map(|file| format!("{} (not checked: it belongs to another program)", file.display())));
        for backend in &config.backends {
            // Where it is checked may be another machine than where it serves.
            let missing = backend.missing.as_ref().map(|what| format!("backend `{}` (not checked: {what})", backend.name));
            self.looked_at.extend(missing);
        }
        let keys = config.access.missing.iter().filter(|missing| !missing.in_file);
        self.looked_at.extend(keys.map(|missing| format!("keys of clients (not checked: {})", missing.what)));
        if let Some(file) = &config.file {
            self.looked_at.push(file.display().to_string());
            let text = read(file)?;
            let missing = config.access.missing.iter().filter(|missing| missing.in_file).map(|missing| missing.what.clone());
            // What is wrong with an adapter is told below, with its line.
            let library = server::library(&config).err().filter(|wrong| !wrong.message.starts_with("adapter "));
            let wrong = library.into_iter().chain(config.check_exposure().err()).map(|error| error.message);
            for what in missing.chain(wrong) {
                self.add_at(file, quoting_line(&text, &what), what);
            }
        }
        let (Overlay::Named(adapters) | Overlay::Usual(adapters)) = &config.adapters;
        if adapters.is_dir() {
            self.overlay(adapters, None)?;
        }
        let servers = match config.mcp.registry.is_file() {
            true => self.registry(&config.mcp.registry, environment),
            false => Some(Arc::default()),
        };
        if let (Some(file), Some(servers)) = (&config.file, servers) {
            let (text, registry) = (read(file)?, config.mcp.registry.display());
            let is_known = |name: &String| servers.has(name) || (name == BUILT_IN && config.mcp.builtin_tools);
            for name in config.react.servers.iter().flatten().filter(|name| !is_known(name)) {
                let what = format!("`react.servers` names the MCP server `{name}`, which is not in the registry {registry}");
                self.add_at(file, quoting_line(&text, &format!("`servers` `{name}`")), what);
            }
        }
        Ok(())
    }

    /// A registry of MCP servers. Gives its servers, if it can be read.
    fn registry(&mut self, file: &Path, environment: &Environment) -> Option<Arc<Snapshot>> {
        self.looked_at.push(file.display().to_string());
        let opened = if file.is_file() {
            Registry::open(file, environment.clone())
        } else {
            Err(Error::client(format!("{}: there is no such file", file.display())))
        };
        let text = std::fs::read_to_string(file).unwrap_or_default();
        match opened {
            Err(error) => {
                let what = error.message.trim_start_matches(&format!("{}: ", file.display())).to_owned();
                let line = what.split_once("on line ").and_then(|(_, tail)| tail.split(' ').next()?.parse().ok());
                self.add_at(file, line, what);
                None
            }
            Ok(registry) => {
                let servers = registry.snapshot();
                for entry in &servers.unusable {
                    let Some(error) = &entry.error else { continue };
                    let line = quoting_line(&text, &format!("`\"{}\"`", entry.name));
                    self.add_at(file, line, format!("{}: {error}", entry.name).trim_start_matches(": "));
                }
                for (name, doubt) in &servers.doubts {
                    self.add_at(file, quoting_line(&text, doubt), format!("{name}: {doubt}"));
                }
                Some(servers)
            }
        }
    }

    /// Adapter files of a directory (all, or one): each alone first, so that all of them are named; then, over the built-in
    /// ones, together.
    fn overlay(&mut self, directory: &Path, only: Option<&Path>) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::proxy(format!("{}: {error}", directory.display()));
        let embedded = Library::embedded()?;
        let generic = embedded.get(GENERIC).map(|adapter| adapter.calls.clone()).unwrap_or_default();
        let place = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let entries = std::fs::read_dir(place).map_err(failed)?;
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(directory.join(entry.ok()?.file_name()))).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort();
        let mut files: Vec<(String, PathBuf, String)> = Vec::new();
        let mut readable = true;
        for path in paths {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = read(&path)?;
            let chosen = only.is_none_or(|only| only == path);
            let forms = if name == GENERIC { &[][..] } else { &generic[..] };
            if let Err(error) = Adapter::parse(&name, &text, forms) {
                readable = false;
                if chosen {
                    let what = error.message.trim_start_matches(&format!("adapter {name}.toml")).trim_start_matches(':');
                    let (line, what) = match what.split_once(": ").map(|(line, what)| (line.parse().ok(), what)) {
                        Some((Some(line), what)) => (Some(line), what),
                        _ => (call_line(&text, what), what.trim_start()),
                    };
                    self.add_at(&path, line, what.trim_end());
                }
            }
            if chosen {
                files.push((name, path, text));
            }
        }
        self.looked_at.push(format!("{} adapters of {}", files.len(), place.display()));
        if readable {
            let library = Library::with_overlay(place)?;
            for (name, what) in library_faults(&library, |name| files.iter().any(|(known, ..)| known == name)) {
                let Some((_, path, text)) = files.iter().find(|(known, ..)| *known == name) else { continue };
                self.add_at(path, call_line(text, &what).or_else(|| quoting_line(text, &what)), what);
            }
            if only.is_none() {
                self.fixtures(place, &library);
            }
        }
        Ok(())
    }

    /// One fixture, with the built-in adapters.
    fn fixture(&mut self, path: &Path) -> Result<(), Error> {
        read(path)?;
        self.looked_at.push(path.display().to_string());
        if !self.is_compared(path, &Library::embedded()?) {
            self.looked_at.push(WITHOUT_EVENTS.into());
        }
        Ok(())
    }

    /// Checks a fixture; `false` if there was nothing to compare.
    fn is_compared(&mut self, path: &Path, library: &Library) -> bool {
        let checked = recorded::check::check(path, library, Places::All, self.update);
        checked.unwrap_or_else(|what| {
            self.add(path.display(), what.trim_end());
            true
        })
    }

    /// The fixtures in a directory of adapters and the directories in it.
    fn fixtures(&mut self, directory: &Path, library: &Library) {
        let (mut count, mut unwritten) = (0, 0);
        for path in recordings(directory, DEPTH) {
            count += 1;
            unwritten += usize::from(!self.is_compared(&path, library));
        }
        if count > 0 {
            self.looked_at.push(format!("{count} fixtures"));
        }
        if unwritten > 0 {
            self.looked_at.push(format!("{unwritten} of them {WITHOUT_EVENTS}"));
        }
    }
}

/// The `*.txt` files in a directory and its subdirectories, down to this depth.
fn recordings(directory: &Path, depth: usize) -> impl Iterator<Item = PathBuf> {
    let entries = WalkDir::new(directory).max_depth(depth + 1).follow_links(true).sort_by_file_name().into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file()).map(DirEntry::into_path);
    files.filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
}

/// The line where the form begins that a text names by its number.
fn call_line(text: &str, what: &str) -> Option<usize> {
    let (_, tail) = what.split_once("[[call]] number ")?;
    let number: usize = tail.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    let begins = |(_, line): &(usize, &str)| line.trim_start().starts_with("[[call]]");
    text.lines().enumerate().filter(begins).nth(number.checked_sub(1)?).map(|(at, _)| at + 1)
}
