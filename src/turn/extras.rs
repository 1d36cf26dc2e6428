//! Keeps what a backend wants back with a call in the next turn (Google's thought signature), under the call's id, and puts it
//! back into the history if the client has dropped it.

use super::Shared;
use crate::{
    client::front,
    event::Event,
    plan::Plan,
    store::{self, Key, Kind},
};

/// The extras of one turn.
#[derive(Debug, Default)]
pub(super) struct Extras {
    /// The id of the call that is being delivered.
    id: String,
    /// Ids, each with its extra; not yet in the store.
    fresh: Vec<(String, String)>,
}

impl Extras {
    /// Looks at an event on its way to the client; `answer` is the answer's id.
    pub(super) fn event(&mut self, event: &Event<'_>, answer: &str) {
        match event {
            Event::CallStart { index, id, .. } => self.id = id.map_or_else(|| front::id_of(answer, *index), str::to_owned),
            Event::CallEnd { extra: Some(extra), .. } => self.fresh.push((std::mem::take(&mut self.id), (*extra).to_owned())),
            _ => {}
        }
    }

    /// Whether the latest events have brought something to store.
    pub(super) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// Stores what the latest events have brought.
    pub(super) async fn keep(&mut self, shared: &Shared, plan: &Plan) {
        for (id, extra) in self.fresh.drain(..) {
            shared.store.put(key(plan, id), extra.into(), store::DAY).await;
        }
    }
}

/// Puts back what the client has dropped.
pub(super) async fn put_back(shared: &Shared, plan: &mut Plan) {
    let calls = plan.chat.messages.iter().enumerate().flat_map(|(at, message)| {
        let calls = message.tool_calls.iter().enumerate();
        calls.filter(|(_, call)| call.extra.is_none()).map(move |(position, call)| (at, position, call.id.clone()))
    });
    let (places, keys): (Vec<_>, Vec<_>) = calls.map(|(at, position, id)| ((at, position), key(plan, id))).unzip();
    for ((at, position), extra) in places.into_iter().zip(shared.store.get_all(&keys).await) {
        let Some(extra) = extra else { continue };
        let call = plan.chat.messages.get_mut(at).and_then(|message| message.tool_calls.get_mut(position));
        if let (Some(call), Ok(extra)) = (call, serde_json::from_slice(&extra)) {
            call.extra = Some(extra);
        }
    }
}

/// The key contains the backend, because no other backend may get its data.
fn key(plan: &Plan, id: String) -> Key {
    plan.key(Kind::CallExtra, format!("{}\n{id}", plan.backend.url))
}
