//! A backend from the file or from a flag: its protocol, its address, its key.

use std::{collections::BTreeMap, num::NonZeroU32, path::PathBuf};

use serde::{
    Deserialize, Deserializer,
    de::{self, value::StrDeserializer},
};

use url::Url;

use super::{Environment, Secret, expand::expand, secret::Source};
use crate::{error::Error, redact};

/// A configured backend: a table `[[backend]]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Backend {
    /// The name that routes and messages use.
    pub name: String,
    /// The API it speaks; `None`: toolglot asks the server.
    #[serde(deserialize_with = "kind")]
    pub kind: Option<Kind>,
    /// The base URL without a trailing slash. Kind `replay`: the folder of the recordings, or `""` for the demo.
    pub url: String,
    api_key_env: Option<String>,
    api_key_file: Option<PathBuf>,
    /// Whether the client's own `Authorization` is forwarded.
    pub forward_authorization: bool,
    /// Maximum number of requests per minute. Further ones wait.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Additional headers of every request (names in lower case), for gateways that need more than a key.
    pub headers: BTreeMap<String, Secret>,
    /// The key to send, read from the variable or file that the table names.
    #[serde(skip)]
    pub key: Option<Secret>,
    /// Why its key or a header is missing, if that is not an error ([`super::Overrides::without_secrets`]).
    #[serde(skip)]
    pub missing: Option<String>,
}

/// The API that a backend speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
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

/// Names of servers, as people write them for a kind: what API they have is asked.
const SERVERS: &[&str] = &[
    "auto", "vllm", "sglang", "llama.cpp", "llamacpp", "llama-cpp", "llama-server", "lm-studio", "lmstudio", "lm_studio", "mlx",
    "mlx-lm", "mlx_lm", "tabbyapi", "koboldcpp", "jan", "localai", "litellm", "openrouter",
];

/// The kind of this name; `None`: it is asked.
fn kind_of<E: de::Error>(name: &str) -> Result<Option<Kind>, E> {
    if SERVERS.contains(&name.to_lowercase().as_str()) {
        return Ok(None);
    }
    Kind::deserialize(StrDeserializer::new(name)).map(Some)
}

fn kind<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Kind>, D::Error> {
    kind_of(&String::deserialize(from)?)
}

impl Kind {
    /// Its name in the configuration, and the URL of a backend that has none.
    fn usual(self) -> (&'static str, Option<&'static str>) {
        match self {
            Kind::Ollama => ("ollama", Some("http://127.0.0.1:11434")),
            Kind::OpenAi => ("openai", None),
            Kind::Google => ("google", Some("https://generativelanguage.googleapis.com/v1beta")),
            Kind::Replay => ("replay", Some("")),
        }
    }
}

impl Backend {
    /// The recorded conversations of the demo.
    pub fn replay() -> Backend {
        Backend::open("replay", Some(Kind::Replay), "")
    }

    /// A backend without a key.
    pub fn open(name: impl Into<String>, kind: Option<Kind>, url: impl Into<String>) -> Backend {
        Backend { name: name.into(), kind, url: url.into(), ..Backend::default() }
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
        let kind = kind_of::<de::value::Error>(name).ok().filter(|kind| *kind != Some(Kind::Replay));
        Ok(Backend::open(name, kind.ok_or_else(wrong)?, base_url(url).ok_or_else(wrong)?))
    }

    /// The table with its defaults, its key and its headers.
    pub(super) fn checked(&self, source: Source<'_>) -> Result<Backend, Error> {
        let (usual_name, usual_url) =
            self.kind.map_or_else(|| (place(&self.url), None), |kind| (kind.usual().0.into(), kind.usual().1));
        let name = if self.name.is_empty() { usual_name } else { self.name.clone() };
        let wrong = |what: &str| Error::proxy(format!("backend `{name}`{what}"));
        let url = match (self.url.as_str(), self.kind) {
            ("", None) => return Err(wrong(" needs a `url`, such as http://127.0.0.1:8080")),
            ("", Some(_)) => usual_url.ok_or_else(|| wrong(" needs a `url` (kind openai: with /v1)"))?.to_owned(),
            (folder, Some(Kind::Replay)) => {
                let folder = source.base.join(folder);
                if !folder.is_dir() {
                    return Err(wrong(&format!(" of kind replay: {} is not a folder of recordings", folder.display())));
                }
                folder.to_string_lossy().into_owned()
            }
            (url, _) => base_url(url)
                .ok_or_else(|| wrong(&format!(": `{url}` is not the URL of a server; write it as http://host:port")))?,
        };
        // RFC 9110, section 5.1: a token.
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if let Some(name) = self.headers.keys().find(|name| name.is_empty() || !name.chars().all(is_token)) {
            return Err(wrong(&format!(": `headers`: `{name}` is not the name of a header")));
        }
        let key = Secret::read("api_key", self.api_key_env.as_deref(), self.api_key_file.as_deref(), source);
        let secrets = key.and_then(|key| Ok((key, self.headers(source.environment)?)));
        let (key, headers, missing) = match secrets {
            Ok((key, headers)) => (key, headers, None),
            Err(what) if source.without_secrets => (None, BTreeMap::new(), Some(what)),
            Err(what) => return Err(wrong(&format!(": {what}"))),
        };
        Ok(Backend { name, url, key, headers, missing, ..self.clone() })
    }

    /// The headers, with the variables in their values expanded.
    fn headers(&self, environment: &Environment) -> Result<BTreeMap<String, Secret>, String> {
        let read = |(name, text): (&String, &Secret)| {
            // RFC 9110, section 5.5: visible characters.
            let value = expand(text.reveal(), environment).map_err(|what| format!("`headers.{name}`: {what}"))?;
            if value.chars().all(|c| matches!(c, ' '..='~' | '\t')) {
                Ok((name.to_ascii_lowercase(), Secret::named(name, value)))
            } else {
                Err(format!("`headers.{name}`: the value has characters that no header can carry"))
            }
        };
        self.headers.iter().map(read).collect()
    }
}

/// Host and port of a URL: the name of a backend that has no other.
fn place(url: &str) -> String {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or(host);
    host.rsplit_once('@').map_or(host, |(_, host)| host).to_owned()
}

/// The URL without a trailing slash; `None` unless it is http or https with a host. Its password is masked from then on.
fn base_url(text: &str) -> Option<String> {
    redact::learn_url(text);
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
    let whole = !host.is_empty()
        && !host.starts_with(['/', ':', '?', '#'])
        && !host.contains([' ', '?', '#'])
        && Url::parse(text).is_ok();
    whole.then(|| text.trim_end_matches('/').to_owned())
}
