//! The client's side. A request in any client's form becomes the internal form: an
//! [`openai::ChatRequest`](crate::openai::ChatRequest) without a tool prompt, and a table [`Tools`]. The events of an answer
//! become the client's calls ([`shape`]) and the client's bytes ([`front`]). Synchronous and pure.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    error::Error,
    event::{Effect, Note, Tools},
    openai::{ChatRequest, Content, Message, REASONING_FIELDS, VOID_EMPTY, VOID_FIELD},
};

pub(crate) mod compact;
pub mod front;
mod input;
pub mod profile;
pub mod shape;
pub mod workspace;

#[cfg(test)]
mod tests;

use profile::Profile;
use workspace::Workspace;

/// What is known about the client apart from the request body.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hints {
    /// The `User-Agent` header, `""` if there was none.
    pub user_agent: String,
    /// The name of the profile that the configuration or a path prefix (`/void/v1`) forces.
    pub profile: Option<String>,
}

/// A request in the internal form.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// The request. A tool prompt is removed from the system text, and a history in the client's own form is translated to calls
    /// and results. `tools` and `tool_choice` are unchanged, for fields that the table below does not have.
    pub request: ChatRequest,
    /// The tools that the client offers, and its `tool_choice`.
    pub tools: Tools,
    /// The user's workspace, if the client reports it and has tools that take paths.
    pub workspace: Option<Arc<Workspace>>,
    /// The client's messages, unchanged, if it has a tool prompt of its own; `request` has the translated ones.
    pub verbatim: Option<Vec<Message>>,
    /// How this client reads calls.
    pub shape: shape::Kind,
    /// Whether the client takes only one call per answer: further ones are dropped and counted.
    pub one_call: bool,
    /// The client's profile.
    pub profile: &'static Profile,
    /// Warnings about the request.
    pub warnings: Vec<Note>,
    /// Fields of the request that the answer repeats.
    pub echo: Map<String, Value>,
}

/// Reads a request: recognises the client's form, and translates it to the internal one.
///
/// # Errors
/// 400 if the tools cannot be understood at all, or are in the older form `functions`.
pub fn read(request: impl Into<front::Request>, hints: &Hints) -> Result<Incoming, Error> {
    let front::Request { chat: mut request, special, echo, mut warnings } = request.into();
    if request.rest.get("functions").is_some_and(|functions| !functions.is_null()) {
        return Err(Error::client("`functions` is an older form of `tools`, and is not read: send `tools`"));
    }
    let shape::native::Offered { mut tools, are_voids, warnings: doubts } = shape::native::read_tools(&request.tools)?;
    warnings.extend(doubts);
    special.into_iter().for_each(|special| special.complete(&mut tools));
    let prompt = tools.is_empty().then(|| shape::void::read(&mut request)).flatten();
    let (kind, verbatim) = match prompt {
        Some((found, messages)) => {
            tools = found;
            (shape::Kind::Void, Some(messages))
        }
        None => (shape::Kind::Native, None),
    };
    let takes_paths = tools.iter().any(|tool| !tool.paths.is_empty());
    let workspace = if takes_paths { workspace::prompt::read(&request.messages).map(Arc::new) } else { None };
    shape::native::read_choice(&request, &mut tools, &mut warnings)?;
    let marks = request.messages.iter_mut().map(without_void_marks).filter(|marked| *marked).count();
    request.messages.iter_mut().for_each(without_progress);
    request.messages.iter_mut().for_each(with_result);
    let profile = profile::detect(hints, kind == shape::Kind::Void || are_voids || marks > 0);
    for tool in tools.iter_mut().filter(|tool| profile.reads.contains(&tool.name.as_str())) {
        tool.effect = Effect::Reads;
    }
    let one_call = profile.one_call || kind != shape::Kind::Native || shape::native::one_call_asked(&request);
    Ok(Incoming { request, tools, workspace, verbatim, shape: kind, one_call, profile, warnings, echo })
}

/// Removes toolglot's own lines from reasoning that a client sends back.
fn without_progress(message: &mut Message) {
    for field in REASONING_FIELDS {
        let Some(left) = message.rest.get(field).and_then(|text| front::without_progress(text.as_str()?)) else { continue };
        if left.trim().is_empty() {
            message.rest.shift_remove(field)
        } else {
            message.rest.insert(field.to_owned(), left.into())
        };
    }
}

/// A result without content is an empty text: strict backends refuse `null` there.
fn with_result(message: &mut Message) {
    if message.role == "tool" && message.content == Content::None {
        message.content = Content::Text(String::new());
    }
}

/// Removes Void's marks from native histories: its own field, and in messages with it the placeholder for an empty text. Returns
/// whether there were any, which tells that the client is Void.
fn without_void_marks(message: &mut Message) -> bool {
    let marked = message.rest.shift_remove(VOID_FIELD).is_some();
    if marked && matches!(&message.content, Content::Text(text) if text == VOID_EMPTY) {
        message.content = if message.tool_calls.is_empty() { Content::Text(String::new()) } else { Content::None };
    }
    marked
}
