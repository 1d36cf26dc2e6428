//! Connections to backends. [`Client::send`] sends a request, and [`Body`] yields the answer in batches of bytes. There are three
//! kinds: servers on this machine (`direct`), all others (`outside`), and recordings, which play an answer from memory with its
//! pauses. Dropping a response before its end, or the future that waits for one, closes the connection, which stops the backend.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode};

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

/// Limits of waiting. There is no limit for a whole answer: a slow model may read a prompt for many minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection (TCP and TLS).
    pub connect: Duration,
    /// For the next byte of the answer, its head included.
    pub idle: Duration,
}

/// A request to a backend.
#[derive(Debug, Clone)]
pub enum Outgoing {
    /// Over the network.
    Http(HttpRequest),
    /// A recorded answer.
    Recorded(Recording),
}

/// A complete HTTP request. Its `Debug` form shows neither headers, which may have keys, nor the body.
#[derive(Clone)]
pub struct HttpRequest {
    /// GET or POST.
    pub method: Method,
    /// The absolute URL.
    pub url: String,
    /// The headers, without `content-length`, which the connection adds.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// The head of an answer, and its unread body.
pub struct Response {
    /// The status, which may be an error.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

/// The body of an answer, read in the batches in which it arrives.
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

/// How a connection fails before the head of the answer.
enum Fault {
    /// The connection was refused, for this reason.
    Unreachable(String),
    /// The connection timed out.
    NoAnswer,
    /// The connection was closed, for this reason.
    Closed(String),
    /// No head came in time.
    Silent,
}

/// Maximum size of a batch. After this many bytes without a pause, other tasks on the thread get their turn (`yield_now`, because
/// the runtime runs a task that wakes itself many times before it polls the sockets).
const BATCH_BYTES: usize = 16 * 1024;
const USER_AGENT: &str = concat!("toolglot/", env!("CARGO_PKG_VERSION"));

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { connect: Duration::from_secs(10), idle: Duration::from_secs(30 * 60) }
    }
}

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

impl Client {
    /// A client with these timeouts.
    pub fn new(timeouts: Timeouts) -> Client {
        Client { timeouts, idle: idle::Idle::default(), outside: outside::clients(timeouts) }
    }

    /// Sends the request and waits for the head of the answer. An error status is an answer, not an error.
    ///
    /// # Errors
    /// The connection failed: `backend_unreachable` if nothing was sent, `backend_failed` if it was closed without an answer,
    /// `backend_timeout` (504) if no head came in time.
    pub async fn send(&self, request: &Outgoing) -> Result<Response, Error> {
        let request = match request {
            Outgoing::Recorded(recording) => return Ok(recording.clone().into_response()),
            Outgoing::Http(request) => request,
        };
        let url = request.url.parse().map_err(|error| Error::proxy(format!("`{}` is not a URL: {error}", request.url)))?;
        match direct::addresses(&url) {
            Some(addresses) => direct::send(&self.idle, &url, &addresses, request, self.timeouts).await,
            None => outside::send(&self.outside, request.clone(), url).await,
        }
    }
}

impl Response {
    /// The whole body, cut at `limit` bytes. For error bodies and small answers.
    ///
    /// # Errors
    /// As [`Body::read`].
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

impl Body {
    /// Appends the bytes that have arrived to `into`, and returns their number; 0 at the end. Waits if there are none. Cancel
    /// safe: dropping the future loses nothing, and what it has appended stays in `into`.
    ///
    /// # Errors
    /// The connection broke (`backend_failed`), or was silent for too long (`backend_timeout`, 504).
    pub async fn read(&mut self, into: &mut BytesMut) -> Result<usize, Error> {
        match &mut self.0 {
            Source::Direct(answer) => answer.read(into).await,
            // Boxed: these futures are large, and this one would be as large as the largest of them.
            Source::Outside(answer) => Box::pin(answer.read(into)).await,
            Source::Recorded(recording) => Box::pin(recording.read(into)).await,
        }
    }
}

impl Fault {
    /// The fault as an error of the backend at this address.
    fn at(self, origin: &str) -> Error {
        let (what, code, status) = match self {
            Fault::Unreachable(why) => (format!("cannot reach the backend at {origin}: {why}"), "backend_unreachable", 502),
            Fault::NoAnswer => (format!("the backend at {origin} does not answer"), "backend_unreachable", 504),
            Fault::Closed(why) => {
                (format!("the backend at {origin} closed the connection without an answer: {why}"), "backend_failed", 502)
            }
            Fault::Silent => (format!("the backend at {origin} did not answer in time"), "backend_timeout", 504),
        };
        Error::backend(what).with_status(status).with_code(code)
    }
}

/// No byte came in time before the end of the body.
fn fell_silent() -> Error {
    Error::backend("the backend fell silent in the middle of its answer").with_status(504).with_code("backend_timeout")
}

fn broke_off(why: &str) -> Error {
    Error::backend(format!("the connection to the backend broke in the middle of its answer: {why}")).with_code("backend_failed")
}
