//! Reads answers that the SDK's types do not know. One item of content of a new type, or with a missing field, makes the SDK
//! refuse the whole result, although the tool has run; one wrong tool makes it refuse the whole list. Here what can be read stays,
//! and the rest is named. A server whose questions wait for their answers is not read on: the SDK holds each of them in memory.

use std::{borrow::Cow, future::Future, sync::Arc};

use rmcp::{
    RoleClient,
    model::{
        CallToolResult, ContentBlock, CustomResult, JsonRpcMessage, ListToolsResult, ServerJsonRpcMessage, ServerResult, Tool,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use crate::redact;

/// A transport whose answers are read leniently.
pub(super) struct Lenient<T> {
    inner: T,
    /// One for each question of the server that may still be asked.
    questions: Arc<Semaphore>,
}

/// How many questions of a server may wait for their answers.
const QUESTIONS: usize = 64;

impl<T> Lenient<T> {
    pub(super) fn new(inner: T) -> Lenient<T> {
        Lenient { inner, questions: Arc::new(Semaphore::new(QUESTIONS)) }
    }
}

/// The key in a list's `_meta` that says which of its tools were left out.
pub(super) const LEFT_OUT: &str = "toolglot/leftOut";
/// How much of a type or an address is shown, in characters.
const NAME_CHARS: usize = 200;

impl<T: Transport<RoleClient>> Transport<RoleClient> for Lenient<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answers = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let questions = Arc::clone(&self.questions);
        let sent = self.inner.send(message);
        async move {
            let sent = sent.await;
            questions.add_permits(usize::from(answers));
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let question = self.questions.acquire().await.ok()?;
        let mut message = self.inner.receive().await?;
        if matches!(message, ServerJsonRpcMessage::Request(_)) {
            question.forget();
        }
        if let ServerJsonRpcMessage::Response(response) = &mut message
            && let ServerResult::CustomResult(CustomResult(value)) = &response.result
        {
            if let Some(result) = result(value) {
                response.result = ServerResult::CallToolResult(result);
            } else if let Some(list) = tools(value) {
                response.result = ServerResult::ListToolsResult(list);
            }
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// The result of a tool, if it has the form of one: each item that can be read, and the names of the others.
fn result(value: &Value) -> Option<CallToolResult> {
    let content: Vec<ContentBlock> = match value.get("content")? {
        Value::Array(items) => items.iter().map(item).collect(),
        Value::String(text) => vec![ContentBlock::text(text)],
        _ => return None,
    };
    let mut result = match value.get("isError") {
        Some(Value::Bool(true)) => CallToolResult::error(content),
        _ => CallToolResult::success(content),
    };
    result.structured_content = value.get("structuredContent").cloned();
    Some(result)
}

/// A list of tools, if it has the form of one: those that can be read, and what is wrong with the others.
fn tools(value: &Value) -> Option<ListToolsResult> {
    let (mut tools, mut left_out) = (Vec::new(), Vec::new());
    for (at, entry) in value.get("tools")?.as_array()?.iter().enumerate() {
        match serde_json::from_value::<Tool>(entry.clone()) {
            Ok(tool) => tools.push(tool),
            Err(error) => {
                let name =
                    entry.get("name").and_then(Value::as_str).map(|name| format!(", `{}`", redact::shown(name, NAME_CHARS)));
                left_out.push(format!("tool {} of its list{}: {error}", at + 1, name.unwrap_or_default()));
            }
        }
    }
    let mut rest = value.clone();
    rest["tools"] = json!([]);
    rest["_meta"] = json!({LEFT_OUT: left_out});
    let list: ListToolsResult = serde_json::from_value(rest).ok()?;
    Some(ListToolsResult { tools, ..list })
}

/// An item of content. What only describes it may be wrong without harm.
fn item(value: &Value) -> ContentBlock {
    let read = |value: Value| serde_json::from_value::<ContentBlock>(value).ok();
    let bare = || {
        let described = |key: &String| matches!(key.as_str(), "annotations" | "_meta");
        let members = value.as_object()?.iter().filter(|(key, _)| !described(key));
        read(members.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>().into())
    };
    read(value.clone()).or_else(bare).unwrap_or_else(|| {
        let named = name(value);
        // Not what it says of itself: that may hold what a policy hides.
        tracing::warn!("an item of a tool's result cannot be read");
        ContentBlock::text(named)
    })
}

/// What the model reads in place of an item that cannot be read.
fn name(item: &Value) -> String {
    let shown = |value: &Value| Some(redact::shown(value.as_str()?, NAME_CHARS));
    let kind = item.get("type").and_then(shown).map_or_else(|| "unknown type".to_owned(), |kind| format!("type {kind}"));
    let place = item.get("uri").or_else(|| item.get("resource")?.get("uri")).and_then(shown);
    let place = place.map(|place| format!(", {place}")).unwrap_or_default();
    format!("[an item of {kind}{place}, which cannot be read here]")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_can_be_read_stays_and_the_rest_is_named() {
        let table = [
            (json!({"type": "chart", "spec": [1]}), "[an item of type chart, which cannot be read here]"),
            (json!({"type": "image", "data": "AA=="}), "[an item of type image, which cannot be read here]"),
            (
                json!({"type": "resource_link", "uri": "file:///a"}),
                "[an item of type resource_link, file:///a, which cannot be read here]",
            ),
            (json!({"type": "text", "text": "x", "annotations": {"priority": "high"}}), "x"),
            (json!("bare"), "[an item of unknown type, which cannot be read here]"),
        ];
        for (given, expected) in table {
            let read = result(&json!({"content": [{"type": "text", "text": "paid"}, given], "isError": true})).unwrap();
            let texts: Vec<&str> = read.content.iter().filter_map(|item| item.as_text()).map(|text| text.text.as_str()).collect();
            assert_eq!((texts, read.is_error), (vec!["paid", expected], Some(true)), "{given}");
        }
        let plain = result(&json!({"content": "paid", "structuredContent": {"n": 5}})).unwrap();
        assert_eq!((plain.content, plain.structured_content), (vec![ContentBlock::text("paid")], Some(json!({"n": 5}))));
        assert!(tools(&json!({"tools": 5})).is_none() && tools(&json!({"content": []})).is_none());
        assert!(result(&json!({"content": 5})).is_none() && result(&json!({"text": "paid"})).is_none());
    }
}
