//! The client side of HTTP/1.1 (RFC 9112), sans-IO: writes a request, reads the head of an answer, and separates the body from
//! its framing. Our own, because every piece of an answer passes through it: hyper hands a body over through a channel, at more
//! than three times the cost.

use std::fmt::Write as _;

use bytes::{Buf, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::HttpRequest;

#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Framing,
    /// Whether the server accepts another request on this connection after the body.
    pub(super) stays: bool,
}

/// How the end of a body is marked, and how much of it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Framing {
    /// This many bytes remain.
    Sized(u64),
    Chunked(Chunk),
    /// The body ends with the connection.
    UntilClosed,
    Over,
}

/// A position in a chunked body (RFC 9112, section 7.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Chunk {
    /// This many bytes of the chunk remain.
    data: u64,
    /// The line of framing that follows them.
    line: Line,
    /// What was read of that line.
    read: Vec<u8>,
}

/// A line between the data of chunks. It may end without a carriage return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Line {
    /// With the size of the next chunk.
    #[default]
    Size,
    /// The end of the line after a chunk.
    Behind,
    /// After the last chunk.
    Trailer,
}

/// Maximum number of headers of an answer.
const HEADERS: usize = 100;
/// Maximum size of a head, and of each part of a body's framing, in bytes.
const HEAD_BYTES: usize = 32 * 1024;

/// Space for the head of a request, in bytes.
const REQUEST_BYTES: usize = 512;

/// Writes the head of the request, which the body follows.
pub(super) fn request_head(request: &HttpRequest, target: &str, host: &str, user_agent: &str) -> Vec<u8> {
    let HttpRequest { method, headers, body, .. } = request;
    let mut start = String::with_capacity(REQUEST_BYTES);
    let _ = write!(start, "{method} {target} HTTP/1.1\r\nhost: {host}\r\n");
    if !body.is_empty() || *method != http::Method::GET {
        let _ = write!(start, "content-length: {}\r\n", body.len());
    }
    let mut out = start.into_bytes();
    let mut field = |name: &HeaderName, value: &[u8]| {
        [name.as_str().as_bytes(), b": ", value, b"\r\n"].iter().for_each(|part| out.extend_from_slice(part));
    };
    let usual = [(header::ACCEPT, "*/*"), (header::USER_AGENT, user_agent)];
    usual.iter().filter(|(name, _)| !headers.contains_key(name)).for_each(|(name, value)| field(name, value.as_bytes()));
    let ours = [header::HOST, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION];
    headers.iter().filter(|(name, _)| !ours.contains(name)).for_each(|(name, value)| field(name, value.as_bytes()));
    out.extend_from_slice(b"\r\n");
    out
}

impl Head {
    /// Removes the head from the front of `read`, once it is complete. `Ok(None)`: more bytes are needed. `Err`: why it is not a
    /// head.
    pub(super) fn take(read: &mut BytesMut) -> Result<Option<Head>, String> {
        loop {
            let mut fields = [httparse::EMPTY_HEADER; HEADERS];
            let mut parsed = httparse::Response::new(&mut fields);
            let length = match parsed.parse(read) {
                Ok(httparse::Status::Complete(length)) => length,
                Ok(httparse::Status::Partial) if read.len() < HEAD_BYTES => return Ok(None),
                Ok(httparse::Status::Partial) => return Err(format!("the head has more than {HEAD_BYTES} bytes")),
                Err(error) => return Err(format!("this is not HTTP: {error}")),
            };
            let code = parsed.code.unwrap_or_default();
            // The answer is still to come.
            if (100..200).contains(&code) && code != 101 {
                read.advance(length);
                continue;
            }
            let status = StatusCode::from_u16(code).map_err(|error| error.to_string())?;
            let mut headers = HeaderMap::with_capacity(parsed.headers.len());
            for field in parsed.headers.iter() {
                let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|error| error.to_string())?;
                headers.append(name, HeaderValue::from_bytes(field.value).map_err(|error| error.to_string())?);
            }
            let body = Framing::of(status, &headers)?;
            let says = |word: &str| has_word(&headers, &header::CONNECTION, word);
            let stays = if parsed.version == Some(1) { !says("close") } else { says("keep-alive") };
            read.advance(length);
            return Ok(Some(Head { status, headers, stays: stays && body != Framing::UntilClosed, body }));
        }
    }
}

fn has_word(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|found| found.trim().eq_ignore_ascii_case(word))
}

impl Framing {
    fn of(status: StatusCode, headers: &HeaderMap) -> Result<Framing, String> {
        if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            return Ok(Framing::Over);
        }
        if headers.contains_key(header::TRANSFER_ENCODING) {
            let is_chunked = has_word(headers, &header::TRANSFER_ENCODING, "chunked");
            return Ok(if is_chunked { Framing::Chunked(Chunk::default()) } else { Framing::UntilClosed });
        }
        let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
        let Some(first) = lengths.next() else { return Ok(Framing::UntilClosed) };
        let length = first.to_str().ok().and_then(|length| length.trim().parse().ok());
        match length.filter(|_| lengths.all(|other| other == first)) {
            Some(0) => Ok(Framing::Over),
            Some(length) => Ok(Framing::Sized(length)),
            None => Err("its content-length is no number".into()),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        *self == Framing::Over
    }

    /// The connection has ended. `Err`: the body was not complete.
    pub(super) fn closed(&mut self) -> Result<(), String> {
        match self {
            Framing::UntilClosed | Framing::Over => {
                *self = Framing::Over;
                Ok(())
            }
            Framing::Sized(_) | Framing::Chunked(_) => Err("it was closed before its end".into()),
        }
    }

    /// Removes everything from `read`, from `start` on, that is not part of the body. Returns the number of bytes after the end
    /// of the body, which are removed too. `Err`: the framing is not what the head announced; the part of the body before it
    /// stays.
    pub(super) fn strip(&mut self, read: &mut BytesMut, start: usize) -> Result<usize, String> {
        // What comes before `kept` stays; what comes before `at` was looked at.
        let (mut kept, mut at) = (start, start);
        let mut fault = Ok(());
        while at < read.len() && !self.is_over() && fault.is_ok() {
            let left = read.len() - at;
            let data = match self {
                Framing::Sized(more) | Framing::Chunked(Chunk { data: more, .. }) => {
                    let data = usize::try_from(*more).map_or(left, |more| more.min(left));
                    *more -= data as u64;
                    data
                }
                Framing::UntilClosed => left,
                Framing::Over => 0,
            };
            read.copy_within(at..at + data, kept);
            (kept, at) = (kept + data, at + data);
            match self {
                Framing::Sized(0) => *self = Framing::Over,
                Framing::Chunked(chunk) if chunk.data == 0 => {
                    let rest = &read[at..];
                    let line = &rest[..memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1)];
                    at += line.len();
                    match chunk.take(line) {
                        Ok(true) => *self = Framing::Over,
                        taken => fault = taken.map(drop),
                    }
                }
                _ => {}
            }
        }
        let behind = read.len() - at;
        read.truncate(kept);
        fault.map(|()| behind)
    }
}

impl Chunk {
    /// Takes a part of the line of framing; it may be its end. `true`: the body is over.
    fn take(&mut self, part: &[u8]) -> Result<bool, String> {
        let mut read = std::mem::take(&mut self.read);
        // Most lines come whole: those are not copied.
        if !read.is_empty() || !part.ends_with(b"\n") {
            read.extend_from_slice(part);
        }
        let whole = if read.is_empty() { part } else { &read };
        let line = whole.trim_ascii();
        if whole.len() > HEAD_BYTES || self.line == Line::Behind && !line.is_empty() {
            return Err("a chunk is not framed".into());
        }
        if !whole.ends_with(b"\n") {
            self.read = read;
            return Ok(false);
        }
        let is_over = self.line == Line::Trailer && line.is_empty();
        self.line = match self.line {
            Line::Size => {
                let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end();
                let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'));
                let size = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
                self.data = size.ok_or("the size of a chunk is no number")?;
                if self.data == 0 { Line::Trailer } else { Line::Behind }
            }
            Line::Behind => Line::Size,
            Line::Trailer => Line::Trailer,
        };
        Ok(is_over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body of an answer that comes in these pieces, and the bytes behind it; `None` if it does not end.
    fn read(pieces: &[&[u8]]) -> Result<Option<(Head, Vec<u8>, usize)>, String> {
        let (mut held, mut pieces) = (BytesMut::new(), pieces.iter());
        let mut head = loop {
            match Head::take(&mut held)? {
                Some(head) => break head,
                None => match pieces.next() {
                    Some(piece) => held.extend_from_slice(piece),
                    None => return Ok(None),
                },
            }
        };
        let mut behind = head.body.strip(&mut held, 0)?;
        for piece in pieces {
            let start = held.len();
            held.extend_from_slice(piece);
            behind += head.body.strip(&mut held, start)?;
        }
        let is_over = head.body.is_over();
        Ok(is_over.then(|| (head, held.to_vec(), behind)))
    }

    const CHUNKED: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n\
        5\r\nhello\r\n00001;name=\"value\"\r\n \r\nA \r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";

    #[test]
    fn a_body_is_the_same_wherever_it_is_cut() {
        let sized = b"HTTP/1.1 200 OK\r\ncontent-length: 16\r\ncontent-length: 16\r\n\r\nhello 0123456789";
        for whole in [CHUNKED, sized] {
            for first in 0..=whole.len() {
                for second in first..=whole.len() {
                    let pieces = [&whole[..first], &whole[first..second], &whole[second..]];
                    let (head, body, behind) = read(&pieces).unwrap().unwrap();
                    assert_eq!((head.status.as_u16(), head.stays, &body[..], behind), (200, true, &b"hello 0123456789"[..], 0));
                }
            }
            assert!(matches!(read(&[&whole[..whole.len() - 1]]), Ok(None)));
            assert_eq!(read(&[whole, b"more"]).unwrap().unwrap().2, 4);
        }
    }

    #[test]
    fn a_connection_stays_where_the_body_has_an_end_and_the_server_says_nothing_else() {
        for (head, body, stays) in [
            ("HTTP/1.1 200 OK\r\n\r\n", Framing::UntilClosed, false),
            ("HTTP/1.1 204 No Content\r\n\r\n", Framing::Over, true),
            ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", Framing::Over, true),
            ("HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: x, Close\r\n\r\n", Framing::Sized(7), false),
            ("HTTP/1.0 200 OK\r\ncontent-length: 7\r\n\r\n", Framing::Sized(7), false),
            ("HTTP/1.0 200 OK\r\ncontent-length: 7\r\nconnection: keep-alive\r\n\r\n", Framing::Sized(7), true),
        ] {
            let taken = Head::take(&mut BytesMut::from(head)).unwrap().unwrap();
            assert_eq!((taken.body, taken.stays), (body, stays), "{head}");
        }
    }

    #[test]
    fn what_is_not_framed_is_an_error() {
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let long = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(HEAD_BYTES));
        for wrong in ["HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", "220 mail\r\n\r\n", &long]
            .map(str::to_owned)
            .into_iter()
            .chain(["x\r\n", "+1\r\na", "\r\n", "1\r\nab", "fffffffffffffffff\r\n"].map(|body| format!("{chunked}{body}")))
            .chain([format!("{chunked}0\r\n{}", "y".repeat(HEAD_BYTES + 1))])
        {
            assert!(read(&[wrong.as_bytes()]).is_err(), "{wrong:.100}");
        }
        // Nothing from there on is body.
        let mut read = BytesMut::from(&b"2\r\nab\r\nzz\r\ndata: x\n\n"[..]);
        assert!(Framing::Chunked(Chunk::default()).strip(&mut read, 0).is_err());
        assert_eq!(&read[..], b"ab");
        assert!(Framing::Sized(1).closed().is_err() && Framing::UntilClosed.closed().is_ok());
    }
}
