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
    /// The bytes from the beginning of the event that is being read. Positions are offsets into them.
    buffer: BytesMut,
    /// End of the lines that were read.
    read: usize,
    /// Up to here there is no further line ending.
    scanned: usize,
    /// The last line ended with CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The data of the event that is being read.
    data: Data,
    /// That event is an error.
    is_error: bool,
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

/// The data of an event: usually one line of the buffer.
#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    One(Range<usize>),
    Many(Vec<u8>),
}

const BOM: &[u8] = b"\xef\xbb\xbf";
/// How many bytes of other lines may stay in the buffer behind the data of an event.
const AFTER_BYTES: usize = 4096;

impl Frames {
    /// A decoder for this framing. A line, or the data of an event, of more than `limit` bytes is an error.
    pub fn new(framing: Framing, limit: usize) -> Frames {
        Frames {
            state: State::Start(framing),
            limit,
            buffer: BytesMut::new(),
            read: 0,
            scanned: 0,
            after_cr: false,
            data: Data::None,
            is_error: false,
            joined: Vec::new(),
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.room().extend_from_slice(bytes);
    }

    /// Where the next bytes may be appended, as with `push`. What is there must stay as it is.
    pub fn room(&mut self) -> &mut BytesMut {
        // Comments after the data of an event are not kept with it.
        if let Data::One(line) = &self.data
            && self.read > line.end + AFTER_BYTES
        {
            self.data = Data::Many(self.buffer[line.clone()].to_vec());
        }
        let needless = match &mut self.data {
            Data::One(line) => line.start,
            Data::None | Data::Many(_) => self.read,
        };
        self.buffer.advance(needless);
        if let Data::One(line) = &mut self.data {
            *line = 0..line.len();
        }
        (self.read, self.scanned) = (self.read - needless, self.scanned.saturating_sub(needless));
        &mut self.buffer
    }

    /// The last bytes that were appended, `count` of them. Call it before `next`.
    pub fn newest(&self, count: usize) -> &[u8] {
        self.buffer.get(self.buffer.len().saturating_sub(count)..).unwrap_or_default()
    }

    /// Bytes that no frame has been made of yet.
    pub fn held_bytes(&self) -> usize {
        self.buffer.len() - self.read + self.data.len()
    }

    /// The next complete frame, `None` if more bytes are needed.
    ///
    /// # Errors
    /// 502 if the limit was exceeded. The stream cannot be read any further.
    #[expect(clippy::should_implement_trait, reason = "it is not an iterator: after `None` there may be more")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Error> {
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
                return Ok(Some(self.shown(frame)));
            }
            self.bounded(self.data.len())?;
        }
        self.bounded(self.buffer.len() - self.read).map(|()| None)
    }

    /// The end of the stream: what is left counts as a last line and a last frame. To be called when `next` has nothing
    /// more to give.
    pub fn finish(&mut self) -> Option<&[u8]> {
        let rest = self.read..self.buffer.len();
        self.read = rest.end;
        let frame = match self.state {
            State::Sse => {
                self.field(rest);
                self.dispatch()?
            }
            State::Start(_) | State::Lines | State::Whole => {
                let trimmed = trimmed(&self.buffer, rest);
                let text = &self.buffer[trimmed.clone()];
                (!text.is_empty() && !BOM.starts_with(text)).then_some(Data::One(trimmed))?
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
    fn take(&mut self, line: Range<usize>) -> Option<Data> {
        if self.state == State::Lines {
            let trimmed = trimmed(&self.buffer, line);
            return (!trimmed.is_empty()).then_some(Data::One(trimmed));
        }
        if line.is_empty() {
            return self.dispatch();
        }
        self.field(line);
        None
    }

    /// Takes a line of an event.
    fn field(&mut self, line: Range<usize>) {
        let text = &self.buffer[line.clone()];
        let value = |at: usize| line.start + at..line.end;
        if let Some(at) = value_of(text, b"data") {
            self.add(value(at));
        } else if let Some(at) = value_of(text, b"error") {
            self.is_error = true;
            self.add(value(at));
        } else if value_of(text, b"event").is_some_and(|at| &text[at..] == b"error") {
            self.is_error = true;
        }
    }

    /// Adds a line to the data of the event.
    fn add(&mut self, line: Range<usize>) {
        self.data = match std::mem::take(&mut self.data) {
            Data::None => Data::One(line),
            Data::One(first) => Data::Many([&self.buffer[first], &self.buffer[line]].join(&b'\n')),
            Data::Many(mut all) => {
                all.push(b'\n');
                all.extend_from_slice(&self.buffer[line]);
                Data::Many(all)
            }
        }
    }

    /// The frame of the event that ends here: its data, if it has any that is not empty.
    fn dispatch(&mut self) -> Option<Data> {
        let is_error = std::mem::take(&mut self.is_error);
        let data = std::mem::take(&mut self.data);
        if matches!(data, Data::None) || matches!(&data, Data::One(line) if line.is_empty()) {
            return None;
        }
        Some(if is_error { Data::Many([b"{\"error\":", self.shown(data), b"}"].concat()) } else { data })
    }

    /// The bytes of a frame.
    fn shown(&mut self, frame: Data) -> &[u8] {
        match frame {
            Data::None => &[],
            Data::One(line) => &self.buffer[line],
            Data::Many(all) => {
                self.joined = all;
                &self.joined
            }
        }
    }

    fn bounded(&self, bytes: usize) -> Result<(), Error> {
        if bytes <= self.limit {
            return Ok(());
        }
        Err(Error::backend(format!("the backend sent one piece of more than {} bytes", self.limit)).with_code("frame_too_large"))
    }
}

impl Data {
    fn len(&self) -> usize {
        match self {
            Data::None => 0,
            Data::One(line) => line.len(),
            Data::Many(all) => all.len(),
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
