//! The one vocabulary between the model's side and the client's side: what a decoder yields ([`Delta`]), what the stages
//! hand to each other ([`Event`]), and the table of tools of a request ([`Tools`]). No serde, no IO: both sides know
//! this file and nothing of each other.

mod tools;
mod workspace;

pub use tools::{Effect, Input, Origin, Parsed, Tool, ToolChoice, Tools};
pub use workspace::Workspace;

/// Where a backend put a piece of text: its content field, or its own reasoning field (calls hide there too).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// The answer proper.
    Content,
    /// The field that the backend itself separated as reasoning (`thinking`, `reasoning`, `reasoning_content`).
    Reasoning,
}

/// What a backend's decoder yields. A native call leaves the decoder whole: nothing of a call may reach the client
/// before its verdict, so fragments are of no use to anybody downstream.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta<'a> {
    /// A piece of text of the answer or of the backend's reasoning field.
    Text(Channel, &'a str),
    /// A native call. `arguments` is the text that the backend sent (an object is sent as its JSON text; nothing at all as `""`).
    Call {
        /// The id that the backend gave, if it gave one.
        id: Option<&'a str>,
        /// The name as the backend wrote it (its wire name).
        name: &'a str,
        /// The arguments as text: usually, not surely, one JSON object.
        arguments: &'a str,
        /// Opaque data that the backend wants back with this call in the next turn (Google's thought signature).
        extra: Option<&'a str>,
    },
    /// Token counts; the last one wins.
    Usage(Usage),
    /// The stop sequence of the request that ended the answer, from backends that tell.
    StopSequence(&'a str),
    /// Why the backend stopped. Text may not follow; usage may.
    Finish(FinishReason),
}

/// What the stages hand to each other, in this order: text and reasoning in any mixture, calls one after the other
/// (head, arguments, end; never interleaved), one `Finish` at the end.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// Text of the answer.
    Text(&'a str),
    /// Text of the model's reasoning.
    Reasoning(&'a str),
    /// A call begins. `id` is set only where the model's own id must be kept (Kimi, Mistral, a backend's native id).
    CallStart {
        /// Position of the call in the answer, from 0 without holes.
        index: u32,
        /// The id to keep, if any; otherwise the front makes one.
        id: Option<&'a str>,
        /// The tool's name as the client offered it, or as the model wrote it where it does not resolve.
        name: &'a str,
    },
    /// A piece of the arguments; after the fixer the concatenation is one valid JSON object, before it it is source text.
    CallArguments {
        /// The call that it belongs to.
        index: u32,
        /// JSON text.
        json: &'a str,
    },
    /// The call is complete.
    CallEnd {
        /// The call that ends.
        index: u32,
        /// Opaque data for the backend's next turn.
        extra: Option<&'a str>,
    },
    /// Something that was meant as a call and must not be delivered as one.
    Refused {
        /// The name as far as it is known, `""` if not.
        name: &'a str,
        /// Why it was refused.
        why: &'a Why,
        /// What the model wrote: the argument text (for [`Why::Schema`] and [`Why::Unsure`] one complete JSON object).
        raw: &'a str,
    },
    /// Progress and warnings, for fronts that can show them.
    Note(&'a Note),
    /// The end, exactly once.
    Finish {
        /// Why the answer ended, as the client sees it.
        reason: FinishReason,
        /// Token counts, if the backend gave them.
        usage: Option<Usage>,
    },
}

/// A stage that takes events. Push, not pull: stages nest without allocation or self-reference.
pub trait Sink {
    /// Takes the next event.
    fn event(&mut self, event: Event<'_>);
    /// The text before this place and the text after it must not reach the client in one piece.
    fn divide(&mut self) {}
}

impl<F: FnMut(Event<'_>)> Sink for F {
    fn event(&mut self, event: Event<'_>) {
        self(event)
    }
}

/// Why something that was meant as a call is not delivered as one. Its text is what model and user are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The model did not close the arguments before the answer ended, or before the marker that closes the call. The reason
    /// is why the answer ended.
    Truncated(FinishReason),
    /// No JSON object can be read from it; the text says what was wrong and where.
    Malformed(String),
    /// Two readings of equal cost, or two different objects.
    Ambiguous(String),
    /// Arguments that are JSON, but not an object.
    NotAnObject,
    /// A key contains protocol markup: the body of the call was torn.
    Markup(String),
    /// A complete object that does not satisfy the tool's schema; the text is the validator's message with its path.
    Schema(String),
    /// Arguments that fit and are a guess that must not be wrong: the model is asked again once, and what it says then is
    /// delivered. The text says what was guessed.
    Unsure(String),
    /// The name is not one of the offered tools, in a shape that cannot carry it.
    UnknownTool(String),
    /// A value that the client's form cannot express safely.
    Inexpressible(String),
    /// The arguments are larger than the configured limit, in bytes.
    TooLarge(usize),
    /// A call without a marker lacks required parameters; the text names them.
    Missing(String),
    /// Arguments that only show the form of a call: `...`, `<path>`.
    Placeholders,
    /// Text follows an unmarked call before this one, so that one is not run; nor is this one: steps of a plan run together.
    Scattered,
    /// The conversation holds the result of the same call, and nothing can have changed since.
    Repeated,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Why::Truncated(FinishReason::Length) => f.write_str("its arguments were cut off (output limit reached)"),
            Why::Truncated(FinishReason::ContentFilter) => {
                f.write_str("its arguments were cut off (the backend's filter stopped the answer)")
            }
            Why::Truncated(FinishReason::Stop | FinishReason::ToolCalls) => f.write_str("its arguments are not complete"),
            Why::Malformed(what) => write!(f, "its arguments are not valid JSON: {what}"),
            Why::Ambiguous(what) => write!(f, "its arguments can be read in more than one way: {what}"),
            Why::NotAnObject => f.write_str("its arguments are not a JSON object"),
            Why::Markup(what) => write!(f, "its arguments are torn: {what}"),
            Why::Schema(what) => write!(f, "its arguments do not fit the tool's schema: {what}"),
            Why::Unsure(what) => write!(f, "its arguments can be read in two ways: {what}"),
            Why::UnknownTool(what) => write!(f, "no such tool is offered{what}"),
            Why::Inexpressible(what) => write!(f, "the client's form cannot carry it: {what}"),
            Why::TooLarge(limit) => write!(f, "its arguments are larger than {limit} bytes"),
            Why::Missing(keys) => write!(f, "required parameters are missing: {keys}"),
            Why::Placeholders => f.write_str("its arguments are placeholders, not values"),
            Why::Scattered => f.write_str("there is text between it and another call; all calls must come one after another"),
            Why::Repeated => f.write_str("its result is in the conversation already"),
        }
    }
}

/// Progress and warnings beside the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A call is being written; shown after two seconds to clients that show reasoning.
    Writing {
        /// The tool's name.
        name: String,
        /// Bytes of arguments so far.
        bytes: usize,
    },
    /// What is being done meanwhile (a tool runs).
    Progress {
        /// In one line.
        text: String,
        /// In the reasoning, which users read; otherwise where clients show nothing.
        shown: bool,
    },
    /// What was done in a turn, as a JSON object; comes before the end.
    Trace(String),
    /// The stop sequence of the request that ended the answer; comes before the end.
    StopSequence(String),
    /// Something that the user should know (a dropped request field, a cut prompt); `code` is short and stable.
    Warning {
        /// Stable name of the warning, for machines.
        code: &'static str,
        /// The sentence for people.
        text: String,
    },
}

/// Why an answer ended, in OpenAI's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FinishReason {
    /// The model ended by itself.
    Stop,
    /// The output limit was reached.
    Length,
    /// At least one call was delivered.
    ToolCalls,
    /// The backend's filter stopped it.
    ContentFilter,
}

impl FinishReason {
    /// All of them.
    pub const ALL: [FinishReason; 4] =
        [FinishReason::Stop, FinishReason::Length, FinishReason::ToolCalls, FinishReason::ContentFilter];

    /// The reason of this name in OpenAI's spelling.
    pub fn named(name: &str) -> Option<FinishReason> {
        FinishReason::ALL.into_iter().find(|reason| reason.as_str() == name)
    }

    /// OpenAI's spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            FinishReason::Stop => "stop",
            FinishReason::Length => "length",
            FinishReason::ToolCalls => "tool_calls",
            FinishReason::ContentFilter => "content_filter",
        }
    }
}

/// Token counts of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    pub completion_tokens: u64,
}

/// One call, complete: what the stages say in three events, where somebody needs it in one piece ([`Assembly`]).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// The id, if one must be kept.
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// JSON text of the arguments.
    pub arguments: String,
    /// Opaque data for the backend's next turn.
    pub extra: Option<String>,
}

/// Puts calls together from their three events.
#[derive(Debug, Clone, Default)]
pub struct Assembly {
    open: Option<ToolCall>,
}

// === impl Assembly ===

impl Assembly {
    /// Takes an event. The last one of a call gives the whole call with its index; events that are no part of a call change
    /// nothing.
    pub fn event(&mut self, event: &Event<'_>) -> Option<(u32, ToolCall)> {
        match event {
            Event::CallStart { id, name, .. } => {
                self.open = Some(ToolCall { id: id.map(str::to_owned), name: (*name).to_owned(), ..ToolCall::default() });
                None
            }
            Event::CallArguments { json, .. } => {
                self.open.as_mut()?.arguments.push_str(json);
                None
            }
            Event::CallEnd { index, extra } => Some((*index, ToolCall { extra: extra.map(str::to_owned), ..self.open.take()? })),
            _ => None,
        }
    }
}
