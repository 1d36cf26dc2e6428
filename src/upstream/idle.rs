//! Keeps connections to servers on this machine between two requests, for 3 s. Small servers block a thread per connection, even
//! an idle one. So the time is short, and a connection is not kept at all while another request waits for the server.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    runtime::{self, Handle},
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::direct::Wire;
use crate::lock::Hold;

/// The servers by their origin: as many as the configuration names. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Idle(Arc<Mutex<HashMap<String, Server>>>);

/// The idle connections to one server. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Each request that waits for the head of its answer has a clone.
    waiting: Arc<()>,
    /// The oldest first.
    kept: Vec<Kept>,
    /// Closes unused connections; runs while any is kept.
    sweep: Option<JoinHandle<()>>,
}

struct Kept {
    wire: Wire,
    since: Instant,
    /// The runtime that has opened the socket: no other one can use it.
    runtime: runtime::Id,
}

/// How long a connection is kept. Some servers close idle connections after 5 s, and a half-closed one must not be used.
pub(super) const KEPT: Duration = Duration::from_secs(3);
/// Maximum number of kept connections per server.
const MOST: usize = 256;

impl Idle {
    /// The server at this origin (`http://host:port`).
    pub(super) fn server(&self, origin: &str) -> Server {
        let mut servers = self.0.hold();
        match servers.get(origin) {
            Some(server) => server.clone(),
            None => servers.entry(origin.to_owned()).or_default().clone(),
        }
    }
}

impl std::fmt::Debug for Idle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Idle")
    }
}

impl Server {
    /// A request to the server begins. It counts as waiting until the result is dropped.
    pub(super) fn waiting(&self) -> Arc<()> {
        Arc::clone(&self.0.hold().waiting)
    }

    /// The most recently used connection of the current runtime, if one is fresh.
    pub(super) fn take(&self) -> Option<Wire> {
        let runtime = Handle::current().id();
        let kept = &mut self.0.hold().kept;
        let last = kept.iter().rposition(|kept| kept.runtime == runtime && kept.is_fresh())?;
        Some(kept.remove(last).wire)
    }

    /// Keeps a connection whose answer was read to its end; closes it if a request waits or too many are kept.
    pub(super) fn keep(&self, wire: Wire) {
        let Ok(handle) = Handle::try_current() else { return };
        let mut state = self.0.hold();
        if Arc::strong_count(&state.waiting) > 1 || state.kept.len() >= MOST {
            return;
        }
        state.kept.push(Kept { wire, since: Instant::now(), runtime: handle.id() });
        if state.sweep.as_ref().is_none_or(JoinHandle::is_finished) {
            state.sweep = Some(handle.spawn(self.clone().sweep()));
        }
    }

    /// Closes connections that were not used in time, until none is left.
    async fn sweep(self) {
        loop {
            sleep(KEPT).await;
            let mut state = self.0.hold();
            state.kept.retain(Kept::is_fresh);
            if state.kept.is_empty() {
                // Set anew by the next connection that is kept: this task counts as running until it has returned.
                state.sweep = None;
                return;
            }
        }
    }
}

impl Kept {
    fn is_fresh(&self) -> bool {
        self.since.elapsed() < KEPT
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the servers of these tests")]
mod tests {
    use bytes::{Bytes, BytesMut};
    use http::{HeaderMap, Method};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
        sync::mpsc,
        task::JoinHandle,
        time::{Duration, sleep, timeout},
    };

    use super::super::{Client, HttpRequest, Outgoing, Response, Timeouts};

    /// What a connection does with each request: this is sent, the connection is closed where nothing is.
    type Answers = Vec<&'static str>;

    const WHOLE: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    const HALF: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n";
    const LAST: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx";
    const OLD: &str = "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx";

    /// A server whose connections answer like this; it tells the number of each connection on which a request comes, and
    /// again, negative, when the other side closes it.
    struct Scripted {
        url: String,
        seen: mpsc::UnboundedReceiver<i32>,
        serves: JoinHandle<()>,
    }

    impl Scripted {
        async fn start(connections: Vec<Answers>) -> Scripted {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let url = format!("http://{}/x", listener.local_addr().expect("an address"));
            let (tell, seen) = mpsc::unbounded_channel();
            let serves = tokio::spawn(async move {
                for (number, answers) in (1..).zip(connections) {
                    let (stream, _) = listener.accept().await.expect("a connection");
                    tokio::spawn(connection(stream, number, answers, tell.clone()));
                }
            });
            Scripted { url, seen, serves }
        }

        async fn post(&self, client: &Client) -> Response {
            let (headers, body) = (HeaderMap::new(), Bytes::from_static(b"{}"));
            let request = HttpRequest { method: Method::POST, url: self.url.clone(), headers, body };
            client.send(&Outgoing::Http(request)).await.expect("an answer")
        }

        /// Asks and reads the answer's text; its end is not asked for.
        async fn ask(&self, client: &Client) {
            let mut response = self.post(client).await;
            let mut text = BytesMut::new();
            assert_eq!((response.body.read(&mut text).await, &text[..]), (Ok(1), &b"x"[..]));
        }

        async fn next(&mut self) -> Option<i32> {
            timeout(Duration::from_secs(20), self.seen.recv()).await.expect("something happens")
        }
    }

    async fn connection(mut stream: TcpStream, number: i32, answers: Answers, tell: mpsc::UnboundedSender<i32>) {
        let mut held = BytesMut::new();
        for answer in answers {
            while !held.ends_with(b"{}") {
                if stream.read_buf(&mut held).await.is_ok_and(|read| read == 0) {
                    let _ = tell.send(-number);
                    return;
                }
            }
            held.clear();
            let _ = tell.send(number);
            if answer.is_empty() {
                return;
            }
            stream.write_all(answer.as_bytes()).await.expect("it is read");
        }
        let _ = stream.read_buf(&mut held).await;
        let _ = tell.send(-number);
    }

    fn client() -> Client {
        Client::new(Timeouts::default())
    }

    #[tokio::test]
    async fn requests_that_follow_each_other_share_a_connection() {
        let (mut server, client) = (Scripted::start(vec![vec![WHOLE; 3]]).await, client());
        for _ in 0..3 {
            server.ask(&client).await;
        }
        assert_eq!([server.next().await, server.next().await, server.next().await], [Some(1); 3]);
    }

    #[tokio::test]
    async fn a_connection_is_not_used_again_after_half_an_answer_or_where_the_server_says_so() {
        for first in [HALF, LAST, OLD] {
            let (mut server, client) = (Scripted::start(vec![vec![first, WHOLE], vec![WHOLE]]).await, client());
            server.ask(&client).await;
            assert_eq!([server.next().await, server.next().await], [Some(1), Some(-1)]);
            server.ask(&client).await;
            assert_eq!(server.next().await, Some(2));
        }
    }

    #[tokio::test]
    async fn a_request_that_meets_a_closing_connection_is_sent_on_another_one() {
        // Closed before it is used again, and only when the request is there.
        for first in [vec![WHOLE], vec![WHOLE, ""]] {
            let (server, client) = (Scripted::start(vec![first, vec![WHOLE]]).await, client());
            server.ask(&client).await;
            sleep(Duration::from_millis(20)).await;
            server.ask(&client).await;
        }
    }

    #[tokio::test]
    async fn nothing_is_kept_while_a_request_waits_for_the_server() {
        let (mut server, client) = (Scripted::start(vec![vec![WHOLE; 2], vec![WHOLE]]).await, client());
        let response = server.post(&client).await;
        assert_eq!(server.next().await, Some(1));
        let place = client.idle.server(&server.url[..server.url.len() - 2]);
        let waiting = place.waiting();
        drop(response);
        assert_eq!(server.next().await, Some(-1));
        drop(waiting);
        server.ask(&client).await;
        assert_eq!(server.next().await, Some(2));
    }

    #[tokio::test]
    async fn an_idle_connection_is_closed_before_the_server_closes_it() {
        let (mut server, client) = (Scripted::start(vec![vec![WHOLE; 2]]).await, client());
        server.ask(&client).await;
        assert_eq!(server.next().await, Some(1));
        tokio::time::pause();
        assert_eq!(server.next().await, Some(-1));
        assert!(server.serves.is_finished());
    }
}
