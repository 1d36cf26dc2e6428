//! Validates one entry of the registry as a [`Server`]: how to reach it, and what its tools may do.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::Url;

use crate::{
    config::{Environment, Secret, expand, matches, nearest},
    event::Effect,
    mcp::parameters::Policy,
    redact,
};

/// A server of the registry.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// The name in the registry.
    pub name: String,
    /// How to reach it.
    pub(in crate::mcp) target: Target,
    /// Address or command line as the file writes it, variables not expanded.
    pub address: String,
    /// Whether hints of the server that permit something are believed (`trust`).
    pub trust: bool,
    /// Whether strangers may have written its results (`open_world`).
    pub open_world: bool,
    /// How long a call may take without progress.
    pub timeout: Duration,
    /// How long a call may take with progress.
    pub longest: Duration,
    /// Whether a result that is JSON text with an `error` counts as failed (`errors_in_text`).
    pub errors_in_text: bool,
    /// Whether tools may be called, the first rule that fits; `None`: their effect decides.
    rules: Vec<(String, Option<Permission>)>,
    effects: Vec<(String, Effect)>,
    policies: Vec<(String, Policy)>,
}

/// How to reach a server.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::mcp) enum Target {
    Process(Launch),
    Remote { url: Url, dialect: Dialect, headers: Vec<(String, Secret)> },
}

/// How a child process is started.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::mcp) struct Launch {
    pub(in crate::mcp) command: String,
    pub(in crate::mcp) arguments: Vec<String>,
    pub(in crate::mcp) environment: Vec<(String, Secret)>,
    pub(in crate::mcp) folder: Option<PathBuf>,
}

/// The transport of a remote server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) enum Dialect {
    /// Not configured: toolglot tries them.
    Detect,
    Http,
    /// HTTP with server-sent events of 2024-11-05.
    Sse,
}

/// Whether a tool may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Permission {
    /// Yes.
    Allow,
    /// Only if a person agrees.
    Ask,
    /// Never. It is not offered either.
    Deny,
}

impl Permission {
    /// Where an entry does not say: a person agrees to what destroys.
    pub(in crate::mcp) fn usual(effect: Effect) -> Permission {
        if effect == Effect::Destroys { Permission::Ask } else { Permission::Allow }
    }
}

/// The keys of the object `toolglot` of an entry, which no other client writes. They may stand in the entry itself.
const OWN: &[&str] = &[
    "allow", "allowedTools", "ask", "deny", "disabled", "effects", "enabled", "errors_in_text", "excludeTools", "excludedTools",
    "includeTools", "longest_seconds", "open_world", "timeout_seconds", "tools", "trust",
];

/// Keys of an entry that permit something, or that change what a tool gets.
const POLICIES: &[&str] =
    &["allow", "default_from", "effects", "errors_in_text", "open_world", "override_from", "toolglot", "tools", "trust"];

const TIMEOUT: f64 = 30.0;
const LONGEST: f64 = 600.0;

impl Server {
    /// Reads an entry; `Ok(None)` if it is switched off. The error names the key.
    pub(in crate::mcp) fn parse(
        name: &str,
        entry: &Map<String, Value>,
        environment: &Environment,
    ) -> Result<Option<Server>, String> {
        check_name(name)?;
        let entry = Entry { entry, environment };
        entry.learn();
        entry.check_own()?;
        if entry.flag("disabled", false)? || !entry.flag("enabled", true)? {
            return Ok(None);
        }
        let seconds = |key: &str, usual: f64| {
            let wrong = "must be a positive number of seconds";
            let seconds: f64 = entry.read(key, wrong)?.unwrap_or(usual);
            let duration = Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero());
            duration.ok_or(format!("`{key}` {wrong}"))
        };
        let timeout = seconds("timeout_seconds", TIMEOUT)?;
        let longest = seconds("longest_seconds", LONGEST.max(timeout.as_secs_f64()))?;
        let (mut rules, mut is_listed) = (Vec::new(), false);
        // Deny goes before ask, ask before allow. Allow lists under the names of other clients restrict; they permit nothing that
        // would need consent here.
        for (key, permission) in [
            ("deny", Some(Permission::Deny)),
            ("excludedTools", Some(Permission::Deny)),
            ("excludeTools", Some(Permission::Deny)),
            ("ask", Some(Permission::Ask)),
            ("allow", Some(Permission::Allow)),
            ("allowedTools", None),
            ("includeTools", None),
        ] {
            if let Some(globs) = entry.texts(key)? {
                is_listed |= permission.is_none_or(|permission| permission == Permission::Allow);
                rules.extend(globs.into_iter().map(|glob| (glob, permission)));
            }
        }
        if is_listed {
            rules.push(("*".to_owned(), Some(Permission::Deny)));
        }
        Ok(Some(Server {
            name: name.to_owned(),
            target: entry.target()?,
            address: address(entry.entry),
            trust: entry.flag("trust", false)?,
            open_world: entry.flag("open_world", false)?,
            timeout: timeout.min(longest),
            longest,
            errors_in_text: entry.flag("errors_in_text", false)?,
            rules,
            effects: entry.effects()?,
            policies: entry.policies()?,
        }))
    }

    /// Whether a tool may be called, by the lists of the entry; `None`: they do not say, and its effect decides.
    pub fn permission(&self, tool: &str) -> Option<Permission> {
        self.rules.iter().find(|(glob, _)| matches(glob, tool)).and_then(|(_, permission)| *permission)
    }

    /// What the entry says about what a tool does.
    pub fn effect(&self, tool: &str) -> Option<Effect> {
        self.effects.iter().find(|(glob, _)| matches(glob, tool)).map(|(_, effect)| *effect)
    }

    /// What the operator decided about the parameters of a tool; later patterns lie over earlier ones.
    pub fn policy(&self, tool: &str, schema: &Value) -> Policy {
        let mut policy = Policy::of_schema(schema);
        for (_, own) in self.policies.iter().filter(|(glob, _)| matches(glob, tool)) {
            policy.overlay(own);
        }
        policy
    }

    /// Whether it is a child process.
    pub fn is_process(&self) -> bool {
        matches!(self.target, Target::Process(_))
    }

    /// The program that would be started, if it is not where commands are looked for. A command with a folder may be relative to
    /// one of its own.
    pub(in crate::mcp) fn missing_program(&self, environment: &Environment) -> Option<&str> {
        let Target::Process(launch) = &self.target else { return None };
        let own = launch.environment.iter().map(|(name, value)| (name.as_str(), value.reveal()));
        let is_named = !launch.command.contains(['/', '\\']) || PathBuf::from(&launch.command).is_absolute();
        (is_named && environment.with(own).find(&launch.command).is_none()).then_some(&launch.command)
    }
}

/// What a server may be called: qualified names and files of other clients must be able to carry it.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    match name {
        "" => Err("a server needs a `name`".into()),
        "builtin" => Err("the name `builtin` is taken".into()),
        _ if name.trim() != name => Err(format!("`{name}` is not a name for a server")),
        _ if name.len() > 64 || name.chars().any(char::is_control) => {
            Err("a server's name has at most 64 bytes, all printable".into())
        }
        _ => Ok(()),
    }
}

/// Takes out of another client's entry what only the operator of this registry can say; gives the keys that were there.
pub(super) fn take_policies(entry: &mut Map<String, Value>) -> Vec<&'static str> {
    // Other clients write a list of names under `tools`.
    let is_policy = |key: &str, value: &Value| key != "tools" || value.is_object();
    let there: Vec<&str> =
        POLICIES.iter().copied().filter(|key| entry.get(*key).is_some_and(|value| is_policy(key, value))).collect();
    there.iter().for_each(|key| drop(entry.shift_remove(*key)));
    there
}

/// Whether an entry starts `toolglot mcp serve`, with whatever options.
pub(super) fn is_ours(entry: &Map<String, Value>) -> bool {
    let line = address(entry);
    let mut words = line.split_whitespace().skip_while(|word| Path::new(word).file_stem().is_none_or(|stem| stem != "toolglot"));
    words.next().is_some() && words.any(|word| word == "mcp") && words.any(|word| word == "serve")
}

/// Where an entry may say its address.
const URLS: [&str; 3] = ["url", "httpUrl", "serverUrl"];

/// Address or command line of an entry as it is written.
pub(super) fn address(entry: &Map<String, Value>) -> String {
    match URLS.iter().find_map(|key| entry.get(*key)?.as_str()) {
        Some(url) => url.to_owned(),
        None => words(entry).collect::<Vec<_>>().join(" "),
    }
}

/// The words of a command line, in whatever form they are written.
fn words(entry: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let values = ["command", "args"].into_iter().filter_map(|key| entry.get(key));
    values.flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)).filter_map(Value::as_str)
}

/// What is wrong with keys that differ from a rule of ours in one letter.
pub(super) fn misspelt(entry: &Map<String, Value>) -> Vec<String> {
    let near = |key: &String| nearest(key, OWN).filter(|own| strsim::damerau_levenshtein(key, own) == 1);
    let doubt = |key| Some(format!("`{key}` means nothing here; did you mean `{}`?", near(key)?));
    entry.keys().filter_map(doubt).collect()
}

struct Entry<'a> {
    entry: &'a Map<String, Value>,
    environment: &'a Environment,
}

impl Entry<'_> {
    /// The value of one of toolglot's own keys, which is in the entry itself or in its object `toolglot`.
    fn own(&self, key: &str) -> Option<&Value> {
        let own = self.entry.get("toolglot").and_then(|own| own.get(key));
        own.or_else(|| self.entry.get(key)).filter(|value| !value.is_null())
    }

    /// An unknown key would be a rule that its author relies on and that nobody follows.
    fn check_own(&self) -> Result<(), String> {
        let own = match self.entry.get("toolglot") {
            None | Some(Value::Null) => return Ok(()),
            Some(own) => own.as_object().ok_or("`toolglot` must be an object")?,
        };
        let Some(key) = own.keys().find(|key| !OWN.contains(&key.as_str())) else { return Ok(()) };
        let meant = nearest(key, OWN).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        Err(format!("`toolglot.{key}` is unknown{meant}"))
    }

    /// The value of one of those keys. `what`: what it must be.
    fn read<T: DeserializeOwned>(&self, key: &str, what: &str) -> Result<Option<T>, String> {
        self.own(key).map(|value| T::deserialize(value).map_err(|_| format!("`{key}` {what}"))).transpose()
    }

    fn flag(&self, key: &str, usual: bool) -> Result<bool, String> {
        Ok(self.read(key, "must be true or false")?.unwrap_or(usual))
    }

    fn texts(&self, key: &str) -> Result<Option<Vec<String>>, String> {
        self.read(key, "must be a list of strings")
    }

    /// Learns the secrets that stand in the entry, also in one that is switched off or wrong: they are masked in all that leaves.
    fn learn(&self) {
        URLS.iter().filter_map(|key| self.entry.get(*key)?.as_str()).for_each(redact::learn_url);
        redact::learn_options(words(self.entry));
        for pairs in ["env", "environment", "headers"] {
            // What is wrong with them is said where they are read.
            let _ = self.pairs(pairs);
        }
    }

    fn expanded(&self, key: &str, text: &str) -> Result<String, String> {
        expand(text, self.environment).map_err(|error| format!("`{key}`: {error}"))
    }

    fn target(&self) -> Result<Target, String> {
        let text = |key: &str| self.entry.get(key).and_then(Value::as_str);
        let kind = text("type").or_else(|| text("transport")).map(str::to_ascii_lowercase);
        let dialect = match kind.as_deref() {
            None | Some("stdio" | "local" | "remote") => Dialect::Detect,
            Some("http" | "streamable-http" | "streamable_http" | "streamablehttp") => Dialect::Http,
            Some("sse") => Dialect::Sse,
            Some(other) => return Err(format!("`type` is `{other}`; there are stdio, http and sse")),
        };
        let url = text("url").or_else(|| text("serverUrl")).map(|url| (url, dialect));
        if let Some((url, dialect)) = url.or_else(|| Some((text("httpUrl")?, Dialect::Http))) {
            let url = crate::mcp::address::parse(&self.expanded("url", url)?)?;
            return Ok(Target::Remote { url, dialect, headers: self.pairs("headers")? });
        }
        let mut words = match self.entry.get("command") {
            Some(Value::String(command)) => vec![command.clone()],
            Some(Value::Array(_)) => self.texts("command")?.unwrap_or_default(),
            Some(_) => return Err("`command` must be a string".into()),
            None => return Err("there is neither `url` nor `command`".into()),
        };
        words.extend(self.texts("args")?.into_iter().flatten());
        let mut words = words.iter().map(|word| self.expanded("command", word)).collect::<Result<Vec<_>, _>>()?.into_iter();
        let command = words.next().filter(|command| !command.is_empty()).ok_or("`command` is empty")?;
        let mut environment = self.pairs("env")?;
        environment.extend(self.pairs("environment")?);
        let folder = text("cwd").map(|folder| self.expanded("cwd", folder)).transpose()?.map(PathBuf::from);
        Ok(Target::Process(Launch { command, arguments: words.collect(), environment, folder }))
    }

    /// An object of strings, or a list of `Name: value`.
    fn pairs(&self, key: &str) -> Result<Vec<(String, Secret)>, String> {
        let wrong = || format!("`{key}` must be an object of strings");
        let member = |(name, value): (&String, &Value)| match value {
            Value::String(text) => Ok((name.clone(), text.clone())),
            Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
            _ => Err(wrong()),
        };
        let line = |line: &Value| {
            let (name, value) = line.as_str().and_then(|line| line.split_once(':')).ok_or_else(wrong)?;
            Ok::<_, String>((name.trim().to_owned(), value.trim().to_owned()))
        };
        let pairs: Vec<(String, String)> = match self.entry.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Object(object)) => object.iter().map(member).collect::<Result<_, String>>()?,
            Some(Value::Array(list)) => list.iter().map(line).collect::<Result<_, String>>()?,
            Some(_) => return Err(wrong()),
        };
        let secret = |(name, value): (String, String)| {
            let value = Secret::named(&name, self.expanded(key, &value)?);
            Ok((name, value))
        };
        pairs.into_iter().map(secret).collect()
    }

    fn effects(&self) -> Result<Vec<(String, Effect)>, String> {
        let what = "must be an object of `reads`, `writes` or `destroys` by tool";
        let written: Map<String, Value> = self.read("effects", what)?.unwrap_or_default();
        let known = |effect: &Value| Effect::ALL.into_iter().find(|known| effect == known.as_str());
        let read = written.into_iter().map(|(glob, effect)| Some((glob, known(&effect)?))).collect::<Option<_>>();
        read.ok_or(format!("`effects` {what}"))
    }

    fn policies(&self) -> Result<Vec<(String, Policy)>, String> {
        // Other clients write a list of names under this key.
        let Some(Value::Object(tools)) = self.own("tools") else { return Ok(Vec::new()) };
        let read = |(glob, value): (&String, &Value)| {
            Policy::parse(value).map(|policy| (glob.clone(), policy)).map_err(|error| format!("`tools.{glob}`: {error}"))
        };
        tools.iter().map(read).collect()
    }
}
