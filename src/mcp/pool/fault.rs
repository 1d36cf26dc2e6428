//! Remembers why a connection ended, for the error that people read: the SDK only reports that it is closed.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use rmcp::model::ServerJsonRpcMessage;

use crate::{json, lock::Hold, mcp::response::INTERNAL_ERROR, redact};

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
/// Maximum number of JSON values in any message; larger ones may have one more for each [`VALUE_BYTES`].
const VALUES: usize = 50_000;
const VALUE_BYTES: usize = 256;
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

    /// Parses a message. Text that is not a message is recorded as a line. A message of too many values is read as an error: its
    /// types take some hundred times its bytes.
    pub(super) fn message(&self, text: &[u8]) -> Option<ServerJsonRpcMessage> {
        let refused = too_many_values(text).then(|| refusal(text));
        let read = serde_json::from_slice(refused.as_deref().unwrap_or(text));
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

/// Whether a message has more JSON values than are read.
pub(super) fn too_many_values(text: &[u8]) -> bool {
    json::values(text) > VALUES + text.len() / VALUE_BYTES
}

/// The error in place of a message of too many values, for the request that it answers.
pub(super) fn refusal(text: &[u8]) -> Vec<u8> {
    let id = serde_json::from_slice::<Id>(text).ok().map(|message| message.id);
    let message =
        format!("its answer has more than {} JSON values, which would take too much memory", VALUES + text.len() / VALUE_BYTES);
    serde_json::json!({"jsonrpc": "2.0", "id": id, "error": {"code": INTERNAL_ERROR, "message": message}}).to_string().into()
}

/// A message of which only the id is read.
#[derive(serde::Deserialize)]
struct Id {
    #[serde(default)]
    id: serde_json::Value,
}

/// The beginning of a text that was not a message, for people.
pub(super) fn beginning(text: &str) -> String {
    redact::shown(text, BEGINNING_CHARS)
}
