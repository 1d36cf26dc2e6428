//! The interface for observers of a turn: the log and the metrics, recordings, the page. A tap changes nothing.

use http::HeaderMap;

use super::prefix::Prefix;
use crate::{
    backend::Dialect,
    error::Error,
    event::{Event, Tools, Usage},
    fix::Checked,
    openai::ChatRequest,
};

/// The observers of a turn.
pub type Taps = Vec<Box<dyn Tap>>;

/// Observes one turn. By default, most methods do nothing.
pub trait Tap: Send {
    /// A backend has answered with these headers, whatever the status.
    fn answered(&mut self, _: &HeaderMap) {}
    /// An upstream round begins with this conversation and these tools.
    fn round(&mut self, chat: &ChatRequest, tools: &Tools, dialect: Dialect);
    /// The first request of the turn, compared with the last one of its conversation.
    fn prefix(&mut self, _: Prefix) {}
    /// Bytes of the backend, as they were read.
    fn upstream(&mut self, _: &[u8]) {}
    /// An event on its way to the client's shape, including notes that a call is being written.
    fn event(&mut self, _: &Event<'_>) {}
    /// Token counts of an answer, if the backend reports them.
    fn usage(&mut self, _: Usage) {}
    /// This many calls among the events were not delivered after all, because the client takes fewer per answer.
    fn dropped(&mut self, _calls: u32) {}
    /// A checked call with the fixer's report.
    fn checked(&mut self, _: &Checked) {}
    /// The next steps of the turn may take long, so it may be moved to another thread now.
    fn heavy(&mut self) {}
    /// Bytes for the client. Responses that do not come from the turn are not seen here.
    fn client(&mut self, _: &[u8]) {}
    /// The turn failed, possibly after bytes were sent.
    fn failed(&mut self, _: &Error) {}
    /// The turn ended without an error.
    fn end(&mut self) {}
}
