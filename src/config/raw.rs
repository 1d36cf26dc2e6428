//! The content of `proxy.toml` with every key optional, and errors that say how to correct it.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{Alias, Backend, Limits, Mode, Route, ShellForm, ShellVia, explained};
use crate::error::Error;

/// The options of `proxy.toml`. Those that are public are used as they are written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    pub(super) listen: Option<String>,
    /// The mode, unless a route or the request chooses another.
    pub mode: Mode,
    /// The name of the client profile, unless a path prefix chooses one.
    pub profile: Option<String>,
    /// How a command of mode `shell` reaches the shell.
    pub shell_via: ShellVia,
    /// What a command of mode `shell` contains.
    pub shell_form: ShellForm,
    pub(super) adapters: Option<String>,
    pub(super) retry: Option<Retry>,
    pub(super) progress: Option<bool>,
    /// Whether warnings, such as a truncated prompt, also appear in the answer.
    pub show_warnings: bool,
    /// The format of the log.
    pub log_format: super::LogFormat,
    /// The turns whose content the page keeps.
    pub exchanges: super::Exchanges,
    pub(super) api_keys_file: Option<PathBuf>,
    pub(super) api_key_env: Option<String>,
    pub(super) insecure: bool,
    pub(super) modes: Option<Vec<Mode>>,
    /// Number of serving threads; `None`: two, or one on a machine with one processor.
    pub workers: Option<NonZeroUsize>,
    pub(super) store: Option<String>,
    pub(super) store_password_env: Option<String>,
    pub(super) store_password_file: Option<PathBuf>,
    pub(super) store_cluster: bool,
    pub(super) drain_seconds: Option<u64>,
    /// How many seconds `/readyz` fails before that, so that a load balancer notices in time.
    pub drain_announce_seconds: u64,
    pub(super) allowed_hosts: Vec<String>,
    pub(super) allowed_origins: Vec<String>,
    #[serde(rename = "key")]
    pub(super) tenants: Vec<super::Tenant>,
    #[serde(rename = "backend")]
    pub(super) backends: Vec<Backend>,
    /// Rules per model; the first match decides.
    #[serde(rename = "route")]
    pub routes: Vec<Route>,
    /// Further names of models; the first match decides.
    #[serde(rename = "alias")]
    pub aliases: Vec<Alias>,
    /// Limits of sizes.
    pub limits: Limits,
    pub(super) mcp: super::mcp::RawMcp,
    /// The limits of mode `react`.
    pub react: super::React,
}

/// How often a model is asked again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a whole number from 0 to 3 is wanted")]
pub(super) enum Retry {
    Times(u8),
}

/// Parses the text. An error names file, line and what was probably meant.
pub(super) fn read(text: &str, file: Option<&Path>) -> Result<Options, Error> {
    let place = || file.map_or("configuration".to_owned(), |file| file.display().to_string());
    toml::from_str(text).map_err(|error| Error::proxy(format!("{}{}", place(), explained(&error, text))))
}

/// The keys that a configuration may have, tables included.
pub(super) fn keys() -> Vec<String> {
    // serde lists them when a key is unknown.
    let refused = toml::from_str::<Options>("\"\" = 0").err();
    let message = refused.as_ref().map(toml::de::Error::message).unwrap_or_default();
    message.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

/// Adds file and line to an error about the content of a file.
pub(super) fn placed(error: Error, text: &str, file: Option<&Path>) -> Error {
    let elsewhere = ["`--", "`TOOLGLOT_"].iter().any(|begin| error.message.starts_with(begin));
    let Some(file) = file.filter(|_| !elsewhere) else { return error };
    match quoting_line(text, &error.message) {
        Some(line) => Error { message: format!("{}:{line}: {}", file.display(), error.message), ..error },
        None => error,
    }
}

/// The number of the line (from 1) that contains most of the words that a message quotes before its advice.
pub fn quoting_line(text: &str, message: &str) -> Option<usize> {
    let message = message.split(';').next().unwrap_or(message);
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).filter(|word| !word.is_empty()).collect();
    // `react.rounds` is the line `rounds = ..` of the table.
    let key = |word: &str, line: &str| {
        let (_, key) = word.rsplit_once('.')?;
        line.trim_start().strip_prefix(key)?.trim_start().starts_with('=').then_some(key.len())
    };
    let weight = |word: &str, line: &str| if line.contains(word) { word.len() } else { key(word, line).unwrap_or(0) };
    let quoted = |line: &str| words.iter().map(|word| weight(word, line)).sum::<usize>();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
    // Of equals the first.
    let best = lines.map(|(at, line)| (quoted(line), usize::MAX - at)).max()?;
    (best.0 > 0).then(|| usize::MAX - best.1 + 1)
}
