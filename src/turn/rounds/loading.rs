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
/// The first pause between two attempts, and the longest. Each is half as long again as the one before.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// The longest pause that a server may ask for: a model may be there earlier than it says.
const LONGEST_ASKED: Duration = Duration::from_secs(30);

/// Waiting for a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loading {
    since: Instant,
    pause: Duration,
}

impl<O: Sink> Rounds<O> {
    /// How long to wait before the next attempt, if the error means that the server is loading its model, and the time allowed for
    /// that is not over. Tells the client once.
    pub(super) fn waits_for_the_model(&mut self, error: &Error) -> Option<Duration> {
        if !backend::is_loading(error) {
            return None;
        }
        if self.asks.loading.is_none() {
            tracing::info!(model = %self.plan.chat.model, "the backend is loading the model");
            let text = "the backend is loading the model".to_owned();
            self.outlet.event(Event::Note(&Note::Progress { text, shown: true }));
        }
        let [first, longest] = PAUSES;
        let loading = self.asks.loading.get_or_insert_with(|| Loading { since: Instant::now(), pause: first });
        if loading.since.elapsed() >= LONGEST {
            return None;
        }
        let pause = loading.pause;
        loading.pause = (pause + pause / 2).min(longest);
        Some(backend::retry_after(error).map_or(pause, |asked| asked.clamp(first, LONGEST_ASKED)))
    }
}
