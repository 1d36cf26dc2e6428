//! How much of a request its backend has read before. A backend keeps what it has computed of a prompt and begins where the
//! next one differs, so a conversation whose past changes costs all of its length again in every turn.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::Shared;
use crate::{
    plan::Plan,
    store::{self, Key, Kind},
};

#[cfg(test)]
mod tests;

/// A request beside the last one of its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// Bytes at the beginning of the tools and messages that are the same.
    pub shared: u64,
    /// Bytes of the tools and messages of the last request.
    pub before: u64,
    /// Where the past changed: 0 in the tools, else in this message, counted from 1. `None`: nowhere.
    pub broke: Option<usize>,
}

/// What is kept of a request: each part's digest and length, the tools first.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Parts(Vec<(u64, u64)>);

/// The parts of a body that a model reads, in the APIs of all backends.
#[derive(Deserialize)]
struct Body<'b> {
    #[serde(borrow, default)]
    tools: Option<&'b RawValue>,
    #[serde(borrow, default, alias = "contents")]
    messages: Vec<&'b RawValue>,
}

const TTL: Duration = Duration::from_secs(60 * 60);

/// Compares the body with the last one of its conversation, of which nothing may be known, and keeps it for the next.
pub(super) async fn compare(plan: &Plan, shared: &Shared, body: &[u8]) -> Option<Prefix> {
    let parts = Parts::of(body)?;
    let key = key(plan);
    let before: Option<Parts> = store::read(&*shared.store, &key).await;
    store::write(&*shared.store, key, &parts, TTL).await;
    before.map(|before| parts.after(&before))
}

// === impl Parts ===

impl Parts {
    fn of(body: &[u8]) -> Option<Parts> {
        let body: Body<'_> = serde_json::from_slice(body).ok()?;
        let tools = body.tools.map_or("", RawValue::get);
        let messages = body.messages.into_iter().map(RawValue::get);
        Some(Parts(std::iter::once(tools).chain(messages).map(|text| (digest(text), text.len() as u64)).collect()))
    }

    fn after(&self, before: &Parts) -> Prefix {
        let same = self.0.iter().zip(&before.0).take_while(|(now, then)| now == then).count();
        let bytes = |parts: &[(u64, u64)]| parts.iter().map(|(_, bytes)| bytes).sum();
        Prefix {
            shared: bytes(before.0.get(..same).unwrap_or_default()),
            before: bytes(&before.0),
            broke: (same < before.0.len()).then_some(same),
        }
    }
}

fn digest(text: &str) -> u64 {
    Sha256::digest(text).iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// A conversation is known by how it begins.
fn key(plan: &Plan) -> Key {
    let first = plan.chat.messages.iter().find(|message| message.role == "user");
    let first = first.map(|message| message.content.to_text()).unwrap_or_default();
    let id = format!("{}\n{}\n{:x}", plan.backend.url, plan.chat.model, digest(&first));
    plan.key(Kind::Prefix, id)
}
