//! A shortcut for the frames of one answer. Most of them differ from the one before only in their text and their time, so only the
//! text is read. A frame that differs in anything else is parsed as JSON.

use std::ops::Range;

use super::loose::Text;
use crate::event::Channel;

/// The content of a frame that contains nothing but a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lone<'a> {
    pub(super) channel: Channel,
    /// The text, borrowed from the frame.
    pub(super) text: &'a str,
    /// Its time stamp as written in the frame, or `""`; it is not interpreted.
    pub(super) time: &'a str,
}

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
    /// The pattern of this frame, whose content is `lone`.
    pub(super) fn of(frame: &[u8], lone: Lone<'_>) -> Option<Pattern> {
        let text = place(frame, lone.text)?;
        let text = text.start.checked_sub(1)?..text.end + 1;
        // A time after the text is rare, and is not supported.
        let time = place(frame, lone.time).filter(|time| !lone.time.is_empty() && time.end < text.start).unwrap_or(0..0);
        let is_string = frame.get(text.clone())?.starts_with(b"\"") && frame.get(text.end - 1) == Some(&b'"');
        is_string.then(|| Pattern {
            channel: lone.channel,
            before_time: frame[..time.start].to_vec(),
            before: frame[time.end..text.start].to_vec(),
            after: frame[text.end..].to_vec(),
        })
    }

    /// The text of a frame that fits the pattern; `None` if it differs in anything else.
    pub(super) fn read<'a>(&self, frame: &'a [u8]) -> Option<(Channel, Text<'a>)> {
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
            Some(plain) => Text(std::str::from_utf8(plain).ok()?.into()),
            None => serde_json::from_slice(text).ok()?,
        };
        Some((self.channel, text))
    }
}

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

    const FRAME: &str = r#"{"at":"2026-01-01T00:00:00Z","m":{"content":"x"},"done":false}"#;

    fn pattern() -> Pattern {
        let frame = FRAME;
        let piece = |text: &str| frame.find(text).map(|at| &frame[at..at + text.len()]).unwrap();
        let lone = Lone { channel: Channel::Content, text: piece("x"), time: piece("2026-01-01T00:00:00Z") };
        Pattern::of(frame.as_bytes(), lone).unwrap()
    }

    #[test]
    fn a_frame_with_another_text_and_another_time_is_read() {
        for (time, text, expected) in [
            ("2026-01-01T00:00:00Z", "x", "x"),
            ("2026-11-24T21:27:57.068887+01:00", "", ""),
            ("", r#"a \"b\" \u00e9\n"#, "a \"b\" é\n"),
            ("1", "x\"},\"done\":false}".replace('"', "\\\"").as_str(), "x\"},\"done\":false}"),
        ] {
            let frame = format!(r#"{{"at":"{time}","m":{{"content":"{text}"}},"done":false}}"#);
            assert_eq!(pattern().read(frame.as_bytes()).map(|(_, text)| text.0.into_owned()).as_deref(), Some(expected));
        }
    }

    #[test]
    fn any_other_frame_is_not() {
        for frame in [
            "",
            r#"{"at":"1","m":{"content":"x"},"done":true}"#,
            r#"{"at":"1","m":{"content":"x","content":"y"},"done":false}"#,
            r#"{"at":"1","m":{"content":5},"done":false}"#,
            r#"{"at":"1","m":{"content":"\x"},"done":false}"#,
            r#"{"at":"1","m":{"content":""},"done":false} "#,
            r#"{"at":"1\","m":{"content":"x"},"done":false}"#,
            r#"{"at":"1","at":"1","m":{"content":"x"},"done":false}"#,
            "{\"at\":\"1\",\"m\":{\"content\":\"\n\"},\"done\":false}",
        ] {
            assert!(pattern().read(frame.as_bytes()).is_none(), "{frame}");
        }
    }
}
