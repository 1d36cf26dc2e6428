//! The servers that run models: how a request is written for each of them ([`request()`]), how its answer is read
//! ([`Decoder`]), what its errors mean ([`error_from`], [`Refusal`]), and which models it has ([`models()`]). `traits` is the
//! table of their differences.

use std::{borrow::Cow, num::NonZeroU32, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::{
    adapter::Adapter,
    config::{self, Secret},
    error::Error,
    event::{Note, Tools},
    openai::ChatRequest,
    redact,
    store::{self, Common, Key},
    upstream::Outgoing,
};

mod context;
mod conversation;
mod decode;
mod errors;
mod history;
mod learned;
mod models;
mod ollama;
mod pace;
mod prevent;
mod probe;
mod replay;
mod request;
mod spelling;
mod tokens;
mod traits;

pub use crate::{
    config::{Kind, ToolMode},
    wire::Dialect,
};
pub use context::{Bounds, Loaded, Size, Window};
pub use conversation::{Rewrite, each_schema, join_system, suspects_schemas};
pub use decode::Decoder;
pub use errors::{Refusal, error_from, is_loading, pace_headers, refusal_of, retry_after, unusable};
pub use history::leaked::marked_bytes;
pub use learned::Learned;
pub use models::{Capabilities, Model, describe, loaded, models, running, show};
pub use ollama::{garbles_tools, load_anew, may_garble_tools, unparsed};
pub use prevent::held;
pub use probe::{detect, profile, version};
pub use replay::Replay;
pub use request::request;
pub use spelling::spell;
pub use tokens::tokens;
pub use traits::Traits;

/// The server that a backend of kind [`Kind::OpenAi`] is, if it needs special treatment.
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
    /// Any other server.
    #[default]
    Generic,
}

/// A backend as configured or detected.
#[derive(Debug, Clone)]
pub struct Backend {
    /// The name in the configuration and in messages.
    pub name: String,
    /// The API it speaks.
    pub kind: Kind,
    /// The server; [`Profile::Generic`] unless the kind is `openai`.
    pub profile: Profile,
    /// The base URL without a trailing slash; with `/v1` for kind `openai`. For kind `replay`: the folder, or `""` for the demo.
    pub url: String,
    /// Its key, sent as `x-goog-api-key` for kind `google`, otherwise as a bearer token.
    pub api_key: Option<Secret>,
    /// Whether the client's `Authorization` goes upstream if no key is configured.
    pub forward_authorization: bool,
    /// Headers added to every request. They replace toolglot's own headers of the same name.
    pub extra_headers: HeaderMap,
    /// The limit of requests per minute, if there is one.
    pub requests_per_minute: Option<NonZeroU32>,
    /// The recordings of a backend of kind [`Kind::Replay`]; empty for all other kinds.
    pub replay: Replay,
}

/// Everything that a request to a backend is built from. [`request()`] depends on nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Round<'a> {
    /// The backend that gets the request.
    pub backend: &'a Backend,
    /// The adapter of the model's family: decides how the prompt asks for calls, unless the tools go out natively.
    pub adapter: &'a Arc<Adapter>,
    /// The conversation; `model` is the backend's own name of the model.
    pub chat: &'a ChatRequest,
    /// The tools of the request.
    pub tools: &'a Arc<Tools>,
    /// Whether the model may call the tools. If not, they only name the calls in the history.
    pub offer: bool,
    /// How the tools are offered.
    pub mode: ToolMode,
    /// What earlier refusals taught about the model.
    pub learned: &'a Learned,
    /// Whether the model sees images; `true` if unknown.
    pub vision: bool,
    /// The context size to request from Ollama, in tokens; `None`: Ollama decides.
    pub num_ctx: Option<u64>,
    /// The client's `Authorization` header; see [`Backend::authorization`].
    pub authorization: Option<&'a HeaderValue>,
}

/// A request that is ready to send.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The request, or a recorded answer.
    pub outgoing: Outgoing,
    /// The format of a successful answer: selects the framing and the decoder.
    pub dialect: Dialect,
    /// Warnings about parts of the request that the backend's API cannot express.
    pub notes: Vec<Note>,
}

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
            requests_per_minute: None,
            replay: Replay::default(),
        }
    }

    /// A backend that answers with recordings.
    pub fn replay(name: impl Into<String>, replay: Replay) -> Backend {
        Backend { replay, ..Backend::open(name, Kind::Replay, "") }
    }

    /// Waits until the backend's `requests_per_minute` permit another request. All instances that share the store are counted.
    ///
    /// # Errors
    /// 429 (`rate_limit_exceeded`) if the wait would exceed two minutes.
    pub async fn wait_for_quota(&self, store: &dyn Common) -> Result<(), Error> {
        let Some(most) = self.requests_per_minute else { return Ok(()) };
        pace::wait(store, &Key::local(store::Kind::Requests, format!("{}\n{}", self.name, self.url)), most.get()).await
    }

    /// The `Authorization` for requests to this backend: its key, or the client's header if the configuration forwards it.
    pub fn authorization(&self, client: Option<&HeaderValue>) -> Option<HeaderValue> {
        let Some(key) = &self.api_key else { return client.filter(|_| self.forward_authorization).cloned() };
        secret(&format!("Bearer {}", key.reveal()))
    }

    /// The secrets to mask in messages: some backends repeat a key that they refuse.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let headers = self.extra_headers.values().filter_map(|value| value.to_str().ok());
        // A header may also be the name of a program, which answers may say.
        let learned = headers.filter(|value| matches!(redact::known(value), Cow::Owned(_)));
        self.api_key.iter().map(Secret::reveal).chain(learned).chain(redact::url_password(&self.url))
    }

    /// The headers of a request: JSON, the key in the form that the backend expects, and the configured headers.
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

    /// The same backend at `/v1`, if its kind is `openai` and its URL has no path: most servers have OpenAI's API there.
    pub fn below_v1(&self) -> Option<Backend> {
        let has_path = self.url.split_once("://").is_none_or(|(_, rest)| rest.contains('/'));
        let url = (self.kind == Kind::OpenAi && !has_path).then(|| format!("{}/v1", self.url))?;
        Some(Backend { url, ..self.clone() })
    }

    /// The URL without OpenAI's `/v1`: the base of a server's own endpoints.
    fn origin(&self) -> &str {
        self.url.strip_suffix("/v1").unwrap_or(&self.url)
    }
}

impl From<&config::Backend> for Backend {
    fn from(configured: &config::Backend) -> Backend {
        // An unknown kind is detected before its first use ([`detect`]).
        let kind = configured.kind.unwrap_or(Kind::OpenAi);
        Backend {
            api_key: configured.key.clone(),
            forward_authorization: configured.forward_authorization,
            extra_headers: configured
                .headers
                .iter()
                .filter_map(|(name, value)| Some((HeaderName::from_bytes(name.as_bytes()).ok()?, secret(value.reveal())?)))
                .collect(),
            requests_per_minute: configured.requests_per_minute,
            replay: match (kind, configured.url.as_str()) {
                (Kind::Replay, "") => Replay::demo(),
                (Kind::Replay, folder) => Replay::of_folder(folder.as_ref()),
                _ => Replay::default(),
            },
            ..Backend::open(&configured.name, kind, &configured.url)
        }
    }
}

/// A header value that `Debug` hides; `None` if the text cannot be a header value.
fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
