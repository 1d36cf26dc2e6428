//! Learns from a refusal how to ask the model in another way, in this turn and in later ones. `backend::errors` recognises
//! refusals, `backend::learned` says what follows from each.

use super::Rounds;
use crate::{
    backend::{self, Refusal},
    error::Error,
    event::Sink,
    store,
};

impl<O: Sink> Rounds<O> {
    /// Learns from the error how to ask in another way. `true`: this turn asks again, because the client has seen nothing yet, or
    /// only the beginning of an answer whose call the backend could not read; otherwise the next turn does.
    pub(super) async fn learn(&mut self, error: &Error) -> bool {
        let Some(refusal) = Refusal::of(error) else { return false };
        if !self.plan.asking.learned.learn(refusal.clone()) {
            return false;
        }
        tracing::info!(
            model = self.plan.chat.model,
            backend = self.plan.backend.name,
            ?refusal,
            "asking in another way: {error}"
        );
        self.remember().await;
        if refusal == Refusal::Parser {
            backend::load_anew(&self.shared.client, &self.plan.backend, &self.plan.chat.model).await;
        }
        if !self.outlet.sent.has_any() {
            return true;
        }
        let goes_on = refusal == Refusal::Parser && !self.outlet.aside.has_called();
        if goes_on {
            if let Some(agent) = &mut self.agent {
                agent.forget_calls();
            }
            self.outlet.sent.spend(None);
            self.repeat();
        }
        goes_on
    }

    /// Handles what the backend has shown of how it prints the tools: if it garbles them, they are described in the prompt from
    /// now on.
    pub(super) async fn saw_tools(&mut self, garbled: bool) {
        self.plan.asking.learned.saw_tools(garbled);
        if garbled {
            tracing::warn!(
                model = self.plan.chat.model,
                backend = self.plan.backend.name,
                "this Ollama prints the tools as Go structs (ollama/ollama#14601): they are described in the prompt instead"
            );
        }
        self.remember().await;
    }

    /// Asks the model without a grammar, because the request with one failed. Remembered if the server itself refused the
    /// grammar.
    pub(super) async fn without_grammar(&mut self, error: &Error) {
        let refused = (400..=501).contains(&error.status) && error.code.as_deref() != Some("backend_unreachable");
        tracing::debug!(model = self.plan.chat.model, backend = self.plan.backend.name, refused, "no grammar: {error}");
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
}
