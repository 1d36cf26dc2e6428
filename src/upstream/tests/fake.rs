//! A backend made of a script, for the tests: a real socket, so that what happens to connections is seen too.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};

/// What the fake does next.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Does nothing for a while.
    Pause(Duration),
    /// Sends bytes again and again until the other side is gone.
    SendForEver(Vec<u8>),
}

/// What the fake saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A request, head and body.
    Request(String),
    /// The other side went away while the answer was being written.
    Gone,
}

/// A server on a port of its own; it ends with the test's process.
pub(crate) struct Fake {
    pub(crate) url: String,
    pub(crate) seen: Receiver<Seen>,
}

impl Fake {
    /// Answers each request by the steps that the script gives for it.
    pub(crate) fn start(script: impl Fn(&str) -> Vec<Step> + Send + Sync + Clone + 'static) -> Fake {
        Fake::on(TcpListener::bind("127.0.0.1:0").expect("a port"), script)
    }

    /// The same where somebody listens already.
    pub(crate) fn on(listener: TcpListener, script: impl Fn(&str) -> Vec<Step> + Send + Sync + Clone + 'static) -> Fake {
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (sender, seen) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, sender) = (script.clone(), sender.clone());
                thread::spawn(move || converse(stream, &script, &sender));
            }
        });
        Fake { url, seen }
    }

    /// Answers each request line (`GET /path`) by a status and a JSON body; everything else is 404.
    pub(crate) fn with_json(answers: &'static [(&'static str, u16, &'static str)]) -> Fake {
        Fake::start(move |request| {
            let found = answers.iter().find(|(line, _, _)| request.starts_with(&format!("{line} ")));
            let (status, body) = found.map_or((404, "{\"error\":\"not found\"}"), |(_, status, body)| (*status, *body));
            vec![whole(status, body)]
        })
    }
}

/// A whole answer.
pub(crate) fn whole(status: u16, body: &str) -> Step {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Step::Send((head + body).into_bytes())
}

/// The head of a chunked answer.
pub(crate) fn head() -> Step {
    Step::Send(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(),
    )
}

/// One chunk.
pub(crate) fn chunk(text: &str) -> Step {
    Step::Send(format!("{:x}\r\n{text}\r\n", text.len()).into_bytes())
}

/// The end of a chunked answer.
pub(crate) fn end() -> Step {
    Step::Send(b"0\r\n\r\n".to_vec())
}

/// One request, then the connection is closed: an answer without its end is a broken one.
fn converse(mut stream: TcpStream, script: &dyn Fn(&str) -> Vec<Step>, seen: &Sender<Seen>) {
    let Some(request) = request(&mut stream) else { return };
    let steps = script(&request);
    let _ = seen.send(Seen::Request(request));
    for step in steps {
        let written = match step {
            Step::Send(bytes) => stream.write_all(&bytes),
            Step::Pause(time) => {
                thread::sleep(time);
                Ok(())
            }
            Step::SendForEver(bytes) => loop {
                if let Err(error) = stream.write_all(&bytes) {
                    break Err(error);
                }
                thread::sleep(Duration::from_millis(5));
            },
        };
        if written.is_err() {
            let _ = seen.send(Seen::Gone);
            return;
        }
    }
}

/// Head and body of the next request.
fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read(&mut buffer).ok()? {
            0 => return None,
            read => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}
