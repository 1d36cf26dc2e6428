//! Counts of requests since the start.

use std::sync::atomic::{AtomicU64, Ordering};

/// What `doctor` and the page say where clients have only read the list of models, so often.
pub fn only_listed(lists: u64) -> String {
    format!(
        "a client has read the list of models ({lists} times) and never asked for an answer: in Void choose the entry under vLLM"
    )
}

/// Counts of requests. `doctor` uses them to tell whether a client has found the proxy.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// For the list of models.
    pub(super) lists: AtomicU64,
    /// For an answer.
    pub(super) chats: AtomicU64,
}

impl Counts {
    /// A request for an answer has come.
    pub(super) fn chat(&self) {
        self.chats.fetch_add(1, Ordering::Relaxed);
    }
}
