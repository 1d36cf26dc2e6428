//! A backend that does what a test tells it: status, bytes, pauses, a connection that breaks or is held open. It is a bare
//! socket, so that it sees the moment in which the proxy lets go of it.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

/// A running backend.
pub(crate) struct Fake {
    /// `http://127.0.0.1:port`.
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    closed: mpsc::UnboundedReceiver<Instant>,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// `POST /v1/chat/completions`.
    pub(crate) line: String,
    /// The head, lower case.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: String,
}

/// What is answered.
pub(crate) struct Script {
    status: u16,
    content_type: &'static str,
    /// A further line of the head, or nothing.
    header: String,
    /// How long nothing comes, not even the head.
    silence: Duration,
    steps: Vec<Step>,
}

/// A step of an answer.
pub(crate) enum Step {
    /// Bytes of the body, in a piece of their own.
    Send(String),
    /// A pause.
    Wait(Duration),
    /// Nothing, until the other side closes.
    Hang,
    /// The connection breaks here.
    Break,
    /// The connection is reset here, as by a process that was killed.
    Reset,
}

// === impl Script ===

impl Script {
    pub(crate) fn json(status: u16, body: impl Into<String>) -> Script {
        Script {
            status,
            content_type: "application/json",
            header: String::new(),
            silence: Duration::ZERO,
            steps: vec![Step::Send(body.into())],
        }
    }

    pub(crate) fn lines(steps: Vec<Step>) -> Script {
        Script { status: 200, content_type: "application/x-ndjson", header: String::new(), silence: Duration::ZERO, steps }
    }

    pub(crate) fn events(steps: Vec<Step>) -> Script {
        Script { status: 200, content_type: "text/event-stream", header: String::new(), silence: Duration::ZERO, steps }
    }

    /// The same answer with a further header.
    pub(crate) fn with_header(self, name: &str, value: &str) -> Script {
        Script { header: format!("{name}: {value}\r\n"), ..self }
    }

    /// The same answer, after a silence.
    pub(crate) fn after(self, silence: Duration) -> Script {
        Script { silence, ..self }
    }
}

// === impl Fake ===

impl Fake {
    /// Starts a backend that answers each request with what `script` says.
    pub(crate) async fn start(script: impl Fn(&Seen) -> Script + Send + Sync + 'static) -> Fake {
        Fake::start_at("127.0.0.1:0", script).await
    }

    /// The same at an address of which somebody knows already.
    pub(crate) async fn start_at(address: &str, script: impl Fn(&Seen) -> Script + Send + Sync + 'static) -> Fake {
        let listener = TcpListener::bind(address).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (gone, closed) = mpsc::unbounded_channel();
        let (script, list) = (Arc::new(script), seen.clone());
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (script, list, gone) = (script.clone(), list.clone(), gone.clone());
                tokio::spawn(async move {
                    serve(socket, |seen| {
                        list.lock().unwrap().push(seen.clone());
                        script(seen)
                    })
                    .await;
                    let _ = gone.send(Instant::now());
                });
            }
        });
        Fake { url, seen, closed }
    }

    /// The requests to a path so far.
    pub(crate) fn seen(&self, path: &str) -> Vec<Seen> {
        self.seen.lock().unwrap().iter().filter(|seen| seen.line.ends_with(path)).cloned().collect()
    }

    /// Waits for a request to a path.
    pub(crate) async fn wait_for(&self, path: &str) -> Seen {
        for _ in 0..500 {
            if let Some(seen) = self.seen(path).pop() {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("nothing came to {path}");
    }

    /// When the next connection ends (also those that ended before this call).
    pub(crate) async fn closed(&mut self) -> Instant {
        tokio::time::timeout(Duration::from_secs(5), self.closed.recv()).await.expect("the connection stays open").unwrap()
    }

    /// Forgets the connections that have ended so far.
    pub(crate) fn forget_closed(&mut self) {
        while self.closed.try_recv().is_ok() {}
    }
}

async fn serve(mut socket: TcpStream, script: impl Fn(&Seen) -> Script) -> Option<()> {
    let seen = read(&mut socket).await?;
    let script = script(&seen);
    let head = format!(
        "HTTP/1.1 {} Scripted\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\nconnection: close, x-hop\r\nkeep-alive: timeout=5\r\nx-hop: 1\r\nx-from-backend: yes\r\n{}\r\n",
        script.status, script.content_type, script.header
    );
    tokio::time::sleep(script.silence).await;
    socket.write_all(head.as_bytes()).await.ok()?;
    for step in script.steps {
        match step {
            Step::Send(text) => {
                socket.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await.ok()?;
                socket.flush().await.ok()?;
            }
            Step::Wait(pause) => {
                // A backend notices that the other side went only when it looks.
                let mut byte = [0];
                if let Ok(read) = tokio::time::timeout(pause, socket.read(&mut byte)).await {
                    return read.ok().map(|_| ());
                }
            }
            Step::Hang => {
                let mut byte = [0];
                return socket.read(&mut byte).await.ok().map(|_| ());
            }
            Step::Break => return None,
            Step::Reset => {
                // What was written before must have been read: a reset throws away what is still on its way.
                tokio::time::sleep(Duration::from_millis(50)).await;
                socket.set_zero_linger().ok()?;
                return None;
            }
        }
    }
    socket.write_all(b"0\r\n\r\n").await.ok()?;
    socket.shutdown().await.ok()
}

async fn read(socket: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lower = head.to_lowercase();
            let length =
                lower.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                let line = head.lines().next()?.trim_end_matches(" HTTP/1.1").to_owned();
                return Some(Seen { line, head: lower, body: body.to_owned() });
            }
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
