//! What the client does not have of a turn that it must finish: our calls and their results, between its own. Kept under the
//! id of its first call, for a while, and put into the history of its next request in the place of the message that it
//! knows. After that while, and with an answer too large to keep, the conversation is still valid: our part is missing.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::Shared;
use crate::{
    openai::{ChatRequest, Message, ToolCall},
    plan::Plan,
    store::{Key, Kind},
};

/// Keeps the messages of this turn from `from` on; `handed` are the client's calls.
pub(super) async fn keep(shared: &Shared, plan: &Plan, from: usize, handed: &[ToolCall], tainted: Option<&str>, seconds: u64) {
    let messages = plan.chat.messages.get(from..).unwrap_or_default();
    // Without calls of ours the client has everything.
    let Some(first) = handed.first().filter(|_| messages.iter().any(|message| message.role == "tool")) else { return };
    let messages: Vec<Value> = messages.iter().map(Message::to_value).collect();
    let kept = json!({"messages": messages, "tainted": tainted}).to_string();
    let key = key(plan, &first.id, plan.chat.messages.get(..from).unwrap_or_default());
    if !shared.store.put(key, Bytes::from(kept), Duration::from_secs(seconds)).await {
        tracing::warn!("the results of this turn are too large to be kept: the model will not see them in the next one");
    }
}

/// Puts back what was kept. If the turn that goes on now has seen results that strangers may have written: of which server.
pub(super) async fn bring_back(shared: &Shared, plan: &mut Plan) -> Option<String> {
    let mut tainted = None;
    let mut at = 0;
    while let Some(message) = plan.chat.messages.get(at) {
        if message.role == "user" {
            tainted = None;
        }
        let ids: Vec<String> = message.tool_calls.iter().map(|call| call.id.clone()).collect();
        let mut kept = None;
        for id in ids.iter().filter(|id| !id.is_empty()) {
            let key = key(plan, id, plan.chat.messages.get(..at).unwrap_or_default());
            kept = shared.store.get(&key).await.and_then(|kept| read(&kept));
            if kept.is_some() {
                break;
            }
        }
        let Some((mut messages, by)) = kept else {
            at += 1;
            continue;
        };
        let answers = plan.chat.messages.get(at + 1..).unwrap_or_default().iter().take_while(|message| message.role == "tool");
        let answers: Vec<String> = answers.filter_map(|message| message.tool_call_id.clone()).collect();
        only_answered(&mut messages, &answers);
        let added = messages.len();
        plan.chat.messages.splice(at..=at, messages);
        at += added;
        tainted = by;
    }
    tainted
}

fn read(kept: &[u8]) -> Option<(Vec<Message>, Option<String>)> {
    let kept: Value = serde_json::from_slice(kept).ok()?;
    let tainted = kept.get("tainted").and_then(Value::as_str).map(str::to_owned);
    let chat = ChatRequest::from_value(json!({"model": "kept", "messages": kept.get("messages")?})).ok()?;
    Some((chat.messages, tainted))
}

/// Every call has exactly one answer: those of the client's that it did not run go.
fn only_answered(messages: &mut [Message], by_client: &[String]) {
    let ours: Vec<String> = messages.iter().filter_map(|message| message.tool_call_id.clone()).collect();
    for message in messages {
        message.tool_calls.retain(|call| ours.contains(&call.id) || by_client.contains(&call.id));
    }
}

/// With what the user said last: ids that a model makes are not the only ones of their kind.
fn key(plan: &Plan, id: &str, before: &[Message]) -> Key {
    let said = before.iter().rfind(|message| message.role == "user").map(|message| message.content.to_text());
    let said: String =
        Sha256::digest(said.unwrap_or_default().trim()).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    Key { tenant: plan.caller.tenant.clone(), kind: Kind::TurnResults, id: format!("{id}\n{said}") }
}
