//! A backend from the file or from a flag: its protocol, its address, its key.

use super::Secret;
use crate::error::Error;

/// What speaks which language where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// The name that routes and messages use.
    pub name: String,
    /// The language it speaks; `None`: that is found out by asking.
    pub kind: Option<Kind>,
    /// The base URL without a slash at its end. Kind `replay`: the folder of the recordings, or `""` for the demo's.
    pub url: String,
    /// The key that we send, read from the variable or the file that the configuration names.
    pub key: Option<Secret>,
    /// Whether the client's own `Authorization` is sent on to it.
    pub forward_authorization: bool,
    /// As many requests go to it in a minute; those that come too early wait.
    pub requests_per_minute: Option<u32>,
    /// Headers of every request to it (names in lower case), for gateways that want more than a key.
    pub headers: Vec<(String, Secret)>,
    /// Why its key or a header is missing, where that is no error ([`super::Overrides::without_secrets`]).
    pub missing: Option<String>,
}

/// The API that a backend speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Ollama's own `/api/chat`: unlike its `/v1` it keeps errors, thinking and the context size.
    Ollama,
    /// OpenAI's `/v1/chat/completions`, of any server; the URL ends in `/v1` where that server's does.
    OpenAi,
    /// Google's `streamGenerateContent`.
    Google,
    /// Recorded conversations instead of a model: the demo's, which are part of this program, or a folder of them.
    Replay,
}

// === impl Backend ===

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

/// Host and port of a URL: what a backend is called that has no other name.
pub(super) fn place(url: &str) -> String {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    host.split('/').next().unwrap_or(host).to_owned()
}

/// The URL without a slash at its end, if it is one of http or https with a host.
pub(super) fn base_url(text: &str) -> Option<String> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
    let whole = !host.is_empty() && !host.starts_with(['/', ':', '?', '#']) && !host.contains([' ', '?', '#']);
    whole.then(|| text.trim_end_matches('/').to_owned())
}
