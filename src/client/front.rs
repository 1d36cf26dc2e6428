//! The client's bytes. A front frames events in the client's protocol and lives over all rounds of a turn.

use bytes::BytesMut;

use crate::{
    error::Error,
    event::{Event, Note},
    openai::answer::Envelope,
};

pub mod openai;

pub use openai::Collected;

/// What a front has to know about an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// Id, time and model, the same in every chunk.
    pub envelope: Envelope,
    /// The client asked for the usage chunk.
    pub include_usage: bool,
    /// The field from which the client reads reasoning; `None`: reasoning is not sent.
    pub reasoning_field: Option<&'static str>,
    /// Progress lines go out as reasoning; otherwise as comments.
    pub shows_reasoning: bool,
}

/// Writes a stream.
#[derive(Debug)]
pub struct Front {
    stream: openai::Stream,
}

// === impl Front ===

impl Front {
    /// A front for one answer.
    pub fn new(head: Head) -> Front {
        Front { stream: openai::Stream::new(head) }
    }

    /// Appends what the client shall read for this event; one frame per text event, nothing is merged.
    pub fn event(&mut self, event: Event<'_>, out: &mut BytesMut) {
        self.stream.event(event, out)
    }

    /// Appends a sign of life that no client takes for content.
    pub fn comment(&mut self, text: &str, out: &mut BytesMut) {
        self.stream.comment(text, out)
    }

    /// Appends a fault; nothing may follow.
    pub fn fault(&mut self, error: &Error, out: &mut BytesMut) {
        self.stream.fault(error, out)
    }
}

/// A note in one line, as a user reads it.
fn note_text(note: &Note) -> String {
    match note {
        Note::Writing { name, bytes } if *bytes < 1000 => format!("writing {name}, {bytes} B"),
        Note::Writing { name, bytes } => format!("writing {name}, {}.{} kB", bytes / 1000, bytes % 1000 / 100),
        Note::Warning { text, .. } => format!("warning: {text}"),
    }
}
