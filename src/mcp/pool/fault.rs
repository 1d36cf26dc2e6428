//! Remembers why a connection ended, for the error that people read: the SDK only reports that it is closed.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use rmcp::model::ServerJsonRpcMessage;

use crate::{lock::Hold, redact};

/// The known reason why a connection ended. The transport writes it, and the errors of calls read it.
#[derive(Debug, Clone, Default)]
pub(super) struct Fault(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    reason: Option<String>,
    /// The last lines that a process wrote to standard error.
    lines: VecDeque<String>,
}

const LINES: usize = 8;
const LINE_CHARS: usize = 300;
const BEGINNING_CHARS: usize = 120;

impl Fault {
    /// Records the reason. The first one is kept.
    pub(super) fn set(&self, reason: impl Into<String>) {
        self.0.hold().reason.get_or_insert(reason.into());
    }

    /// Replaces the reason, for faults that the connection outlives.
    pub(super) fn replace(&self, reason: impl Into<String>) {
        self.0.hold().reason = Some(reason.into());
    }

    /// Records a line of standard error.
    pub(super) fn line(&self, line: &str) {
        let mut known = self.0.hold();
        if known.lines.len() == LINES {
            known.lines.pop_front();
        }
        known.lines.push_back(redact::shown(line, LINE_CHARS));
    }

    /// Parses a message. Text that is not a message is recorded as a line.
    pub(super) fn message(&self, text: &[u8]) -> Option<ServerJsonRpcMessage> {
        let read = serde_json::from_slice(text);
        read.inspect_err(|error| {
            tracing::debug!(%error, "an MCP server has sent something that is not a message");
            self.line(&format!("(no message) {}", beginning(&String::from_utf8_lossy(text))));
        })
        .ok()
    }

    /// The reason with the last lines that it wrote, if there is one.
    pub(super) fn describe(&self) -> Option<String> {
        let reason = self.0.hold().reason.clone()?;
        Some(match self.last_words() {
            None => reason,
            Some(words) => format!("{reason}; it wrote: {words}"),
        })
    }

    /// The last lines that it wrote outside of messages.
    pub(super) fn last_words(&self) -> Option<String> {
        let known = self.0.hold();
        let lines: Vec<&str> = known.lines.iter().map(String::as_str).collect();
        (!lines.is_empty()).then(|| lines.join(" | "))
    }
}

/// The beginning of a text that was not a message, for people.
pub(super) fn beginning(text: &str) -> String {
    redact::shown(text, BEGINNING_CHARS)
}
