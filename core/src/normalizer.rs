//! The front door: one answer of a model in, events out.

use std::sync::Arc;

use crate::{
    adapter::{Adapter, Scanner, scanner::Options},
    event::{Channel, Event, FinishReason, Sink, Tools},
    fix::{Fixer, Schemas},
};

/// Reads one streamed answer: finds its calls in whatever form the model wrote them, and repairs them against the schemas of the
/// offered tools. A call leaves as a whole, with arguments that are one JSON object, or as [`Event::Refused`] with the reason.
///
/// ```
/// use std::sync::Arc;
/// use toolglot_core::{
///     Normalizer,
///     adapter::Library,
///     event::{Event, FinishReason, Tool, ToolChoice, Tools},
/// };
///
/// let library = Library::embedded()?;
/// let adapter = library.find("hermes-3-llama-3.1-8b", None).adapter;
/// let schema = r#"{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}"#;
/// let tools = Tools::new([Tool::new("get_weather", "Tells the weather.", schema)], ToolChoice::Auto);
///
/// let mut calls = Vec::new();
/// let mut out = |event: Event<'_>| {
///     if let Event::Call(call) = event {
///         calls.push((call.name.to_owned(), call.arguments.to_owned()));
///     }
/// };
/// let mut normalizer = Normalizer::new(adapter, Arc::new(tools));
/// // The pieces come as they come; the last brace is missing.
/// for piece in ["I look.\n<tool_", "call>\n{\"name\": \"get_weather\", \"argu", "ments\": {\"city\": 'Oslo'}\n</tool_call>"] {
///     normalizer.push(piece, &mut out);
/// }
/// normalizer.finish(FinishReason::Stop, &mut out);
/// assert_eq!(calls, [("get_weather".to_owned(), r#"{"city":"Oslo"}"#.to_owned())]);
/// # Ok::<(), toolglot_core::error::Error>(())
/// ```
pub struct Normalizer {
    scanner: Scanner,
    fixer: Fixer,
}

impl Normalizer {
    /// A normalizer for one answer of a model whose form the adapter knows.
    pub fn new(adapter: Arc<Adapter>, tools: Arc<Tools>) -> Normalizer {
        Normalizer::with(adapter, tools, Arc::default(), Options::default())
    }

    /// The same with schemas that are shared between answers, and options for the answer.
    pub fn with(adapter: Arc<Adapter>, tools: Arc<Tools>, schemas: Arc<Schemas>, options: Options) -> Normalizer {
        let fixer = Fixer::new(Arc::clone(&tools), Arc::clone(&schemas));
        Normalizer { scanner: Scanner::new(adapter, tools, schemas, options), fixer }
    }

    /// Reads the next piece of the answer.
    pub fn push(&mut self, delta: &str, out: &mut dyn Sink) {
        let Normalizer { scanner, fixer } = self;
        scanner.push(Channel::Content, delta, &mut |event: Event<'_>| fixer.event(event, out));
    }

    /// Ends the answer.
    pub fn finish(&mut self, reason: FinishReason, out: &mut dyn Sink) {
        let Normalizer { scanner, fixer } = self;
        scanner.finish(reason, &mut |event: Event<'_>| fixer.event(event, out));
        fixer.event(Event::Finish { reason, usage: None }, out);
    }
}
