//! What differs between the servers that run models: how a request is written for each ([`request`]), how its answer is
//! read ([`Decoder`]), what its errors mean ([`error_from`], [`Refusal`]), which models it has ([`models`]).

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::{
    adapter::Adapter,
    config::{self, Secret},
    error::Error,
    event::{Note, Tools},
    openai::ChatRequest,
    store::{self, Common, Key},
    upstream::Outgoing,
    wire::Framing,
};

mod context;
mod decode;
mod errors;
mod history;
mod learned;
mod models;
mod pace;
mod prevent;
mod probe;
mod replay;
mod request;
mod spelling;
mod tokens;
mod traits;
mod unparsed;

pub use crate::config::{Kind, ToolMode};
pub use context::{Bounds, Loaded, Size, Window};
pub use decode::Decoder;
pub use errors::{Refusal, error_from, is_loading, pace_headers};
pub use history::leaked::marked_bytes;
pub use learned::Learned;
pub use models::{Capabilities, Model, describe, loaded, models, running, show};
pub use pace::Pace;
pub use prevent::Held;
pub use probe::{detect, profile, version};
pub use replay::Replay;
pub use request::request;
pub use spelling::spell;
pub use tokens::tokens;
pub use traits::Traits;
pub use unparsed::{load_anew, unparsed};

/// Who serves a backend of kind [`Kind::OpenAi`], where that makes a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// llama.cpp's `llama-server`.
    LlamaCpp,
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// LM Studio.
    LmStudio,
    /// Anybody else.
    #[default]
    Generic,
}

/// How an answer is written on the wire. It follows from the kind; a replay backend speaks whatever was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// NDJSON of `/api/chat`.
    Ollama,
    /// Chunks of `/v1/chat/completions`.
    OpenAi,
    /// Events of `streamGenerateContent`.
    Google,
}

/// A backend as configured or detected.
#[derive(Debug, Clone)]
pub struct Backend {
    /// The name in the configuration and in messages.
    pub name: String,
    /// The API it speaks.
    pub kind: Kind,
    /// Who serves it.
    pub profile: Profile,
    /// The base URL without a slash at the end; for kind `openai` with `/v1`. For kind `replay`: the folder, or nothing.
    pub url: String,
    /// Sent as the backend's kind wants it.
    pub api_key: Option<Secret>,
    /// Whether the client's `Authorization` goes upstream where no key is configured.
    pub forward_authorization: bool,
    /// Headers of every request to it, over those that we write.
    pub extra_headers: HeaderMap,
    /// How many requests it takes.
    pub pace: Option<Pace>,
    /// What a backend of kind [`Kind::Replay`] answers with.
    pub replay: Replay,
}

/// What a request to a backend is made from. The result depends on nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Round<'a> {
    /// Where it goes.
    pub backend: &'a Backend,
    /// The model's family: how it is asked for calls where the tools are written into the prompt.
    pub adapter: &'a Arc<Adapter>,
    /// The conversation; `model` is the name that the backend knows.
    pub chat: &'a ChatRequest,
    /// The tools that are offered.
    pub tools: &'a Arc<Tools>,
    /// They are offered; otherwise they only name the calls in the history.
    pub offer: bool,
    /// How they are offered.
    pub mode: ToolMode,
    /// What the model had to refuse so far.
    pub learned: Learned,
    /// The model sees images; where nobody knows, it is given them.
    pub vision: bool,
    /// The context size to ask of Ollama, in tokens; `None` leaves it to Ollama.
    pub num_ctx: Option<u64>,
    /// The client's `Authorization` header.
    pub authorization: Option<&'a HeaderValue>,
}

/// A request that is ready to be sent.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// What goes out.
    pub outgoing: Outgoing,
    /// What comes back, if the status says success: the framing and the decoder follow from it.
    pub dialect: Dialect,
    /// What could not be said in the backend's API.
    pub notes: Vec<Note>,
}

/// A shorter value of a header is hardly a secret, and would mask words.
const SECRET_BYTES: usize = 8;
/// How long a client may wait for the turn of its request.
const PATIENCE: Duration = Duration::from_secs(120);

// === impl Dialect ===

impl Dialect {
    /// How its frames are separated.
    pub fn framing(self) -> Framing {
        match self {
            Dialect::Ollama => Framing::Lines,
            Dialect::OpenAi | Dialect::Google => Framing::Sse,
        }
    }
}

// === impl Backend ===

impl Backend {
    /// A backend without a key.
    pub fn open(name: impl Into<String>, kind: Kind, url: impl Into<String>) -> Backend {
        Backend {
            name: name.into(),
            kind,
            profile: Profile::default(),
            url: url.into(),
            api_key: None,
            forward_authorization: false,
            extra_headers: HeaderMap::new(),
            pace: None,
            replay: Replay::default(),
        }
    }

    /// A backend that answers with recordings.
    pub fn replay(name: impl Into<String>, replay: Replay) -> Backend {
        Backend { replay, ..Backend::open(name, Kind::Replay, "") }
    }

    /// Waits until this backend takes another request, whichever of the instances that share the store sends it; 429 if that would
    /// be too long.
    pub async fn turn(&self, store: &dyn Common) -> Result<(), Error> {
        match &self.pace {
            Some(pace) => {
                pace.turn_of_all(&Key::local(store::Kind::Requests, format!("{}\n{}", self.name, self.url)), store).await
            }
            None => Ok(()),
        }
    }

    /// The `Authorization` for requests to this backend: its key, or the client's where that is configured.
    pub fn authorization(&self, client: Option<&HeaderValue>) -> Option<HeaderValue> {
        let Some(key) = &self.api_key else { return client.filter(|_| self.forward_authorization).cloned() };
        secret(&format!("Bearer {}", key.reveal()))
    }

    /// What must not appear in messages: backends repeat the keys that they refuse.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let headers = self.extra_headers.values().filter_map(|value| value.to_str().ok());
        self.api_key.iter().map(Secret::reveal).chain(headers.filter(|value| value.len() >= SECRET_BYTES))
    }

    /// The headers of a request of our own: JSON, and the key in the form that the backend wants.
    fn headers(&self, client: Option<&HeaderValue>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (name, value) = match (self.kind, &self.api_key) {
            (Kind::Google, Some(key)) => (HeaderName::from_static("x-goog-api-key"), secret(key.reveal())),
            _ => (header::AUTHORIZATION, self.authorization(client)),
        };
        if let Some(value) = value {
            headers.insert(name, value);
        }
        headers.extend(self.extra_headers.clone());
        headers
    }

    /// The URL without OpenAI's `/v1`: where a server's own endpoints are.
    fn origin(&self) -> &str {
        self.url.strip_suffix("/v1").unwrap_or(&self.url)
    }
}

impl From<&config::Backend> for Backend {
    fn from(configured: &config::Backend) -> Backend {
        // What is not known is looked at before it is used ([`detect`]).
        let kind = configured.kind.unwrap_or(Kind::OpenAi);
        Backend {
            api_key: configured.key.clone(),
            forward_authorization: configured.forward_authorization,
            extra_headers: configured
                .headers
                .iter()
                .filter_map(|(name, value)| Some((HeaderName::from_bytes(name.as_bytes()).ok()?, secret(value.reveal())?)))
                .collect(),
            pace: configured.requests_per_minute.map(|requests| Pace::per_minute(requests, PATIENCE)),
            replay: match (kind, configured.url.as_str()) {
                (Kind::Replay, "") => Replay::demo(),
                (Kind::Replay, folder) => Replay::of_folder(folder.as_ref()),
                _ => Replay::default(),
            },
            ..Backend::open(&configured.name, kind, &configured.url)
        }
    }
}

/// A header that `Debug` does not show; `None` for a key that no header can carry.
fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
