//! Connections to backends: a request goes out, the answer comes back as batches of bytes behind [`Body`]. Behind it are
//! servers on this machine (`direct`), all others (`outside`), and recordings, which play an answer from memory with its
//! pauses. Dropping a response before its end, or the future that waits for one, drops the connection: that is how a backend
//! learns that nobody listens any more.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode};
use url::Url;

use crate::{dial, error::Error};

mod direct;
mod http1;
mod idle;
mod outside;
mod recorded;
mod silence;
#[cfg(test)]
pub(crate) mod tests;

pub use recorded::Recording;
pub use silence::Silence;

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
    pub body: Body,
}

/// An answer's bytes, in the batches in which they arrive.
pub struct Body(Source);

/// Where they come from.
enum Source {
    Direct(direct::Answer),
    Outside(outside::Answer),
    Recorded(Recording),
}

/// The connections of all backends.
#[derive(Debug, Clone)]
pub struct Client {
    timeouts: Timeouts,
    idle: idle::Idle,
    outside: dial::Clients,
}

/// How a connection fails before the head of the answer is there.
enum Fault {
    /// Nobody takes the connection, for this reason.
    Unreachable(String),
    /// Nobody says whether there is a connection.
    NoAnswer,
    /// It was closed, for this reason.
    Closed(String),
    /// No head came in time.
    Silent,
}

/// Maximum size of a batch of bytes that have arrived already. After this many bytes without a pause, all others on the thread
/// get their turn (`yield_now`, because a task that wakes itself is run many times before the sockets are looked at again).
const BATCH_BYTES: usize = 16 * 1024;
const USER_AGENT: &str = concat!("toolglot/", env!("CARGO_PKG_VERSION"));

// === impl Timeouts ===

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { connect: Duration::from_secs(10), idle: Duration::from_secs(30 * 60) }
    }
}

// === impl HttpRequest ===

impl HttpRequest {
    /// A GET without headers of its own.
    pub fn get(url: String) -> HttpRequest {
        HttpRequest { method: Method::GET, url, headers: HeaderMap::new(), body: Bytes::new() }
    }
}

impl std::fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} ({} bytes)", self.method, self.url, self.body.len())
    }
}

// === impl Client ===

impl Client {
    /// A client with these timeouts.
    pub fn new(timeouts: Timeouts) -> Client {
        Client { timeouts, idle: idle::Idle::default(), outside: outside::clients(timeouts) }
    }

    /// Sends the request and waits for the head of the answer. An error status is an answer; an error is a connection
    /// that failed (code `backend_unreachable` if nothing was sent).
    pub async fn send(&self, request: &Outgoing) -> Result<Response, Error> {
        let request = match request {
            Outgoing::Recorded(recording) => return Ok(recording.clone().into_response()),
            Outgoing::Http(request) => request,
        };
        let url: Url = request.url.parse().map_err(|error| Error::proxy(format!("`{}` is not a URL: {error}", request.url)))?;
        // TLS, and a user's name in the URL, are matters of the other way.
        let plain = url.scheme() == "http" && url.username().is_empty() && url.password().is_none();
        match direct::loopback(&url).filter(|_| plain) {
            Some(addresses) => direct::send(&self.idle, &addresses, request, &url, self.timeouts).await,
            None => outside::send(&self.outside, request.clone(), url).await,
        }
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

// === impl Body ===

impl Body {
    /// Appends what has arrived to `into` and tells how much that is, 0 at the end. Waits if nothing is there. Cancel
    /// safe: a future that is dropped has lost nothing; what it appended is in `into`.
    pub async fn read(&mut self, into: &mut BytesMut) -> Result<usize, Error> {
        match &mut self.0 {
            Source::Direct(answer) => answer.read(into).await,
            // Boxed: these futures are large, and a future is as large as its largest way.
            Source::Outside(answer) => Box::pin(answer.read(into)).await,
            Source::Recorded(recording) => Box::pin(recording.read(into)).await,
        }
    }
}

// === impl Fault ===

impl Fault {
    /// As an error of the backend at this address.
    fn at(self, origin: &str) -> Error {
        match self {
            Fault::Unreachable(why) => {
                Error::backend(format!("cannot reach the backend at {origin}: {why}")).with_code("backend_unreachable")
            }
            Fault::NoAnswer => {
                let error = Error::backend(format!("the backend at {origin} does not answer"));
                error.with_status(504).with_code("backend_unreachable")
            }
            Fault::Closed(why) => {
                Error::backend(format!("the backend at {origin} closed the connection without an answer: {why}"))
                    .with_code("backend_failed")
            }
            Fault::Silent => {
                let error = Error::backend(format!("the backend at {origin} did not answer in time"));
                error.with_status(504).with_code("backend_timeout")
            }
        }
    }
}

/// The body's end did not come, and nothing else.
fn fell_silent() -> Error {
    Error::backend("the backend fell silent in the middle of its answer").with_status(504).with_code("backend_timeout")
}

fn broke_off(why: &str) -> Error {
    Error::backend(format!("the connection to the backend broke in the middle of its answer: {why}")).with_code("backend_failed")
}
