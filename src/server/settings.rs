//! What a server is started with.

use std::{path::PathBuf, sync::Arc};

use super::log::Lines;
use crate::config::{Config, Environment, Listen};

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
    /// What to enter in each client that talks to this address, by the client's name, for the page; `{origin}` stands for the page's
    /// own address.
    pub setup: fn(&Listen) -> Vec<(String, String)>,
    /// The environment in which the registry of MCP servers expands variables.
    pub environment: Environment,
}

impl Settings {
    /// A server of this configuration: no demo, no recording.
    pub fn of(config: Config, environment: &Environment) -> Settings {
        let ollama = environment.ollama_url();
        let environment = environment.clone();
        Settings { config, demo: false, ollama, record: None, log: None, setup: |_| Vec::new(), environment }
    }
}
