//! Keeps what a backend wants back with a call in the next turn (Google's thought signature, the reasoning before it), and puts it
//! back into the history if the client has dropped it. It is kept under the call's id and place: some models count their ids, so
//! that two conversations have the same.

use std::{collections::HashMap, time::Duration};

use sha2::{Digest, Sha256};

use super::{Shared, kept_under};
use crate::{
    backend::Rewrite,
    client::front,
    event::Event,
    openai::{Message, REASONING_FIELDS, is_spoken, own_words},
    plan::Plan,
    store::{self, Key, Kind},
};

/// The extras of one turn.
#[derive(Debug, Default)]
pub(super) struct Extras {
    /// The reasoning of this answer before its first call.
    reasoning: String,
    /// Ids, each with what is kept under it; not yet in the store.
    fresh: Vec<(Kind, String, String)>,
    /// The places of the calls in the client's conversation, by id, and the place of those to come. `None`: nothing was asked yet.
    places: Option<(HashMap<String, String>, String)>,
}

/// Longer reasoning is not kept, in bytes.
const REASONING_BYTES: usize = 256 * 1024;
/// How long reasoning is kept: for the turn, and for a pause of the user.
const REASONING: Duration = Duration::from_secs(6 * 60 * 60);

impl Extras {
    /// Takes note of the client's conversation, once. A place is what the user said first and last, and the calls since.
    pub(super) fn open(&mut self, messages: &[Message]) {
        if self.places.is_some() {
            return;
        }
        let (mut first, mut place) = (None, Sha256::new());
        let mut places = HashMap::new();
        for message in messages {
            if is_spoken(message) {
                let text = message.content.to_text();
                let said = Sha256::digest(own_words(&text));
                place = first.get_or_insert_with(|| Sha256::new_with_prefix(said)).clone().chain_update(said);
            }
            if !message.tool_calls.is_empty() {
                let here = format!("{:x}", place.clone().finalize());
                places.extend(message.tool_calls.iter().map(|call| (call.id.clone(), here.clone())));
                let calls = message.tool_calls.iter().map(|call| [&call.id, &call.name, &call.arguments]);
                calls.flatten().for_each(|text| place.update(Sha256::digest(text)));
            }
        }
        self.places = Some((places, format!("{:x}", place.finalize())));
    }

    /// The key of what is kept for a call. It contains the backend, because no other backend may get its data.
    fn key(&self, plan: &Plan, kind: Kind, id: &str) -> Key {
        let place = self.places.as_ref().map_or("", |(known, next)| known.get(id).unwrap_or(next));
        plan.key(kind, format!("{}\n{place}\n{id}", plan.backend.url))
    }

    /// Another answer begins.
    pub(super) fn begin(&mut self) {
        self.reasoning.clear();
    }

    /// Looks at an event on its way to the client; `answer` is the answer's id.
    pub(super) fn event(&mut self, event: &Event<'_>, answer: &str) {
        match event {
            Event::Reasoning(text) if self.reasoning.len() <= REASONING_BYTES => self.reasoning.push_str(text),
            Event::Call(call) => {
                let id = front::call_id_of(answer, *call);
                let reasoning = std::mem::take(&mut self.reasoning);
                if !reasoning.trim().is_empty() && reasoning.len() <= REASONING_BYTES {
                    self.fresh.push((Kind::CallReasoning, id.clone(), reasoning));
                }
                self.fresh.extend(call.extra.map(|extra| (Kind::CallExtra, id, extra.to_owned())));
            }
            _ => {}
        }
    }

    /// Whether the latest events have brought something to store.
    pub(super) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// Stores what the latest events have brought.
    pub(super) async fn keep(&mut self, shared: &Shared, plan: &Plan) {
        for (kind, id, kept) in std::mem::take(&mut self.fresh) {
            let ttl = if kind == Kind::CallReasoning { REASONING } else { store::DAY };
            shared.store.put(self.key(plan, kind, &id), kept.into(), ttl).await;
        }
    }
}

/// Puts back what the client has dropped; reasoning only for a family or a backend that wants it.
pub(super) async fn put_back(shared: &Shared, plan: &mut Plan, extras: &Extras) {
    let wants_reasoning = plan.adapter.prompt.reasoning || plan.asking.learned.needs(Rewrite::Reasoning);
    let has_reasoning = |message: &Message| REASONING_FIELDS.iter().any(|name| message.rest.contains_key(*name));
    let mut wanted = Vec::new();
    for (at, message) in plan.chat.messages.iter().enumerate() {
        let calls = message.tool_calls.iter().enumerate().filter(|(_, call)| call.extra.is_none());
        wanted.extend(calls.map(|(position, call)| ((at, Some(position)), extras.key(plan, Kind::CallExtra, &call.id))));
        let first = message.tool_calls.first().filter(|_| wants_reasoning && !has_reasoning(message));
        wanted.extend(first.map(|call| ((at, None), extras.key(plan, Kind::CallReasoning, &call.id))));
    }
    for ((at, position), kept) in kept_under(shared, wanted).await {
        let message = &mut plan.chat.messages[at];
        match position {
            Some(position) => message.tool_calls[position].extra = serde_json::from_slice(&kept).ok(),
            None => _ = message.rest.insert("reasoning_content".into(), String::from_utf8_lossy(&kept).into()),
        }
    }
}
