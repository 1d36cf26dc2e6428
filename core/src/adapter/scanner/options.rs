//! What the caller knows about an answer before it begins.

use std::sync::Arc;

use super::verdict::MayAsk;
use crate::event::ARGUMENT_BYTES;

/// Options of a scanner.
#[derive(Debug, Clone)]
pub struct Options {
    /// Maximum bytes held for a candidate without a known name. Beyond them it becomes text.
    pub held_bytes: usize,
    /// Maximum bytes of a call's arguments. A longer call is refused, and the rest of the answer is discarded.
    pub argument_bytes: usize,
    /// Whether to separate reasoning and control tokens from the text, and to discard turns of others.
    pub framing: bool,
    /// Whether the answer begins inside reasoning, because the prompt opened it.
    pub reasoning_open: bool,
    /// The form in which the client wants the answer itself.
    pub answer: Wanted,
    /// Whether the client's prompt asks for elements named after tools, which the client executes anywhere. If so, a line that
    /// begins with such a tag is a call, also in a code fence, and its body is read leniently.
    pub elements: bool,
    /// Whether the model can be asked what it meant.
    pub may_ask: MayAsk,
}

/// The form in which a client wants an answer without calls. JSON in this form is the answer, whatever tool it names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Wanted {
    /// Any text.
    #[default]
    Text,
    /// JSON without a schema. A complete call of an offered tool is still a call.
    Json,
    /// JSON that satisfies this schema (JSON text).
    Schema(Arc<str>),
}

impl Default for Options {
    fn default() -> Options {
        Options {
            held_bytes: 16 * 1024,
            argument_bytes: ARGUMENT_BYTES,
            framing: true,
            reasoning_open: false,
            answer: Wanted::Text,
            elements: false,
            may_ask: MayAsk::Never,
        }
    }
}
