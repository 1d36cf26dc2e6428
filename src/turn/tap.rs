//! What a turn shows to whoever watches it: recording now, metrics and the inspector later. A tap changes nothing.

use crate::{
    backend::Dialect,
    event::{Event, Tools},
    fix::Checked,
    openai::ChatRequest,
};

/// Watches one turn.
pub trait Tap: Send {
    /// An upstream round begins with this conversation and these tools.
    fn round(&mut self, chat: &ChatRequest, tools: &Tools, dialect: Dialect);
    /// Bytes of the backend, as they were read.
    fn upstream(&mut self, bytes: &[u8]);
    /// An event on its way to the client's shape.
    fn event(&mut self, event: &Event<'_>);
    /// A call, and what was changed in it.
    fn checked(&mut self, checked: &Checked);
    /// Bytes for the client, as they are sent.
    fn client(&mut self, bytes: &[u8]);
    /// The turn came to its end.
    fn end(&mut self);
}
