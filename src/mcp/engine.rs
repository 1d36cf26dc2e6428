//! toolglot's own MCP server: the built-in tools and, if configured, everything in the registry. Clients reach it over
//! streamable HTTP, HTTP with SSE, and standard input.
//!
//! The engine is independent of any request. Each session has a loop of the SDK that runs every message as a task, so a slow tool
//! delays nobody and answers may overtake each other. Transports only move messages; that of HTTP with SSE has an input queue and
//! an output queue, and its session ends with the owner of the latter.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Instant,
};

use futures_util::{sink, stream};
use rmcp::{
    ServiceExt,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_server::{StreamableHttpServerConfig, session::SessionStore},
};
use tokio::sync::mpsc;

use super::pool::Pool;
use crate::{fix::Schemas, lock::Hold, store::Common};

mod http;
mod requests;
mod sessions;
mod sse;
mod stdio;

pub use crate::config::McpServing as Options;

use requests::Requests;
use sessions::Used;

/// The sender of a request. An extension of the HTTP request.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Its name; empty for the one local user.
    pub name: Arc<str>,
    /// The servers whose tools it may use; `None`: all.
    pub servers: Option<Arc<[String]>>,
}

/// toolglot's own MCP server. Clones share everything.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

/// What all sessions share.
struct Shared {
    pool: Arc<Pool>,
    options: Options,
    schemas: Schemas,
    /// How the SDK serves streamable HTTP; ends its sessions, too.
    http: StreamableHttpServerConfig,
    /// The sessions of the legacy transport, with their input queues.
    sessions: Mutex<HashMap<String, (Used, mpsc::Sender<ClientJsonRpcMessage>)>>,
}

/// One session: its output queue. Dropping it ends the session.
struct Session {
    id: String,
    output: mpsc::Receiver<ServerJsonRpcMessage>,
    shared: Arc<Shared>,
}

/// The largest request over HTTP, in bytes.
const REQUEST_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of messages in a queue.
const QUEUE: usize = 64;

impl Engine {
    /// A server over this pool.
    pub fn new(pool: Arc<Pool>, options: Options) -> Engine {
        Engine::sharing(pool, options, None)
    }

    /// The same, but a session of streamable HTTP can continue at any instance that shares this store.
    pub fn sharing(pool: Arc<Pool>, options: Options, store: Option<Arc<dyn Common>>) -> Engine {
        // Hosts and origins are checked once, in front of all routes.
        let mut http = StreamableHttpServerConfig::default().disable_allowed_hosts().with_max_request_body_bytes(REQUEST_BYTES);
        let common = store.filter(|store| store.link().is_some());
        http.session_store = common.map(|store| Arc::new(sessions::Begun(store)) as Arc<dyn SessionStore>);
        let shared = Shared { pool, options, schemas: Schemas::default(), http, sessions: Mutex::default() };
        Engine { shared: Arc::new(shared) }
    }

    /// Its pool.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.shared.pool
    }

    /// Number of open sessions of the legacy transport.
    pub fn open_sessions(&self) -> usize {
        self.shared.sessions.hold().len()
    }

    /// Ends all sessions and their streams; new requests are refused. The pool stays open.
    pub fn end_sessions(&self) {
        self.shared.http.cancellation_token.cancel();
        // The loops see the end of their input, end, and with their output the streams end.
        self.shared.sessions.hold().clear();
    }

    /// Opens a session of the legacy transport. If there are too many, another one is closed for it.
    #[allow(clippy::disallowed_methods, reason = "the loop of a session lives as long as the session, not as a request")]
    fn open(&self, owner: Option<Arc<str>>) -> Session {
        let id = uuid::Uuid::new_v4().to_string();
        let (to_input, input) = mpsc::channel(QUEUE);
        let (to_output, output) = mpsc::channel(QUEUE);
        {
            let mut sessions = self.shared.sessions.hold();
            if sessions.len() >= self.shared.options.sessions.max(1)
                && let Some(id) = sessions::makes_room(sessions.iter().map(|(id, (used, _))| (id, used))).cloned()
            {
                tracing::info!("too many MCP sessions; the one that was silent longest is closed");
                sessions.remove(&id);
            }
            sessions.insert(id.clone(), (Used { at: Instant::now(), owner }, to_input));
        }
        let requests = Requests::new(Arc::clone(&self.shared));
        let input = stream::unfold(input, |mut input| async move { Some((input.recv().await?, input)) });
        let to_output = sink::unfold(to_output, |output, message| async move { output.send(message).await.map(|()| output) });
        tokio::spawn(async move {
            match requests.serve((Box::pin(to_output), Box::pin(input))).await {
                // Why it ended does not matter: the client is gone.
                Ok(running) => drop(running.waiting().await),
                Err(error) => tracing::debug!(%error, "an MCP session was not begun"),
            }
        });
        Session { id, output, shared: Arc::clone(&self.shared) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The loop sees the end of its input and ends.
        self.shared.sessions.hold().remove(&self.id);
    }
}
