//! toolglot's own MCP server: the built-in tools and, if configured, everything in the registry. Clients reach it over
//! streamable HTTP, HTTP with SSE, and standard input.
//!
//! The engine is independent of any request. Each session has a loop of the SDK that runs every message as a task, so a slow tool
//! delays nobody and answers may overtake each other. Transports only move messages; that of HTTP with SSE has an input queue and
//! an output queue, and its session ends with the owner of the latter.

use std::{sync::Arc, time::Instant};

use futures_util::{sink, stream};
use rmcp::{
    model::ServerJsonRpcMessage,
    transport::{
        async_rw::AsyncRwTransport,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService,
            session::{SessionId, SessionStore, never::NeverSessionManager},
        },
    },
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
    sync::mpsc,
};

use super::pool::Pool;
use crate::{fix::Schemas, lock::Hold, store::Common};

mod http;
mod requests;
mod sessions;
mod sse;

pub use crate::config::McpServing as Options;

use requests::Requests;
use sessions::{Sessions, Used};

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
    /// Streamable HTTP with sessions.
    streamable: StreamableHttpService<Requests, Sessions>,
    /// The sessions of that service, and of the legacy transport.
    sessions: Arc<Sessions>,
    /// For callers that post a single request and read a single answer.
    direct: StreamableHttpService<Requests, NeverSessionManager>,
}

/// What all sessions share.
struct Shared {
    pool: Arc<Pool>,
    options: Options,
    schemas: Schemas,
}

/// The largest request over HTTP, in bytes; the SDK's default, too.
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
        let mut http = StreamableHttpServerConfig::default().disable_allowed_hosts();
        let common = store.filter(|store| store.link().is_some());
        http.session_store = common.map(|store| Arc::new(sessions::Begun(store)) as Arc<dyn SessionStore>);
        let single = http.clone().with_legacy_session_mode(false).with_json_response(true);
        let sessions = Arc::new(Sessions::new(options.sessions));
        let shared = Arc::new(Shared { pool, options, schemas: Schemas::default() });
        let of_all = Arc::clone(&shared);
        let begin = move || Ok(Requests::new(Arc::clone(&of_all)));
        Engine {
            shared,
            streamable: StreamableHttpService::new(begin.clone(), Arc::clone(&sessions), http),
            sessions,
            direct: StreamableHttpService::new(begin, Arc::default(), single),
        }
    }

    /// Its pool.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.shared.pool
    }

    /// Number of open sessions of the legacy transport.
    pub fn open_sessions(&self) -> usize {
        self.sessions.used.hold().values().filter(|used| used.input.is_some()).count()
    }

    /// Ends all sessions and their streams; new requests are refused. The pool stays open.
    pub fn end_sessions(&self) {
        self.streamable.config.cancellation_token.cancel();
        // The loops see the end of their input, end, and with their output the streams end.
        self.sessions.used.hold().clear();
    }

    /// Serves one client over standard input and output until its input ends, one message per line. Lines that are no JSON are
    /// passed over, and answers that are still due at the end of the input get a few seconds.
    pub async fn stdio(&self, input: impl AsyncRead + Send + Unpin + 'static, output: impl AsyncWrite + Send + Unpin + 'static) {
        // The last line may lack its end.
        let lines = AsyncRwTransport::new_server(input.chain(&b"\n"[..]), output);
        Requests::new(Arc::clone(&self.shared)).over(lines).await;
    }

    /// Opens a session of the legacy transport: its id and its output queue, whose end is the session's. If there are too many,
    /// another one is closed for it.
    #[allow(clippy::disallowed_methods, reason = "the loop of a session lives as long as the session, not as a request")]
    async fn open(&self, owner: Option<Arc<str>>) -> (SessionId, mpsc::Receiver<ServerJsonRpcMessage>) {
        let id = SessionId::from(uuid::Uuid::new_v4().to_string());
        let (to_input, input) = mpsc::channel(QUEUE);
        let (to_output, output) = mpsc::channel(QUEUE);
        self.sessions.make_room().await;
        self.sessions.used.hold().insert(Arc::clone(&id), Used { at: Instant::now(), owner, input: Some(to_input) });
        let (sessions, own) = (Arc::clone(&self.sessions), Arc::clone(&id));
        let requests = Requests::new(Arc::clone(&self.shared));
        let input = stream::unfold(input, |mut input| async move { Some((input.recv().await?, input)) });
        let sending =
            sink::unfold(to_output.clone(), |output, message| async move { output.send(message).await.map(|()| output) });
        tokio::spawn(async move {
            tokio::select! {
                () = requests.over((Box::pin(sending), Box::pin(input))) => {}
                () = to_output.closed() => {}
            }
            sessions.used.hold().remove(&own);
        });
        (id, output)
    }
}
