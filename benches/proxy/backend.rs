//! The backend: as little as a server of models can be. It writes one event per piece, each with the time at which it was written.
//! The model's name says what it writes: `m-PIECES-MICROSECONDS`, with Ollama's API `o-PIECES-MICROSECONDS`.

use std::{
    io,
    net::TcpListener,
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

use memchr::memmem;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Builder,
    task::JoinSet,
    time::{Instant as Timer, sleep_until},
};

static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Digits of a stamp.
pub(super) const STAMP: usize = 16;
/// What precedes a stamp in a piece.
pub(super) const SIGN: &[u8] = b"at ";

/// Nanoseconds since the bench began.
pub(super) fn now() -> u64 {
    BEGUN.elapsed().as_nanos() as u64
}

/// Starts the backend on a thread of its own; its port.
pub(super) fn start() -> io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    thread::spawn(move || {
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                connections.spawn(serve(stream));
            }
            #[allow(unreachable_code, reason = "says the type")]
            io::Result::Ok(())
        })
    });
    Ok(port)
}

/// Requests of one connection, one after the other.
async fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut held = Vec::new();
    loop {
        let (head, whole) = loop {
            if let Some(end) = memmem::find(&held, b"\r\n\r\n") {
                let whole = end + 4 + length(&held[..end]);
                if held.len() >= whole {
                    break (end, whole);
                }
            }
            if stream.read_buf(&mut held).await? == 0 {
                return Ok(());
            }
        };
        let request: Vec<u8> = held.drain(..whole).collect();
        answer(&request[..head], &request[head + 4..], &mut stream).await?;
    }
}

fn length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_lowercase();
    let field = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    field.and_then(|length| length.trim().parse().ok()).unwrap_or_default()
}

async fn answer(head: &[u8], body: &[u8], stream: &mut TcpStream) -> io::Result<()> {
    let ndjson = memmem::find(head, b"/api/chat").is_some();
    if !head.starts_with(b"POST") || !ndjson && memmem::find(head, b"/chat/completions").is_none() {
        return other(head, stream).await;
    }
    let (pieces, pace) = script(body);
    let kind = if ndjson { "application/x-ndjson" } else { "text/event-stream" };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let begun = Timer::now();
    for piece in 0..pieces {
        if !pace.is_zero() {
            sleep_until(begun + pace * piece).await;
        }
        let text = format!("{}{:0STAMP$} ", String::from_utf8_lossy(SIGN), now());
        let event = if ndjson {
            format!(
                "{{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{{\"role\":\"assistant\",\"content\":\"{text}\"}},\"done\":false}}\n"
            )
        } else {
            format!(
                "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
            )
        };
        stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await?;
    }
    let last = if ndjson {
        "{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n"
    } else {
        "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
    };
    stream.write_all(format!("{:x}\r\n{last}\r\n0\r\n\r\n", last.len()).as_bytes()).await
}

/// How many pieces are asked for, and how far apart they are.
fn script(body: &[u8]) -> (u32, Duration) {
    let name = [b"\"m-", b"\"o-"].iter().find_map(|begins| memmem::find(body, *begins)).map(|at| &body[at + 3..]);
    let name = name.unwrap_or_default();
    let name = name.split(|byte| *byte == b'"').next().unwrap_or_default();
    let mut numbers = name.split(|byte| *byte == b'-').map(|digits| String::from_utf8_lossy(digits).parse().unwrap_or(0));
    (numbers.next().unwrap_or(1), Duration::from_micros(numbers.next().unwrap_or(0).into()))
}

/// Lists of models; nothing else is known here.
async fn other(head: &[u8], stream: &mut TcpStream) -> io::Result<()> {
    let names = ["1-0", "5-20000", "150-20000", "400-0"];
    let path = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    let (status, body) = if path.ends_with(b"/models") {
        let listed = names.map(|name| format!("{{\"id\":\"m-{name}\",\"object\":\"model\"}}"));
        ("200 OK", format!("{{\"object\":\"list\",\"data\":[{}]}}", listed.join(",")))
    } else if path.ends_with(b"/api/tags") {
        let listed = names.map(|name| format!("{{\"name\":\"o-{name}\",\"model\":\"o-{name}\"}}"));
        ("200 OK", format!("{{\"models\":[{}]}}", listed.join(",")))
    } else {
        ("404 Not Found", "{}".to_owned())
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(head.as_bytes()).await
}
