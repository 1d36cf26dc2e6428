//! Connections to backends: a request goes out, the answer comes back as batches of bytes behind [`Body`]. Behind it are
//! HTTP (`reqwest`) and recordings, which play an answer from memory with its pauses. Dropping a response, or the future
//! that waits for one, drops the connection: that is how a backend learns that nobody listens any more.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, future::BoxFuture};
use http::{HeaderMap, Method, StatusCode};

use crate::error::Error;

mod recorded;
#[cfg(test)]
pub(crate) mod tests;

pub use recorded::Recording;

/// How long to wait, each without limit for the whole: a slow model may prepare for many minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection to be made.
    pub connect: Duration,
    /// For the next byte of the answer, its head included.
    pub idle: Duration,
}

/// A request to a backend.
#[derive(Debug, Clone)]
pub enum Outgoing {
    /// Over the network.
    Http(HttpRequest),
    /// Answered from memory.
    Recorded(Recording),
}

/// An HTTP request, complete. Its `Debug` form shows neither headers (keys) nor the body.
#[derive(Clone)]
pub struct HttpRequest {
    /// GET or POST.
    pub method: Method,
    /// The absolute URL.
    pub url: String,
    /// All headers that matter; `content-length` is added by the connection.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// The head of an answer, and its body to be read.
pub struct Response {
    /// The status, also an error's.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// What follows.
    pub body: Box<dyn Body>,
}

/// An answer's bytes, in the batches in which they arrive.
pub trait Body: Send {
    /// Appends what has arrived to `into` and tells how much that is, 0 at the end. Waits if nothing is there. Cancel
    /// safe: a future that is dropped has lost nothing; what it appended is in `into`.
    fn read<'a>(&'a mut self, into: &'a mut BytesMut) -> BoxFuture<'a, Result<usize, Error>>;
}

/// The connections of all backends.
#[derive(Debug, Clone)]
pub struct Client {
    /// For loopback, where a proxy of the environment would be nonsense.
    direct: reqwest::Client,
    /// For everything else: proxies of the environment apply.
    outside: reqwest::Client,
}

struct HttpBody {
    response: reqwest::Response,
    failed: Option<Error>,
}

/// As much is taken in one batch if it has arrived already.
const BATCH_BYTES: usize = 64 * 1024;
/// Servers close idle connections after as little as 5 s; a connection that may be half closed is not used again.
const POOL_IDLE: Duration = Duration::from_secs(3);

// === impl Timeouts ===

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { connect: Duration::from_secs(10), idle: Duration::from_secs(30 * 60) }
    }
}

// === impl HttpRequest ===

impl std::fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} ({} bytes)", self.method, self.url, self.body.len())
    }
}

// === impl Client ===

impl Client {
    /// A client with these timeouts. Fails only if the system's certificates cannot be used.
    pub fn new(timeouts: Timeouts) -> Result<Client, Error> {
        // Whoever is first decides for the process; a second provider is refused, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let build = |builder: reqwest::ClientBuilder| {
            builder
                .connect_timeout(timeouts.connect)
                .read_timeout(timeouts.idle)
                .pool_idle_timeout(POOL_IDLE)
                .tcp_nodelay(true)
                .redirect(reqwest::redirect::Policy::none())
                .user_agent(concat!("toolglot/", env!("CARGO_PKG_VERSION")))
                .build()
                .map_err(|error| Error::proxy(format!("no HTTP client: {}", causes(&error))))
        };
        Ok(Client { direct: build(reqwest::Client::builder().no_proxy())?, outside: build(reqwest::Client::builder())? })
    }

    /// Sends the request and waits for the head of the answer. An error status is an answer; an error is a connection
    /// that failed (code `backend_unreachable` if nothing was sent).
    pub async fn send(&self, request: Outgoing) -> Result<Response, Error> {
        match request {
            Outgoing::Recorded(recording) => Ok(recording.into_response()),
            Outgoing::Http(request) => self.send_http(request).await,
        }
    }

    async fn send_http(&self, request: HttpRequest) -> Result<Response, Error> {
        let url: reqwest::Url =
            request.url.parse().map_err(|error| Error::proxy(format!("`{}` is not a URL: {error}", request.url)))?;
        let client = if is_loopback(&url) { &self.direct } else { &self.outside };
        let origin = url.origin().ascii_serialization();
        let sent = client.request(request.method, url).headers(request.headers).body(request.body).send().await;
        let response = sent.map_err(|error| transport(&error, &origin))?;
        Ok(Response {
            status: response.status(),
            headers: response.headers().clone(),
            body: Box::new(HttpBody { response, failed: None }),
        })
    }
}

// === impl Response ===

impl Response {
    /// The whole body, at most `limit` bytes of it (for error bodies and small answers).
    pub async fn collect(&mut self, limit: usize) -> Result<Bytes, Error> {
        let mut all = BytesMut::new();
        while all.len() < limit && self.body.read(&mut all).await? > 0 {}
        all.truncate(limit);
        Ok(all.freeze())
    }
}

impl std::fmt::Debug for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Response({})", self.status)
    }
}

// === impl HttpBody ===

impl Body for HttpBody {
    fn read<'a>(&'a mut self, into: &'a mut BytesMut) -> BoxFuture<'a, Result<usize, Error>> {
        Box::pin(async move {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            // `chunk` is cancel safe, and what was appended stays appended.
            let Some(first) = self.response.chunk().await.map_err(|error| broken(&error))? else { return Ok(0) };
            let before = into.len();
            into.extend_from_slice(&first);
            // The connection hands over one piece each time it is asked, so it is asked as long as it has one at hand.
            let mut asked = false;
            while into.len() - before < BATCH_BYTES {
                match self.response.chunk().now_or_never() {
                    Some(Ok(Some(more))) => {
                        into.extend_from_slice(&more);
                        asked = false;
                    }
                    // What arrived before a failure is handed over first.
                    Some(Err(error)) => {
                        self.failed = Some(broken(&error));
                        break;
                    }
                    None if !asked => {
                        asked = true;
                        tokio::task::yield_now().await;
                    }
                    Some(Ok(None)) | None => break,
                }
            }
            Ok(into.len() - before)
        })
    }
}

/// Whether the URL points to this machine.
fn is_loopback(url: &reqwest::Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

fn transport(error: &reqwest::Error, origin: &str) -> Error {
    if error.is_connect() && error.is_timeout() {
        Error::backend(format!("the backend at {origin} does not answer")).with_status(504).with_code("backend_unreachable")
    } else if error.is_connect() {
        Error::backend(format!("cannot reach the backend at {origin}: {}", causes(error))).with_code("backend_unreachable")
    } else if error.is_timeout() {
        Error::backend(format!("the backend at {origin} did not answer in time")).with_status(504).with_code("backend_timeout")
    } else {
        Error::backend(format!("the backend at {origin} closed the connection without an answer: {}", causes(error)))
            .with_code("backend_failed")
    }
}

fn broken(error: &reqwest::Error) -> Error {
    if error.is_timeout() {
        Error::backend("the backend fell silent in the middle of its answer").with_status(504).with_code("backend_timeout")
    } else {
        Error::backend(format!("the connection to the backend broke in the middle of its answer: {}", causes(error)))
            .with_code("backend_failed")
    }
}

/// The innermost cause says what really happened; the outer ones repeat the URL.
fn causes(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
