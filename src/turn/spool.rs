//! Calls that leave as shell commands -> what `toolglot call <id>` finds, and what a later turn of the conversation needs to
//! read the command as the call again.
//!
//! The command runs in another process: for it a call lies in files of this user alone, until it is taken or has expired. Where
//! instances share a store it lies there, so that one of all runs takes it, and the file says only where to look. For the
//! history it stays in the store of the turns.

use std::time::Duration;

use serde_json::json;

use super::Shared;
use crate::{
    client::shape::shell::{Spooled, history},
    plan::Plan,
    store::{Key, Kind},
};

/// How long a block may wait in a chat before the user runs it.
const TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// Keeps the calls; to be done before the commands leave.
pub(super) async fn keep(shared: &Shared, plan: &Plan, calls: Vec<Spooled>) {
    for Spooled { id, name, arguments } in calls {
        let mut call = json!({"name": name, "arguments": arguments});
        if let (Some(call), Some(file)) = (call.as_object_mut(), &plan.reply.configuration) {
            call.insert("config".into(), json!(file));
        }
        let whole = call.to_string();
        let key = Key::local(Kind::SpooledCall, id.clone());
        if let Some(link) = shared.store.link() {
            shared.store.put(key.clone(), whole.clone().into(), TTL).await;
            if let Some(call) = call.as_object_mut().filter(|_| link.is_present()) {
                call.insert("arguments".into(), json!(""));
                call.insert("shared".into(), json!(true));
            }
        }
        if !shared.spool.put(key, call.to_string().into(), TTL).await {
            tracing::error!(tool = name, id, "the call cannot be kept: `toolglot call` will not find it");
        }
        shared.store.put(past(plan, id), whole.into(), TTL).await;
    }
}

/// Reads the commands in the history as the calls that they stand for.
pub(super) async fn bring_back(shared: &Shared, plan: &mut Plan) {
    let mut known = history::Known::new();
    let ids: Vec<String> = history::mentioned(&plan.chat).into_iter().collect();
    let keys: Vec<Key> = ids.iter().map(|id| past(plan, id.clone())).collect();
    for (id, kept) in ids.into_iter().zip(shared.store.get_all(&keys).await) {
        let Some(kept) = kept else { continue };
        let Ok(call) = serde_json::from_slice::<serde_json::Value>(&kept) else { continue };
        let text = |field: &str| call.get(field).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        known.insert(id.clone(), Spooled { id, name: text("name"), arguments: text("arguments") });
    }
    history::translate(&mut plan.chat, &known);
}

fn past(plan: &Plan, id: String) -> Key {
    plan.key(Kind::PastCall, id)
}
