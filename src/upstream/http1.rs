//! The client side of HTTP/1.1 (RFC 9112), sans-IO: writes a request, reads the head of an answer, and separates the body from
//! its framing. Our own, because every piece of an answer passes through it: hyper hands a body over through a channel, at more
//! than three times the cost.

use std::{fmt::Write as _, ops::Range};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Chunk {
    /// In the line with a chunk's size, which is `None` before its first digit and complete in an extension.
    Size { size: Option<u64>, is_complete: bool },
    /// This many bytes of the chunk remain.
    Data(u64),
    /// After a chunk, before the end of its line.
    Behind,
    /// After the last chunk: in a line of this many bytes so far.
    Trailer(usize),
}

/// Maximum number of headers of an answer.
const HEADERS: usize = 100;
/// Maximum size of a head, and of each part of a body's framing, in bytes.
const HEAD_BYTES: usize = 32 * 1024;

const LINE_END: &[u8] = b"\r\n";
/// Maximum number of digits of a chunk's size.
const SIZE_DIGITS: usize = 16;

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
            return Ok(if is_chunked { Framing::Chunked(Chunk::NEXT) } else { Framing::UntilClosed });
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
        while at < read.len() && !self.is_over() {
            // Most chunks come whole. Byte by byte, their frames would cost more than all the rest.
            if *self == Framing::Chunked(Chunk::NEXT)
                && let Some(Range { start, end }) = whole_chunk(&read[at..])
            {
                read.copy_within(at + start..at + end, kept);
                (kept, at) = (kept + end - start, at + end + LINE_END.len());
                continue;
            }
            let left = read.len() - at;
            let data = match self {
                Framing::Sized(more) | Framing::Chunked(Chunk::Data(more)) => {
                    let data = usize::try_from(*more).map_or(left, |more| more.min(left));
                    *more -= data as u64;
                    data
                }
                Framing::UntilClosed => left,
                Framing::Chunked(_) | Framing::Over => 0,
            };
            if data > 0 {
                read.copy_within(at..at + data, kept);
                (kept, at) = (kept + data, at + data);
            }
            match self {
                Framing::Sized(0) => *self = Framing::Over,
                Framing::Chunked(Chunk::Data(0)) => *self = Framing::Chunked(Chunk::Behind),
                Framing::Chunked(Chunk::Data(_)) | Framing::Sized(_) | Framing::UntilClosed | Framing::Over => {}
                Framing::Chunked(chunk) => {
                    match chunk.next(read[at]) {
                        Ok(Some(next)) => *chunk = next,
                        Ok(None) => *self = Framing::Over,
                        Err(wrong) => {
                            read.truncate(kept);
                            return Err(wrong);
                        }
                    }
                    at += 1;
                }
            }
        }
        let behind = read.len() - at;
        read.truncate(kept);
        Ok(behind)
    }
}

/// The place of the data of the chunk with which `read` begins, if the chunk is whole and not the last one, and its frame holds
/// nothing else.
fn whole_chunk(read: &[u8]) -> Option<Range<usize>> {
    let (mut size, mut digits) = (0_u64, 0);
    while let Some(digit) = read.get(digits).and_then(|byte| char::from(*byte).to_digit(16)).filter(|_| digits < SIZE_DIGITS) {
        (size, digits) = (size << 4 | u64::from(digit), digits + 1);
    }
    let start = digits + LINE_END.len();
    let end = usize::try_from(size).ok()?.checked_add(start)?;
    let is_whole = size > 0 && read[digits..].starts_with(LINE_END) && read.get(end..)?.starts_with(LINE_END);
    is_whole.then_some(start..end)
}

impl Chunk {
    /// Before a chunk's size.
    const NEXT: Chunk = Chunk::Size { size: None, is_complete: false };

    /// The position after this byte, which belongs to the framing; `None`: the body is over. A line may end without a carriage
    /// return.
    fn next(&self, byte: u8) -> Result<Option<Chunk>, String> {
        let wrong = || Err(format!("byte {byte:#04x} where a chunk's frame is expected"));
        Ok(Some(match (self, byte) {
            (Chunk::Size { size: Some(0), .. }, b'\n') => Chunk::Trailer(0),
            (Chunk::Size { size: Some(size), .. }, b'\n') => Chunk::Data(*size),
            (Chunk::Size { size, is_complete: true }, _) => Chunk::Size { size: *size, is_complete: true },
            (Chunk::Size { size: Some(size), .. }, b'\r' | b';' | b' ' | b'\t') => {
                Chunk::Size { size: Some(*size), is_complete: true }
            }
            (Chunk::Size { size, .. }, _) => {
                let Some(digit) = char::from(byte).to_digit(16) else { return wrong() };
                let Some(size) = size.unwrap_or(0).checked_mul(16).and_then(|size| size.checked_add(digit.into())) else {
                    return wrong();
                };
                Chunk::Size { size: Some(size), is_complete: false }
            }
            (Chunk::Behind, b'\r') => Chunk::Behind,
            (Chunk::Behind, b'\n') => Chunk::NEXT,
            (Chunk::Trailer(0), b'\n') => return Ok(None),
            (Chunk::Trailer(_), b'\n') => Chunk::Trailer(0),
            (Chunk::Trailer(length), b'\r') => Chunk::Trailer(*length),
            (Chunk::Trailer(length), _) if *length < HEAD_BYTES => Chunk::Trailer(length + 1),
            (Chunk::Behind | Chunk::Trailer(_) | Chunk::Data(_), _) => return wrong(),
        }))
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
            .chain(["x\r\n", "\r\n", "1\r\nab", "fffffffffffffffff\r\n"].map(|body| format!("{chunked}{body}")))
            .chain([format!("{chunked}0\r\n{}", "y".repeat(HEAD_BYTES + 1))])
        {
            assert!(read(&[wrong.as_bytes()]).is_err(), "{wrong:.100}");
        }
        // Nothing from there on is body.
        let mut read = BytesMut::from(&b"2\r\nab\r\nzz\r\ndata: x\n\n"[..]);
        assert!(Framing::Chunked(Chunk::NEXT).strip(&mut read, 0).is_err());
        assert_eq!(&read[..], b"ab");
        assert!(Framing::Sized(1).closed().is_err() && Framing::UntilClosed.closed().is_ok());
    }
}
