//! Estimates the tokens of a chat's prompt: from the backend's tokenizer if it has one, otherwise from the counts in its earlier
//! answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Shared;
use crate::{
    backend::{self, Size},
    error::Error,
    event::Usage,
    plan::Plan,
    store::{self, Key},
};

/// The last prompt whose tokens the backend has counted for a model.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Counted {
    bytes: u64,
    tokens: u64,
}

/// How long to wait for a tokenizer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The tokens of this chat's prompt as it would be sent: counted by the backend's tokenizer within 2 s, else estimated.
///
/// # Errors
/// As making the request itself (`backend::request`).
pub async fn tokens(plan: &Plan, shared: &Shared) -> Result<u64, Error> {
    let prepared = backend::request(&plan.round(true, None))?;
    let asked = backend::tokens(&shared.client, &plan.backend, &prepared.outgoing);
    if let Ok(Some(tokens)) = tokio::time::timeout(PATIENCE, asked).await {
        return Ok(tokens);
    }
    let size = Size::of(&plan.chat, &plan.tools);
    let counted = store::read::<Counted>(&*shared.store, &key(plan)).await;
    Ok(match counted {
        Some(Counted { bytes, tokens }) if bytes > 0 => size.bytes * tokens / bytes + size.image_tokens(),
        _ => size.estimate(),
    })
}

/// Remembers how many tokens the backend has counted for this prompt.
pub(super) async fn learn(plan: &Plan, shared: &Shared, usage: Usage) {
    let size = Size::of(&plan.chat, &plan.tools);
    let tokens = usage.prompt_tokens;
    if tokens == 0 || size.images > 0 {
        return;
    }
    store::write(&*shared.store, key(plan), &Counted { bytes: size.bytes, tokens }, store::DAY).await;
}

fn key(plan: &Plan) -> Key {
    let key = plan.learned_key();
    Key { id: format!("{}\ntokens", key.id), ..key }
}
