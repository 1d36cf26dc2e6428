//! The differences between the servers that run models, one row per server. Differences of the wire formats are in `request`,
//! `decode` and `models`.

use super::{Backend, Kind, Profile, spelling};

/// A row of the table.
#[derive(Debug)]
pub struct Traits {
    /// Its name for people.
    pub title: &'static str,
    /// Its name in OpenTelemetry's `gen_ai.provider.name`.
    pub provider: &'static str,
    /// The endpoint that reports its version, and the key of the version in the answer.
    pub(super) version: Option<(&'static str, &'static str)>,
    /// Whether it reports more about one model ([`describe`](super::describe)) than its list of models does.
    pub describes: bool,
    /// How it spells the name of a tool.
    pub(super) spelling: fn(&str) -> String,
    /// The field of a request that holds the answer to a schema: [`FORMAT`] or [`RESPONSE_FORMAT`].
    pub(super) form: Option<&'static str>,
    /// Whether it removes special tokens from text unless it parses calls itself.
    pub(super) removes_markers: bool,
}

/// Ollama's field for the schema of an answer, which is its value.
pub(super) const FORMAT: &str = "format";
/// OpenAI's field for it.
pub(super) const RESPONSE_FORMAT: &str = "response_format";

/// A server with nothing special known about it. Other rows name their differences.
const OPENAI: Traits = Traits {
    title: "OpenAI's API",
    provider: "openai",
    version: None,
    describes: false,
    spelling: spelling::plain,
    form: None,
    removes_markers: false,
};
const OLLAMA: Traits = Traits {
    title: "Ollama",
    provider: "ollama",
    version: Some(("/api/version", "version")),
    describes: true,
    spelling: str::to_owned,
    form: Some(FORMAT),
    ..OPENAI
};
const LLAMA_CPP: Traits = Traits {
    title: "llama.cpp",
    provider: "llama.cpp",
    version: Some(("/props", "build_info")),
    describes: true,
    form: Some(RESPONSE_FORMAT),
    ..OPENAI
};
const VLLM: Traits = Traits {
    title: "vLLM",
    provider: "vllm",
    version: Some(("/version", "version")),
    form: Some(RESPONSE_FORMAT),
    removes_markers: true,
    ..OPENAI
};
const SGLANG: Traits = Traits { title: "SGLang", provider: "sglang", version: Some(("/get_server_info", "version")), ..VLLM };
const LM_STUDIO: Traits = Traits {
    title: "LM Studio",
    provider: "lm_studio",
    describes: true,
    spelling: spelling::snake_case,
    form: Some(RESPONSE_FORMAT),
    ..OPENAI
};
const GOOGLE: Traits = Traits { title: "Google", provider: "gcp.gemini", spelling: spelling::google, ..OPENAI };
const REPLAY: Traits = Traits { title: "recordings", provider: "replay", spelling: str::to_owned, ..OPENAI };

impl Backend {
    /// The row of this backend's server.
    pub fn traits(&self) -> &'static Traits {
        match (self.kind, self.profile) {
            (Kind::Ollama, _) => &OLLAMA,
            (Kind::OpenAi, Profile::LlamaCpp) => &LLAMA_CPP,
            (Kind::OpenAi, Profile::Vllm) => &VLLM,
            (Kind::OpenAi, Profile::Sglang) => &SGLANG,
            (Kind::OpenAi, Profile::LmStudio) => &LM_STUDIO,
            (Kind::OpenAi, Profile::Generic) => &OPENAI,
            (Kind::Google, _) => &GOOGLE,
            (Kind::Replay, _) => &REPLAY,
        }
    }
}
