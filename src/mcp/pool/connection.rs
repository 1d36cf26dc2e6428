//! An open connection to a server -> its tools, from memory while they are fresh, and the answers of calls, within their times.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rmcp::{
    ClientHandler,
    model::{CallToolRequestParams, CallToolResponse, ClientConfig, PaginatedRequestParams, ProgressNotificationParam},
    service::{NotificationContext, RoleClient, RunningService, ServiceError},
};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, watch};

use super::fault::Fault;
use crate::{
    error::{Blame, Error},
    mcp::response::{INTERNAL_ERROR, RpcError, ToolResult},
};

mod open;

/// An open connection.
pub(super) struct Connection {
    service: RunningService<RoleClient, Listener>,
    /// What is spoken: `stdio`, `http` or `sse`.
    pub(super) dialect: &'static str,
    listed: Mutex<Option<Listed>>,
    fault: Fault,
}

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::mcp) struct Definition {
    pub(in crate::mcp) name: String,
    pub(in crate::mcp) title: Option<String>,
    pub(in crate::mcp) description: String,
    pub(in crate::mcp) schema: Value,
    pub(in crate::mcp) output_schema: Option<Value>,
    pub(in crate::mcp) annotations: Option<Value>,
}

struct Listed {
    tools: Arc<Vec<Definition>>,
    until: Instant,
}

/// Hears what a server says on its own account.
#[derive(Default)]
struct Listener {
    /// The list of tools is not what it was.
    stale: AtomicBool,
    /// Counts up with every sign of progress.
    progress: watch::Sender<u64>,
}

/// How long a list of tools is good where the server does not say.
const FRESH: Duration = Duration::from_secs(300);
const FRESH_AT_MOST: Duration = Duration::from_secs(3600);
/// How long a whole list may take, and how long it may be.
const LISTING: Duration = Duration::from_secs(15);
const PAGES: usize = 100;
const TOOLS: usize = 2000;

// === impl Connection ===

impl Connection {
    fn new(service: RunningService<RoleClient, Listener>, dialect: &'static str, fault: Fault) -> Connection {
        Connection { service, dialect, listed: Mutex::new(None), fault }
    }

    /// Whether nothing can be sent any more.
    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    /// What the server says about itself for those who use its tools.
    pub(super) fn instructions(&self) -> Option<String> {
        self.service.peer_info()?.instructions.clone().filter(|text| !text.trim().is_empty())
    }

    /// The revision of the protocol that both sides agreed on.
    pub(super) fn protocol(&self) -> Option<String> {
        Some(self.service.peer_info()?.protocol_version.to_string())
    }

    /// The server's tools: from memory while they are fresh, otherwise asked for; where that fails, the old ones.
    pub(super) async fn tools(&self) -> Result<Arc<Vec<Definition>>, Error> {
        let mut listed = self.listed.lock().await;
        if let Some(listed) = listed.as_ref()
            && listed.until > Instant::now()
            && !self.stale().load(Ordering::Acquire)
        {
            return Ok(Arc::clone(&listed.tools));
        }
        self.stale().store(false, Ordering::Release);
        match tokio::time::timeout(LISTING, self.list()).await {
            Ok(Ok((tools, fresh))) => {
                let tools = Arc::new(tools);
                *listed = Some(Listed { tools: Arc::clone(&tools), until: Instant::now() + fresh });
                Ok(tools)
            }
            Ok(Err(error)) => match listed.as_ref() {
                Some(old) if !self.is_closed() => {
                    tracing::warn!(%error, "the tools could not be listed again; the old list stays");
                    Ok(Arc::clone(&old.tools))
                }
                _ => Err(error),
            },
            Err(_) => Err(failed(format!("no list of tools within {} s", LISTING.as_secs()))),
        }
    }

    /// The tools from memory, however old.
    pub(super) fn known_tools(&self) -> Option<Arc<Vec<Definition>>> {
        Some(Arc::clone(&self.listed.try_lock().ok()?.as_ref()?.tools))
    }

    /// Forgets that the list is fresh.
    pub(super) fn forget(&self) {
        self.stale().store(true, Ordering::Release);
    }

    fn stale(&self) -> &AtomicBool {
        &self.service.service().stale
    }

    async fn list(&self) -> Result<(Vec<Definition>, Duration), Error> {
        let mut tools = Vec::new();
        let mut fresh = FRESH;
        let mut cursors: Vec<String> = Vec::new();
        loop {
            let page = cursors.last().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor.clone())));
            let page = self.service.list_tools(page).await.map_err(|error| failed(self.describe(&error)))?;
            if let Some(milliseconds) = page.ttl_ms {
                fresh = fresh.min(Duration::from_millis(milliseconds)).min(FRESH_AT_MOST);
            }
            tools.extend(page.tools.iter().map(Definition::of));
            let Some(cursor) = page.next_cursor else { break };
            if cursors.contains(&cursor) || cursors.len() + 1 >= PAGES || tools.len() > TOOLS {
                return Err(failed(format!(
                    "the list of tools does not end ({} tools in {} pages so far)",
                    tools.len(),
                    cursors.len() + 1
                )));
            }
            cursors.push(cursor);
        }
        Ok((tools, fresh))
    }

    /// Calls a tool. Dropping the future tells the server to stop.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        times: (Duration, Duration),
    ) -> Result<ToolResult, RpcError> {
        let (quiet, longest) = times;
        let call = self.service.call_tool_once(CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments));
        tokio::pin!(call);
        let mut progress = self.service.service().progress.subscribe();
        let end = tokio::time::Instant::now() + longest;
        loop {
            let silence = (tokio::time::Instant::now() + quiet).min(end);
            tokio::select! {
                answer = &mut call => return self.answer(answer),
                // Progress of any call on this connection shows that the server is alive.
                Ok(()) = progress.changed() => {}
                () = tokio::time::sleep_until(silence) => {
                    let seconds = if silence == end { longest } else { quiet }.as_secs_f64();
                    let words = self.fault.last_words().map(|words| format!("; it wrote: {words}")).unwrap_or_default();
                    return Err(internal(format!("no answer within {seconds} s; the call was cancelled{words}")));
                }
            }
        }
    }

    fn answer(&self, answer: Result<CallToolResponse, ServiceError>) -> Result<ToolResult, RpcError> {
        match answer {
            Ok(CallToolResponse::Complete(result)) => Ok(ToolResult {
                content: result.content.iter().filter_map(|item| serde_json::to_value(item).ok()).collect(),
                structured: result.structured_content,
                is_error: result.is_error == Some(true),
            }),
            Ok(_) => Err(internal("the tool asks for input from a person, which is not possible here".into())),
            Err(ServiceError::McpError(error)) => {
                Err(RpcError { code: error.code.0.into(), message: error.message.into_owned() })
            }
            Err(error) => Err(internal(self.describe(&error))),
        }
    }

    fn describe(&self, error: &ServiceError) -> String {
        let lost =
            matches!(error, ServiceError::TransportClosed | ServiceError::TransportSend(_) | ServiceError::Cancelled { .. });
        match self.fault.describe().filter(|_| lost) {
            Some(reason) => format!("the connection was lost: {reason}"),
            None => match error {
                ServiceError::TransportClosed => "the connection was lost".into(),
                ServiceError::UnexpectedResponse => "the server's answer is not what was asked for".into(),
                ServiceError::TransportSend(error) => super::causes(error.error.as_ref()),
                other => super::causes(other),
            },
        }
    }

    /// Begins to close it.
    pub(super) fn stop(&self) {
        self.service.cancellation_token().cancel();
    }

    /// Waits until it is closed and its process has ended.
    pub(super) async fn closed(&self, limit: Duration) {
        let closed = async {
            while !self.service.is_transport_closed() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // A process that outlasts even this is killed with the transport.
        let _ = tokio::time::timeout(limit, closed).await;
    }
}

// === impl Definition ===

impl Definition {
    fn of(tool: &rmcp::model::Tool) -> Definition {
        Definition {
            name: tool.name.to_string(),
            title: tool.title.clone(),
            description: tool.description.as_deref().unwrap_or_default().to_owned(),
            schema: Value::Object(tool.input_schema.as_ref().clone()),
            output_schema: tool.output_schema.as_ref().map(|schema| Value::Object(schema.as_ref().clone())),
            annotations: tool.annotations.as_ref().and_then(|annotations| serde_json::to_value(annotations).ok()),
        }
    }
}

// === impl Listener ===

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        config.client_info.name = "toolglot".into();
        config.client_info.version = env!("CARGO_PKG_VERSION").into();
        config
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.stale.store(true, Ordering::Release);
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.send_modify(|count| *count += 1);
    }
}

// === private ===

fn failed(message: String) -> Error {
    Error::new(Blame::Tool, message)
}

fn internal(message: String) -> RpcError {
    RpcError { code: INTERNAL_ERROR, message }
}
