//! The tools of all registered servers and the built-in tools: one list, and one way to call any of them. Connections are opened
//! when needed, kept, and reopened after a failure. A server that is down delays no other.
//!
//! ARCHITECTURE.md ("If a server dies during a call") tells how `process`, `http`, `sse`, `fault`, `connection` and `slot` work
//! together then.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime},
};

use futures_util::future::join_all;
use rmcp::{model::Tool, transport::streamable_http_client::StreamableHttpError};
use serde_json::{Map, Value};

use super::{
    address,
    catalogue::{Catalogue, Problem},
    parameters::Values,
    pins::{self, Pins},
    registry::{Permission, Registry, Server},
    response::{INTERNAL_ERROR, INVALID_PARAMS, McpResponse, RpcError, ServiceInfo, ToolResult},
};
use crate::{
    builtin::{self, Builtin},
    dial::Clients,
    error::{Error, innermost},
    event::Effect,
    lock::Hold,
    redact,
    store::Store,
};

mod connection;
mod fault;
mod http;
mod lenient;
mod offer;
mod process;
mod slot;
mod sse;
mod status;

use connection::{Connection, Listed};
use slot::Slot;
use status::Calls;
pub use status::{Called, Status};

/// The largest message that a server may send, in bytes.
const MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// How long a request for the list of tools waits for servers that are still connecting.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// The patience of callers that wait as long as necessary.
const LONG: Duration = Duration::from_secs(3600);
/// The name of the service that the built-in tools belong to.
pub const BUILT_IN: &str = "sqlite";

/// The servers and the built-in tools.
pub struct Pool {
    registry: Arc<Registry>,
    builtin: Option<Builtin>,
    pins: Pins,
    clients: Clients,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
    calls: Mutex<Calls>,
}

/// The circumstances of a call.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// Headers of the chat request that the operator trusts (`trusted_headers`), names in lower case.
    pub headers: Vec<(String, String)>,
    /// Whether a person has agreed to this call, so that a tool with `ask` may run.
    pub consent: bool,
    /// A time limit below the server's own; `None`: the server's own.
    pub timeout: Option<Duration>,
}

impl Pool {
    /// A pool over this registry. It connects to nothing yet.
    pub fn new(registry: Arc<Registry>, builtin: Option<Builtin>, store: Arc<dyn Store>) -> Pool {
        let clients = Clients::new(|builder| {
            builder
                .dns_resolver(Arc::new(address::Resolver))
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(Duration::from_secs(5))
                .tcp_keepalive(Duration::from_secs(30))
        });
        Pool { registry, builtin, pins: Pins::new(store), clients, slots: Mutex::default(), calls: Mutex::default() }
    }

    /// The registry.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Whether the built-in tools are offered.
    pub fn has_built_in(&self) -> bool {
        self.builtin.is_some()
    }

    /// Whether there is a server of this name, usable or not.
    pub fn has_server(&self, name: &str) -> bool {
        (name == BUILT_IN && self.has_built_in()) || self.registry().snapshot().has(name)
    }

    /// The tools of these servers (`None`: all; the built-in ones belong to [`BUILT_IN`]), which are asked at the same time. A
    /// server that has not connected within `patience` of the start of connecting is a problem of the catalogue. Callers for whom
    /// a model waits pass [`PATIENCE`].
    pub async fn tools(&self, servers: Option<&[String]>, patience: Duration) -> Catalogue {
        let snapshot = self.registry.snapshot();
        let wanted = |name: &str| servers.is_none_or(|servers| servers.iter().any(|own| own == name));
        let usable: Vec<&Arc<Server>> = snapshot.servers.iter().filter(|server| wanted(&server.name)).collect();
        let listed = join_all(usable.iter().map(|server| self.tools_of(server, patience))).await;
        let mut all = Catalogue::default();
        if self.builtin.is_some() && wanted(BUILT_IN) {
            all.tools = offer::built_in();
        }
        for (server, listed) in usable.iter().zip(listed) {
            match listed {
                Ok(listed) => all.extend(listed),
                Err(error) => all.problems.push(Problem { server: server.name.clone(), message: error.message }),
            }
        }
        for entry in snapshot.unusable.iter().filter(|entry| wanted(&entry.name)) {
            all.problems.extend(entry.error.clone().map(|message| Problem { server: entry.name.clone(), message }));
        }
        all.with_names()
    }

    /// Calls a tool by the server's name in the registry and the tool's own name. Dropping the future cancels the call.
    pub async fn call(&self, service: &ServiceInfo, arguments: Map<String, Value>, call: &Call) -> McpResponse {
        let begun = Instant::now();
        let outcome = if service.external {
            self.call_external(service, arguments, call).await
        } else {
            self.call_built_in(service, arguments).await
        };
        let response = McpResponse { outcome }.from_service(service);
        self.calls.hold().add(Called {
            server: service.server.clone(),
            tool: service.tool.clone(),
            failed: response.is_error(),
            at: SystemTime::now(),
            took: begun.elapsed(),
        });
        response
    }

    /// Accepts the current definition of a tool; without a name, those of all tools and the server's instructions. Waits for the
    /// server.
    ///
    /// # Errors
    /// 404: there is no such server or tool. The server cannot be reached, or the definitions cannot be stored.
    pub async fn accept(&self, server: &str, tool: Option<&str>) -> Result<(), Error> {
        let server = self.server(server)?;
        let connection = self.slot(&server).connection(LONG).await?;
        connection.forget();
        let tools = self.listed(&server, &connection, LONG).await?.tools;
        if let Some(tool) = tool.filter(|tool| !tools.iter().any(|own| own.name == *tool)) {
            return Err(Error::client(format!("`{}` has no tool `{tool}`", server.name)).with_status(404));
        }
        let mut said = pins::of_all(&tools, connection.instructions().as_deref());
        said.retain(|(name, _)| tool.is_none_or(|tool| tool == *name));
        self.pins.accept(&server, said).await
    }

    /// Follows the registry: closes connections to servers that were removed or have another address. Never ends.
    pub async fn follow(&self) {
        let mut changes = self.registry.subscribe();
        while changes.changed().await.is_ok() {
            let snapshot = self.registry.snapshot();
            self.slots.hold().retain(|_, slot| {
                let stays = snapshot.servers.contains(&slot.server);
                if !stays {
                    slot.close();
                }
                stays
            });
        }
    }

    /// Closes all connections and waits for their end. Processes get a few seconds to end by themselves.
    pub async fn shut_down(&self) {
        let slots: Vec<Arc<Slot>> = self.slots.hold().drain().map(|(_, slot)| slot).collect();
        join_all(slots.iter().map(|slot| slot.shut_down())).await;
    }

    async fn tools_of(&self, server: &Arc<Server>, patience: Duration) -> Result<Catalogue, Error> {
        let begun = Instant::now();
        let connection = self.slot(server).connection(patience).await?;
        // One patience for both.
        let rest = patience.saturating_sub(begun.elapsed());
        let Listed { tools, left_out, .. } = self.listed(server, &connection, rest).await?;
        let instructions = connection.instructions();
        let changed = self.pins.changed(server, &pins::of_all(&tools, instructions.as_deref())).await;
        let is_changed = |name: &str| changed.iter().any(|own| own == name);
        let about_changes = changed.iter().map(|name| changed_message(server, name));
        let left_out = left_out.into_iter().map(|what| format!("left out: {what}"));
        let problems = about_changes.chain(left_out).map(|message| Problem { server: server.name.clone(), message }).collect();
        let unchanged = tools.iter().filter(|tool| !is_changed(&tool.name));
        let instructions = instructions.filter(|_| !is_changed(pins::INSTRUCTIONS));
        Ok(Catalogue {
            tools: unchanged.filter_map(|tool| offer::offered(server, tool)).collect(),
            problems,
            instructions: instructions.map(|text| (server.name.clone(), text)).into_iter().collect(),
        })
    }

    async fn listed(&self, server: &Arc<Server>, connection: &Arc<Connection>, patience: Duration) -> Result<Listed, Error> {
        let listed = connection.tools(patience).await.inspect_err(|error| self.slot(server).give_up(connection, error))?;
        listed.ok_or_else(|| Error::tool("its tools are still being listed"))
    }

    async fn call_external(
        &self,
        service: &ServiceInfo,
        arguments: Map<String, Value>,
        call: &Call,
    ) -> Result<ToolResult, RpcError> {
        let refused = |message: String| RpcError::new(INVALID_PARAMS, message);
        let failed = |message: String| RpcError::new(INTERNAL_ERROR, message).of_call(service, false);
        let server = self.server(&service.server).map_err(|error| refused(error.message))?;
        let quiet = call.timeout.map_or(server.timeout, |timeout| timeout.min(server.timeout));
        let patience = quiet.max(PATIENCE);
        let connection = self.slot(&server).connection(patience).await.map_err(|error| failed(error.message))?;
        let definition = self.definition(&server, &connection, &service.tool, patience).await;
        let definition = definition
            .map_err(|error| failed(error.message))?
            .ok_or_else(|| refused(format!("the MCP server `{}` has no tool `{}`", server.name, service.tool)))?;
        if !self.pins.changed(&server, &pins::of(std::slice::from_ref(&definition))).await.is_empty() {
            return Err(refused(changed_message(&server, &service.tool)));
        }
        let file = self.registry.file().display();
        let offered = offer::offered(&server, &definition)
            .ok_or_else(|| refused(format!("{} is denied in {file}", service.full_name())))?;
        if offered.permission == Permission::Ask && !call.consent {
            let name = service.full_name();
            return Err(refused(format!("{name} runs only if a person agrees; `allow` in {file} lets it run without")));
        }
        let values = Values { environment: self.registry.environment(), folder: self.registry.folder(), headers: &call.headers };
        let applied = offer::view(&server, &definition).apply(&arguments, &values).map_err(failed)?;
        if !applied.dropped.is_empty() {
            tracing::warn!(tool = service.full_name(), parameters = ?applied.dropped, "the model gave parameters that it cannot see; dropped");
        }
        let longest = call.timeout.map_or(server.longest, |timeout| timeout.min(server.longest));
        let mut outcome = connection.call(&definition.name, applied.arguments, (quiet, longest)).await;
        outcome = outcome.map_err(|error| error.of_call(service, offered.effect != Effect::Reads));
        if let Ok(result) = &mut outcome {
            result.is_error |= server.errors_in_text && result.hides_error();
        }
        let mut response = McpResponse { outcome };
        response.redact(&applied.secrets);
        response.outcome
    }

    /// A tool by its own name. If the list does not contain it, a fresh list is requested once.
    async fn definition(
        &self,
        server: &Arc<Server>,
        connection: &Arc<Connection>,
        name: &str,
        patience: Duration,
    ) -> Result<Option<Tool>, Error> {
        for fresh in [false, true] {
            if fresh {
                connection.forget();
            }
            let listed = self.listed(server, connection, patience).await?;
            if let Some(found) = listed.tools.iter().find(|tool| tool.name == name) {
                return Ok(Some(found.clone()));
            }
        }
        Ok(None)
    }

    #[allow(clippy::disallowed_methods, reason = "SQLite reads files: not on the threads that serve everybody")]
    async fn call_built_in(&self, service: &ServiceInfo, arguments: Map<String, Value>) -> Result<ToolResult, RpcError> {
        let builtin_tools = self
            .builtin
            .clone()
            .filter(|_| service.server == BUILT_IN)
            .ok_or_else(|| RpcError::new(INVALID_PARAMS, "the built-in tools are switched off (`mcp.builtin_tools`)"))?;
        let tool = service.tool.clone();
        let ended = tokio::task::spawn_blocking(move || builtin_tools.execute_tool(&tool, &arguments)).await;
        let ended = ended.map_err(|error| RpcError::new(INTERNAL_ERROR, causes(&error)))?;
        Ok(ToolResult { is_error: ended.is_err(), ..ToolResult::text(builtin::answer(&ended).to_string()) })
    }

    fn server(&self, name: &str) -> Result<Arc<Server>, Error> {
        if let Some(server) = self.registry.get(name) {
            return Ok(server);
        }
        let snapshot = self.registry.snapshot();
        Err(Error::client(match snapshot.unusable.iter().find(|entry| entry.name == name) {
            Some(entry) => {
                format!("the MCP server `{name}` cannot be used: {}", entry.error.as_deref().unwrap_or("it is switched off"))
            }
            None => {
                let known: Vec<&str> = snapshot.servers.iter().map(|server| server.name.as_str()).collect();
                format!("there is no MCP server `{name}`; there are: {}", known.join(", "))
            }
        })
        .with_status(404))
    }

    /// The slot of this server. A slot of the same name with another address is closed.
    fn slot(&self, server: &Arc<Server>) -> Arc<Slot> {
        let mut slots = self.slots.hold();
        match slots.get(&server.name) {
            Some(slot) if slot.server == *server => Arc::clone(slot),
            other => {
                if let Some(old) = other {
                    old.close();
                }
                let slot = Arc::new(Slot::new(Arc::clone(server), self.registry.environment().clone(), self.clients.clone()));
                slots.insert(server.name.clone(), Arc::clone(&slot));
                slot
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.slots.hold().values().for_each(|slot| drop(slot.close()));
    }
}

/// What people are told of a changed tool, or of changed instructions.
fn changed_message(server: &Server, name: &str) -> String {
    let server = &server.name;
    let what = match name {
        pins::INSTRUCTIONS => "its instructions have changed since they were first seen and are not shown to models".to_owned(),
        _ => format!("the definition of {server}__{name} has changed since it was first seen, or could not be noted then"),
    };
    format!("{what}; `toolglot mcp accept {server}` accepts all that it says now")
}

/// An error with everything that caused it, as one line of readable length.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    // The SDK does not say what is behind an error of the client.
    if let Some(StreamableHttpError::Client(error)) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        return causes(error);
    }
    if let Some(unreachable) = error.downcast_ref::<reqwest::Error>().filter(|error| error.is_connect()) {
        let url = unreachable.url().map(ToString::to_string).unwrap_or_default();
        return redact::line(&format!("cannot reach {url}: {}", innermost(error)));
    }
    let chain = std::iter::successors(error.source(), |cause| cause.source()).map(ToString::to_string);
    let text = chain.fold(error.to_string(), |text, cause| if text.contains(&cause) { text } else { format!("{text}: {cause}") });
    redact::line(&text)
}
