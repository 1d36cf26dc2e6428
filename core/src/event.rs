//! The vocabulary between the model's side and the client's side: what a decoder yields ([`Delta`]), what the stages pass to each
//! other ([`Event`]), and the tools of a request ([`Tools`]). No serde, no IO. Both sides know this module, and neither knows the
//! other.

mod cell;
mod tools;

pub use cell::{Cell, Form, Place, Proof};
pub use tools::{Effect, Input, Memo, Origin, Tool, ToolChoice, Tools};

/// The field in which a backend sent a piece of text: content, or its reasoning field, which may contain calls too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// The answer proper.
    Content,
    /// The field that the backend itself separated as reasoning (`thinking`, `reasoning`, `reasoning_content`).
    Reasoning,
}

/// What a backend's decoder yields. The decoder yields a native call whole, because nothing of a call may reach the client before
/// it was checked.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta<'a> {
    /// A piece of text of the answer or of the backend's reasoning field.
    Text(Channel, &'a str),
    /// A native call, under its wire name. Nothing in it is checked; absent arguments are `""`, and its position says nothing.
    Call(Call<'a>),
    /// Token counts; the last one wins.
    Usage(Usage),
    /// The stop sequence of the request that ended the answer, if the backend reports it.
    StopSequence(&'a str),
    /// Why the backend stopped. Usage may follow, text may not.
    Finish(FinishReason),
}

/// What the stages pass to each other: text, reasoning and whole calls in any order, and exactly one `Finish` at the end.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// Text of the answer.
    Text(&'a str),
    /// Text of the model's reasoning.
    Reasoning(&'a str),
    /// A call, because nothing of it may pass before all of it is there.
    Call(Call<'a>),
    /// Text that was meant as a call and must not be delivered as one.
    Refused {
        /// The tool's name; `""` if unknown.
        name: &'a str,
        /// Why it was refused.
        why: &'a Why,
        /// The arguments as far as they were repaired. For [`Why::Schema`] and [`Why::Unsure`], one complete JSON object.
        raw: &'a str,
        /// The arguments as the model wrote them.
        written: &'a str,
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

/// Longest argument text of a call that is read, in bytes.
pub const ARGUMENT_BYTES: usize = 8 * 1024 * 1024;

/// A call on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<'a> {
    /// Position among the calls. Behind the fixer, counted from 0 without gaps. The scanner also counts the calls that it
    /// refuses, so its positions may have gaps.
    pub index: u32,
    /// The model's or the backend's own id, if it must be kept (Kimi, Mistral, native calls); otherwise the front makes one.
    pub id: Option<&'a str>,
    /// The tool's name as the client offered it, or as the model wrote it if it is unknown.
    pub name: &'a str,
    /// Behind the fixer, one valid JSON object; before it, the model's source text.
    pub arguments: &'a str,
    /// Opaque data that the backend wants back with this call in the next turn (Google's thought signature).
    pub extra: Option<&'a str>,
    /// Why the answer ended before the call did. Behind the fixer, every call is complete.
    pub cut: Option<FinishReason>,
}

impl<'a> Call<'a> {
    /// A complete call without peculiarities.
    pub const fn new(index: u32, name: &'a str, arguments: &'a str) -> Call<'a> {
        Call { index, id: None, name, arguments, extra: None, cut: None }
    }
}

/// A stage that takes events. Events are pushed, so stages nest without allocation or self-reference.
pub trait Sink {
    /// Takes the next event.
    fn event(&mut self, event: Event<'_>);
    /// Separates the text before this point from the text after it: the two must not reach the client in one piece.
    fn divide(&mut self) {}
}

impl<F: FnMut(Event<'_>)> Sink for F {
    fn event(&mut self, event: Event<'_>) {
        self(event)
    }
}

/// Why a call is not delivered. `Display` gives the words for the model and the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The arguments were not closed before the end of the answer, or before the marker that closes the call. Holds why the
    /// answer ended.
    Truncated(FinishReason),
    /// The arguments cannot be read. Holds what was wrong, and where.
    Malformed(String),
    /// The arguments have two equally plausible readings, or are two different objects. Holds where they differ.
    Ambiguous(String),
    /// The arguments are JSON, but not an object.
    NotAnObject,
    /// A key contains markup of a calling protocol, so the call was torn apart.
    Markup(String),
    /// The arguments are a complete object that does not fit the schema. Holds the validator's message with its path.
    Schema(String),
    /// The arguments fit, but hold a value that must not be wrong, or lack one that was dropped. The model is asked; if it may not
    /// be asked any more, the call is delivered. Holds what is doubtful.
    Unsure(String),
    /// The arguments fit only after a guess. The model is asked; if it writes the same again, the call is delivered. Holds what was
    /// guessed.
    Guess(String),
    /// No offered tool has this name.
    UnknownTool(String),
    /// The client's form cannot express a value safely. Holds which.
    Inexpressible(String),
    /// The arguments are larger than the configured limit, in bytes.
    TooLarge(usize),
    /// The arguments are placeholders: `...`, or what the tool's own definition says.
    Placeholders,
    /// The text around the call does not say that the model makes it. Holds what the answer says there: the user reads it if the
    /// model does not answer when it is asked.
    Unannounced(String),
    /// A call without a marker is of a tool that is not offered, so it may be the answer. Holds what the answer says there: the
    /// user reads it if the model writes the same again, or does not answer.
    Unmarked(String),
    /// A text that the model has just read contains the same call.
    Quoted,
    /// The conversation already has the result of the same call, and nothing can have changed since.
    Repeated,
}

impl Why {
    /// What the answer says in the place of the call, if the user reads that when nothing replaces it.
    pub fn text(&self) -> Option<&str> {
        match self {
            Why::Unannounced(text) | Why::Unmarked(text) => Some(text),
            _ => None,
        }
    }

    /// The same, to add what follows it.
    pub fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Why::Unannounced(text) | Why::Unmarked(text) => Some(text),
            _ => None,
        }
    }

    /// The cell of the table that the call is in. What cannot be delivered as it is counts as damaged.
    pub fn cell(&self) -> Cell {
        let (form, place, proof) = match self {
            Why::Unannounced(_) => (Form::Unmarked, Place::Inside, Proof::Fits),
            Why::Unmarked(_) => (Form::Unmarked, Place::Alone, Proof::Unknown),
            Why::Guess(_) => (Form::Marked, Place::Alone, Proof::Guess),
            Why::Schema(_) | Why::Unsure(_) => (Form::Marked, Place::Alone, Proof::Misfit),
            _ => (Form::Marked, Place::Alone, Proof::Damaged),
        };
        Cell { form, place, proof, whole: !matches!(self, Why::Truncated(_)) }
    }

    /// What the user reads of a refused call.
    pub fn notice(&self, tool: &str) -> String {
        let subject = if tool.is_empty() { "a tool" } else { tool };
        format!("[toolglot] call of {subject} was not run: {self}")
    }
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
            Why::Unsure(what) | Why::Guess(what) => write!(f, "its arguments are doubtful: {what}"),
            Why::UnknownTool(what) => write!(f, "no such tool is offered{what}"),
            Why::Inexpressible(what) => write!(f, "the client's form cannot carry it: {what}"),
            Why::TooLarge(limit) => write!(f, "its arguments are larger than {limit} bytes"),
            Why::Placeholders => f.write_str("its arguments are placeholders, not values"),
            Why::Unannounced(_) => f.write_str("the text around it does not say that it is meant"),
            Why::Unmarked(_) => f.write_str("no such tool is offered"),
            Why::Quoted => f.write_str("the conversation contains this very call as text"),
            Why::Repeated => f.write_str("its result is in the conversation already"),
        }
    }
}

/// Progress and warnings that accompany the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A call is being written; shown after two seconds to clients that show reasoning.
    Writing {
        /// The tool's name.
        name: String,
        /// Bytes of arguments so far.
        bytes: usize,
    },
    /// The cell of the table that something in the form of a call is in. Comes before what became of it.
    Candidate {
        /// The tool's name.
        name: String,
        /// The cell.
        cell: Cell,
    },
    /// What happens in the meantime, such as a tool that runs.
    Progress {
        /// One line.
        text: String,
        /// Whether it goes out as reasoning, which users read; otherwise as a comment, which clients do not show.
        shown: bool,
    },
    /// What was done in a turn, as a JSON object. Comes before `Finish`.
    Trace(String),
    /// The stop sequence of the request that ended the answer. Comes before `Finish`.
    StopSequence(String),
    /// A warning for the user, such as a dropped request field or a truncated prompt.
    Warning {
        /// A short, stable name, for machines.
        code: &'static str,
        /// A sentence, for people.
        text: String,
    },
}

/// Why an answer ended, in OpenAI's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FinishReason {
    /// The model ended by itself.
    #[default]
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

    /// The reason with this name in OpenAI's spelling.
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
    /// Those of the prompt that the backend took from its cache. 0: none, or it does not say.
    pub cached_tokens: u64,
    /// Those of the answer that are reasoning. 0: none, or it does not say.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Tokens of prompt and answer. A backend may say anything.
    pub fn total_tokens(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        let sums = [
            (&mut self.prompt_tokens, other.prompt_tokens),
            (&mut self.completion_tokens, other.completion_tokens),
            (&mut self.cached_tokens, other.cached_tokens),
            (&mut self.reasoning_tokens, other.reasoning_tokens),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
    }
}

/// A [`Call`] that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// The id, if one must be kept.
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// JSON text of the arguments.
    pub arguments: String,
    /// Opaque text for the backend's next turn (Google: a thought signature).
    pub extra: Option<String>,
}

impl ToolCall {
    /// The call at this position.
    pub fn at(&self, index: u32) -> Call<'_> {
        Call { id: self.id.as_deref(), extra: self.extra.as_deref(), ..Call::new(index, &self.name, &self.arguments) }
    }
}

impl From<Call<'_>> for ToolCall {
    fn from(call: Call<'_>) -> ToolCall {
        ToolCall {
            id: call.id.map(str::to_owned),
            name: call.name.to_owned(),
            arguments: call.arguments.to_owned(),
            extra: call.extra.map(str::to_owned),
        }
    }
}
