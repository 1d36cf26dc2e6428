//! What the conversation of a turn gets: the answer of the model.

use serde_json::{Map, Value};

use super::Pending;
use crate::{
    backend::Kind,
    openai::{Content, Message},
};

/// The model's answer as it is in the conversation.
pub(super) fn turn_of(said: &str, thought: &str, calls: &[Pending], backend: Kind) -> Message {
    let mut rest = Map::new();
    // Models that think between calls go on thinking where they were; other backends refuse the field.
    if backend == Kind::Ollama && !thought.trim().is_empty() {
        rest.insert("reasoning_content".into(), thought.into());
    }
    Message {
        role: "assistant".into(),
        content: if said.is_empty() { Content::None } else { Content::Text(said.to_owned()) },
        tool_calls: calls.iter().map(|call| call.call.clone()).collect(),
        rest,
        ..Message::default()
    }
}

/// Whether this is the text of a JSON object.
pub(super) fn is_object(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object())
}
