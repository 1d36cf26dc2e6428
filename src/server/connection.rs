//! Accepts connections and serves them until they end. Every connection ends at some time, whatever the client does: heads
//! and bodies have a deadline, and connections that are idle or are not read are closed.

use std::{
    future::poll_fn,
    io,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::Router;
use futures_util::FutureExt;
use http::Request;
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::yield_now,
    time::{Sleep, sleep, timeout},
};
use tower::ServiceExt;

use super::{
    ending::{Ending, Stage},
    guard::Local,
};
use crate::{client::front::Kind, error::Error};

/// How long the head of a request may take, from the connection or the request before.
const HEAD: Duration = Duration::from_secs(60);
/// A client that reads nothing for this long is gone.
const UNREAD: Duration = Duration::from_secs(10 * 60);
/// Pause if the system cannot open a further socket.
const NO_ROOM: Duration = Duration::from_millis(200);
/// From this number of connections on, events may wait a moment for others. One person with several agents has fewer; benches measure
/// 32 and 200.
pub(super) const CROWD: usize = 16;
/// How long a client may take to read that there are too many connections.
const REFUSAL: Duration = Duration::from_secs(1);

/// What each thread needs to serve.
#[derive(Clone)]
pub(super) struct Shift {
    pub(super) routes: Router,
    pub(super) room: Arc<Room>,
    pub(super) ending: Ending,
    /// Closed once every thread and every connection is done.
    pub(super) done: mpsc::Sender<()>,
}

/// The limit of connections, shared by all listeners of all threads.
pub(super) struct Room {
    connections: usize,
    free: Arc<Semaphore>,
    /// The log has said that there is no room.
    is_full: AtomicBool,
}

impl Room {
    pub(super) fn new(connections: usize) -> Arc<Room> {
        Arc::new(Room { connections, free: Arc::new(Semaphore::new(connections)), is_full: AtomicBool::new(false) })
    }

    /// Lets a client in, until the permit is dropped. `None`: there is no room.
    pub(super) fn enter(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// Whether many clients are connected.
    pub(super) fn is_crowded(&self) -> bool {
        self.connections - self.free.available_permits() >= CROWD
    }

    /// Logs why there is no room, once until there is room again.
    fn tell(&self, why: &dyn std::fmt::Display) {
        if !self.is_full.swap(true, Ordering::Relaxed) {
            tracing::error!("cannot take further connections now: {why}");
        }
    }
}

/// Accepts connections until they are closed ([`Stage::Closing`]). Those that run then keep a copy of `shift` until their end.
#[allow(clippy::disallowed_methods, reason = "a connection outlives the moment in which it is accepted")]
pub(super) async fn serve(listener: TcpListener, shift: Shift) {
    let Shift { routes, room, ending, done } = shift;
    let mut closing = ending.reached(Stage::Closing);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut closing => return,
        };
        let socket = match accepted {
            Ok((socket, _)) => socket,
            Err(error) if is_of_the_client(&error) => continue,
            Err(error) => {
                // Usually out of file descriptors: running connections continue, and free some when they end.
                room.tell(&error);
                sleep(NO_ROOM).await;
                continue;
            }
        };
        let Some(permit) = room.enter() else {
            room.tell(&"`limits.connections` clients are connected");
            tokio::spawn(refuse(socket));
            continue;
        };
        room.is_full.store(false, Ordering::Relaxed);
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "no TCP_NODELAY");
        }
        let local = socket.local_addr().ok().map(Local);
        let service = routes.clone().map_request(move |mut request: Request<Incoming>| {
            if let Some(local) = local {
                request.extensions_mut().insert(local);
            }
            request
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD);
        let socket = Watched { socket, gave_way: false, unread: None };
        let connection = http.serve_connection(TokioIo::new(socket), TowerToHyperService::new(service));
        let (mut closing, done) = (ending.reached(Stage::Closing), done.clone());
        tokio::spawn(async move {
            let (mut connection, mut is_told) = (pin!(connection), false);
            let served = poll_fn(|cx| {
                if !is_told && closing.poll_unpin(cx).is_ready() {
                    is_told = true;
                    connection.as_mut().graceful_shutdown();
                }
                connection.as_mut().poll(cx)
            });
            if let Err(error) = served.await {
                tracing::debug!(%error, "a connection ended");
            }
            drop((permit, done));
        });
        // One connection per turn of the event loop: of many at once, those that are served go on before the next is taken.
        yield_now().await;
    }
}

/// Whether the fault is that of the client that wanted to connect.
fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Tells a client that there is no room for it.
async fn refuse(mut socket: TcpStream) {
    let error = Error::proxy("too many clients are connected (`limits.connections` in proxy.toml)").with_code("overloaded");
    let body = Kind::OpenAi.error_body(&error).to_string();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 5\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    // Whether the client reads it does not matter.
    let _ = timeout(REFUSAL, async {
        socket.write_all(answer.as_bytes()).await?;
        socket.shutdown().await
    })
    .await;
}

/// A socket that writes after others have read, and whose writes fail once the other side has read nothing for [`UNREAD`].
///
/// Every write but the first after a read gives way to the tasks that are ready. Of several pieces that arrive at the same time
/// for several clients, all are read before the first is written. So the code for each of the two stays in the processor's caches,
/// and a client with several streams wakes up once. There is no vectored write: a piece is small, so copied behind its frame it
/// leaves at less cost than beside it.
struct Watched {
    socket: TcpStream,
    /// Whether the next write has given way.
    gave_way: bool,
    /// Runs while a write waits.
    unread: Option<Pin<Box<Sleep>>>,
}

impl AsyncRead for Watched {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.socket).poll_read(cx, into));
        self.gave_way = true;
        Poll::Ready(read)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if !self.gave_way {
            self.gave_way = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        if written.is_ready() {
            (self.gave_way, self.unread) = (false, None);
            return written;
        }
        let unread = self.unread.get_or_insert_with(|| Box::pin(sleep(UNREAD)));
        ready!(unread.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn what_is_ready_for_several_clients_is_read_before_the_first_is_written_to() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let done = Arc::new(Mutex::new(Vec::new()));
        let mut sockets = Vec::new();
        for name in ["a", "b"] {
            let (near, far) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
            sockets.push((name, Watched { socket: near.unwrap(), gave_way: false, unread: None }, far.unwrap()));
        }
        let mut clients = tokio::task::JoinSet::new();
        for (name, mut socket, far) in sockets {
            let done = Arc::clone(&done);
            clients.spawn(async move {
                done.lock().unwrap().push(format!("read {name}"));
                socket.write_all(b"piece").await.unwrap();
                done.lock().unwrap().push(format!("wrote {name}"));
                drop(far);
            });
        }
        while let Some(joined) = clients.join_next().await {
            joined.unwrap();
        }
        assert_eq!(*done.lock().unwrap(), ["read a", "read b", "wrote a", "wrote b"]);
    }
}
