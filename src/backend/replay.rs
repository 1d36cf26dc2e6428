//! Recorded conversations in the place of a model: a question gets the answer that was recorded for it, byte for byte and
//! with its pauses. For newcomers without a model, and for tests of everything behind a backend.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::json;

use super::{Dialect, Model, Prepared};
use crate::{
    error::Error,
    fixture::{Fixture, Read, Round, Wire},
    openai::ChatRequest,
    upstream::{Outgoing, Recording},
};

#[cfg(test)]
mod tests;

include!(concat!(env!("OUT_DIR"), "/fixtures.rs"));

/// What the title of the fixture for a newcomer's first question contains.
const FIRST_TRY: &str = "good for a first try";

/// The recordings of a replay backend.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    fixtures: Arc<[Fixture]>,
}

// === impl Replay ===

impl Replay {
    /// Answers from these fixtures; of two that fit a question equally, from the first.
    pub fn new(fixtures: impl IntoIterator<Item = Fixture>) -> Replay {
        Replay { fixtures: fixtures.into_iter().collect() }
    }

    /// The recordings that are part of the binary; those under `wire/` show what servers do wrong, and are for tests alone.
    pub fn embedded() -> Replay {
        let models = EMBEDDED.iter().filter(|(path, _)| !path.starts_with("wire"));
        Replay::new(models.filter_map(|(_, text)| Fixture::parse(text).ok()))
    }

    /// The models that were recorded, each once.
    pub(super) fn models(&self) -> Vec<Model> {
        let mut models: Vec<Model> = Vec::new();
        for round in self.rounds() {
            if models.iter().all(|model| model.id != round.request.model) {
                models.push(Model::named(&round.request.model));
            }
        }
        models
    }

    /// The answer of the recorded round that fits best: of this model, after as many tool results; to the same words of
    /// the user, if those were recorded.
    pub(super) fn answer(&self, chat: &ChatRequest) -> Result<Prepared, Error> {
        let (asked, results) = place(chat);
        let fit = |round: &&Round| {
            let (recorded, after) = place(&round.request);
            // A round that answers more results than there are comes too late in its conversation.
            (recorded == asked, after <= results, Reverse(after.abs_diff(results)))
        };
        let mut best: Option<&Round> = None;
        for round in self.rounds().filter(|round| round.request.model == chat.model) {
            if best.is_none_or(|best| fit(&round) > fit(&best)) {
                best = Some(round);
            }
        }
        let round = best.ok_or_else(|| {
            Error::client(format!("no conversation with the model `{}` was recorded", chat.model))
                .with_status(404)
                .with_code("model_not_found")
        })?;
        Ok(prepared(round))
    }

    /// The question for a first try: of the fixture whose title says so, with the one tool that its answer calls.
    pub fn example(&self) -> Option<ChatRequest> {
        let fixture = self.fixtures.iter().find(|fixture| fixture.title.contains(FIRST_TRY))?;
        let call = fixture.events.as_ref()?.text.lines().find_map(|line| line.strip_prefix("call "))?;
        let name = call.split(' ').next()?;
        let mut request = fixture.rounds.first()?.request.clone();
        request.tools.retain(|tool| tool.pointer("/function/name").is_some_and(|called| called == name));
        Some(request)
    }

    fn rounds(&self) -> impl Iterator<Item = &Round> {
        self.fixtures.iter().flat_map(|fixture| &fixture.rounds)
    }
}

/// Where a conversation stands: what the user said last, and how many tool results there are since.
fn place(chat: &ChatRequest) -> (String, usize) {
    let last = chat.messages.iter().rposition(|message| message.role == "user");
    let said = last.and_then(|at| chat.messages.get(at)).map(|message| message.content.to_text()).unwrap_or_default();
    let since = chat.messages.get(last.unwrap_or(0)..).unwrap_or_default();
    (said.trim().to_owned(), since.iter().filter(|message| message.role == "tool").count())
}

fn prepared(round: &Round) -> Prepared {
    let recorded = |read: &Read| (read.after, Bytes::from(read.bytes.clone()));
    let (dialect, reads) = match round.wire {
        Wire::OpenAi => (Dialect::OpenAi, round.reads.iter().map(recorded).collect()),
        Wire::Ollama => (Dialect::Ollama, round.reads.iter().map(recorded).collect()),
        Wire::Google => (Dialect::Google, round.reads.iter().map(recorded).collect()),
        // The model's text alone, as Ollama would stream it.
        Wire::Text => {
            let line = |read: &Read| {
                let content = String::from_utf8_lossy(&read.bytes);
                let line = json!({"message": {"role": "assistant", "content": content}, "done": false});
                (read.after, Bytes::from(format!("{line}\n")))
            };
            let end = (Duration::ZERO, Bytes::from_static(b"{\"done\":true,\"done_reason\":\"stop\"}\n"));
            (Dialect::Ollama, round.reads.iter().map(line).chain([end]).collect())
        }
    };
    let recording = Recording { reads, ..Recording::default() };
    Prepared { outgoing: Outgoing::Recorded(recording), dialect, notes: Vec::new() }
}
