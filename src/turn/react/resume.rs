//! Stores the registry's calls and their results in a turn that the client must finish, because the client does not know them.
//! They are kept for a while under the id of the client's first call. In its next request they replace the message that it knows.
//! If the client's form of a call has no id, or the client need not send it, the call's content and position identify it. If the
//! stored part has expired or was too large, it is missing, and the conversation is still valid.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::time::sleep;

use super::{super::Shared, flight};
use crate::{
    client::{front, shape},
    openai::{ChatRequest, Content, Message, ToolCall, is_spoken, own_words},
    plan::Plan,
    store::{Common, Key, Kind},
};

/// Where a turn begins in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    /// Number of messages before it.
    pub(super) messages: usize,
    /// Number of the assistant's messages in the client's own conversation.
    pub(super) answers: usize,
}

impl Start {
    /// The messages before the turn, and those of the turn.
    pub(super) fn split(self, messages: &[Message]) -> (&[Message], &[Message]) {
        messages.split_at(self.messages.min(messages.len()))
    }
}

/// What is kept of a turn.
struct Kept {
    messages: Vec<Message>,
    /// The server whose results strangers may have written.
    tainted: Option<String>,
    /// Calls of another request run until then at the latest. The messages say that their outcome is unknown.
    until: Option<SystemTime>,
}

/// What a turn has done so far, kept until its end. If the client breaks the turn off and repeats the whole request, the turn
/// continues from there, and nothing runs twice.
#[derive(Debug, Default)]
pub(super) struct Unfinished(Option<Key>);

/// How soon a repeated request looks for the end of calls that run, and how often later on.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LATER_LOOKS: Duration = Duration::from_millis(250);

/// Keeps the messages of this turn; `handed` are the client's calls.
pub(super) async fn keep(shared: &Shared, plan: &Plan, start: Start, handed: &[ToolCall], tainted: Option<&str>, seconds: u64) {
    let (before, messages) = start.split(&plan.chat.messages);
    // Without calls of ours the client has everything.
    let Some(first) = handed.first().filter(|_| messages.iter().any(|message| message.role == "tool")) else { return };
    let key = key(plan, &name_of(plan, first, start.answers), before);
    if !put(&*shared.store, key, messages, tainted, None, seconds).await {
        tracing::warn!("the results of this turn are too large to be kept: the model will not see them in the next one");
    }
}

impl Unfinished {
    /// Continues where the same request was broken off. Waits if its calls still run. Returns the number of results, and the
    /// server whose results strangers may have written.
    pub(super) async fn resume(&mut self, shared: &Shared, plan: &mut Plan) -> Option<(u32, Option<String>)> {
        let key = repeated(plan, &plan.chat.messages);
        let Kept { messages, tainted, .. } = ended(&*shared.store, &key).await?;
        let results = messages.iter().filter(|message| message.role == "tool").count();
        tracing::info!(results, "the request is repeated: its tools do not run again");
        plan.chat.messages.extend(messages);
        self.0 = Some(key);
        Some((results as u32, tainted))
    }

    /// Keeps the messages of this turn.
    pub(super) async fn keep(&mut self, shared: &Shared, plan: &Plan, start: Start, tainted: Option<&str>, seconds: u64) {
        let (before, messages) = start.split(&plan.chat.messages);
        let key = repeated(plan, before);
        let (store, messages, tainted) = (Arc::clone(&shared.store), messages.to_vec(), tainted.map(str::to_owned));
        self.0 = Some(key.clone());
        let write = async move { put(&*store, key, &messages, tainted.as_deref(), None, seconds).await };
        if !flight::surely(write).await {
            tracing::warn!("the results of this turn are too large to be kept: if the request is repeated, its tools run again");
        }
    }

    /// Where something of this turn is kept.
    pub(super) fn is_at(&mut self, key: Key) {
        self.0 = Some(key);
    }

    /// Records that the turn has ended: if the same request comes again, it begins a new turn.
    pub(super) async fn forget(&mut self, shared: &Shared) {
        if let Some(key) = self.0.take() {
            shared.store.take(&key).await;
        }
    }
}

/// Puts back what was kept. Returns the server whose results strangers may have written, if the continued turn has seen any.
pub(super) async fn bring_back(shared: &Shared, plan: &mut Plan) -> Option<String> {
    let mut tainted = None;
    let early = all_at_once(shared, plan).await;
    let (mut at, mut answers) = (0, 0);
    while let Some(message) = plan.chat.messages.get(at) {
        if is_spoken(message) {
            tainted = None;
        }
        let names: Vec<String> = message.tool_calls.iter().map(|call| name_of(plan, call, answers)).collect();
        answers += usize::from(message.role == "assistant");
        let mut kept = None;
        for name in names {
            let key = key(plan, &name, plan.chat.messages.get(..at).unwrap_or_default());
            let found = match early.get(&key) {
                Some(found) => found.clone(),
                None => shared.store.get(&key).await,
            };
            kept = found.and_then(|found| Kept::read(&found));
            if kept.is_some() {
                break;
            }
        }
        let Some(Kept { mut messages, tainted: by, .. }) = kept else {
            at += 1;
            continue;
        };
        let end = plan.chat.messages.iter().skip(at + 1).position(|message| message.role != "tool");
        let end = end.map_or(plan.chat.messages.len(), |end| at + 1 + end);
        let known = plan.chat.messages.get(at).map(|message| message.tool_calls.clone()).unwrap_or_default();
        let has_ids = has_ids(plan);
        let results = plan.chat.messages.get_mut(at + 1..end).unwrap_or_default();
        if !has_ids {
            rename(&messages, &known, results);
        }
        let answered: Vec<String> = results.iter().filter_map(|message| message.tool_call_id.clone()).collect();
        only_answered(&mut messages, &answered);
        let added = messages.len();
        plan.chat.messages.splice(at..=at, messages);
        at += added;
        tainted = by;
    }
    tainted
}

/// What is kept under all calls of the history, read from the store at once. Messages that are put back may change a later key;
/// these few keys are read one by one.
async fn all_at_once(shared: &Shared, plan: &Plan) -> HashMap<Key, Option<Bytes>> {
    let mut keys = Vec::new();
    let mut answers = 0;
    for (at, message) in plan.chat.messages.iter().enumerate() {
        let before = plan.chat.messages.get(..at).unwrap_or_default();
        keys.extend(message.tool_calls.iter().map(|call| key(plan, &name_of(plan, call, answers), before)));
        answers += usize::from(message.role == "assistant");
    }
    let found = shared.store.get_all(&keys).await;
    keys.into_iter().zip(found).collect()
}

/// Keeps messages; `false` if they are too large. Then the results are left out, because it matters most that the calls have run.
pub(super) async fn put(
    store: &dyn Common,
    key: Key,
    messages: &[Message],
    tainted: Option<&str>,
    until: Option<SystemTime>,
    seconds: u64,
) -> bool {
    // An entry that says that calls run is kept at least as long as they may run.
    let rest = until.and_then(|until| until.duration_since(SystemTime::now()).ok());
    let ttl = Duration::from_secs(seconds).max(rest.unwrap_or_default());
    let until = until.and_then(|until| u64::try_from(until.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok());
    let written =
        |messages: &[Message]| Bytes::from(json!({"messages": messages, "tainted": tainted, "until": until}).to_string());
    if store.put(key.clone(), written(messages), ttl).await {
        return true;
    }
    let mut messages = messages.to_vec();
    for message in messages.iter_mut().filter(|message| message.role == "tool") {
        message.content = Content::Text("(The call has run. Its result was too large to be kept.)".into());
    }
    store.put(key, written(&messages), ttl).await
}

/// What is kept under a key, once none of its calls runs any more. Another instance may be running them, so this function reads
/// the store repeatedly, at growing intervals.
async fn ended(store: &dyn Common, key: &Key) -> Option<Kept> {
    let mut bytes = store.get(key).await?;
    let mut kept = Kept::read(&bytes)?;
    let mut pause = FIRST_LOOK;
    if kept.runs() {
        tracing::info!("the request is repeated while its calls run: it waits for them");
    }
    while kept.runs() {
        sleep(pause).await;
        pause = (pause * 2).min(LATER_LOOKS);
        // Its turn was answered in the meantime, so nothing more is known of the calls.
        let Some(now) = store.get(key).await else { break };
        if now != bytes {
            kept = Kept::read(&now)?;
            bytes = now;
        }
    }
    Some(kept)
}

impl Kept {
    fn read(kept: &[u8]) -> Option<Kept> {
        let kept: Value = serde_json::from_slice(kept).ok()?;
        let tainted = kept.get("tainted").and_then(Value::as_str).map(str::to_owned);
        let until = kept.get("until").and_then(Value::as_u64).map(|until| UNIX_EPOCH + Duration::from_millis(until));
        let chat = ChatRequest::from_value(json!({"model": "kept", "messages": kept.get("messages")?})).ok()?;
        Some(Kept { messages: chat.messages, tainted, until })
    }

    /// Whether calls may still run.
    fn runs(&self) -> bool {
        self.until.is_some_and(|until| until > SystemTime::now())
    }
}

/// Whether the client sends back the ids of calls. Clients of Ollama need not know them, and `functions` has none. A call without
/// an id gets a new one with every request.
fn has_ids(plan: &Plan) -> bool {
    plan.reply.shape == shape::Kind::Native && !matches!(plan.reply.head.kind, front::Kind::Ollama | front::Kind::Functions)
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
fn only_answered(messages: &mut [Message], by_client: &[String]) {
    let ours: Vec<String> = messages.iter().filter_map(|message| message.tool_call_id.clone()).collect();
    for message in messages {
        message.tool_calls.retain(|call| ours.contains(&call.id) || by_client.contains(&call.id));
    }
}

/// The key of a request that may be repeated: a hash of the whole conversation.
pub(super) fn repeated(plan: &Plan, conversation: &[Message]) -> Key {
    let mut hash = Sha256::new_with_prefix(&plan.chat.model);
    for message in conversation {
        hash.update(json!(message).to_string());
    }
    plan.key(Kind::TurnResults, format!("repeated {:x}", hash.finalize()))
}

/// The key of a call. It includes the user's last words, because ids that a model makes are not unique. Text that a client adds
/// by itself is not part of them, because the client need not send it again.
fn key(plan: &Plan, name: &str, before: &[Message]) -> Key {
    let said = before.iter().rfind(|message| is_spoken(message)).map(|message| message.content.to_text());
    let hash = Sha256::digest(format!("{name}\n{}", own_words(&said.unwrap_or_default())));
    plan.key(Kind::TurnResults, format!("{hash:x}"))
}
