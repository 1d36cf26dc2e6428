//! What a server is started with.

use std::{
    path::PathBuf,
    sync::{Arc, LazyLock},
};

use super::log::Lines;
use crate::config::{Config, Environment};

/// Texts by name, made when they are first looked at.
pub type Setup = Arc<LazyLock<Vec<(String, String)>, Box<dyn FnOnce() -> Vec<(String, String)> + Send>>>;

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The validated configuration.
    pub config: Config,
    /// Whether to offer the recorded models even if there are backends.
    pub demo: bool,
    /// Where to look for Ollama if no backend is configured.
    pub ollama: String,
    /// The directory into which every chat is recorded.
    pub record: Option<PathBuf>,
    /// The lines of the log, if they can be followed.
    pub log: Option<Arc<Lines>>,
    /// What to enter in each client, by its name, for the page; `{origin}` stands for the page's own address.
    pub setup: Setup,
    /// The environment in which the registry of MCP servers expands variables.
    pub environment: Environment,
}

impl Settings {
    /// A server of this configuration: no demo, no recording.
    pub fn of(config: Config, environment: &Environment) -> Settings {
        let ollama = environment.ollama_url();
        let setup = Setup::new(LazyLock::new(Box::new(Vec::new)));
        Settings { config, demo: false, ollama, record: None, log: None, setup, environment: environment.clone() }
    }
}
