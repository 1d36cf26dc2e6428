//! The section `[mcp]`: where the servers and the built-in tools are, and what our own MCP server offers.

use std::path::PathBuf;

use serde::Deserialize;

use super::{
    Environment, Secret,
    checks::wrong,
    secret::{Source, variable_name},
};
use crate::error::Error;

/// The configuration of MCP, apart from the registry itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mcp {
    /// The registry file.
    pub registry: PathBuf,
    /// Whether the built-in tools are offered.
    pub builtin_tools: bool,
    /// The database of the built-in tools.
    pub database: PathBuf,
    /// What toolglot's own MCP server offers, and to whom.
    pub serving: McpServing,
    /// The directory for pins of tool definitions and for waiting calls.
    pub state: PathBuf,
}

/// What toolglot's own MCP server offers, and to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServing {
    /// Whether the tools of the registry are offered too.
    pub gateway: bool,
    /// Whether failures are sent as ordinary text, for clients that lose the text of errors.
    pub errors_as_text: bool,
    /// Who may change the registry over HTTP.
    pub registry_http: RegistryHttp,
    /// The token that pages of other origins need for the MCP routes; also the token of [`RegistryHttp::Token`].
    pub token: Option<Secret>,
    /// Headers of a request that tool policies may read, in lower case.
    pub trusted_headers: Vec<String>,
    /// Maximum number of sessions over HTTP.
    pub sessions: usize,
}

/// Who may change the registry over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegistryHttp {
    /// Every user of this server.
    #[default]
    On,
    /// Senders with the token.
    Token,
    /// No one.
    Off,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawMcp {
    registry: Option<String>,
    builtin_tools: bool,
    database: Option<String>,
    serve_registry: bool,
    errors_as_text: bool,
    registry_http: Option<RegistryHttp>,
    token_env: Option<String>,
    trusted_headers: Vec<String>,
}

/// The directory for pins of tool definitions and for waiting calls. It does not depend on the configuration.
pub fn state_directory(environment: &Environment) -> PathBuf {
    super::data_directory(environment).join("state")
}

impl Default for McpServing {
    fn default() -> McpServing {
        McpServing {
            gateway: false,
            errors_as_text: false,
            registry_http: RegistryHttp::On,
            token: None,
            trusted_headers: Vec::new(),
            sessions: 1000,
        }
    }
}

impl RawMcp {
    /// Checks the section. If other machines can reach the server (`exposed`), changing the registry requires the token by default.
    pub(super) fn check(&self, source: Source<'_>, exposed: bool) -> Result<Mcp, Error> {
        let Source { base, environment, without_secrets } = source;
        let token = match &self.token_env {
            None => None,
            Some(name) => match environment.get(name).unwrap_or_default().trim() {
                "" if without_secrets => None,
                "" => return wrong(format!("`mcp.token_env`: the environment variable `{}` is not set", variable_name(name))),
                token => Some(Secret::key(token)),
            },
        };
        if self.registry_http == Some(RegistryHttp::Token) && self.token_env.is_none() {
            return wrong("`mcp.registry_http` is \"token\": say in `mcp.token_env` which variable holds it");
        }
        if self.builtin_tools && !cfg!(feature = "sample-tools") {
            return wrong("`mcp.builtin_tools`: this build has no built-in tools (the feature `sample-tools`)");
        }
        Ok(Mcp {
            registry: match &self.registry {
                Some(named) => base.join(named),
                None => super::user_directory(environment).join("mcp.json"),
            },
            builtin_tools: self.builtin_tools,
            database: match &self.database {
                Some(named) => base.join(named),
                None => super::data_directory(environment).join("db/mcp_data.db"),
            },
            serving: McpServing {
                gateway: self.serve_registry,
                errors_as_text: self.errors_as_text,
                registry_http: self.registry_http.unwrap_or(if exposed { RegistryHttp::Token } else { RegistryHttp::On }),
                token,
                trusted_headers: self.trusted_headers.iter().map(|name| name.to_ascii_lowercase()).collect(),
                ..McpServing::default()
            },
            state: state_directory(environment),
        })
    }
}

#[cfg(test)]
mod tests;
