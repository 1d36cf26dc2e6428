//! A chat on its way to a backend. It is the client's own: only what changes on the way is copied.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::openai::{ChatRequest, Message};

/// A [`ChatRequest`] that borrows what is sent unchanged. The JSON of both is the same.
#[derive(Debug, Serialize)]
pub(super) struct Chat<'a> {
    pub(super) model: &'a str,
    pub(super) messages: Vec<Cow<'a, Message>>,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Cow<'a, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<Value>,
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

impl<'a> Chat<'a> {
    /// The chat as `change` leaves it, which may change everything.
    pub(super) fn changed<E>(self, change: impl FnOnce(&ChatRequest) -> Result<ChatRequest, E>) -> Result<Chat<'a>, E> {
        let owned = ChatRequest {
            model: self.model.to_owned(),
            messages: self.messages.into_iter().map(Cow::into_owned).collect(),
            stream: self.stream,
            tools: self.tools.into_iter().map(Cow::into_owned).collect(),
            tool_choice: self.tool_choice,
            rest: self.rest,
        };
        let ChatRequest { messages, stream, tools, tool_choice, rest, .. } = change(&owned)?;
        Ok(Chat {
            model: self.model,
            messages: messages.into_iter().map(Cow::Owned).collect(),
            stream,
            tools: tools.iter().cloned().map(Cow::Owned).collect(),
            tool_choice,
            rest,
        })
    }

    /// Changes any of the messages, and their number.
    pub(super) fn rearrange(&mut self, rearrange: impl FnOnce(&mut Vec<Message>)) {
        let mut messages = self.messages.drain(..).map(Cow::into_owned).collect();
        rearrange(&mut messages);
        self.messages.extend(messages.into_iter().map(Cow::Owned));
    }
}
