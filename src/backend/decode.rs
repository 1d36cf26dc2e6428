//! Decodes the frames of a backend's answer into [`Delta`]s: text by channel, whole calls, token counts, one finish. It accepts
//! what real backends send: fields that are null, absent or of another type, calls in fragments with wrong or missing indices,
//! errors under status 200, whole bodies instead of a stream.

use serde_json::value::RawValue;

use self::pattern::Pattern;
use super::{Dialect, errors};
use crate::{
    error::Error,
    event::{Channel, Delta, FinishReason, Usage},
    openai::without_halves,
};

mod calls;
mod google;
mod loose;
mod ollama;
mod openai;
mod pattern;
#[cfg(test)]
mod tests;

/// Decodes one answer. After an error it must not be used any further.
#[derive(Debug)]
pub struct Decoder {
    dialect: Dialect,
    answer: Answer,
    /// The pattern of the last frame that gave nothing but a text.
    pattern: Option<Pattern>,
    done: bool,
}

/// What is kept until the end of the answer. A finish is passed on only when the stream is over, because some backends send it
/// with every chunk, or before the last call.
#[derive(Debug, Default)]
struct Answer {
    calls: calls::Calls,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    stop_sequence: Option<String>,
    /// OpenAI: the first choice has calls.
    called: bool,
    /// The backend announced the end of the answer.
    closed: bool,
}

/// Where a decoder's deltas go.
type Out<'o> = dyn FnMut(Delta<'_>) + 'o;

impl Decoder {
    /// A decoder for one answer in this format.
    pub fn new(dialect: Dialect) -> Decoder {
        Decoder { dialect, answer: Answer::default(), pattern: None, done: false }
    }

    /// Decodes the next frame.
    ///
    /// # Errors
    /// The error that the backend reports in the frame, with its message; `backend_unreadable` for a frame that cannot be read;
    /// `backend_incomplete` for one that is cut off.
    pub fn frame(&mut self, frame: &[u8], out: &mut Out<'_>) -> Result<(), Error> {
        if self.done {
            return Ok(());
        }
        let frame = frame.trim_ascii();
        if let Some((channel, text)) = self.pattern.as_ref().and_then(|pattern| pattern.read(frame)) {
            self.answer.text(channel, &text, out);
            return Ok(());
        }
        if frame == b"[DONE]" {
            // Some servers never send a reason.
            self.answer.finish.get_or_insert(FinishReason::Stop);
            return self.finish(out);
        }
        // As server-sent events have it: what is no character is U+FFFD.
        let frame = &*String::from_utf8_lossy(frame);
        let frame = &*without_halves(frame.as_bytes());
        if frame.first() == Some(&b'[') {
            // Google wraps an answer that is not streamed, and an error, in an array.
            let elements: Vec<&RawValue> = serde_json::from_slice(frame).map_err(|error| unreadable(&error, frame))?;
            // Nobody wraps twice, and lists in lists without end must not be followed.
            let mut frames =
                elements.into_iter().map(|element| element.get().as_bytes()).filter(|frame| !frame.starts_with(b"["));
            return frames.try_for_each(|frame| self.frame(frame, out));
        }
        let read = match self.dialect {
            Dialect::Ollama => ollama::frame,
            Dialect::OpenAi => openai::frame,
            Dialect::Google => google::frame,
        };
        let before = self.answer.state();
        let (mut deltas, mut pattern) = (0, None);
        read(frame, &mut self.answer, &mut |delta: Delta<'_>| {
            deltas += 1;
            if let Delta::Text(channel, text) = delta {
                pattern = Pattern::of(frame, channel, text);
            }
            out(delta);
        })?;
        if deltas == 1 && self.answer.state().is_some_and(|after| Some(after) == before) {
            self.pattern = pattern;
        }
        if self.answer.closed { self.finish(out) } else { Ok(()) }
    }

    /// Ends the answer: flushes pending calls and yields the finish, unless that has happened already. Call it after a broken
    /// connection too: an answer whose finish was seen is complete.
    ///
    /// # Errors
    /// `backend_incomplete` if neither a finish nor `[DONE]` was seen. Such an answer never counts as a `stop`.
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

    /// The call whose arguments are still arriving: its name, and their bytes so far. `None`: no native call is open.
    pub fn writing(&self) -> Option<(&str, usize)> {
        self.answer.calls.writing()
    }

    /// Whether the finish was yielded. Nothing of interest follows, so the connection can be dropped.
    pub fn is_done(&self) -> bool {
        self.done
    }
}

impl Answer {
    /// A piece of text, after the calls that came before it.
    fn text(&mut self, channel: Channel, text: &str, out: &mut Out<'_>) {
        if channel == Channel::Content {
            self.calls.before_text(out);
        }
        out(Delta::Text(channel, text));
    }

    /// All but the text; `None`: a call is open.
    fn state(&self) -> Option<impl PartialEq + use<>> {
        let closed = (self.called, self.closed, self.finish, self.stop_sequence.clone());
        self.calls.writing().is_none().then_some((self.usage, closed, self.calls.given()))
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

/// The error that a frame carries, if it does.
fn reported(error: Option<&RawValue>) -> Result<(), Error> {
    match serde_json::from_str(error.map_or("null", RawValue::get)) {
        Ok(serde_json::Value::Null) => Ok(()),
        Ok(value) => Err(errors::in_stream(&value)),
        Err(error) => Err(unreadable(&error, b"")),
    }
}
