//! Framing in both directions: cuts a stream of bytes into frames (the data of a server-sent event, a line of NDJSON, a whole
//! JSON body), and writes server-sent events (<https://html.spec.whatwg.org/multipage/server-sent-events.html>). The decoder is
//! our own, because every answer passes through it: it is linear, bounded, skips a byte order mark, and accepts every line
//! ending. `eventsource-stream` is its oracle in the tests.

use std::ops::Range;

use bytes::{Buf, BytesMut};

use crate::error::Error;

#[cfg(test)]
mod tests;

/// The format of an answer. The kind of the backend decides it; a replay backend uses the format of its recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// NDJSON of `/api/chat`.
    Ollama,
    /// Chunks of `/v1/chat/completions`.
    OpenAi,
    /// Events of `streamGenerateContent`.
    Google,
}

impl Dialect {
    /// How frames are separated in this format.
    pub fn framing(self) -> Framing {
        match self {
            Dialect::Ollama => Framing::Lines,
            Dialect::OpenAi | Dialect::Google => Framing::Sse,
        }
    }
}

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
    /// The bytes from the beginning of a frame on. Positions are offsets into them.
    buffer: BytesMut,
    /// Beginning of the lines that no frame has been made of.
    start: usize,
    /// End of the lines that were read.
    read: usize,
    /// Up to here there is no further line ending.
    scanned: usize,
    /// The last line ended with CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The last frame, if it is not a part of the buffer.
    joined: Vec<u8>,
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

/// Where the bytes of a frame are.
enum Frame {
    Part(Range<usize>),
    Joined,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl Frames {
    /// A decoder for this framing. A line, or an event, of more than `limit` bytes is an error.
    pub fn new(framing: Framing, limit: usize) -> Frames {
        Frames {
            state: State::Start(framing),
            limit,
            buffer: BytesMut::new(),
            start: 0,
            read: 0,
            scanned: 0,
            after_cr: false,
            joined: Vec::new(),
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.room().extend_from_slice(bytes);
    }

    /// Where the next bytes may be appended, as with `push`. What is there must stay as it is.
    pub fn room(&mut self) -> &mut BytesMut {
        let needless = std::mem::take(&mut self.start);
        self.buffer.advance(needless);
        (self.read, self.scanned) = (self.read - needless, self.scanned.saturating_sub(needless));
        &mut self.buffer
    }

    /// The last bytes that were appended, `count` of them. Call it before `next`.
    pub fn newest(&self, count: usize) -> &[u8] {
        self.buffer.get(self.buffer.len().saturating_sub(count)..).unwrap_or_default()
    }

    /// Bytes that no frame has been made of yet.
    pub fn held_bytes(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// The next complete frame, `None` if more bytes are needed.
    ///
    /// # Errors
    /// 502 if the limit was exceeded. The stream cannot be read any further.
    #[expect(clippy::should_implement_trait, reason = "it is not an iterator: after `None` there may be more")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Error> {
        if let State::Start(framing) = self.state
            && let Some(state) = self.begin(framing)
        {
            self.state = state;
        }
        while matches!(self.state, State::Sse | State::Lines)
            && let Some(line) = self.line()
        {
            self.bounded(line.end - self.start)?;
            if let Some(frame) = self.take(line) {
                return Ok(Some(self.shown(frame)));
            }
        }
        self.bounded(self.held_bytes()).map(|()| None)
    }

    /// The end of the stream: what is left counts as a last line and a last frame. To be called when `next` has nothing
    /// more to give.
    pub fn finish(&mut self) -> Option<&[u8]> {
        let rest = std::mem::replace(&mut self.start, self.buffer.len())..self.buffer.len();
        let frame = match self.state {
            State::Sse => self.event(rest)?,
            State::Start(_) | State::Lines | State::Whole => {
                let text = trimmed(&self.buffer, rest);
                (!text.is_empty() && !BOM.starts_with(&self.buffer[text.clone()])).then_some(Frame::Part(text))?
            }
        };
        Some(self.shown(frame))
    }

    /// What the first bytes tell about the rest; `None` if they do not tell yet.
    fn begin(&mut self, framing: Framing) -> Option<State> {
        let (mark, rest) = self.buffer.split_at(self.buffer.len().min(BOM.len()));
        if mark.len() < BOM.len() && BOM.starts_with(mark) || mark == BOM && rest.is_empty() {
            return None;
        }
        if mark == BOM {
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
    fn line(&mut self) -> Option<Range<usize>> {
        if self.after_cr {
            if self.buffer.get(self.read)? == &b'\n' {
                self.read += 1;
            }
            self.after_cr = false;
        }
        let from = self.scanned.max(self.read);
        let found = match self.buffer.get(from..)? {
            // Every second line is empty.
            [b'\n', ..] => Some(0),
            rest => memchr::memchr2(b'\n', b'\r', rest),
        };
        let Some(found) = found else {
            self.scanned = self.buffer.len();
            return None;
        };
        let line = self.read..from + found;
        self.after_cr = self.buffer.get(line.end) == Some(&b'\r');
        self.read = line.end + 1;
        Some(line)
    }

    /// Takes a line; gives the frame that it completes.
    fn take(&mut self, line: Range<usize>) -> Option<Frame> {
        if self.state == State::Sse && !line.is_empty() {
            // Comments before an event are not kept with it. An LF there belongs to the line before.
            if self.buffer[line.start] == b':' && line.start <= self.start + 1 {
                self.start = self.read;
            }
            return None;
        }
        let lines = std::mem::replace(&mut self.start, self.read)..line.end;
        if self.state == State::Sse {
            return self.event(lines);
        }
        let text = trimmed(&self.buffer, line);
        (!text.is_empty()).then_some(Frame::Part(text))
    }

    /// The frame of an event: its data, if it has any that is not empty.
    fn event(&mut self, lines: Range<usize>) -> Option<Frame> {
        let (mut data, mut is_error, mut start) = (None, false, lines.start);
        self.joined.clear();
        let ends = memchr::memchr2_iter(b'\r', b'\n', &self.buffer[lines.clone()]).map(|at| lines.start + at);
        for end in ends.chain([lines.end]) {
            let line = &self.buffer[start..end];
            let error = value_of(line, b"error");
            is_error |= error.is_some() || value_of(line, b"event").is_some_and(|at| &line[at..] == b"error");
            if let Some(at) = value_of(line, b"data").or(error) {
                let value = start + at..end;
                if let Some(first) = &data {
                    if self.joined.is_empty() {
                        self.joined.extend_from_slice(&self.buffer[Range::clone(first)]);
                    }
                    self.joined.push(b'\n');
                    self.joined.extend_from_slice(&self.buffer[value.clone()]);
                }
                data.get_or_insert(value);
            }
            start = end + 1;
        }
        let frame = if self.joined.is_empty() { Frame::Part(data.filter(|data| !data.is_empty())?) } else { Frame::Joined };
        if !is_error {
            return Some(frame);
        }
        self.joined = [b"{\"error\":", self.shown(frame), b"}"].concat();
        Some(Frame::Joined)
    }

    /// The bytes of a frame.
    fn shown(&self, frame: Frame) -> &[u8] {
        match frame {
            Frame::Part(part) => &self.buffer[part],
            Frame::Joined => &self.joined,
        }
    }

    fn bounded(&self, bytes: usize) -> Result<(), Error> {
        if bytes <= self.limit {
            return Ok(());
        }
        Err(Error::backend(format!("the backend sent one piece of more than {} bytes", self.limit)).with_code("frame_too_large"))
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

/// Where the value begins in a line of this field; `None` for comments and all other fields.
fn value_of(line: &[u8], field: &[u8]) -> Option<usize> {
    match line.strip_prefix(field)? {
        [] => Some(field.len()),
        [b':', b' ', ..] => Some(field.len() + 2),
        [b':', ..] => Some(field.len() + 1),
        [_, ..] => None,
    }
}

/// The line without white space around it.
fn trimmed(buffer: &[u8], line: Range<usize>) -> Range<usize> {
    let text = &buffer[line.clone()];
    let start = line.end - text.trim_ascii_start().len();
    start..start + text.trim_ascii().len()
}
