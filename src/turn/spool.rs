//! Stores calls that leave as shell commands, for `toolglot call <id>` and for later turns, which read the command in the history
//! as the call again.
//!
//! The command runs in another process. It finds the call in a file that only this user can read, until the call is taken or
//! expires. If instances share a store, the call is there, so that exactly one run takes it, and the file only says where to
//! look. For the history, the call stays in the store of the turns.

use serde_json::json;

use super::{Shared, kept_under};
use crate::{
    client::shape::shell::{Spooled, history},
    error::Error,
    plan::Plan,
    store::{self, Key, Kind},
};

/// The code of the error for a call that cannot be stored. What was written of the answer since the last step is not sent then.
pub(super) const NOT_KEPT: &str = "call_not_kept";

/// Stores the calls. Must finish before the commands are sent.
///
/// # Errors
/// A call cannot be stored, so that its command would find nothing.
pub(super) async fn keep(shared: &Shared, plan: &Plan, calls: Vec<Spooled>) -> Result<(), Error> {
    for Spooled { id, name, arguments } in calls {
        let mut call = json!({"name": name, "arguments": arguments});
        if let Some(file) = &plan.reply.configuration {
            call["config"] = json!(file);
        }
        let whole = call.to_string();
        let key = Key::local(Kind::SpooledCall, id.clone());
        if let Some(link) = shared.store.link() {
            shared.store.put(key.clone(), whole.clone().into(), store::DAY).await;
            if link.is_present() {
                call["arguments"] = json!("");
                call["shared"] = json!(true);
            }
        }
        if !shared.spool.put(key, call.to_string().into(), store::DAY).await {
            let what = format!(
                "the call of `{name}` cannot be kept for `toolglot call`, so there is no command for it: is the disk full, or \
                 the folder of toolglot's data (`toolglot paths`) not writable?"
            );
            return Err(Error::proxy(what).with_code(NOT_KEPT));
        }
        shared.store.put(past(plan, id), whole.into(), store::DAY).await;
    }
    Ok(())
}

/// Turns the commands in the history back into calls.
pub(super) async fn bring_back(shared: &Shared, plan: &mut Plan) {
    let mut known = history::Known::new();
    let wanted = history::mentioned(&plan.chat).into_iter().map(|id| (id.clone(), past(plan, id)));
    for (id, kept) in kept_under(shared, wanted.collect()).await {
        let Ok(call) = serde_json::from_slice::<serde_json::Value>(&kept) else { continue };
        let text = |field: &str| call.get(field).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        known.insert(id.clone(), Spooled { id, name: text("name"), arguments: text("arguments") });
    }
    history::translate(&mut plan.chat, &known);
}

fn past(plan: &Plan, id: String) -> Key {
    plan.key(Kind::PastCall, id)
}
