//! A backend from the file or from a flag: its protocol, its address, its key.

use super::Secret;
use crate::error::Error;

/// A configured backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// The name that routes and messages use.
    pub name: String,
    /// The API it speaks; `None`: toolglot asks the server.
    pub kind: Option<Kind>,
    /// The base URL without a trailing slash. Kind `replay`: the folder of the recordings, or `""` for the demo.
    pub url: String,
    /// The key to send, read from the variable or file that the configuration names.
    pub key: Option<Secret>,
    /// Whether the client's own `Authorization` is forwarded.
    pub forward_authorization: bool,
    /// Maximum number of requests per minute. Further ones wait.
    pub requests_per_minute: Option<u32>,
    /// Additional headers of every request (names in lower case), for gateways that need more than a key.
    pub headers: Vec<(String, Secret)>,
    /// Why its key or a header is missing, if that is not an error ([`super::Overrides::without_secrets`]).
    pub missing: Option<String>,
}

/// The API that a backend speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Ollama's own `/api/chat`, which reports errors and reasoning and accepts a context size, unlike its `/v1`.
    Ollama,
    /// OpenAI's `/v1/chat/completions`, of any server. The URL ends in `/v1` if that is where the server's API begins.
    OpenAi,
    /// Google's `streamGenerateContent`.
    Google,
    /// Recorded conversations instead of a model: the embedded demo, or a folder.
    Replay,
}

impl Backend {
    /// The recorded conversations of the demo.
    pub fn replay() -> Backend {
        Backend::open("replay", Some(Kind::Replay), "")
    }

    /// A backend without a key.
    pub fn open(name: impl Into<String>, kind: Option<Kind>, url: impl Into<String>) -> Backend {
        Backend {
            name: name.into(),
            kind,
            url: url.into(),
            key: None,
            forward_authorization: false,
            requests_per_minute: None,
            headers: Vec::new(),
            missing: None,
        }
    }

    pub(super) fn from_flag(flag: &str) -> Result<Backend, Error> {
        let wrong = || {
            Error::proxy(format!(
                "`--backend {flag}`: write it as http://host:port, ollama=http://host:11434, openai=http://host:port/v1 or google=URL"
            ))
        };
        if flag == "replay" {
            return Ok(Backend::replay());
        }
        if let Some(url) = base_url(flag) {
            return Ok(Backend::open(place(&url), None, url));
        }
        let (name, url) = flag.split_once('=').ok_or_else(wrong)?;
        let kind = match name {
            "ollama" => Kind::Ollama,
            "openai" => Kind::OpenAi,
            "google" => Kind::Google,
            _ => return Err(wrong()),
        };
        Ok(Backend::open(name, Some(kind), base_url(url).ok_or_else(wrong)?))
    }
}

/// Host and port of a URL: the name of a backend that has no other.
pub(super) fn place(url: &str) -> String {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    host.split('/').next().unwrap_or(host).to_owned()
}

/// The URL without a trailing slash; `None` unless it is http or https with a host.
pub(super) fn base_url(text: &str) -> Option<String> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
    let whole = !host.is_empty() && !host.starts_with(['/', ':', '?', '#']) && !host.contains([' ', '?', '#']);
    whole.then(|| text.trim_end_matches('/').to_owned())
}
