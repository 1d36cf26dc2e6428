//! `proxy.toml`, the command line and the environment -> one validated [`Config`]. Every key is optional; what is unknown or
//! contradictory is an error that names the line and, where one is near, the key that was meant. The only module that reads
//! the environment.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
};

use crate::error::Error;

mod alias;
mod environment;
mod mcp;
mod raw;
mod shell;
#[cfg(test)]
mod tests;

pub use alias::Alias;
pub use environment::{Environment, data_directory};
pub use mcp::{Mcp, RegistryHttp, state_directory};
pub use shell::{Shell, ShellForm, ShellVia};

/// The port that Void's vLLM provider looks at by itself.
pub const DEFAULT_PORT: u16 = 8000;

/// Everything that an operator can decide, validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The file that it was read from, if there was one.
    pub file: Option<PathBuf>,
    /// Where to listen: one port, one address or both loopback addresses.
    pub listen: Listen,
    /// What happens to answers where no route says otherwise.
    pub mode: Mode,
    /// How mode `shell` hands calls over.
    pub shell: Shell,
    /// The client's profile for all requests that no path prefix decides, by name.
    pub profile: Option<String>,
    /// Directory of adapter files that go over the embedded ones.
    pub adapters: Overlay,
    /// How often a refused call is answered to the model before the client hears of it (0 to 3).
    pub retry: u8,
    /// Whether a call that is being written is mentioned now and then.
    pub progress: bool,
    /// Whether log lines may show pieces of the arguments that were repaired; otherwise only rules, places and sizes.
    pub log_excerpts: bool,
    /// The backends. None: look for them on this machine.
    pub backends: Vec<Backend>,
    /// Rules per model; the first that matches wins.
    pub routes: Vec<Route>,
    /// Further names of models; the first that matches wins.
    pub aliases: Vec<Alias>,
    /// Sizes.
    pub limits: Limits,
    /// MCP servers, built-in tools and our own MCP server.
    pub mcp: Mcp,
    /// Names in the `Host` header that are accepted beside loopback and the listening address (without port).
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that are accepted beside loopback (`https://chat.example`).
    pub allowed_origins: Vec<String>,
}

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// The addresses, most important first; more than one only for the two families of loopback.
    pub addresses: Vec<SocketAddr>,
}

/// What happens to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Request and answer pass as bytes, untouched.
    Off,
    /// Calls are found, repaired and handed over in the client's form.
    #[default]
    Rewrite,
    /// The same; calls of our own tools are handed over as shell commands.
    Shell,
}

/// A directory of adapter files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlay {
    /// Named by the operator: it must exist.
    Named(PathBuf),
    /// The usual place: used if it is there.
    Usual(PathBuf),
}

/// What speaks which language where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// The name that routes and messages use.
    pub name: String,
    /// The language it speaks; `None`: that is found out by asking.
    pub kind: Option<Kind>,
    /// The base URL without a slash at its end; `""` for kind `replay`.
    pub url: String,
    /// The key that we send, read from the variable that the configuration names.
    pub key: Option<Secret>,
    /// Whether the client's own `Authorization` is sent on to it.
    pub forward_authorization: bool,
    /// As many requests go to it in a minute; those that come too early wait.
    pub requests_per_minute: Option<u32>,
}

/// The language of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Ollama's own `/api/chat`.
    Ollama,
    /// Any server that speaks OpenAI's chat completions; the URL ends in `/v1` where that server's does.
    Openai,
    /// Google's own API.
    Google,
    /// The recorded conversations inside this program.
    Replay,
}

/// A text that must not be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// A rule for the models whose name matches.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// A glob over the model's name, case ignored.
    pub model: String,
    /// The backend that serves it.
    pub backend: Option<String>,
    /// The adapter that reads it, instead of the one that its name selects.
    pub adapter: Option<String>,
    /// What happens to its answers.
    pub mode: Option<Mode>,
    /// How tools are offered to it, instead of what the backend says and refuses.
    pub tools: Option<ToolMode>,
}

/// Whether the backend is told about tools, and who writes the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolMode {
    /// The request's `tools` go to the backend.
    #[default]
    Native,
    /// The tools are written into the prompt, because the model has no native tools.
    Prompt,
    /// The same, because the backend's own parser destroys what the model writes.
    Raw,
}

/// Sizes, in bytes where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A candidate that is not yet a call is released as text beyond this.
    pub held_bytes: usize,
    /// The largest arguments of a call.
    pub argument_bytes: usize,
    /// The largest request body.
    pub body_bytes: usize,
    /// The largest context that an Ollama is asked for, in tokens.
    pub context_tokens: u64,
}

/// What the command line says over the file.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `--config`: the file; without it `proxy.toml` in the working directory, if it is there.
    pub file: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<String>,
    /// `--backend URL` or `--backend KIND=URL`, added to those of the file; one of the same name takes its place.
    pub backends: Vec<String>,
}

// === impl Config ===

impl Config {
    /// Reads the file (if there is one), lays the command line over it and checks the result. The error is meant for people:
    /// it says file, line, what is wrong and what was probably meant.
    /// Its code is `configuration`.
    pub fn load(overrides: &Overrides, environment: &Environment) -> Result<Config, Error> {
        Config::from_file(overrides, environment).map_err(|error| error.with_code("configuration"))
    }

    fn from_file(overrides: &Overrides, environment: &Environment) -> Result<Config, Error> {
        let file = match &overrides.file {
            Some(file) => Some(file.clone()),
            None => Some(PathBuf::from("proxy.toml")).filter(|file| file.is_file()),
        };
        let text = match &file {
            Some(file) => std::fs::read_to_string(file)
                .map_err(|error| Error::proxy(format!("cannot read the configuration {}: {error}", file.display())))?,
            None => String::new(),
        };
        Config::parse(&text, file.as_deref(), overrides, environment)
    }

    /// The same from a text that is there already; `file` is where it came from.
    pub fn parse(text: &str, file: Option<&Path>, overrides: &Overrides, environment: &Environment) -> Result<Config, Error> {
        let raw = raw::read(text, file)?;
        let base = match file.map(|file| file.parent().unwrap_or(Path::new(""))) {
            Some(directory) => directory.to_owned(),
            None => data_directory(environment),
        };
        let listen = overrides.listen.as_ref().or(raw.listen.as_ref());
        let mut backends = raw.backends(environment)?;
        for flag in &overrides.backends {
            let added = Backend::from_flag(flag)?;
            backends.retain(|backend| backend.name != added.name);
            backends.push(added);
        }
        let config = Config {
            listen: listen.map_or_else(|| Ok(Listen::default()), |text| text.parse())?,
            mode: raw.mode.unwrap_or_default(),
            profile: raw.profile,
            shell: Shell {
                via: raw.shell_via.unwrap_or_default(),
                form: raw.shell_form.unwrap_or_default(),
                runner_found: environment.finds("toolglot"),
            },
            adapters: match &raw.adapters {
                Some(named) => Overlay::Named(base.join(named)),
                None => Overlay::Usual(base.join("adapters")),
            },
            retry: raw.retry.unwrap_or(1),
            progress: raw.progress.unwrap_or(true),
            log_excerpts: raw.log_excerpts.unwrap_or(false),
            backends,
            routes: raw.routes,
            aliases: raw.aliases,
            limits: raw.limits.into(),
            mcp: raw.mcp.check(&base, environment)?,
            allowed_hosts: raw.allowed_hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            allowed_origins: raw.allowed_origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect(),
            file: file.map(Path::to_owned),
        };
        config.check()?;
        Ok(config)
    }

    /// The first route whose glob matches the model.
    pub fn route(&self, model: &str) -> Option<&Route> {
        self.routes.iter().find(|route| matches(&route.model, model))
    }

    fn check(&self) -> Result<(), Error> {
        self.check_shell()?;
        if self.retry > 3 {
            return Err(Error::proxy(format!("`retry` is {}: 0 to 3 is possible", self.retry)));
        }
        for (at, backend) in self.backends.iter().enumerate() {
            if self.backends.iter().take(at).any(|other| other.name == backend.name) {
                return Err(Error::proxy(format!("two backends are named `{}`: give each a `name` of its own", backend.name)));
            }
        }
        for alias in &self.aliases {
            alias.check()?;
        }
        for route in &self.routes {
            let Some(wanted) = &route.backend else { continue };
            if !self.backends.iter().any(|backend| backend.name == *wanted) {
                let names: Vec<&str> = self.backends.iter().map(|backend| backend.name.as_str()).collect();
                let near = raw::nearest(wanted, &names).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
                return Err(Error::proxy(format!(
                    "the route for `{}` names the backend `{wanted}`, which is not configured{near}",
                    route.model
                )));
            }
        }
        Ok(())
    }
}

// === impl Listen ===

impl Default for Listen {
    fn default() -> Listen {
        Listen::loopback(DEFAULT_PORT)
    }
}

impl Listen {
    /// Both loopback addresses.
    pub fn loopback(port: u16) -> Listen {
        Listen { addresses: vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()] }
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.addresses.first().map_or(DEFAULT_PORT, SocketAddr::port)
    }
}

impl std::str::FromStr for Listen {
    type Err = Error;

    /// `address:port`; `127.0.0.1`, `[::1]` and `localhost` mean both families of loopback.
    fn from_str(text: &str) -> Result<Listen, Error> {
        if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
            return Ok(Listen::loopback(port));
        }
        let address: SocketAddr = text.parse().map_err(|_| {
            Error::proxy(format!(
                "`{text}` is no address to listen on: write it as 127.0.0.1:{DEFAULT_PORT} or 0.0.0.0:{DEFAULT_PORT}"
            ))
        })?;
        match address.ip() {
            IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST) => Ok(Listen::loopback(address.port())),
            _ => Ok(Listen { addresses: vec![address] }),
        }
    }
}

// === impl Backend ===

impl Backend {
    /// The recorded conversations inside this program.
    pub fn replay() -> Backend {
        Backend::open("replay", Some(Kind::Replay), "")
    }

    /// A backend without a key.
    pub fn open(name: impl Into<String>, kind: Option<Kind>, url: impl Into<String>) -> Backend {
        Backend { name: name.into(), kind, url: url.into(), key: None, forward_authorization: false, requests_per_minute: None }
    }

    fn from_flag(flag: &str) -> Result<Backend, Error> {
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
            "openai" => Kind::Openai,
            "google" => Kind::Google,
            _ => return Err(wrong()),
        };
        Ok(Backend::open(name, Some(kind), base_url(url).ok_or_else(wrong)?))
    }
}

// === impl Secret ===

impl Secret {
    /// Keeps a text from being printed.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Limits {
        Limits { held_bytes: 16 * 1024, argument_bytes: 8 * 1024 * 1024, body_bytes: 64 * 1024 * 1024, context_tokens: 32 * 1024 }
    }
}

// === private ===

/// Host and port of a URL: what a backend is called that has no other name.
fn place(url: &str) -> String {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    host.split('/').next().unwrap_or(host).to_owned()
}

/// The URL without a slash at its end, if it is one of http or https with a host.
fn base_url(text: &str) -> Option<String> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
    let whole = !host.is_empty() && !host.starts_with(['/', ':', '?', '#']) && !host.contains([' ', '?', '#']);
    whole.then(|| text.trim_end_matches('/').to_owned())
}

/// Whether a glob (`*` any text, `?` one character) matches the whole name, case ignored.
pub(crate) fn matches(glob: &str, name: &str) -> bool {
    let glob: Vec<char> = glob.to_lowercase().chars().collect();
    let name: Vec<char> = name.to_lowercase().chars().collect();
    // Greedy with one point of return: the last star, and how much of the name it has taken.
    let (mut g, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match glob.get(g) {
            Some('*') => {
                star = Some((g, n));
                g += 1;
            }
            Some(&expected) if expected == '?' || Some(&expected) == name.get(n) => {
                g += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                g = at + 1;
                n = taken + 1;
            }
        }
    }
    glob.get(g..).is_some_and(|rest| rest.iter().all(|&rest| rest == '*'))
}
