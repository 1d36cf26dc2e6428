//! The model's side: one adapter per model family, as data, and the scanner that runs them all.
//!
//! [`Library`] holds the adapters (embedded in the binary, overlaid by a user directory) and finds the one of a model;
//! [`Scanner`] reads a model's text with it; [`render`] writes the other direction.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

mod asides;
mod call;
mod file;
mod library;
pub mod quote;
pub mod render;
pub mod scanner;
mod syntax;
mod triggers;
mod write;

pub use call::{Call, JsonKeys, Lax, Named, Nested, Syntax, Tagged, Trim};
pub use library::{Found, Library};
pub use scanner::Scanner;
pub use write::Written;

/// Everything that is known of how a model family writes. Made from a TOML file by [`Adapter::parse`].
#[derive(Debug, Clone)]
pub struct Adapter {
    /// The file's name without `.toml`.
    pub name: String,
    /// How a model of the family is recognised.
    pub signs: Signs,
    /// How well the file is proven.
    pub proof: Proof,
    /// Special tokens that a backend must not swallow.
    pub preserve: Vec<String>,
    /// The letters in which it can write the names of tools.
    pub names: Names,
    /// What divides its answers.
    pub framing: Arc<Framing>,
    /// How it is asked for calls where its backend has no native tools for it.
    pub prompt: render::Prompt,
    /// The forms of its calls, the family's own first, the generic ones after.
    pub calls: Vec<Arc<Call>>,
    /// How many of them are the family's own.
    own_calls: usize,
    /// What it gives way to: a marker, and the family that writes it.
    families: Vec<(String, Arc<Adapter>)>,
    triggers: Lazy<triggers::Triggers>,
    turns: Lazy<quote::Turns>,
}

/// How a model of a family is recognised; see [`Library::find`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signs {
    /// Globs over its name.
    pub models: Vec<String>,
    /// Texts that all are in its chat template.
    pub templates: Vec<String>,
    /// Markers that no other family writes. They show the family of a model that neither its name nor its template tells.
    pub markers: Vec<String>,
}

/// What is built when it is first needed: of all families, a process uses one or two.
type Lazy<T> = Arc<LazyLock<T, Box<dyn FnOnce() -> T + Send>>>;

/// What divides the answers of a family into reasoning, text and messages. It is looked for in every answer, with or without
/// tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Framing {
    /// Control tokens that are never content; dropped wherever they appear.
    pub drop: Vec<String>,
    /// Where the model thinks, if it does.
    pub reasoning: Option<Reasoning>,
    /// Markers around the answer itself, if the model sets it off from its thinking.
    pub answer: Option<Wrapper>,
    /// How its messages are headed, if they are.
    pub recipient: Option<Arc<Recipient>>,
}

/// How well an adapter is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Proof {
    /// From the vendor's documentation alone.
    Doc,
    /// By the test suite of a server that runs the family.
    Suite,
    /// By recorded answers of real models.
    Recorded,
    /// By a running model.
    Live,
}

/// The letters of the names that a family can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Names {
    /// Whatever its backend takes.
    #[default]
    Any,
    /// Letters, digits and underscores.
    Word,
    /// The same, and no digit at the beginning.
    Identifier,
}

/// The region of the model's text in which it thinks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasoning {
    /// Markers that open it.
    #[serde(deserialize_with = "file::strings")]
    pub open: Vec<String>,
    /// Markers that close it.
    #[serde(deserialize_with = "file::strings")]
    pub close: Vec<String>,
    /// Labels that follow the opening marker and are not content (`thought` and a newline).
    #[serde(default, deserialize_with = "file::strings")]
    pub label: Vec<String>,
    /// What a call in there means.
    #[serde(default)]
    pub tool_call_inside: Inside,
    /// The markers are special tokens and count anywhere; otherwise they count only where a line begins or ends.
    #[serde(default)]
    pub anywhere: bool,
}

/// Markers around the whole of an answer: the first opening one and the closing one after it are not content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrapper {
    /// Markers that open it; they count only where nothing has been said yet.
    #[serde(deserialize_with = "file::strings")]
    pub open: Vec<String>,
    /// Markers that close it; they count only if it was opened.
    #[serde(deserialize_with = "file::strings")]
    pub close: Vec<String>,
}

/// Messages with headers: whom a message is for decides what it is. `commentary to=f<|message|>{...}` is a call of `f`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipient {
    /// Markers that begin a header. The text of an answer may begin inside of one.
    #[serde(deserialize_with = "file::strings")]
    pub start: Vec<String>,
    /// The marker that ends a header.
    pub message: String,
    /// Markers that end a message.
    #[serde(default, deserialize_with = "file::strings")]
    pub end: Vec<String>,
    /// What comes before the recipient in a header; an empty one: the header is the recipient.
    #[serde(deserialize_with = "file::strings")]
    pub to: Vec<String>,
    /// What comes before the channel in a header.
    #[serde(default)]
    pub channel: Option<String>,
    /// Prefixes of a recipient that are not part of the tool's name.
    #[serde(default, deserialize_with = "file::strings")]
    pub prefix: Vec<String>,
    /// Channels and recipients whose messages are reasoning.
    #[serde(default, deserialize_with = "file::strings")]
    pub reasoning: Vec<String>,
    /// Channels, recipients and senders whose messages are the answer. Any other recipient is a tool.
    #[serde(deserialize_with = "file::strings")]
    pub content: Vec<String>,
    /// Words for the kind of body, which may hang on the recipient.
    #[serde(default, deserialize_with = "file::strings")]
    pub constraint: Vec<String>,
    /// The tags that the arguments are written in: around a key, around its value. Otherwise they are JSON.
    #[serde(default)]
    pub parameters: Option<Parameters>,
    /// The body of a message to a tool is a call in one of the other forms.
    #[serde(default)]
    pub forms: bool,
    /// The markers are plain text: a header counts only where a line begins, and only if the recipient is known.
    #[serde(default)]
    pub plain: bool,
    /// What a call inside reasoning means.
    #[serde(default)]
    pub tool_call_inside: Inside,
}

/// One tag for each argument, without anything around them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Around an argument's key.
    pub argument: [String; 2],
    /// Around its value.
    pub value: [String; 2],
}

/// What a call inside reasoning means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inside {
    /// Nothing: it is a draft.
    Ignore,
    /// It is a call if the reasoning is never closed and only calls follow: the model forgot to close it.
    #[default]
    AtEnd,
    /// It is a call, and the reasoning goes on. For families that are documented to call while they think.
    Parse,
}

// === impl Framing ===

impl Framing {
    /// The control tokens, and the markers of reasoning and answer.
    pub fn markers(&self) -> impl Iterator<Item = &String> {
        let reasoning = self.reasoning.iter().flat_map(|region| [&region.open, &region.close]);
        let answer = self.answer.iter().flat_map(|wrapper| [&wrapper.open, &wrapper.close]);
        reasoning.chain(answer).chain([&self.drop]).flatten()
    }
}

// === impl Adapter ===

impl Adapter {
    /// How well it is proven, in a word and a sentence. What was recorded with the models that it was written for says nothing
    /// about one that nobody knows.
    pub fn proven(&self) -> (&'static str, &'static str) {
        match self.proof {
            _ if self.signs.models.is_empty() && self.signs.templates.is_empty() => {
                ("unknown", "no adapter knows this model: it is read in the forms that many families share")
            }
            Proof::Doc => ("doc", "written from the vendor's documentation, never seen at work"),
            Proof::Suite => ("suite", "passes the cases of servers that run the family"),
            Proof::Recorded => ("recorded", "checked against recorded answers of real models"),
            Proof::Live => ("live", "checked against a running model"),
        }
    }

    /// The control tokens that divide the family's prompt into turns.
    pub fn turns(&self) -> &quote::Turns {
        &self.turns
    }

    /// Every text that may mean something to this adapter: what prose must not be mistaken for.
    pub fn markers(&self) -> Vec<String> {
        self.triggers.texts()
    }

    /// Whether a marker of its own calls is in a chat template.
    fn shows_in(&self, template: Option<&str>) -> bool {
        let markers = self.own().iter().flat_map(|form| form.section.iter().chain(&form.open));
        template
            .is_some_and(|template| markers.into_iter().any(|marker| !marker.is_empty() && template.contains(marker.as_str())))
    }

    /// Whether a text holds the marker of a call, or a control token.
    pub fn marks(&self, text: &str) -> bool {
        let mut at = 0;
        while let Ok(found) = self.triggers.next(text, at, true) {
            if found.mark.framing.drop || !found.mark.calls.is_empty() {
                return true;
            }
            at = found.at + found.len.max(1);
        }
        false
    }
}

#[cfg(test)]
mod tests;
