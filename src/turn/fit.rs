//! Compares a conversation with the context of its model: requests a context size from Ollama, and refuses what cannot fit before
//! it is sent.

use std::time::Duration;

use super::Shared;
use crate::{
    backend::{self, Kind, Loaded, Size, Window},
    error::Error,
    event::{Note, Tools},
    plan::Plan,
    store::{self, Key},
};

/// The result of the comparison.
pub(super) struct Context {
    /// The context to request from Ollama, in tokens; `None`: Ollama decides.
    pub(super) num_ctx: Option<u64>,
    /// The size of the conversation, if the backend may silently truncate it.
    pub(super) cuttable: Option<Size>,
    /// Warnings for the user.
    pub(super) notes: Vec<Note>,
}

/// How long to wait until Ollama reports what is loaded.
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
        return Ok(Context { num_ctx: None, cuttable: None, notes: Vec::new() });
    }
    let cuttable = Some(size);
    if plan.chat.has_option("num_ctx") {
        return Ok(Context { num_ctx: None, cuttable, notes: Vec::new() }); // the client knows what it wants
    }
    let key = key(plan);
    let kept = store::read::<Window>(&*shared.store, &key).await.unwrap_or_default();
    let mut window = kept;
    let loaded = loaded(shared, plan).await;
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

async fn loaded(shared: &Shared, plan: &Plan) -> Option<Loaded> {
    let asked = backend::loaded(&shared.client, &plan.backend, &plan.chat.model);
    tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()?
}

fn key(plan: &Plan) -> Key {
    let key = plan.learned_key();
    Key { id: format!("{}\ncontext", key.id), ..key }
}
