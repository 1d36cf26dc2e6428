//! What is learned while a model is asked: from a refusal how to ask it in another way, in this turn and in later ones
//! (`backend::errors` recognises refusals, `backend::learned` says what follows from each); from an answer what later turns need;
//! from status 503 that the server still loads the model (llama.cpp). Meanwhile the client gets signs of life.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    super::{fit, spool},
    Rounds,
};
use crate::{
    backend::{self, Refusal, Rewrite},
    error::Error,
    event::{Event, Note, Sink},
    store,
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

/// How often the form of the conversation changes in one turn.
const REWRITES: u8 = 3;

impl<O: Sink> Rounds<O> {
    /// Learns from the error how to ask in another way. `true`: this turn asks again, because the client has no call yet; otherwise
    /// the next turn does. Text and reasoning that the client has stay.
    pub(super) async fn learn(&mut self, error: &Error) -> bool {
        let Some(refusal) = Refusal::of(error) else { return false };
        let is_form = matches!(refusal, Refusal::Form(_));
        if is_form && self.asks.rewritten == REWRITES || !self.plan.asking.learned.learn(refusal.clone()) {
            return false;
        }
        self.asks.rewritten += u8::from(is_form);
        let why = error.clone().without(self.plan.secrets());
        tracing::info!(model = self.plan.chat.model, ?refusal, "asking in another way: {why}");
        self.remember().await;
        if refusal == Refusal::Parser {
            backend::load_anew(&self.shared.client, &self.plan.backend, &self.plan.chat.model).await;
        }
        if self.reading.is_some() {
            self.outlet.agent.iter_mut().for_each(|agent| agent.collected.calls.clear());
            self.outlet.sent.spend(None);
            self.repeat();
        }
        !self.outlet.called
    }

    /// Asks once with the schemas of the tools in plain words, after an error that nobody knows. If that does not help, the client
    /// gets this error.
    pub(super) fn suspects_schemas(&mut self, error: &Error, offer: bool) -> bool {
        if self.asks.unknown.is_some() {
            self.plan.asking.learned.rewrites.retain(|rewrite| *rewrite != Rewrite::PlainSchemas);
            return false;
        }
        let suspects = backend::suspects_schemas(&self.plan.round(offer, None), error);
        if suspects {
            self.plan.asking.learned.rewrite(Rewrite::PlainSchemas);
            self.asks.unknown = Some(error.clone());
        }
        suspects
    }

    /// The backend has accepted the request: if its tools were in plain words for the first time, that is remembered.
    pub(super) async fn schemas_were_refused(&mut self) {
        if let Some(error) = self.asks.unknown.take() {
            let error = error.without(self.plan.secrets());
            tracing::info!(model = self.plan.chat.model, "the schemas of the tools are sent in plain words: {error}");
            self.remember().await;
        }
    }

    /// Handles what the backend has shown of how it prints the tools: if it garbles them, they are described in the prompt from
    /// now on.
    pub(super) async fn saw_tools(&mut self, garbled: bool) {
        self.plan.asking.learned.saw_tools(garbled);
        if garbled {
            tracing::warn!(
                model = self.plan.chat.model,
                "this Ollama prints the tools as Go structs (ollama/ollama#14601): they are described in the prompt instead"
            );
        }
        self.remember().await;
    }

    /// Asks the model without a grammar, because the request with one failed. Remembered if the server itself refused the
    /// grammar.
    pub(super) async fn without_grammar(&mut self, error: &Error) {
        let refused = (400..=501).contains(&error.status) && error.code.as_deref() != Some("backend_unreachable");
        let why = error.clone().without(self.plan.secrets());
        tracing::debug!(model = self.plan.chat.model, refused, "no grammar: {why}");
        if refused {
            self.plan.asking.learned.no_grammar = true;
            self.remember().await;
        }
    }

    /// Stores what was learned about the model, for a day: servers are updated.
    pub(super) async fn remember(&mut self) {
        let key = self.plan.learned_key();
        store::write(&*self.shared.store, key, &self.plan.asking.learned, store::DAY).await;
    }

    /// Stores what the latest events have shown. Must finish before the bytes are sent.
    pub(super) async fn keep(&mut self) -> Result<(), Error> {
        self.outlet.extras.keep(&self.shared, &self.plan).await;
        let kept = spool::keep(&self.shared, &self.plan, self.outlet.shape.take_spooled()).await;
        if std::mem::take(&mut self.relearned) {
            self.remember().await;
        }
        if let Some(usage) = self.counted.take() {
            fit::learn(&self.plan, &self.shared, usage).await;
        }
        kept
    }

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
