//! Measures how much of a request the backend has read before. A backend caches a prompt and recomputes the next one from the
//! first difference. So if the past of a conversation changes, the backend reads all of it again in every turn.

use std::{borrow::Cow, hash::BuildHasher, time::Duration};

use foldhash::quality::FixedState;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Shared;
use crate::{
    plan::Plan,
    store::{self, Key, Kind},
    upstream::Outgoing,
};

#[cfg(test)]
mod tests;

/// A request compared with the last one of its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// Length of the common beginning of tools and messages, in bytes.
    pub shared: u64,
    /// Length of the tools and messages of the last request, in bytes.
    pub before: u64,
    /// Where the past changed: 0 for the tools, otherwise the number of the message, from 1. `None`: nowhere, or in a prompt
    /// that is one text.
    pub broke: Option<usize>,
}

/// What is kept of a request: the digest and length of each part. Parts are the tools and the messages, or pieces of the prompt.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Parts(Vec<(u64, u64)>);

/// The parts of a request body that a model reads, in the APIs of all backends.
#[derive(Deserialize)]
struct Body<'b> {
    #[serde(borrow, default)]
    tools: Option<&'b RawValue>,
    #[serde(borrow, default, alias = "contents")]
    messages: Vec<&'b RawValue>,
    /// The conversation as one text (`/v1/completions`, `/api/generate`).
    #[serde(borrow, default)]
    prompt: Option<Cow<'b, str>>,
}

/// A prompt is compared in pieces of this size, in bytes.
const PIECE_BYTES: usize = 1024;

const TTL: Duration = Duration::from_secs(60 * 60);

/// Compares a request that the backend has accepted with the last one of its conversation, and keeps it for the next comparison.
/// `None`: the conversation is new.
pub(super) async fn compare(plan: &Plan, shared: &Shared, request: &Outgoing) -> Option<Prefix> {
    let Outgoing::Http(request) = request else { return None };
    let body: Body<'_> = serde_json::from_slice(&request.body).ok()?;
    let key = key(plan);
    let before: Option<Parts> = store::read(&*shared.store, &key).await;
    let parts = body.parts(before.as_ref());
    store::write(&*shared.store, key, &parts, TTL).await;
    let prefix = parts.after(&before?);
    Some(Prefix { broke: prefix.broke.filter(|_| body.prompt.is_none()), ..prefix })
}

impl Body<'_> {
    /// `before`: the last request. A prompt is cut at the same positions, so that equal text gives equal parts.
    fn parts(&self, before: Option<&Parts>) -> Parts {
        if let Some(prompt) = &self.prompt {
            let mut rest = prompt.as_bytes();
            let lengths = before.into_iter().flat_map(|before| &before.0).map(|(_, bytes)| *bytes as usize);
            let mut piece = |bytes: usize| rest.split_off(..bytes.min(rest.len())).filter(|piece| !piece.is_empty());
            return Parts(lengths.chain(std::iter::repeat(PIECE_BYTES)).map_while(&mut piece).map(part).collect());
        }
        let tools = self.tools.map_or("", RawValue::get);
        let messages = self.messages.iter().map(|message| message.get());
        Parts(std::iter::once(tools).chain(messages).map(|text| part(text.as_bytes())).collect())
    }
}

impl Parts {
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

fn part(text: &[u8]) -> (u64, u64) {
    (digest(text), text.len() as u64)
}

/// A hash that is stable within one build of toolglot. With another build, comparisons begin anew. No answer depends on it, so it
/// is fast rather than strong.
fn digest(text: &[u8]) -> u64 {
    FixedState::default().hash_one(text)
}

/// A conversation is identified by its beginning.
fn key(plan: &Plan) -> Key {
    let first = plan.chat.messages.iter().find(|message| message.role == "user");
    let first = first.map(|message| message.content.text()).unwrap_or_default();
    let id = format!("{}\n{}\n{:x}", plan.backend.url, plan.chat.model, digest(first.as_bytes()));
    plan.key(Kind::Prefix, id)
}
