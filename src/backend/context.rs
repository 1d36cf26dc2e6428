//! Compares the context that a conversation needs with the context that the model has. Ollama silently truncates a prompt that
//! is too long, tools first. So toolglot requests a larger context in time. It does not request a smaller one, because Ollama
//! reloads the model at every change, unless the larger one does not fit into the GPU.

use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    event::{Note, Tools},
    openai::{ChatRequest, tokens},
};

#[cfg(test)]
mod tests;

/// The size of a conversation, before any tokenizer has seen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Bytes of text, tools included.
    pub bytes: u64,
    /// Number of images.
    pub images: u64,
    /// Maximum length of the answer, in tokens.
    pub answer: u64,
}

/// A model in Ollama's memory (`/api/ps`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaded {
    /// The context it was loaded with, in tokens; `None` for versions of Ollama that do not report it.
    pub context: Option<u64>,
    /// Its size in bytes.
    pub size: u64,
    /// How many of these bytes are in GPU memory.
    pub vram: u64,
}

/// The limits of a model's context, in tokens, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The context that it has; for Ollama, the largest that it can have.
    pub most: Option<u64>,
    /// The context that its Modelfile sets (`num_ctx`), which Ollama uses unless a request asks for another.
    pub set: Option<u64>,
    /// The largest context that toolglot requests from Ollama (`limits.context_tokens`).
    pub cap: u64,
}

/// What is known about a model's context in Ollama, kept between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// The last requested context, in tokens.
    pub asked: Option<u64>,
    /// Whether the whole model was on the GPU before that request.
    pub fitted: bool,
    /// A context with which the model no longer fitted into the GPU: never requested again. In tokens.
    pub too_large: Option<u64>,
}

/// No larger context is requested for conversations up to this size: Ollama loads a model with at least this context, unless its
/// Modelfile sets another one. In tokens.
const DEFAULT: u64 = 4096;
/// Space for an answer without a limit of its own, in tokens.
const ANSWER: u64 = 2048;
/// Tokens counted for an image: more than most encoders produce.
const IMAGE: u64 = 1024;

/// Tokens that a chat template adds itself, including a usual system text.
const TEMPLATE: u64 = 32;

impl Size {
    /// The size of a conversation with its tools.
    pub fn of(chat: &ChatRequest, tools: &Tools) -> Size {
        let tools = tools.iter().map(|tool| tokens::tool_bytes(&tool.name, &tool.description, &tool.schema));
        let text = chat.messages.iter().map(|message| {
            let calls = message.tool_calls.iter().map(|call| call.name.len() + call.arguments.len() + 30);
            let texts = message.content.texts().into_iter().map(str::len);
            texts.sum::<usize>() + calls.sum::<usize>() + 12
        });
        let parts = chat.messages.iter().flat_map(|message| message.content.parts());
        let images = parts.filter(|part| part.get("image_url").is_some()).count();
        Size {
            bytes: tools.sum::<u64>() + text.sum::<usize>() as u64,
            images: images as u64,
            answer: limit_of(chat).unwrap_or(ANSWER),
        }
    }

    /// An upper bound of the tokens needed, answer included.
    fn enough(self) -> u64 {
        tokens::at_most(self.bytes) + self.images * IMAGE + self.answer
    }

    /// Tokens of the images.
    pub fn image_tokens(self) -> u64 {
        self.images * IMAGE
    }

    /// An estimate of the prompt's tokens, with images and what the template adds.
    pub fn estimate(self) -> u64 {
        tokens::of_prompt(self.bytes) + TEMPLATE + self.image_tokens()
    }

    /// The prompt's tokens without images, at the usual ratio for text.
    pub fn tokens(self) -> u64 {
        tokens::usual(self.bytes)
    }

    /// A lower bound of the prompt's tokens.
    fn least(self) -> u64 {
        tokens::at_least(self.bytes)
    }

    /// Refuses a conversation that cannot fit into the context (in tokens; `None`: unknown, nothing is refused).
    ///
    /// # Errors
    /// 400 with the code `context_length_exceeded`.
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

    /// A warning if the backend counted far fewer tokens than it was sent, because it truncated the prompt.
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

impl Window {
    /// The context to request, in tokens (`None`: Ollama decides), and a warning if it is too small for the conversation. It
    /// grows in powers of two as the conversation needs it, and never goes below what is loaded, because another client may have
    /// requested that.
    pub fn choose(&mut self, size: Size, loaded: Option<&Loaded>, bounds: Bounds) -> (Option<u64>, Option<Note>) {
        let Bounds { most, set, cap } = bounds;
        let has = loaded.and_then(|loaded| loaded.context).or(self.asked).or(set);
        let needs = size.enough();
        if needs <= has.unwrap_or(DEFAULT) {
            // Request the same again: the default would reload the model.
            return (has, None);
        }
        let bound = [most, Some(cap), self.too_large.map(|too_large| too_large / 2)].into_iter().flatten().min().unwrap_or(cap);
        // A quarter more than needed: the next turn is longer.
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

    /// Checks the model after it was loaded with the requested context. If it no longer fits into the GPU, half of that context
    /// is requested from now on, and the user gets a warning.
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
                "with {asked} tokens of context the model does not fit into the GPU ({} of {} MiB): from now on it gets {}",
                loaded.vram >> 20,
                loaded.size >> 20,
                (asked / 2).max(DEFAULT)
            ),
        })
    }
}

/// The client's own limit of the answer, in tokens (`max_completion_tokens`, `max_tokens`).
fn limit_of(chat: &ChatRequest) -> Option<u64> {
    ["max_completion_tokens", "max_tokens"].iter().find_map(|field| chat.rest.get(*field)?.as_u64())
}
