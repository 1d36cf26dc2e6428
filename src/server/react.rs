//! A request in mode `react`: its own fields, and the tools of the servers that it may use.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::Value;

use super::state::App;
use crate::{
    client::front::TRACE,
    config::{Lowered, Tenant},
    error::Error,
    mcp::pool::{BUILT_IN, PATIENCE},
    openai::ChatRequest,
    plan::React,
};

/// How this request runs tools. Its field `toolglot` says what it wants for itself, and goes no further.
pub(super) async fn of(
    app: &App,
    tenant: &Tenant,
    chat: &mut ChatRequest,
    headers: &HeaderMap,
    last_counts: bool,
) -> Result<React, Error> {
    let lowered: Lowered = match chat.rest.shift_remove(TRACE) {
        None | Some(Value::Null) => Lowered::default(),
        Some(value) if !value.is_object() => return Err(Error::client(format!("`{TRACE}` must be an object"))),
        Some(value) => serde_json::from_value(value).map_err(|error| Error::client(format!("`{TRACE}`: {error}")))?,
    };
    let mut limits = app.config.react.lowered(&lowered);
    let pool = app.process.mcp.pool();
    for name in limits.servers.iter().flatten() {
        check_server(app, tenant, name)?;
    }
    limits.servers = tenant.servers(limits.servers.as_deref());
    let catalogue = Arc::new(pool.tools(limits.servers.as_deref(), PATIENCE).await);
    let trusted = app.config.mcp.serving.trusted_headers.iter().filter_map(|name| {
        let value = headers.get(name.as_str())?.to_str().ok()?;
        Some((name.clone(), value.to_owned()))
    });
    Ok(React { limits, catalogue, last_counts, headers: trusted.collect(), registry: pool.registry().file().to_owned() })
}

/// Whether there is any server, or a tool of our own.
pub(super) fn has_servers(app: &App, tenant: &Tenant) -> bool {
    let pool = app.process.mcp.pool();
    pool.has_built_in() && tenant.may_use_server(BUILT_IN)
        || pool.registry().snapshot().servers.iter().any(|server| tenant.may_use_server(&server.name))
}

/// Fails if there is no server of this name. Servers that a tenant may not use do not exist for it.
fn check_server(app: &App, tenant: &Tenant, name: &str) -> Result<(), Error> {
    let pool = app.process.mcp.pool();
    if pool.has_server(name) && tenant.may_use_server(name) {
        return Ok(());
    }
    let snapshot = pool.registry().snapshot();
    let names = snapshot.servers.iter().map(|server| server.name.as_str()).filter(|name| tenant.may_use_server(name));
    let names: Vec<&str> = names.collect();
    let instead = if names.is_empty() { "there is none".to_owned() } else { format!("there are: {}", names.join(", ")) };
    Err(Error::client(format!("there is no MCP server `{name}`; {instead}")).with_code("mcp_server"))
}
