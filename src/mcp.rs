//! The servers in `mcp.json` and toolglot's own MCP server, as tools that can be listed and called. This module knows no
//! model and no chat: it takes names and arguments, and returns one form of answer ([`response::McpResponse`]).
//!
//! The SDK (`rmcp`) stays inside: no type of it appears in a signature of this module.

mod address;
pub mod catalogue;
pub mod engine;
pub mod names;
pub mod parameters;
mod pins;
pub mod pool;
pub mod registry;
pub mod response;

use std::sync::Arc;

use crate::{
    builtin::Builtin,
    config::{Environment, Mcp},
    error::Error,
    store::Store,
};

/// Opens the configured registry, and creates a pool over it.
///
/// # Errors
/// `configuration`: the registry cannot be read.
pub fn open(config: &Mcp, environment: &Environment, store: Arc<dyn Store>) -> Result<Arc<pool::Pool>, Error> {
    let registry = registry::Registry::open(&config.registry, environment.clone())?;
    let builtin = config.builtin_tools.then(|| Builtin::new(&config.database));
    Ok(Arc::new(pool::Pool::new(Arc::new(registry), builtin, store)))
}
