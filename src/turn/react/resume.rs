//! Stores the registry's calls and their results in a turn that the client must finish, because the client does not know them.
//! They are kept for a while under the id of the client's first call. In its next request they replace the message that it knows.
//! If the client's form of a call has no id, or the client need not send it, the call's content and position identify it. If the
//! stored part has expired or was too large, it is missing, and the conversation is still valid.

use std::{
    collections::{HashMap, HashSet},
    iter,
    sync::Arc,
    time::Duration,
};

use chrono::Utc;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::time::sleep;

use super::{
    super::{Shared, kept_under},
    flight,
};
use crate::{
    client::{front, shape},
    openai::{ChatRequest, Content, Message, ToolCall, is_spoken, own_words},
    plan::Plan,
    store::{self, Common, Key, Kind},
};

/// Where a turn begins in the conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct Start {
    /// Number of messages before it.
    messages: usize,
    /// Number of the assistant's messages in the client's own conversation.
    answers: usize,
    /// The user's last words there.
    said: String,
}

impl Start {
    /// The messages before the turn, and those of the turn.
    pub(super) fn split<'m>(&self, messages: &'m [Message]) -> (&'m [Message], &'m [Message]) {
        messages.split_at(self.messages.min(messages.len()))
    }

    /// The key of a call. It includes the user's last words, because ids that a model makes are not unique. Text that a client adds
    /// by itself is not part of them, because the client need not send it again.
    fn key(&self, plan: &Plan, call: &ToolCall) -> Key {
        let hash = Sha256::digest(format!("{}\n{}", name_of(plan, call, self.answers), self.said));
        plan.key(Kind::TurnResults, format!("{hash:x}"))
    }
}

/// What is kept of a turn.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Kept {
    pub(super) messages: Vec<Message>,
    /// The server whose results strangers may have written.
    pub(super) tainted: Option<String>,
    /// Calls of another request run until then at the latest, in milliseconds since 1970. The messages say that their outcome is
    /// unknown.
    pub(super) until: Option<i64>,
}

/// How soon a repeated request looks for the end of calls that run, and how often later on.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LATER_LOOKS: Duration = Duration::from_millis(250);

/// Keeps this turn for the request with the results of the client's calls, which are `handed`.
pub(super) async fn keep(shared: &Shared, plan: &Plan, start: &Start, handed: &[ToolCall], kept: Kept, seconds: u64) {
    // Without calls of ours the client has everything.
    let Some(first) = handed.first().filter(|_| kept.messages.iter().any(|message| message.role == "tool")) else { return };
    kept.put(&*shared.store, start.key(plan, first), seconds).await;
}

/// Keeps this turn for the same request. Returns the key.
pub(super) async fn keep_unfinished(shared: &Shared, plan: &Plan, start: &Start, kept: Kept, seconds: u64) -> Key {
    let (store, key) = (Arc::clone(&shared.store), repeated(plan, start.split(&plan.chat.messages).0));
    let at = key.clone();
    flight::surely(async move { kept.put(&*store, at, seconds).await }).await;
    key
}

/// What is kept of a turn that the client has broken off with this request. Waits if its calls still run.
pub(super) async fn broken_off(shared: &Shared, plan: &Plan) -> Option<(Key, Kept)> {
    let key = repeated(plan, &plan.chat.messages);
    let kept = ended(&*shared.store, &key).await?;
    Some((key, kept))
}

/// Puts back what was kept. Returns where the turn begins, and the server whose results strangers may have written, if the
/// continued turn has seen any.
pub(super) async fn bring_back(shared: &Shared, plan: &mut Plan) -> (Start, Option<String>) {
    let mut start = Start::default();
    let mut keys = Vec::new();
    for (at, message) in plan.chat.messages.iter().enumerate() {
        if is_spoken(message) {
            start.said = own_words(&message.content.to_text()).to_owned();
        }
        keys.extend(message.tool_calls.iter().map(|call| (at, start.key(plan, call))));
        start.answers += usize::from(message.role == "assistant");
    }
    let mut kept = HashMap::new();
    for (at, found) in kept_under(shared, keys).await {
        if let Some(found) = Kept::read(&found) {
            kept.entry(at).or_insert(found);
        }
    }
    let mut tainted = None;
    let mut messages = Vec::with_capacity(plan.chat.messages.len());
    let mut own = std::mem::take(&mut plan.chat.messages).into_iter().enumerate().peekable();
    while let Some((at, message)) = own.next() {
        if is_spoken(&message) {
            tainted = None;
        }
        let Some(kept) = kept.remove(&at) else {
            messages.push(message);
            continue;
        };
        let mut back = kept.messages;
        let results = iter::from_fn(|| own.next_if(|(_, message)| message.role == "tool"));
        let mut results: Vec<Message> = results.map(|(_, message)| message).collect();
        if !has_ids(plan) {
            rename(&back, &message.tool_calls, &mut results);
        }
        only_answered(&mut back, &results);
        messages.append(&mut back);
        messages.append(&mut results);
        tainted = kept.tainted;
    }
    start.messages = messages.len();
    plan.chat.messages = messages;
    (start, tainted)
}

/// What is kept under a key, once none of its calls runs any more. Another instance may be running them, so this function reads
/// the store repeatedly, at growing intervals.
async fn ended(store: &dyn Common, key: &Key) -> Option<Kept> {
    let mut kept = Kept::read(&store.get(key).await?)?;
    let mut pause = FIRST_LOOK;
    if kept.runs() {
        tracing::info!("the request is repeated while its calls run: it waits for them");
    }
    while kept.runs() {
        sleep(pause).await;
        pause = (pause * 2).min(LATER_LOOKS);
        // Its turn was answered in the meantime, so nothing more is known of the calls.
        let Some(now) = store.get(key).await else { break };
        kept = Kept::read(&now)?;
    }
    Some(kept)
}

impl Kept {
    /// Keeps it; `false` if it is too large. Then the results are left out, because it matters most that the calls have run.
    pub(super) async fn put(mut self, store: &dyn Common, key: Key, seconds: u64) -> bool {
        // An entry that says that calls run is kept at least as long as they may run.
        let rest = self.until.map_or(0, |until| (until - Utc::now().timestamp_millis()).max(0));
        let ttl = Duration::from_secs(seconds).max(Duration::from_millis(rest.unsigned_abs()));
        if store::write(store, key.clone(), &self, ttl).await {
            return true;
        }
        tracing::warn!("the results of this turn are too large to be kept: the model will not see them in a later request");
        for message in self.messages.iter_mut().filter(|message| message.role == "tool") {
            message.content = Content::Text("(The call has run. Its result was too large to be kept.)".into());
        }
        store::write(store, key, &self, ttl).await
    }

    fn read(kept: &[u8]) -> Option<Kept> {
        let kept: Value = serde_json::from_slice(kept).ok()?;
        let tainted = kept.get("tainted").and_then(Value::as_str).map(str::to_owned);
        let until = kept.get("until").and_then(Value::as_i64);
        let chat = ChatRequest::from_value(json!({"model": "kept", "messages": kept.get("messages")?})).ok()?;
        Some(Kept { messages: chat.messages, tainted, until })
    }

    /// Whether calls may still run.
    fn runs(&self) -> bool {
        self.until.is_some_and(|until| until > Utc::now().timestamp_millis())
    }
}

/// Whether the client sends back the ids of calls. Clients of Ollama need not know them. A call without an
/// id gets a new one with every request.
fn has_ids(plan: &Plan) -> bool {
    plan.reply.shape == shape::Kind::Native && plan.reply.head.kind != front::Kind::Ollama
}

/// What identifies the call: its id, or, if the client's form has no ids, its content and position.
fn name_of(plan: &Plan, call: &ToolCall, place: usize) -> String {
    if has_ids(plan) {
        return call.id.clone();
    }
    let members: Map<String, Value> = serde_json::from_str(&call.arguments).unwrap_or_default();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned());
    // These forms carry text alone.
    let mut values: Vec<String> = members.iter().map(|(key, value)| format!("{key}={}", text(value))).collect();
    values.sort();
    format!("{place} {} {}", call.name, values.join("\n"))
}

/// Gives the results the ids that the kept calls have.
fn rename(kept: &[Message], known: &[ToolCall], results: &mut [Message]) {
    let ours: Vec<&String> = kept.iter().filter_map(|message| message.tool_call_id.as_ref()).collect();
    let open = kept.iter().flat_map(|message| &message.tool_calls).filter(|call| !ours.contains(&&call.id));
    for (call, known) in open.zip(known) {
        for result in results.iter_mut().filter(|result| result.tool_call_id.as_ref() == Some(&known.id)) {
            result.tool_call_id = Some(call.id.clone());
        }
    }
}

/// Removes the client's calls that it did not run, so that every call has exactly one result.
fn only_answered(kept: &mut [Message], by_client: &[Message]) {
    let answered: HashSet<String> = kept.iter().chain(by_client).filter_map(|message| message.tool_call_id.clone()).collect();
    kept.iter_mut().for_each(|message| message.tool_calls.retain(|call| answered.contains(&call.id)));
}

/// The key of a request that may be repeated: a hash of the whole conversation.
pub(super) fn repeated(plan: &Plan, conversation: &[Message]) -> Key {
    let mut hash = Sha256::new_with_prefix(&plan.chat.model);
    for message in conversation {
        hash.update(json!(message).to_string());
    }
    plan.key(Kind::TurnResults, format!("repeated {:x}", hash.finalize()))
}
