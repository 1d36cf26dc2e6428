//! Waits for a server that answers 503 while it loads its model (llama.cpp). Meanwhile the client gets signs of life.

use std::time::Duration;

use tokio::time::Instant;

use super::Rounds;
use crate::{
    backend,
    error::Error,
    event::{Event, Note, Sink},
};

/// How long a server may load its model.
const LONGEST: Duration = Duration::from_secs(300);
/// Pause between two attempts.
pub(super) const PAUSE: Duration = Duration::from_millis(500);

impl<O: Sink> Rounds<O> {
    /// Whether the error means that the server is loading its model, within the time allowed for that. Tells the client once.
    pub(super) fn waits_for_the_model(&mut self, error: &Error) -> bool {
        if !backend::is_loading(error) {
            return false;
        }
        if self.asks.loading.is_none() {
            tracing::info!(model = %self.plan.chat.model, "the backend is loading the model");
            let text = "the backend is loading the model".to_owned();
            self.outlet.event(Event::Note(&Note::Progress { text, shown: true }));
        }
        self.asks.loading.get_or_insert_with(Instant::now).elapsed() < LONGEST
    }
}
