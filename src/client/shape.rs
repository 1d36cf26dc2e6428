//! How a client reads calls. A shape turns events into events that this client understands, and reads the tools and the
//! history that it wrote in its own form.

use std::sync::Arc;

use crate::{
    event::{Event, Sink, Tools, Why},
    openai::ChatRequest,
};

pub(super) mod native;
mod void_xml;

/// The known shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    /// OpenAI's `tool_calls`.
    #[default]
    Native,
    /// Void's calls in the text.
    VoidXml,
}

/// What a shape had to change or to leave out; for traces and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Calls that were not delivered because the client takes one per answer.
    pub dropped: u32,
    /// Calls that the client's form cannot carry.
    pub refused: u32,
    /// Mentions of a tool's tag in text that the client would have executed.
    pub defused: u32,
    /// Pieces of text after a call that the client would have read as part of it.
    pub withheld: u32,
}

/// The stage between the rules of an answer and the front.
#[derive(Debug)]
pub struct Shape {
    kind: Kind,
    tools: Arc<Tools>,
    writer: Writer,
}

#[derive(Debug)]
enum Writer {
    Native(native::Writer),
    VoidXml(Box<void_xml::Writer>),
}

// === impl Shape ===

impl Shape {
    /// The stage for one answer to a client that offered these tools.
    pub fn new(kind: Kind, tools: Arc<Tools>, one_call: bool) -> Shape {
        let writer = match kind {
            Kind::Native => Writer::Native(native::Writer::new(one_call)),
            Kind::VoidXml => Writer::VoidXml(Box::new(void_xml::Writer::new(Arc::clone(&tools)))),
        };
        Shape { kind, tools, writer }
    }

    /// Takes an event, gives what the client shall see.
    pub fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        match &mut self.writer {
            Writer::Native(writer) => writer.event(event, out),
            Writer::VoidXml(writer) => writer.event(event, out),
        }
    }

    /// Whether this client's form can carry the call; `Err` says why not. For the stage that may ask the model again:
    /// [`Shape::event`] refuses such a call with a notice.
    pub fn carries(&self, name: &str, arguments: &str) -> Result<(), Why> {
        match self.kind {
            Kind::Native => Ok(()),
            Kind::VoidXml => void_xml::expressible(&self.tools, name, arguments),
        }
    }

    /// What was changed or left out so far.
    pub fn counts(&self) -> Counts {
        match &self.writer {
            Writer::Native(writer) => writer.counts(),
            Writer::VoidXml(writer) => writer.counts(),
        }
    }
}

/// Reads tools and history of a request that is in one of the forms other than OpenAI's own.
pub(super) fn read_prompt(request: &mut ChatRequest) -> Option<(Kind, Tools)> {
    void_xml::read(request).map(|tools| (Kind::VoidXml, tools))
}

/// Completes the untyped tools of a client that is known; says whether it was recognised by them.
pub(super) fn complete_native(tools: &mut Tools) -> bool {
    void_xml::complete_native(tools)
}
