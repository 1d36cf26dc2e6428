//! A shortcut for the frames of one answer. Most of them differ from the one before only in their text and their time, so only the
//! text is read. A frame that differs in anything else is parsed as JSON.

use std::{borrow::Cow, ops::Range};

use memchr::memmem;

use crate::event::Channel;

/// The bytes around the text and the time of such a frame.
#[derive(Debug)]
pub(super) struct Pattern {
    channel: Channel,
    /// Up to the time, its opening quote included; empty if there is no time.
    before_time: Vec<u8>,
    /// From there to the opening quote of the text.
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Pattern {
    /// The pattern of this frame, whose content is `text`. `None`: the text is not a string of the frame as it is.
    pub(super) fn of(frame: &[u8], channel: Channel, text: &str) -> Option<Pattern> {
        let text = place(frame, text)?;
        let text = text.start.checked_sub(1)?..text.end + 1;
        let is_string = frame.get(text.clone())?.starts_with(b"\"") && frame.get(text.end - 1) == Some(&b'"');
        // A time after the text is rare, and is not supported.
        let time = memmem::find(&frame[..text.start], TIME).map_or(0, |at| at + TIME.len());
        let after_time = frame[time..].iter().position(|&byte| !is_plain(byte)).filter(|_| time > 0).unwrap_or(0);
        is_string.then(|| Pattern {
            channel,
            before_time: frame[..time].to_vec(),
            before: frame[time + after_time..text.start].to_vec(),
            after: frame[text.end..].to_vec(),
        })
    }

    /// The text of a frame that fits the pattern; `None` if it differs in anything else, or has no text, so that another one of its
    /// strings may count.
    pub(super) fn read<'a>(&self, frame: &'a [u8]) -> Option<(Channel, Cow<'a, str>)> {
        let mut rest = frame.strip_prefix(&*self.before_time)?;
        if !self.before_time.is_empty() {
            let time = rest.iter().position(|&byte| !is_plain(byte))?;
            rest = rest.get(time..)?;
        }
        let text = rest.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        // The frame is the same JSON if, and only if, a string is in this place.
        let string = text.strip_prefix(b"\"")?;
        let plain = string.strip_suffix(b"\"").filter(|plain| plain.iter().all(|&byte| !is_special(byte)));
        let text = match plain {
            Some(plain) => Cow::Borrowed(std::str::from_utf8(plain).ok()?),
            None => Cow::Owned(serde_json::from_slice(text).ok()?),
        };
        (!text.is_empty()).then_some((self.channel, text))
    }
}

/// What begins a time in a frame of Ollama. Nobody reads it.
const TIME: &[u8] = b"\"created_at\":\"";

/// Whether a time may contain this byte. None of these bytes has a meaning in a JSON string.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':' | b'.' | b'+')
}

/// Whether this byte ends a JSON string, begins an escape, or may not be in one.
fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20)
}

/// The position of a piece in the frame that it borrows from.
fn place(frame: &[u8], piece: &str) -> Option<Range<usize>> {
    let start = (piece.as_ptr() as usize).checked_sub(frame.as_ptr() as usize)?;
    (start + piece.len() <= frame.len()).then(|| start..start + piece.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: &str = r#"{"created_at":"2026-01-01T00:00:00Z","m":{"content":"x"},"done":false}"#;

    fn pattern() -> Pattern {
        let frame = FRAME;
        let piece = |text: &str| frame.find(text).map(|at| &frame[at..at + text.len()]).unwrap();
        Pattern::of(frame.as_bytes(), Channel::Content, piece("x")).unwrap()
    }

    #[test]
    fn a_frame_with_another_text_and_another_time_is_read() {
        for (time, text, expected) in [
            ("2026-01-01T00:00:00Z", "x", "x"),
            ("2026-11-24T21:27:57.068887+01:00", "y", "y"),
            ("", r#"a \"b\" \u00e9\n"#, "a \"b\" é\n"),
            ("1", "x\"},\"done\":false}".replace('"', "\\\"").as_str(), "x\"},\"done\":false}"),
        ] {
            let frame = format!(r#"{{"created_at":"{time}","m":{{"content":"{text}"}},"done":false}}"#);
            assert_eq!(pattern().read(frame.as_bytes()).map(|(_, text)| text.into_owned()).as_deref(), Some(expected));
        }
    }

    #[test]
    fn any_other_frame_is_not() {
        for frame in [
            "",
            r#"{"created_at":"1","m":{"content":"x"},"done":true}"#,
            r#"{"created_at":"1","m":{"content":"x","content":"y"},"done":false}"#,
            r#"{"created_at":"1","m":{"content":5},"done":false}"#,
            r#"{"created_at":"1","m":{"content":""},"done":false}"#,
            r#"{"created_at":"1","m":{"content":"\x"},"done":false}"#,
            r#"{"created_at":"1","m":{"content":""},"done":false} "#,
            r#"{"created_at":"1\","m":{"content":"x"},"done":false}"#,
            r#"{"created_at":"1","created_at":"1","m":{"content":"x"},"done":false}"#,
            "{\"created_at\":\"1\",\"m\":{\"content\":\"\n\"},\"done\":false}",
        ] {
            assert!(pattern().read(frame.as_bytes()).is_none(), "{frame}");
        }
    }
}
