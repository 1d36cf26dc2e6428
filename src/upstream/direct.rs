//! Connections to servers on this machine: plain HTTP over hyper. Whoever waits for an answer drives its connection too, so
//! that no task is between the socket and the turn, and a piece of the answer costs one wake-up. A connection whose answer was
//! read to its end is kept for the next request (`idle`).

use std::{
    future::poll_fn,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, future::BoxFuture, task::AtomicWaker};
use http::{HeaderValue, Request, header};
use http_body_util::Full;
use hyper::{
    body::{Body as _, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, task::yield_now, time::timeout};
use url::{Host, Url};

use super::{
    BATCH_BYTES, Body, Fault, HttpRequest, Response, Silence, Timeouts, USER_AGENT, broke_off, fell_silent,
    idle::{Idle, Server},
};
use crate::error::{Error, innermost};

/// A piece of an answer is no larger than this, nor is its head.
const BUFFER_BYTES: usize = 2 * BATCH_BYTES;

/// A connection, and where requests enter it.
pub(super) struct Wire {
    connection: Connection,
    requests: http1::SendRequest<Full<Bytes>>,
}

/// `None` when it is closed.
struct Connection(Option<http1::Connection<TokioIo<TcpStream>, Full<Bytes>>>);

/// The body of an answer, and how it failed after what was handed over last.
struct Answer {
    /// `None` once it is kept for the next request.
    wire: Option<Wire>,
    server: Server,
    incoming: Incoming,
    waking: Arc<Waking>,
    waker: Waker,
    silence: Silence,
    idle: Duration,
    /// Bytes that were handed over since the task last waited.
    busy: usize,
    failed: Option<Error>,
}

/// Wakes the task that reads, but not while it reads: connection and body wake each other with every piece, and each time
/// the task would come back for nothing.
#[derive(Debug, Default)]
struct Waking {
    task: AtomicWaker,
    reads: AtomicBool,
    /// Something happened since it was looked.
    woken: AtomicBool,
}

/// The addresses that the URL means, if they are this machine's own.
pub(super) fn loopback(url: &Url) -> Option<Vec<SocketAddr>> {
    let port = url.port_or_known_default()?;
    let hosts: Vec<IpAddr> = match url.host()? {
        // RFC 6761, section 6.3: always this machine; servers listen on either address.
        Host::Domain("localhost") => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        Host::Domain(_) => return None,
        Host::Ipv4(address) => vec![address.into()],
        Host::Ipv6(address) => vec![address.into()],
    };
    hosts.iter().all(IpAddr::is_loopback).then(|| hosts.into_iter().map(|host| (host, port).into()).collect())
}

/// Sends the request and waits for the head of the answer.
pub(super) async fn send(
    idle: &Idle,
    addresses: &[SocketAddr],
    request: HttpRequest,
    url: &Url,
    timeouts: Timeouts,
) -> Result<Response, Error> {
    let origin = url.origin().ascii_serialization();
    let (server, request) = (idle.server(&origin), written(request, url)?);
    let waiting = server.waiting();
    let (wire, answer) = loop {
        let kept = server.take();
        let is_new = kept.is_none();
        let asked = async {
            let mut wire = match kept {
                Some(wire) => wire,
                None => Wire::open(addresses, timeouts.connect).await?,
            };
            let answer = wire.ask(request.clone(), timeouts.idle).await?;
            Ok((wire, answer))
        };
        match asked.await {
            Ok(answered) => break answered,
            // The server has closed it just now, before it has answered anything.
            Err(Fault::Closed(why)) if !is_new => tracing::debug!(origin, why, "an idle connection was closed"),
            Err(fault) => return Err(fault.at(&origin)),
        }
    };
    drop(waiting);
    let (head, incoming) = answer.into_parts();
    let waking = Arc::new(Waking::default());
    let (waker, silence) = (Waker::from(Arc::clone(&waking)), Silence::new(timeouts.idle));
    let body = Answer { wire: Some(wire), server, incoming, waking, waker, silence, idle: timeouts.idle, busy: 0, failed: None };
    Ok(Response { status: head.status, headers: head.headers, body: Box::new(body) })
}

fn closed(error: hyper::Error) -> Fault {
    Fault::Closed(innermost(&error))
}

/// The request as the server sees it.
fn written(request: HttpRequest, url: &Url) -> Result<Request<Full<Bytes>>, Error> {
    let HttpRequest { method, headers, body, .. } = request;
    let uri = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    let mut request = Request::new(Full::new(body));
    let wrong = |error: &dyn std::fmt::Display| Error::proxy(format!("`{url}` cannot be asked for: {error}"));
    *request.method_mut() = method;
    *request.uri_mut() = uri.parse().map_err(|error: http::uri::InvalidUri| wrong(&error))?;
    let host = HeaderValue::from_str(host).map_err(|error| wrong(&error))?;
    let ours = request.headers_mut();
    *ours = headers;
    ours.insert(header::HOST, host);
    ours.entry(header::ACCEPT).or_insert(HeaderValue::from_static("*/*"));
    ours.entry(header::USER_AGENT).or_insert(HeaderValue::from_static(USER_AGENT));
    Ok(request)
}

// === impl Wire ===

impl Wire {
    async fn open(addresses: &[SocketAddr], within: Duration) -> Result<Wire, Fault> {
        let stream = match timeout(within, TcpStream::connect(addresses)).await {
            Ok(stream) => stream.map_err(|error| Fault::Unreachable(error.to_string()))?,
            Err(_) => return Err(Fault::NoAnswer),
        };
        // A request leaves in one piece anyway.
        let _ = stream.set_nodelay(true);
        let (requests, connection) =
            http1::Builder::new().max_buf_size(BUFFER_BYTES).handshake(TokioIo::new(stream)).await.map_err(closed)?;
        Ok(Wire { connection: Connection(Some(connection)), requests })
    }

    /// Sends the request and waits for the head of its answer.
    async fn ask(&mut self, request: Request<Full<Bytes>>, within: Duration) -> Result<http::Response<Incoming>, Fault> {
        let Wire { connection, requests } = self;
        let mut answer = pin!(requests.send_request(request));
        let head = poll_fn(|cx| {
            connection.drive(cx);
            answer.as_mut().poll(cx)
        });
        timeout(within, head).await.map_err(|_| Fault::Silent)?.map_err(closed)
    }
}

// === impl Connection ===

impl Connection {
    /// Moves the connection on as far as it goes. Its failure reaches whoever waits for the answer.
    fn drive(&mut self, cx: &mut Context<'_>) {
        if self.0.as_mut().is_some_and(|connection| connection.poll_unpin(cx).is_ready()) {
            self.0 = None;
        }
    }
}

// === impl Waking ===

impl Wake for Waking {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, SeqCst);
        if !self.reads.load(SeqCst) {
            self.task.wake();
        }
    }
}

// === impl Answer ===

impl Answer {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<Result<usize, Error>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Err(error));
        }
        let before = into.len();
        self.waking.task.register(cx.waker());
        self.waking.reads.store(true, SeqCst);
        let ended = self.take(into);
        self.waking.reads.store(false, SeqCst);
        let read = into.len() - before;
        self.busy += read;
        match ended {
            // What arrived before a failure is handed over first.
            Some(Err(error)) if read > 0 => self.failed = Some(error),
            Some(Err(error)) => return Poll::Ready(Err(error)),
            Some(Ok(())) => return Poll::Ready(Ok(read)),
            None if read > 0 => {}
            None => {
                self.busy = 0;
                if self.waking.woken.load(SeqCst) {
                    cx.waker().wake_by_ref();
                }
                return self.silence.poll(cx).map(|()| Err(fell_silent()));
            }
        }
        self.silence.broken(self.idle);
        Poll::Ready(Ok(read))
    }

    /// Takes what is there, a batch at most; `Some` at the end of the body.
    fn take(&mut self, into: &mut BytesMut) -> Option<Result<(), Error>> {
        let most = into.len() + BATCH_BYTES;
        let cx = &mut Context::from_waker(&self.waker);
        let mut again = true;
        while into.len() < most {
            self.waking.woken.store(false, SeqCst);
            self.wire.iter_mut().for_each(|wire| wire.connection.drive(cx));
            match Pin::new(&mut self.incoming).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    into.extend_from_slice(&frame.into_data().unwrap_or_default());
                    again = true;
                }
                Poll::Ready(Some(Err(error))) => return Some(Err(broke_off(&error))),
                Poll::Ready(None) => return Some(Ok(())),
                // Once: a task that has used up its time is woken each time it asks.
                Poll::Pending if again && self.waking.woken.load(SeqCst) => again = false,
                Poll::Pending => break,
            }
        }
        None
    }
}

impl Drop for Answer {
    /// Keeps the connection if nothing of the answer is left: its reader does not ask beyond the last event.
    fn drop(&mut self) {
        let Some(mut wire) = self.wire.take() else { return };
        let cx = &mut Context::from_waker(Waker::noop());
        wire.connection.drive(cx);
        if let Poll::Ready(None) = Pin::new(&mut self.incoming).poll_frame(cx) {
            wire.connection.drive(cx);
            if wire.requests.is_ready() {
                self.server.keep(wire);
            }
        }
    }
}

impl Body for Answer {
    fn read<'a>(&'a mut self, into: &'a mut BytesMut) -> BoxFuture<'a, Result<usize, Error>> {
        Box::pin(async move {
            if self.busy >= BATCH_BYTES {
                self.busy = 0;
                yield_now().await;
            }
            poll_fn(|cx| self.poll_read(cx, into)).await
        })
    }
}
