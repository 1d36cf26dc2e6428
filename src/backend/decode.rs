//! Frames of a backend's answer into [`Delta`]s: text by channel, whole calls, token counts, one finish. Takes the
//! backends as they are: fields that are null, absent or of another type, calls in fragments with wrong or missing
//! indices, errors under status 200, whole bodies instead of a stream.

use serde_json::value::RawValue;

use self::pattern::Pattern;
use super::{Dialect, errors};
use crate::{
    error::Error,
    event::{Channel, Delta, FinishReason, Usage},
};

mod calls;
mod google;
mod loose;
mod ollama;
mod openai;
mod pattern;
#[cfg(test)]
mod tests;

/// Decodes one answer. After an error there is nothing more to expect of it.
#[derive(Debug)]
pub struct Decoder {
    dialect: Dialect,
    answer: Answer,
    /// Of the last frame that held a text and nothing else.
    pattern: Option<Pattern>,
    done: bool,
}

/// What is kept until the end: a finish is passed on when the stream is over, because some backends say it on every
/// chunk, or before the last call.
#[derive(Debug, Default)]
struct Answer {
    calls: calls::Calls,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    stop_sequence: Option<String>,
    /// The backend said that nothing follows.
    closed: bool,
}

/// Where a decoder's deltas go.
type Out<'o> = dyn FnMut(Delta<'_>) + 'o;

// === impl Decoder ===

impl Decoder {
    /// A decoder for one answer in this dialect.
    pub fn new(dialect: Dialect) -> Decoder {
        Decoder { dialect, answer: Answer::default(), pattern: None, done: false }
    }

    /// Decodes the next frame. An error is the backend's (its own message inside), or says what cannot be read.
    pub fn frame(&mut self, frame: &[u8], out: &mut Out<'_>) -> Result<(), Error> {
        if self.done {
            return Ok(());
        }
        let frame = frame.trim_ascii();
        if let Some((channel, text)) = self.pattern.as_ref().and_then(|pattern| pattern.read(frame)) {
            if let Some(text) = text.some() {
                self.answer.text(channel, text, out);
            }
            return Ok(());
        }
        if frame == b"[DONE]" {
            return self.finish(out);
        }
        if frame.first() == Some(&b'[') {
            // Google: an answer that is not a stream, or an error, in an array.
            let elements: Vec<&RawValue> = serde_json::from_slice(frame).map_err(|error| unreadable(&error, frame))?;
            return elements.into_iter().try_for_each(|element| self.frame(element.get().as_bytes(), out));
        }
        let lone = match self.dialect {
            Dialect::Ollama => ollama::frame(frame, &mut self.answer, out)?,
            Dialect::OpenAi => openai::frame(frame, &mut self.answer, out)?,
            Dialect::Google => {
                google::frame(frame, &mut self.answer, out)?;
                None
            }
        };
        if let Some(lone) = lone {
            self.pattern = Pattern::of(frame, lone);
        }
        if self.answer.closed { self.finish(out) } else { Ok(()) }
    }

    /// The end of the stream: flushes what is pending and yields the finish, unless that happened already. An answer that
    /// ended without a finish is an error, never a `stop`. To be called after a broken connection too: if the finish was
    /// seen before, the answer is complete all the same.
    pub fn finish(&mut self, out: &mut Out<'_>) -> Result<(), Error> {
        if self.done {
            return Ok(());
        }
        self.done = true;
        let Some(reason) = self.answer.finish else {
            return Err(Error::backend("the backend's answer ended before it was finished").with_code("backend_incomplete"));
        };
        self.answer.calls.flush(out);
        if let Some(usage) = self.answer.usage {
            out(Delta::Usage(usage));
        }
        if let Some(stop) = &self.answer.stop_sequence {
            out(Delta::StopSequence(stop));
        }
        out(Delta::Finish(reason));
        Ok(())
    }

    /// The call whose arguments are still coming: its name, and the bytes of them so far.
    pub fn writing(&self) -> Option<(&str, usize)> {
        self.answer.calls.writing()
    }

    /// Whether the finish was yielded: nothing of interest follows, the connection can go.
    pub fn is_done(&self) -> bool {
        self.done
    }
}

// === impl Answer ===

impl Answer {
    /// A piece of text, after the calls that came before it.
    fn text(&mut self, channel: Channel, text: &str, out: &mut Out<'_>) {
        if channel == Channel::Content {
            self.calls.before_text(out);
        }
        out(Delta::Text(channel, text));
    }
}

/// Why a frame cannot be read.
fn unreadable(error: &serde_json::Error, frame: &[u8]) -> Error {
    if error.is_eof() {
        return Error::backend("the backend's answer broke off in the middle of a piece").with_code("backend_incomplete");
    }
    let shown: String = String::from_utf8_lossy(frame).chars().take(200).collect();
    Error::backend(format!("the backend sent something that cannot be read ({error}): {shown}")).with_code("backend_unreadable")
}

/// The error that a frame carries.
fn reported(error: &RawValue) -> Result<(), Error> {
    match serde_json::from_str(error.get()) {
        Ok(serde_json::Value::Null) => Ok(()),
        Ok(value) => Err(errors::in_stream(&value)),
        Err(error) => Err(unreadable(&error, b"")),
    }
}
