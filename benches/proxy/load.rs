//! The load: streams that are read as fast as they come, and what their readers saw.

use std::{
    io,
    net::TcpStream as Idle,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use memchr::memmem;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Builder,
    task::JoinSet,
    time::sleep,
};

use super::{
    backend::{SIGN, STAMP, now},
    median,
    parts::Target,
};

/// What is asked for.
#[derive(Clone)]
pub(super) struct Load {
    pub(super) streams: usize,
    pub(super) at_once: usize,
    pub(super) pieces: u32,
    /// Between two pieces; zero: as fast as they are taken.
    pub(super) pace: Duration,
    /// With sixty tools and a history of 100 kB; otherwise with one tool.
    pub(super) large: bool,
    /// In Ollama's API.
    pub(super) ndjson: bool,
}

/// What one block of streams cost: processor time and latencies in microseconds, memory in bytes.
pub(super) struct Outcome {
    pub(super) processor: f64,
    pub(super) answers: f64,
    pub(super) pieces: f64,
    /// From the request to the first text, median of the streams.
    pub(super) first: f64,
    /// From the backend's write to the reader, median of the pieces.
    pub(super) piece: f64,
    /// The most that was seen.
    pub(super) resident: f64,
}

/// One stream: when its first text came, and how late each piece was, in nanoseconds.
type Seen = (u64, Vec<u64>);

/// Streams that start at once start within this time.
const SPREAD: Duration = Duration::from_millis(20);

// === impl Load ===

impl Load {
    pub(super) const CHAT: Load = Load { streams: 1, at_once: 1, pieces: 1, pace: Duration::ZERO, large: false, ndjson: false };

    /// The request's body.
    pub(super) fn body(&self) -> String {
        let (family, pieces, pace) = (if self.ndjson { "o" } else { "m" }, self.pieces, self.pace.as_micros());
        let tool = |at: usize| {
            serde_json::json!({"type": "function", "function": {"name": format!("tool_{at}"), "description": "Reads a file of the workspace. ".repeat(4),
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "from": {"type": "integer"}}, "required": ["path"]}}})
        };
        let tools: Vec<_> = (0..if self.large { 60 } else { 1 }).map(tool).collect();
        let message = |at: usize| {
            let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
            serde_json::json!({"role": role, "content": "What is said here is neither long nor short. ".repeat(22)})
        };
        let messages: Vec<_> = (0..if self.large { 101 } else { 1 }).map(message).collect();
        serde_json::json!({"model": format!("{family}-{pieces}-{pace}"), "stream": true, "messages": messages, "tools": tools})
            .to_string()
    }

    fn request(&self, target: &Target) -> Vec<u8> {
        let body = self.body();
        let path = if self.ndjson { "/api/chat" } else { "/v1/chat/completions" };
        let (prefix, length) = (target.prefix, body.len());
        let head = format!(
            "POST {prefix}{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        [head.into_bytes(), body.into_bytes()].concat()
    }
}

/// Runs one block of streams.
pub(super) fn run(load: &Load, target: &Target) -> io::Result<Outcome> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (request, before) = (load.request(target), target.processor());
    let (seen, resident) = runtime.block_on(all(load, target, request))?;
    let processor = target.processor() - before;
    let pieces: usize = seen.iter().map(|(_, late)| late.len()).sum();
    let wanted = load.streams * load.pieces as usize;
    if pieces != wanted {
        return Err(io::Error::other(format!("{}: {pieces} of {wanted} pieces arrived", target.name)));
    }
    let micros = |nanos: u64| nanos as f64 / 1e3;
    Ok(Outcome {
        processor,
        answers: load.streams as f64,
        pieces: pieces as f64,
        first: median(seen.iter().map(|(first, _)| micros(*first)).collect()),
        piece: median(seen.iter().flat_map(|(_, late)| late).map(|late| micros(*late)).collect()),
        resident,
    })
}

async fn all(load: &Load, target: &Target, request: Vec<u8>) -> io::Result<(Vec<Seen>, f64)> {
    let left = std::sync::Arc::new(AtomicUsize::new(load.streams));
    let mut readers = JoinSet::new();
    for at in 0..load.at_once {
        let (left, request, port) = (left.clone(), request.clone(), target.port);
        let wait = SPREAD * at as u32 / load.at_once as u32;
        readers.spawn(async move {
            sleep(wait).await;
            let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
            stream.set_nodelay(true)?;
            let mut seen = Vec::new();
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                seen.push(one(&mut stream, &request).await?);
            }
            io::Result::Ok(seen)
        });
    }
    let mut seen = Vec::new();
    let mut resident = target.resident();
    loop {
        tokio::select! {
            joined = readers.join_next() => match joined {
                Some(joined) => seen.extend(joined.map_err(io::Error::other)??),
                None => return Ok((seen, resident)),
            },
            () = sleep(Duration::from_millis(500)) => resident = resident.max(target.resident()),
        }
    }
}

/// One request and its whole answer.
async fn one(stream: &mut TcpStream, request: &[u8]) -> io::Result<Seen> {
    let begun = now();
    stream.write_all(request).await?;
    let (mut first, mut late, mut text) = (0, Vec::new(), Vec::new());
    let mut framed = Framed::default();
    while !framed.ended {
        if stream.read_buf(&mut framed.held).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        framed.take(&mut text);
        let (came, mut from) = (now(), 0);
        while let Some(at) = memmem::find(&text[from..], SIGN) {
            let stamp = from + at + SIGN.len();
            let Some(digits) = text.get(stamp..stamp + STAMP) else { break };
            from = stamp + STAMP;
            let written: u64 =
                std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
            first = if late.is_empty() { came - begun } else { first };
            late.push(came - written);
        }
        text.drain(..from);
    }
    Ok((first, late))
}

/// A chunked answer as it comes in: a proxy may cut it anywhere.
#[derive(Default)]
pub(super) struct Framed {
    pub(super) held: Vec<u8>,
    /// The head is over.
    begun: bool,
    /// Bytes of the chunk that are still to come, its line break included.
    left: usize,
    pub(super) ended: bool,
}

impl Framed {
    /// Moves what the chunks hold into `text`.
    pub(super) fn take(&mut self, text: &mut Vec<u8>) {
        while !self.ended {
            if self.left > 0 {
                let taken = self.left.min(self.held.len());
                // The line break is no text: a proxy may cut chunks within a stamp.
                text.extend(self.held.drain(..taken).take(self.left.saturating_sub(2)));
                self.left -= taken;
                if self.left > 0 {
                    return;
                }
            }
            let (line, ends): (_, &[u8]) = if self.begun { (2, b"\r\n") } else { (4, b"\r\n\r\n") };
            let Some(at) = memmem::find(&self.held, ends) else { return };
            let size = std::str::from_utf8(&self.held[..at]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
            self.held.drain(..at + line);
            if self.begun {
                self.left = size.unwrap_or_default() + 2;
                self.ended = self.left == 2;
            }
            self.begun = true;
        }
    }
}

/// Connections that say nothing.
pub(super) fn idle(target: &Target, count: usize) -> io::Result<Vec<Idle>> {
    let opened: io::Result<Vec<Idle>> = (0..count).map(|_| Idle::connect(("127.0.0.1", target.port))).collect();
    std::thread::sleep(Duration::from_secs(1));
    opened
}
