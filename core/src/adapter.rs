//! The tool-call formats of model families. An adapter describes one family as data, read from a TOML file.
//!
//! [`Library`] holds all adapters (embedded in the binary, overlaid by a user directory) and picks the one for a model.
//! [`Scanner`] reads the text of a model with it. [`render`] writes requests for models without native tools.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

mod asides;
mod call;
mod file;
mod library;
pub mod quote;
pub mod render;
pub mod scanner;
pub(crate) mod syntax;
mod triggers;
mod write;

pub use asides::CLIENT_RESULT;
pub use call::{Call, JsonKeys, Lax, Named, Syntax, Tagged, Trim};
pub use library::{Found, GENERIC, Library};
pub use scanner::Scanner;
pub use write::Written;

/// Everything known about how a model family writes, parsed from a TOML file by [`Adapter::parse`].
#[derive(Debug, Clone)]
pub struct Adapter {
    /// The file's name without `.toml`.
    pub name: String,
    /// How to recognise a model of the family.
    pub signs: Signs,
    /// How well the adapter is tested.
    pub proof: Proof,
    /// Special tokens that the backend must not strip from the text.
    pub preserve: Vec<String>,
    /// The characters that the family can write in tool names.
    pub names: Names,
    /// The markers that divide an answer into reasoning, text and messages.
    pub framing: Arc<Framing>,
    /// How to ask the model for calls if its backend has no native tools.
    pub prompt: render::Prompt,
    /// The call forms: the family's own first, then the generic ones.
    pub calls: Vec<Arc<Call>>,
    /// How many of `calls` are the family's own.
    own_calls: usize,
    /// The markup around and between the values of the family's calls, which no value should hold.
    pub value_markers: Arc<[String]>,
    /// The other families that show themselves by a marker: from the marker on, the scanner continues with that family's adapter.
    families: Vec<Arc<Shown>>,
    triggers: Lazy<triggers::Triggers>,
    turns: Arc<quote::Turns>,
}

/// The markup around and between the values of these calls.
fn value_markers(calls: &[Arc<Call>]) -> Arc<[String]> {
    let of_values = |call: &Call| match &call.syntax {
        Syntax::Tagged(tags) => {
            [&tags.argument[0], &tags.argument[1], &tags.value[0], &tags.value[1]].into_iter().flatten().cloned().collect()
        }
        Syntax::Lax(lax) => lax.strings.clone(),
        _ => Vec::new(),
    };
    let is_tag = |marker: &String| marker.len() > 3 && marker.starts_with('<');
    let closers = calls.iter().flat_map(|call| call.close.clone());
    calls.iter().flat_map(|call| of_values(call)).chain(closers).filter(is_tag).collect()
}

/// How a model of a family is recognised; see [`Library::find`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signs {
    /// Globs that match the model's name.
    pub models: Vec<String>,
    /// The fingerprint: texts that must all occur in the chat template.
    pub templates: Vec<String>,
    /// Markers that no other family writes. In an answer they reveal a family that neither name nor template does.
    pub markers: Vec<String>,
}

/// A family that shows itself in an answer. All adapters share these.
#[derive(Debug)]
struct Shown {
    /// The marker that only this family writes.
    marker: String,
    family: Arc<Adapter>,
}

/// A value built on first use, because a process uses only one or two of the families.
type Lazy<T> = Arc<LazyLock<T, Box<dyn FnOnce() -> T + Send>>>;

/// The markers that divide an answer into reasoning, text and messages. They apply to every answer, with or without tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Framing {
    /// Control tokens that are never content. They are dropped wherever they appear.
    pub drop: Vec<String>,
    /// The reasoning region, if the family has one.
    pub reasoning: Option<Reasoning>,
    /// Markers around the final answer, if the family sets it off from reasoning.
    pub answer: Option<Wrapper>,
    /// The header format, if the family's messages have headers.
    pub recipient: Option<Arc<Recipient>>,
}

/// How well an adapter is tested, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Proof {
    /// Written from the vendor's documentation only.
    Doc,
    /// Passes the test suite of a server that runs the family.
    Suite,
    /// Checked against recorded answers of real models.
    Recorded,
    /// Checked against a running model.
    Live,
}

/// The characters that a family can write in tool names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Names {
    /// Anything that the backend accepts.
    #[default]
    Any,
    /// Letters, digits and underscores.
    Word,
    /// Like `Word`, but not starting with a digit.
    Identifier,
}

/// A region of reasoning in the model's text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasoning {
    /// Opening markers.
    #[serde(deserialize_with = "file::strings")]
    pub open: Vec<String>,
    /// Closing markers.
    #[serde(deserialize_with = "file::strings")]
    pub close: Vec<String>,
    /// Labels after the opening marker that are not content, such as `thought` and a newline.
    #[serde(default, deserialize_with = "file::strings")]
    pub label: Vec<String>,
    /// What a call inside the region means.
    #[serde(default)]
    pub tool_call_inside: Inside,
    /// Whether the markers are special tokens, which count anywhere. Other markers count only at the start or end of a line.
    #[serde(default)]
    pub anywhere: bool,
}

/// Markers around a whole answer. The first opening marker and the closing marker after it are not content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrapper {
    /// Opening markers. They count only before any content.
    #[serde(deserialize_with = "file::strings")]
    pub open: Vec<String>,
    /// Closing markers. They count only after an opening one.
    #[serde(deserialize_with = "file::strings")]
    pub close: Vec<String>,
}

/// Messages with headers. The recipient decides what a message is: `commentary to=f<|message|>{...}` is a call to `f`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipient {
    /// Markers that begin a header. An answer may also begin inside a header that the prompt opened.
    #[serde(deserialize_with = "file::strings")]
    pub start: Vec<String>,
    /// The marker that ends a header.
    pub message: String,
    /// Markers that end a message.
    #[serde(default, deserialize_with = "file::strings")]
    pub end: Vec<String>,
    /// What precedes the recipient in a header. An empty string means that the header is nothing but the recipient.
    #[serde(deserialize_with = "file::strings")]
    pub to: Vec<String>,
    /// What precedes the channel in a header.
    #[serde(default)]
    pub channel: Option<String>,
    /// Prefixes of the recipient that are not part of the tool name.
    #[serde(default, deserialize_with = "file::strings")]
    pub prefix: Vec<String>,
    /// Channels and recipients whose messages are reasoning.
    #[serde(default, deserialize_with = "file::strings")]
    pub reasoning: Vec<String>,
    /// Channels, recipients and senders whose messages are the answer. Any other recipient is a tool.
    #[serde(deserialize_with = "file::strings")]
    pub content: Vec<String>,
    /// Words for the kind of body, such as `json`. They may be glued to the recipient.
    #[serde(default, deserialize_with = "file::strings")]
    pub constraint: Vec<String>,
    /// The tags around each argument's key and value. `None` means that the arguments are JSON.
    #[serde(default)]
    pub parameters: Option<Parameters>,
    /// Whether the body of a message to a tool is a call in one of the other forms.
    #[serde(default)]
    pub forms: bool,
    /// Whether the markers are plain text. If so, a header counts only at the start of a line and with a known recipient.
    #[serde(default)]
    pub plain: bool,
    /// What a call inside a reasoning message means.
    #[serde(default)]
    pub tool_call_inside: Inside,
}

/// The tags of arguments that have no element around them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The tags around a key.
    pub argument: [String; 2],
    /// The tags around a value.
    pub value: [String; 2],
}

/// What a call inside reasoning means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inside {
    /// A draft, never executed.
    Ignore,
    /// A call if the reasoning is never closed and only calls follow, because then the model forgot to close it. A draft
    /// otherwise.
    #[default]
    AtEnd,
    /// A call, and the reasoning continues after it. For families documented to call while they think.
    Parse,
}

impl Framing {
    /// All control tokens, and the markers of reasoning and answer.
    pub fn markers(&self) -> impl Iterator<Item = &String> {
        let reasoning = self.reasoning.iter().flat_map(|region| [&region.open, &region.close]);
        let answer = self.answer.iter().flat_map(|wrapper| [&wrapper.open, &wrapper.close]);
        reasoning.chain(answer).chain([&self.drop]).flatten()
    }
}

impl Adapter {
    /// How well the adapter is tested, as one word and one sentence for people. The generic adapter is always `unknown`, because
    /// it was tested on models other than the one it reads.
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

    /// The control tokens of the family's prompt and vocabulary; those of all families if the family is not known.
    pub fn turns(&self) -> &quote::Turns {
        &self.turns
    }

    /// Every marker that means something to this adapter. Text from other sources must not contain one ([`quote`]).
    pub fn markers(&self) -> Vec<String> {
        self.triggers.texts()
    }

    /// Whether the chat template contains a marker of the family's own calls.
    fn shows_in(&self, template: Option<&str>) -> bool {
        let markers = self.own().iter().flat_map(|form| form.section.iter().chain(&form.open));
        template
            .is_some_and(|template| markers.into_iter().any(|marker| !marker.is_empty() && template.contains(marker.as_str())))
    }

    /// Whether a text contains a call marker or a control token.
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
