//! Framing in both directions: cuts a stream of bytes into frames (the data of a server-sent event, a line of NDJSON, a whole
//! JSON body), and writes server-sent events (<https://html.spec.whatwg.org/multipage/server-sent-events.html>). The decoder is
//! our own, because every answer passes through it: it is linear, bounded, skips a byte order mark, and accepts every line
//! ending. `eventsource-stream` is its oracle in the tests.

use bytes::{Buf, Bytes, BytesMut};

use crate::error::Error;

#[cfg(test)]
mod tests;

/// How frames are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Server-sent events: a frame is the `data` of one event, its lines joined by newlines. `[DONE]` is a frame like any
    /// other. An error, in an event of that name or in llama.cpp's field `error`, is the frame `{"error": DATA}`. A body that
    /// begins with `{`, `[` or `<` is no event stream: it is one frame (servers that ignore `stream: true`, error bodies,
    /// pages).
    Sse,
    /// One JSON value per line.
    Lines,
}

/// Cuts a stream of bytes into frames. The frames do not depend on how the bytes were cut.
#[derive(Debug)]
pub struct Frames {
    state: State,
    limit: usize,
    /// What has not been consumed yet.
    buffer: BytesMut,
    /// How much of `buffer` is known to contain no line ending.
    scanned: usize,
    /// The last line ended with CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The data of the event that is being read.
    data: Data,
    /// That event is an error.
    is_error: bool,
}

/// What the bytes are read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but a byte order mark and white space so far.
    Start(Framing),
    Sse,
    Lines,
    /// One JSON value up to the end.
    Whole,
}

/// The data of an event: usually one line, taken out of the buffer without copying.
#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    One(Bytes),
    Many(Vec<u8>),
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl Frames {
    /// A decoder for this framing. A line, or the data of an event, of more than `limit` bytes is an error.
    pub fn new(framing: Framing, limit: usize) -> Frames {
        Frames {
            state: State::Start(framing),
            limit,
            buffer: BytesMut::new(),
            scanned: 0,
            after_cr: false,
            data: Data::None,
            is_error: false,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes that no frame has been made of yet.
    pub fn held_bytes(&self) -> usize {
        self.buffer.len() + self.data.len()
    }

    /// The next complete frame, `None` if more bytes are needed.
    ///
    /// # Errors
    /// 502 if the limit was exceeded. The stream cannot be read any further.
    #[expect(clippy::should_implement_trait, reason = "it is not an iterator: after `None` there may be more")]
    pub fn next(&mut self) -> Result<Option<Bytes>, Error> {
        if let State::Start(framing) = self.state {
            match self.begin(framing) {
                Some(state) => self.state = state,
                None => return self.bounded(self.buffer.len()).map(|()| None),
            }
        }
        while self.state != State::Whole
            && let Some(line) = self.line()
        {
            self.bounded(line.len())?;
            if let Some(frame) = self.take(line) {
                return Ok(Some(frame));
            }
            self.bounded(self.data.len())?;
        }
        self.bounded(self.buffer.len()).map(|()| None)
    }

    /// The end of the stream: what is left counts as a last line and a last frame. To be called when `next` has nothing
    /// more to give.
    pub fn finish(&mut self) -> Option<Bytes> {
        let rest = self.buffer.split().freeze();
        self.scanned = 0;
        match self.state {
            State::Sse => {
                self.field(&rest);
                self.dispatch()
            }
            State::Start(_) | State::Lines | State::Whole => {
                let trimmed = rest.trim_ascii();
                (!trimmed.is_empty() && !BOM.starts_with(trimmed)).then(|| rest.slice_ref(trimmed))
            }
        }
    }

    /// What the first bytes tell about the rest; `None` if they do not tell yet.
    fn begin(&mut self, framing: Framing) -> Option<State> {
        if self.buffer.len() < BOM.len() && BOM.starts_with(&self.buffer) {
            return None;
        }
        if self.buffer.starts_with(BOM) {
            self.buffer.advance(BOM.len());
        }
        match framing {
            Framing::Lines => Some(State::Lines),
            Framing::Sse => {
                // Blank lines before the first event mean nothing, so they may be looked through, but not consumed.
                let first = self.buffer.iter().find(|byte| !byte.is_ascii_whitespace())?;
                Some(if matches!(first, b'{' | b'[' | b'<') { State::Whole } else { State::Sse })
            }
        }
    }

    /// The next line without its ending. CR, LF and CRLF end a line; a CR at the end of the buffer does so at once.
    fn line(&mut self) -> Option<Bytes> {
        if self.after_cr {
            if self.buffer.first()? == &b'\n' {
                self.buffer.advance(1);
            }
            self.after_cr = false;
        }
        let found = match self.buffer.get(self.scanned..)? {
            // Every second line is empty.
            [b'\n', ..] => Some(0),
            rest => memchr::memchr2(b'\n', b'\r', rest),
        };
        let Some(found) = found else {
            self.scanned = self.buffer.len();
            return None;
        };
        let length = self.scanned + found;
        let line = if length == 0 { Bytes::new() } else { self.buffer.split_to(length).freeze() };
        self.after_cr = self.buffer.first() == Some(&b'\r');
        self.buffer.advance(1);
        self.scanned = 0;
        Some(line)
    }

    /// Takes a line; gives the frame that it completes.
    fn take(&mut self, line: Bytes) -> Option<Bytes> {
        if self.state == State::Lines {
            let trimmed = line.trim_ascii();
            return (!trimmed.is_empty()).then(|| line.slice_ref(trimmed));
        }
        if line.is_empty() {
            return self.dispatch();
        }
        self.field(&line);
        None
    }

    /// Takes a line of an event.
    fn field(&mut self, line: &Bytes) {
        if let Some(value) = value_of(line, b"data") {
            self.data.add(value);
        } else if let Some(value) = value_of(line, b"error") {
            self.is_error = true;
            self.data.add(value);
        } else if value_of(line, b"event").is_some_and(|name| name == "error") {
            self.is_error = true;
        }
    }

    /// The frame of the event that ends here.
    fn dispatch(&mut self) -> Option<Bytes> {
        let is_error = std::mem::take(&mut self.is_error);
        let data = self.data.take()?;
        Some(if is_error { [b"{\"error\":", &data[..], b"}"].concat().into() } else { data })
    }

    fn bounded(&self, bytes: usize) -> Result<(), Error> {
        if bytes <= self.limit {
            return Ok(());
        }
        Err(Error::backend(format!("the backend sent one piece of more than {} bytes", self.limit)).with_code("frame_too_large"))
    }
}

impl Data {
    fn add(&mut self, line: Bytes) {
        *self = match std::mem::take(self) {
            Data::None => Data::One(line),
            Data::One(first) => Data::Many([&first, &line[..]].join(&b'\n')),
            Data::Many(mut all) => {
                all.push(b'\n');
                all.extend_from_slice(&line);
                Data::Many(all)
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Data::None => 0,
            Data::One(line) => line.len(),
            Data::Many(all) => all.len(),
        }
    }

    /// The data of the event, if it has any that is not empty.
    fn take(&mut self) -> Option<Bytes> {
        match std::mem::take(self) {
            Data::None => None,
            Data::One(line) => (!line.is_empty()).then_some(line),
            Data::Many(all) => Some(all.into()),
        }
    }
}

/// Writes one server-sent event; `data` appends its data, which must be one line (JSON without line breaks is).
pub fn write_sse(out: &mut BytesMut, data: impl FnOnce(&mut BytesMut)) {
    out.extend_from_slice(b"data: ");
    data(out);
    out.extend_from_slice(b"\n\n");
}

/// Writes one server-sent event with a name.
pub fn write_event(out: &mut BytesMut, name: &str, data: impl FnOnce(&mut BytesMut)) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\n");
    write_sse(out, data);
}

/// Writes a comment, which every reader of server-sent events skips; line endings in `text` become spaces.
pub fn write_comment(out: &mut BytesMut, text: &str) {
    out.extend_from_slice(b": ");
    out.extend(text.bytes().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
    out.extend_from_slice(b"\n\n");
}

/// The value of a line of this field; `None` for comments and all other fields.
fn value_of(line: &Bytes, field: &[u8]) -> Option<Bytes> {
    let value = line.strip_prefix(field)?;
    let value = match value.first() {
        None => value,
        Some(b':') => value.get(1..)?,
        Some(_) => return None,
    };
    Some(line.slice_ref(value.strip_prefix(b" ").unwrap_or(value)))
}
