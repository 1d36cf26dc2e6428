//! Warnings as a part of the answer, for users who read neither log nor header: text at its end, unless it ends with a call.

use crate::event::{Event, Note};

/// The warnings of a turn so far.
pub(super) struct Aside {
    wanted: bool,
    lines: String,
    /// A call was delivered: nothing may be said after it.
    called: bool,
}

// === impl Aside ===

impl Aside {
    pub(super) fn new(wanted: bool) -> Aside {
        Aside { wanted, lines: String::new(), called: false }
    }

    /// Takes note of warnings; at the end gives what the answer says about them.
    pub(super) fn event(&mut self, event: &Event<'_>) -> Option<String> {
        match event {
            Event::Note(Note::Warning { text, .. }) if self.wanted => self.lines += &format!("\n[toolglot] {text}\n"),
            Event::CallStart { .. } => self.called = true,
            Event::Finish { .. } if !self.called && !self.lines.is_empty() => return Some(std::mem::take(&mut self.lines)),
            _ => {}
        }
        None
    }
}
