//! The context that a conversation needs, against the context that the model has. Ollama cuts a prompt that is too long
//! without a word, tools first; so its context is asked for in time, and grows only: every change loads the model anew.

use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    event::{Note, Tools},
    openai::{ChatRequest, Content},
};

#[cfg(test)]
mod tests;

/// How large a conversation is, before any tokenizer has seen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Bytes of text, tools included.
    pub bytes: u64,
    /// Images.
    pub images: u64,
    /// Tokens that the answer may have.
    pub answer: u64,
}

/// A model in Ollama's memory (`/api/ps`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaded {
    /// The context it was loaded with, in tokens; older versions do not tell.
    pub context: Option<u64>,
    /// Its size in bytes.
    pub size: u64,
    /// How much of that lies in the memory of a GPU.
    pub vram: u64,
}

/// How much context a model can have, in tokens, as far as anybody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// What it has; at an Ollama, what it can have.
    pub most: Option<u64>,
    /// What an Ollama gives it unless asked for another size, where its Modelfile says so.
    pub set: Option<u64>,
    /// The most that an Ollama is asked for (`limits.context_tokens`).
    pub cap: u64,
}

/// What was learned of a model's context at an Ollama, kept between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// The context that was asked for last, in tokens.
    pub asked: Option<u64>,
    /// The model was on the GPU as a whole before that.
    pub fitted: bool,
    /// A context that made the model leave the GPU: never asked for again.
    pub too_large: Option<u64>,
}

/// Up to this nothing is asked for: an Ollama loads a model with at least as much, unless its Modelfile sets another size.
const DEFAULT: u64 = 4096;
/// An answer without a limit of its own gets this much room, in tokens.
const ANSWER: u64 = 2048;
/// Tokens of an image: more than most encoders make of one.
const IMAGE: u64 = 1024;

/// Tokens that a chat template writes of its own, usual system text included.
const TEMPLATE: u64 = 32;

// === impl Size ===

impl Size {
    /// The size of a conversation with its tools.
    pub fn of(chat: &ChatRequest, tools: &Tools) -> Size {
        let tools = tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.schema.len() + 60);
        let text = chat.messages.iter().map(|message| {
            let calls = message.tool_calls.iter().map(|call| call.name.len() + call.arguments.len() + 30);
            text_bytes(&message.content) + calls.sum::<usize>() + 12
        });
        let images = chat.messages.iter().map(|message| match &message.content {
            Content::Parts(parts) => parts.iter().filter(|part| part.get("image_url").is_some()).count(),
            _ => 0,
        });
        Size {
            bytes: (tools.sum::<usize>() + text.sum::<usize>()) as u64,
            images: images.sum::<usize>() as u64,
            answer: limit_of(chat).unwrap_or(ANSWER),
        }
    }

    /// Tokens that are surely enough: three bytes each.
    fn enough(self) -> u64 {
        self.bytes / 3 + self.images * IMAGE + self.answer
    }

    /// Tokens of the images.
    pub fn image_tokens(self) -> u64 {
        self.images * IMAGE
    }

    /// About as many tokens as the prompt has: 3.6 bytes each, and what the template adds.
    pub fn estimate(self) -> u64 {
        self.bytes * 10 / 36 + TEMPLATE + self.image_tokens()
    }

    /// Tokens of the prompt as text usually has them: four bytes each. Images are left out.
    pub fn tokens(self) -> u64 {
        self.bytes / 4
    }

    /// Tokens of the prompt that there are at least: even code, which is half spaces, has no more bytes to a token.
    fn least(self) -> u64 {
        self.bytes / 8
    }

    /// Refuses a conversation that cannot fit into the context of its model, before it is sent.
    pub fn check(self, context: Option<u64>) -> Result<(), Error> {
        match context {
            Some(context) if self.least() > context => Err(Error::client(format!(
                "the conversation has about {} tokens and the model's context is {context}: leave out tools or messages, or load the model with a larger context",
                self.tokens()
            ))
            .with_code("context_length_exceeded")),
            _ => Ok(()),
        }
    }

    /// Whether the backend counted far fewer tokens than it was sent: it cut the prompt. What to tell the user.
    pub fn cut(self, counted: u64) -> Option<Note> {
        let cut = counted > 0 && self.images == 0 && counted * 10 < self.tokens() * 6;
        cut.then(|| Note::Warning {
            code: "prompt_cut",
            text: format!(
                "the backend read {counted} tokens of a prompt of about {}: it cut off the rest; the model needs a larger context",
                self.tokens()
            ),
        })
    }
}

// === impl Window ===

impl Window {
    /// The context to ask for (`None`: whatever Ollama takes). It grows in powers of two when the conversation needs it, and
    /// never goes below what is loaded, because another client may have asked for that.
    pub fn choose(&mut self, size: Size, loaded: Option<&Loaded>, bounds: Bounds) -> (Option<u64>, Option<Note>) {
        let Bounds { most, set, cap } = bounds;
        let has = loaded.and_then(|loaded| loaded.context).or(self.asked).or(set);
        let needs = size.enough();
        if needs <= has.unwrap_or(DEFAULT) {
            // The same again, because the default instead of it would load the model anew.
            return (has, None);
        }
        let bound = [most, Some(cap), self.too_large.map(|too_large| too_large / 2)].into_iter().flatten().min().unwrap_or(cap);
        // A quarter more than is needed: the next turn is longer.
        let wanted = (needs + needs / 4).next_power_of_two().min(bound).max(has.unwrap_or(DEFAULT));
        self.fitted = loaded.is_some_and(|loaded| loaded.vram > 0 && loaded.vram >= loaded.size);
        self.asked = Some(wanted);
        let short = (wanted < needs).then(|| Note::Warning {
            code: "context_short",
            text: format!(
                "the conversation may need {needs} tokens of context and the model gets {wanted}: its beginning may be cut off"
            ),
        });
        (Some(wanted), short)
    }

    /// Looks at the model after it was loaded with the context that was asked for: one that no longer fits into the GPU
    /// is not asked for again.
    pub fn review(&mut self, loaded: &Loaded) -> Option<Note> {
        let asked = self.asked?;
        let spilled = self.fitted && loaded.vram < loaded.size && self.too_large.is_none_or(|too_large| asked < too_large);
        if !spilled {
            return None;
        }
        self.too_large = Some(asked);
        self.asked = Some((asked / 2).max(DEFAULT));
        self.fitted = false;
        Some(Note::Warning {
            code: "context_stepped_back",
            text: format!(
                "with {asked} tokens of context the model does not fit into the GPU ({} of {} MiB): from the next request on it gets {}",
                loaded.vram >> 20,
                loaded.size >> 20,
                (asked / 2).max(DEFAULT)
            ),
        })
    }
}

fn text_bytes(content: &Content) -> usize {
    match content {
        Content::None => 0,
        Content::Text(text) => text.len(),
        Content::Parts(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).map(str::len).sum(),
    }
}

/// The client's own limit of the answer, in tokens.
fn limit_of(chat: &ChatRequest) -> Option<u64> {
    ["max_completion_tokens", "max_tokens"].iter().find_map(|field| chat.rest.get(*field)?.as_u64())
}
