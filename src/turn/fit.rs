//! Compares a conversation with the context of its model: requests a context size from Ollama, and refuses what cannot fit before
//! it is sent. Estimates the tokens of a prompt: from the backend's tokenizer if it has one, otherwise from the counts in its earlier
//! answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::Shared;
use crate::{
    backend::{self, Kind, Size, Window},
    error::Error,
    event::{Note, Tools, Usage},
    plan::Plan,
    store::{self, Key},
};

/// The result of the comparison.
#[derive(Default)]
pub(super) struct Context {
    /// The context to request from Ollama, in tokens; `None`: Ollama decides.
    pub(super) num_ctx: Option<u64>,
    /// The size of the conversation, if the backend may silently truncate it.
    pub(super) cuttable: Option<Size>,
    /// Warnings for the user.
    pub(super) notes: Vec<Note>,
}

/// The last prompt whose tokens the backend has counted for a model.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Counted {
    bytes: u64,
    tokens: u64,
}

/// How long to wait until a backend says what is loaded, or counts tokens.
const PATIENCE: Duration = Duration::from_secs(2);

/// Compares the conversation with the context of its model.
///
/// # Errors
/// `context_length_exceeded` if it cannot fit.
pub(super) async fn fit(shared: &Shared, plan: &Plan) -> Result<Context, Error> {
    let size = if plan.asking.verbatim {
        Size::of(&plan.chat, &Tools::default()) // they are part of the text
    } else {
        Size::of(&plan.chat, &plan.tools)
    };
    if plan.backend.kind != Kind::Ollama {
        size.check(plan.asking.context.most)?;
        return Ok(Context::default());
    }
    let cuttable = Some(size);
    if plan.chat.has_option("num_ctx") {
        return Ok(Context { cuttable, ..Context::default() }); // the client knows what it wants
    }
    let key = key(plan, "context");
    let kept = store::read::<Window>(&*shared.store, &key).await.unwrap_or_default();
    let mut window = kept;
    let asked = timeout(PATIENCE, backend::loaded(&shared.client, &plan.backend, &plan.chat.model)).await;
    let loaded = asked.ok().and_then(Result::ok).flatten();
    let reached = loaded.filter(|loaded| loaded.context.is_some() && loaded.context == window.asked);
    let stepped_back = reached.and_then(|loaded| window.review(&loaded));
    // What is loaded is kept, unless it was just found to be too large.
    let kept_loaded = loaded.as_ref().filter(|_| stepped_back.is_none());
    let (num_ctx, short) = window.choose(size, kept_loaded, plan.asking.context);
    if window != kept {
        // The free GPU memory changes with other programs.
        store::write(&*shared.store, key, &window, store::DAY).await;
    }
    let notes: Vec<Note> = stepped_back.into_iter().chain(short).collect();
    for note in &notes {
        tracing::warn!(model = plan.chat.model, ?note, "context");
    }
    Ok(Context { num_ctx, cuttable, notes })
}

/// The tokens of this chat's prompt as it would be sent: counted by the backend's tokenizer within 2 s, else estimated.
///
/// # Errors
/// As making the request itself (`backend::request`).
pub async fn tokens(plan: &Plan, shared: &Shared) -> Result<u64, Error> {
    let prepared = backend::request(&plan.round(true, None))?;
    let asked = backend::tokens(&shared.client, &plan.backend, &prepared.outgoing);
    if let Ok(Some(tokens)) = timeout(PATIENCE, asked).await {
        return Ok(tokens);
    }
    let size = Size::of(&plan.chat, &plan.tools);
    let counted = store::read::<Counted>(&*shared.store, &key(plan, "tokens")).await;
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
    store::write(&*shared.store, key(plan, "tokens"), &Counted { bytes: size.bytes, tokens }, store::DAY).await;
}

fn key(plan: &Plan, of: &str) -> Key {
    let key = plan.learned_key();
    Key { id: format!("{}\n{of}", key.id), ..key }
}
