//! Connections to servers on this machine: plain HTTP (`http1`) over a socket that the reader of the answer owns. There is no
//! task between the socket and the turn, so a piece of the answer costs one wake-up and one read. A connection whose answer was
//! read to its end is kept for the next request (`idle`).

use std::{
    io::{self, ErrorKind},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, tcp},
    task::yield_now,
    time::timeout,
};
use url::{Host, Position, Url};

use super::{
    BATCH_BYTES, Body, Fault, HttpRequest, Response, Silence, Source, Timeouts, USER_AGENT, broke_off, fell_silent,
    http1::{self, Framing, Head},
    idle::{Idle, Server},
};
use crate::{
    dial::is_loopback,
    error::{Error, innermost},
};

/// Initial space for one read, in bytes: enough for a piece, and few enough for what an allocator keeps at hand for each thread
/// (glibc: blocks up to 1,032 bytes). It grows up to a batch if reads fill it.
const READ_BYTES: usize = 1024;

/// Space for the framing at the end of a body, in bytes.
const END_BYTES: usize = 64;

/// A connection without an unread answer.
pub(super) struct Wire(TcpStream);

/// The body of an answer.
pub(super) struct Answer {
    /// `None` once it is kept for the next request.
    wire: Option<Wire>,
    server: Server,
    framing: Framing,
    /// Whether the connection may be kept after the answer.
    stays: bool,
    /// Bytes that came together with the head.
    rest: BytesMut,
    /// Space for the next read, in bytes.
    room: usize,
    silence: Silence,
    idle: Duration,
    /// Bytes returned since the task last waited.
    busy: usize,
    failed: Option<Error>,
}

/// The addresses of a server on this machine; `None` for others. Only reqwest handles TLS, and a user's name in the URL.
pub(super) fn addresses(url: &Url) -> Option<Vec<SocketAddr>> {
    if url.scheme() != "http" || !url.username().is_empty() || url.password().is_some() || !is_loopback(url) {
        return None;
    }
    let hosts: Vec<IpAddr> = match url.host()? {
        // Servers listen on either address.
        Host::Domain(_) => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        Host::Ipv4(ip) => vec![ip.into()],
        Host::Ipv6(ip) => vec![ip.into()],
    };
    let port = url.port_or_known_default()?;
    Some(hosts.into_iter().map(|host| (host, port).into()).collect())
}

/// Sends the request and waits for the head of the answer. `url`, `addresses`: its target.
pub(super) async fn send(
    idle: &Idle,
    url: &Url,
    addresses: &[SocketAddr],
    request: &HttpRequest,
    timeouts: Timeouts,
) -> Result<Response, Error> {
    let origin = &url[..Position::AfterPort];
    let (host, path) = (&url[Position::BeforeHost..Position::AfterPort], &url[Position::BeforePath..Position::AfterQuery]);
    let written: Bytes = http1::request_head(request, path, host, USER_AGENT).into();
    let server = idle.server(origin);
    let waiting = server.waiting();
    let (wire, (head, rest, stays)) = loop {
        let kept = server.take().filter(Wire::is_quiet);
        let is_new = kept.is_none();
        let asked = async {
            let mut wire = match kept {
                Some(wire) => wire,
                None => Wire::open(addresses, timeouts.connect).await?,
            };
            let answered = wire.ask(written.clone().chain(request.body.clone()), timeouts.idle).await?;
            Ok((wire, answered))
        };
        match asked.await {
            Ok(answered) => break answered,
            // The server has closed it just now, before it has answered anything.
            Err(Fault::Closed(why)) if !is_new => tracing::debug!(origin, why, "an idle connection was closed"),
            Err(fault) => return Err(fault.at(origin)),
        }
    };
    drop(waiting);
    let Head { status, headers, body: framing, .. } = head;
    let silence = Silence::new(timeouts.idle);
    let (room, idle) = (READ_BYTES, timeouts.idle);
    let body = Answer { wire: Some(wire), server, framing, stays, rest, room, silence, idle, busy: 0, failed: None };
    Ok(Response { status, headers, body: Body(Source::Direct(body)) })
}

impl Wire {
    async fn open(addresses: &[SocketAddr], within: Duration) -> Result<Wire, Fault> {
        let stream = match timeout(within, TcpStream::connect(addresses)).await {
            Ok(stream) => stream.map_err(|error| Fault::Unreachable(error.to_string()))?,
            Err(_) => return Err(Fault::NoAnswer),
        };
        // A request leaves in one piece anyway.
        let _ = stream.set_nodelay(true);
        Ok(Wire(stream))
    }

    /// Whether the server has said nothing since the last answer. It may have closed the connection, or have told that it will.
    fn is_quiet(&self) -> bool {
        self.0.try_read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    /// Appends what has arrived, at most about `room` bytes. While nothing has, no space is held: a stream that has something uses
    /// it, and finds it in the processor's cache.
    fn poll_read(&mut self, room: usize, into: &mut BytesMut, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Wire(socket) = self;
        if socket.poll_read_ready(cx).is_pending() {
            if into.is_empty() {
                *into = BytesMut::new();
            }
            return Poll::Pending;
        }
        into.reserve(room);
        pin!(socket.read_buf(into)).poll(cx)
    }

    /// Sends the request and waits for the head of its answer. Gives what came after the head, too, and whether another request
    /// may follow on this connection.
    async fn ask(&mut self, mut request: impl Buf, within: Duration) -> Result<(Head, BytesMut, bool), Fault> {
        let (mut reader, mut writer) = self.0.split();
        let mut read = BytesMut::new();
        let answered = async {
            // A server may answer before it has read everything, and close: its answer counts, not that it could not be written to.
            let early = tokio::select! {
                biased;
                _ = writer.write_all_buf(&mut request) => None,
                head = head(&mut reader, &mut read) => Some(head?),
            };
            let stays = early.is_none();
            let head = match early {
                Some(head) => head,
                None => head(&mut reader, &mut read).await?,
            };
            Ok((stays && head.stays, head))
        };
        let (stays, head) = timeout(within, answered).await.map_err(|_| Fault::Silent)??;
        Ok((head, read, stays))
    }
}

/// Reads the head of an answer. Cancel safe: what was read is in `read`.
async fn head(reader: &mut tcp::ReadHalf<'_>, read: &mut BytesMut) -> Result<Head, Fault> {
    loop {
        if let Some(head) = Head::take(read).map_err(Fault::Closed)? {
            return Ok(head);
        }
        read.reserve(READ_BYTES);
        if reader.read_buf(read).await.map_err(|error| Fault::Closed(innermost(&error)))? == 0 {
            return Err(Fault::Closed("the connection has ended".into()));
        }
    }
}

impl Answer {
    /// See [`super::Body::read`].
    pub(super) async fn read(&mut self, into: &mut BytesMut) -> Result<usize, Error> {
        if self.busy >= BATCH_BYTES {
            self.busy = 0;
            yield_now().await;
        }
        std::future::poll_fn(|cx| self.poll_read(cx, into)).await
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<Result<usize, Error>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Err(error));
        }
        let start = into.len();
        if !self.rest.is_empty() {
            into.unsplit(std::mem::take(&mut self.rest));
            self.strip(into, start);
        }
        while into.len() == start
            && !self.framing.is_over()
            && self.failed.is_none()
            && let Some(wire) = &mut self.wire
        {
            match wire.poll_read(self.room, into, cx) {
                Poll::Pending => {
                    self.busy = 0;
                    ready!(self.silence.poll(cx));
                    return Poll::Ready(Err(fell_silent()));
                }
                Poll::Ready(Ok(0)) => self.failed = self.framing.closed().err().map(|why| broke_off(&why)),
                Poll::Ready(Ok(read)) => {
                    self.room = if read < self.room { self.room } else { BATCH_BYTES.min(2 * self.room) };
                    self.silence.broken(self.idle);
                    self.strip(into, start);
                }
                Poll::Ready(Err(error)) => self.failed = Some(broke_off(&innermost(&error))),
            }
        }
        // What arrived before a failure is handed over first.
        let read = into.len() - start;
        self.busy += read;
        match self.failed.take_if(|_| read == 0) {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Ready(Ok(read)),
        }
    }

    /// Removes the framing from the bytes after `start`, so that only the body is left.
    fn strip(&mut self, into: &mut BytesMut, start: usize) {
        match self.framing.strip(into, start) {
            Ok(behind) => self.stays &= behind == 0,
            Err(why) => self.failed = Some(broke_off(&why)),
        }
    }
}

impl Drop for Answer {
    /// Keeps the connection if nothing of the answer is left: its reader does not ask beyond the last event.
    fn drop(&mut self) {
        let Some(wire) = self.wire.take() else { return };
        let mut rest = std::mem::take(&mut self.rest);
        self.strip(&mut rest, 0);
        if !self.framing.is_over() && rest.is_empty() {
            rest.reserve(END_BYTES);
            let read = wire.0.try_read_buf(&mut rest);
            self.stays &= read.is_ok();
            self.strip(&mut rest, 0);
        }
        if self.stays && self.failed.is_none() && self.framing.is_over() && rest.is_empty() {
            self.server.keep(wire);
        }
    }
}
