//! How a client reads calls. A shape turns events into events that this client understands, and reads the tools and the
//! history that it wrote in its own form.

use std::sync::Arc;

use crate::event::{Event, Sink, Tools};

pub mod native;

/// The known shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    /// OpenAI's `tool_calls`.
    #[default]
    Native,
}

/// What a shape had to change or to leave out; for traces and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Calls that were not delivered because the client takes one per answer.
    pub dropped: u32,
}

/// The stage between the rules of an answer and the front.
#[derive(Debug)]
pub struct Shape {
    writer: native::Writer,
}

// === impl Shape ===

impl Shape {
    /// The stage for one answer.
    pub fn new(kind: Kind, tools: Arc<Tools>, one_call: bool) -> Shape {
        let _ = tools;
        match kind {
            Kind::Native => Shape { writer: native::Writer::new(one_call) },
        }
    }

    /// Takes an event, gives what the client shall see.
    pub fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        self.writer.event(event, out)
    }

    /// What was changed or left out so far.
    pub fn counts(&self) -> Counts {
        self.writer.counts()
    }
}
