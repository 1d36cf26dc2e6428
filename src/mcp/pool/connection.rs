//! An open connection to a server: its tools (from memory while they are fresh) and the answers of calls, each with a time
//! limit.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::{BoxFuture, FutureExt, Shared};
use rmcp::{
    ClientHandler,
    model::{
        CallToolRequestParams, CallToolResponse, ClientConfig, ContentBlock, PaginatedRequestParams, ProgressNotificationParam,
        Tool,
    },
    service::{NotificationContext, Peer, RoleClient, RunningService, ServiceError},
    transport::streamable_http_client::StreamableHttpError,
};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::{fault::Fault, lenient::LEFT_OUT};
use crate::{
    error::Error,
    lock::Hold,
    mcp::response::{INTERNAL_ERROR, RpcError, ToolResult},
};

mod open;

pub(super) struct Connection {
    service: RunningService<RoleClient, Listener>,
    /// The transport: `stdio`, `http` or `sse`.
    pub(super) dialect: &'static str,
    listing: Mutex<Listing>,
    fault: Fault,
}

/// What is known of a server's tools.
#[derive(Default)]
struct Listing {
    /// The last list.
    known: Option<Listed>,
    /// The one that is asked for now, and since when.
    asked: Option<(Instant, Pending)>,
}

/// A list that was requested. It makes progress while somebody waits for it, and can be awaited again later.
type Pending = Shared<BoxFuture<'static, Result<Listed, Error>>>;

/// A server's list of tools.
#[derive(Clone)]
pub(super) struct Listed {
    pub(super) tools: Arc<Vec<Tool>>,
    /// The tools that cannot be read, and why.
    pub(super) left_out: Vec<String>,
    until: Instant,
    /// How many changes the server had announced when it was asked for.
    changes: u64,
}

/// Receives the server's notifications.
#[derive(Default)]
struct Listener {
    /// Increases when the server reports a change of its tools, and when the list must be requested again.
    changes: AtomicU64,
    /// Increases with every progress notification.
    progress: watch::Sender<u64>,
}

/// How long a list of tools is fresh at most. A server can say less.
const FRESH: Duration = Duration::from_secs(300);
/// Time limit for a whole list. Its size is limited by `PAGES` and `TOOLS`.
const LISTING: Duration = Duration::from_secs(15);
/// The error code for a server that does not answer.
const SILENT: &str = "mcp_silent";
/// Maximum number of items of a result.
const ITEMS: usize = 1000;
/// A tool with a longer name is left out, in bytes: its pin has to be stored.
const NAME_BYTES: usize = 512;
const PAGES: usize = 100;
const TOOLS: usize = 2000;

impl Connection {
    /// Whether nothing can be sent any more.
    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    /// The server's own description (`instructions`).
    pub(super) fn instructions(&self) -> Option<String> {
        self.service.peer_info()?.instructions.clone().filter(|text| !text.trim().is_empty())
    }

    /// The negotiated revision of the protocol.
    pub(super) fn protocol(&self) -> Option<String> {
        Some(self.service.peer_info()?.protocol_version.to_string())
    }

    /// The server's tools, from memory while they are fresh. Otherwise they are requested; if that fails, or takes longer than
    /// `patience` since the first request, the old list is used. `None`: the list may still come.
    ///
    /// # Errors
    /// The connection is unusable.
    pub(super) async fn tools(&self, patience: Duration) -> Result<Option<Listed>, Error> {
        let (since, pending) = {
            let mut listing = self.listing.hold();
            if let Some(known) = listing.known.as_ref().filter(|known| self.is_fresh(known)) {
                return Ok(Some(known.clone()));
            }
            listing.asked.get_or_insert_with(|| (Instant::now(), self.ask())).clone()
        };
        let listed = tokio::time::timeout_at((since + patience).into(), pending).await;
        let mut listing = self.listing.hold();
        if listed.is_ok() && listing.asked.as_ref().is_some_and(|(own, _)| *own == since) {
            listing.asked = None;
        }
        match listed {
            Ok(Ok(listed)) => listing.known = Some(listed),
            Ok(Err(error)) if listing.known.is_none() || self.is_closed() || error.code.as_deref() == Some(SILENT) => {
                return Err(error);
            }
            Ok(Err(error)) => tracing::warn!(%error, "the tools could not be listed again; the old list stays"),
            Err(_) => {}
        }
        Ok(listing.known.clone())
    }

    /// The last list, however old.
    pub(super) fn known(&self) -> Option<Listed> {
        self.listing.hold().known.clone()
    }

    /// Marks the list as outdated.
    pub(super) fn forget(&self) {
        self.service.service().changes.fetch_add(1, Ordering::AcqRel);
    }

    fn is_fresh(&self, listed: &Listed) -> bool {
        listed.until > Instant::now() && listed.changes == self.service.service().changes.load(Ordering::Acquire)
    }

    fn ask(&self) -> Pending {
        let (peer, fault) = (self.service.peer().clone(), self.fault.clone());
        let changes = self.service.service().changes.load(Ordering::Acquire);
        let listing = async move {
            match tokio::time::timeout(LISTING, list(&peer, &fault)).await {
                Ok(listed) => listed.map(|listed| Listed { changes, ..listed }),
                Err(_) => Err(Error::tool(format!("no list of tools within {} s", LISTING.as_secs())).with_code(SILENT)),
            }
        };
        listing.boxed().shared()
    }

    /// Calls a tool. `times`: how long the call may be silent, and how long it may take in all. Dropping the future cancels the
    /// call.
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
                    // What is left of a turn's time has many digits.
                    let seconds = (seconds * 10.0).round().max(1.0) / 10.0;
                    let words = self.fault.last_words().map(|words| format!("; it wrote: {words}")).unwrap_or_default();
                    return Err(RpcError::lost(format!("no answer within {seconds} s; the server was asked to cancel the call{words}")));
                }
            }
        }
    }

    fn answer(&self, answer: Result<CallToolResponse, ServiceError>) -> Result<ToolResult, RpcError> {
        match answer {
            Ok(CallToolResponse::Complete(result)) => Ok(ToolResult {
                content: items(&result.content),
                structured: result.structured_content,
                is_error: result.is_error == Some(true),
            }),
            Ok(CallToolResponse::Task(_)) => {
                Err(RpcError::lost("the server goes on with the call as a task, whose result is not waited for here"))
            }
            Ok(_) => Err(RpcError::new(INTERNAL_ERROR, "the tool asks for input from a person, which is not possible here")),
            Err(ServiceError::McpError(error)) => Err(RpcError::new(error.code.0.into(), error.message)),
            Err(error) if was_refused(&error) => Err(RpcError::new(INTERNAL_ERROR, describe(&self.fault, &error))),
            Err(error) => Err(RpcError::lost(describe(&self.fault, &error))),
        }
    }

    /// Begins to close it.
    pub(super) fn stop(&self) {
        self.service.cancellation_token().cancel();
    }

    /// Whether it is closed and its process has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.service.is_transport_closed()
    }
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        config.client_info.name = "toolglot".into();
        config.client_info.version = env!("CARGO_PKG_VERSION").into();
        config
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.send_modify(|count| *count += 1);
    }
}

/// All pages of a server's tools.
async fn list(peer: &Peer<RoleClient>, fault: &Fault) -> Result<Listed, Error> {
    let (mut tools, mut left_out, mut long) = (Vec::new(), Vec::new(), 0);
    let mut fresh = FRESH;
    let (mut cursor, mut pages) = (None, 0);
    loop {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(page)).await.map_err(|error| Error::tool(describe(fault, &error)))?;
        if let Some(milliseconds) = page.ttl_ms {
            fresh = fresh.min(Duration::from_millis(milliseconds));
        }
        let wrong = page.meta.as_ref().and_then(|meta| meta.get(LEFT_OUT)).and_then(Value::as_array);
        left_out.extend(wrong.into_iter().flatten().filter_map(|what| what.as_str().map(str::to_owned)));
        for tool in page.tools {
            match tool.name.len() {
                _ if tool.name.trim().is_empty() => left_out.push("a tool of its list: its name is empty".to_owned()),
                ..=NAME_BYTES => tools.push(tool),
                _ => long += 1,
            }
        }
        pages += 1;
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
        if pages >= PAGES || tools.len() > TOOLS {
            let so_far = format!("{} tools in {pages} pages so far", tools.len());
            return Err(Error::tool(format!("the list of tools does not end ({so_far})")));
        }
    }
    if long > 0 {
        left_out.push(format!("tools of its list with names of more than {NAME_BYTES} bytes: {long}"));
    }
    Ok(Listed { tools: Arc::new(tools), left_out, until: Instant::now() + fresh, changes: 0 })
}

/// The items of a result. Texts beyond the first [`ITEMS`] items are one, and what else there is beyond them is left out: what is
/// said of each item takes more memory than a short one.
fn items(content: &[ContentBlock]) -> Vec<Value> {
    let (first, rest) = content.split_at(content.len().min(ITEMS));
    let mut items: Vec<Value> = first.iter().filter_map(|item| serde_json::to_value(item).ok()).collect();
    if !rest.is_empty() {
        let mut text = Vec::with_capacity(rest.len() + 1);
        text.extend(rest.iter().filter_map(|item| Some(item.as_text()?.text.as_str())));
        let others = rest.len() - text.len();
        let left_out = format!("[{others} further items that are no text are left out]");
        text.extend(Some(left_out.as_str()).filter(|_| others > 0));
        items.push(json!({"type": "text", "text": text.join("\n")}));
    }
    items
}

/// Why a request failed, in words without the SDK's types.
fn describe(fault: &Fault, error: &ServiceError) -> String {
    let lost = matches!(error, ServiceError::TransportClosed | ServiceError::TransportSend(_) | ServiceError::Cancelled { .. });
    match fault.describe().filter(|_| lost) {
        Some(reason) => format!("the connection was lost: {reason}"),
        None => match error {
            ServiceError::TransportClosed => "the connection was lost".into(),
            ServiceError::UnexpectedResponse => "the server's answer is not what was asked for".into(),
            ServiceError::TransportSend(error) => super::causes(error.error.as_ref()),
            other => super::causes(other),
        },
    }
}

/// Whether the request certainly never reached the tool: nobody took it, or it was turned away.
fn was_refused(error: &ServiceError) -> bool {
    let ServiceError::TransportSend(error) = error else { return false };
    match error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::Client(error)) => {
            error.is_connect() || error.is_builder() || error.status().is_some_and(|status| status.is_client_error())
        }
        Some(StreamableHttpError::HttpStatus(error)) => error.status == http::StatusCode::TOO_MANY_REQUESTS,
        Some(StreamableHttpError::UnexpectedServerResponse(said)) => said.starts_with("HTTP 4"),
        Some(
            StreamableHttpError::AuthRequired(_)
            | StreamableHttpError::InsufficientScope(_)
            | StreamableHttpError::SessionExpired,
        ) => true,
        _ => false,
    }
}
