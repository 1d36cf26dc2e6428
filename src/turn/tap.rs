//! What a turn shows to whoever watches it: the log and the metrics, recordings, the page. A tap changes nothing.

use std::time::Duration;

use http::HeaderMap;

use super::prefix::Prefix;
use crate::{
    backend::Dialect,
    error::Error,
    event::{Event, Tools, Usage},
    fix::Checked,
    openai::{ChatRequest, ToolCall},
};

/// Watches one turn.
pub trait Tap: Send {
    /// A backend has answered with these headers, whatever the status.
    fn answered(&mut self, _: &HeaderMap) {}
    /// An upstream round begins with this conversation and these tools.
    fn round(&mut self, chat: &ChatRequest, tools: &Tools, dialect: Dialect);
    /// The first request of the turn, beside the last one of its conversation.
    fn prefix(&mut self, _: Prefix) {}
    /// Bytes of the backend, as they were read.
    fn upstream(&mut self, bytes: &[u8]);
    /// An event on its way to the client's shape; also a note that a call is being written.
    fn event(&mut self, event: &Event<'_>);
    /// What an answer of the model has cost, where the backend says so.
    fn usage(&mut self, _: Usage) {}
    /// A call, and what was changed in it.
    fn checked(&mut self, checked: &Checked);
    /// A tool of this server has run for a call.
    fn ran(&mut self, _call: &ToolCall, _server: &str, _failed: bool, _took: Duration) {}
    /// So much is to be decided about that the next steps of the turn may take long: the thread that runs it may be changed now.
    fn heavy(&mut self) {}
    /// Bytes for the client, as they are sent.
    fn client(&mut self, bytes: &[u8]);
    /// The turn failed; what the client got before stays.
    fn failed(&mut self, _: &Error) {}
    /// The turn came to its end.
    fn end(&mut self);
}
