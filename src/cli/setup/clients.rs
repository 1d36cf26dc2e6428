//! The clients as data (`setup/clients.toml`): what to enter in each of them, which files `setup --write` changes, and how
//! `run` starts those that are programs.

use std::{collections::BTreeMap, net::SocketAddr};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::Error;

/// One client.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli) struct Client {
    pub(super) title: String,
    pub(super) steps: String,
    /// What `setup --write` writes, under the user's home.
    #[serde(default)]
    pub(super) files: Vec<File>,
    /// How `run` starts it; `None`: it is no program for a terminal.
    pub(in crate::cli) run: Option<Agent>,
}

/// A client that `run` starts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli) struct Agent {
    /// How to get it.
    pub(in crate::cli) install: String,
    #[serde(default)]
    pub(in crate::cli) environment: BTreeMap<String, String>,
    /// They come before the user's own.
    #[serde(default)]
    pub(in crate::cli) arguments: Vec<String>,
    /// They stand in for the user's own, if there are none.
    #[serde(default)]
    pub(in crate::cli) alone: Vec<String>,
    /// What is written into its private folder, `{profile}`.
    #[serde(default)]
    pub(in crate::cli) files: Vec<File>,
}

/// A file of a client.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli) struct File {
    pub(in crate::cli) path: String,
    /// A JSON object whose members are merged into those of the file.
    pub(super) merge: Option<String>,
    /// The whole file, which is ours alone.
    pub(super) text: Option<String>,
}

/// The address of the proxy, the model, and what else is filled in.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Place {
    pub(in crate::cli) address: SocketAddr,
    pub(in crate::cli) model: String,
    /// Tokens of context; `None`: nobody knows.
    pub(in crate::cli) context: Option<u64>,
    /// The user's home, with slashes: in TOML and JSON a backslash would begin an escape.
    pub(in crate::cli) home: String,
    /// The agent's private folder.
    pub(in crate::cli) profile: String,
}

const CLIENTS: &str = include_str!("clients.toml");
/// At most so many tokens are asked for in one answer.
const OUTPUT: u64 = 8192;

/// All clients, by name.
pub(in crate::cli) fn all() -> Result<BTreeMap<String, Client>, Error> {
    toml::from_str(CLIENTS)
        .map_err(|error| Error::proxy(format!("the list of clients inside of this program is broken: {error}")))
}

/// The names of all, by the heads of the tables, which is all that a command line needs.
pub(in crate::cli) fn names() -> impl Iterator<Item = &'static str> {
    heads().filter(|head| !head.contains('.'))
}

/// The names of those that `run` starts.
pub(in crate::cli) fn agent_names() -> impl Iterator<Item = &'static str> {
    heads().filter_map(|head| head.strip_suffix(".run"))
}

fn heads() -> impl Iterator<Item = &'static str> {
    CLIENTS.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']')).filter(|head| !head.starts_with('['))
}

/// Those that `run` starts.
pub(in crate::cli) fn agents() -> Result<BTreeMap<String, Agent>, Error> {
    Ok(all()?.into_iter().filter_map(|(name, client)| Some((name, client.run?))).collect())
}

impl Place {
    /// The text with its placeholders filled in, for a file or a setting: without the lines that need a context if nobody knows it.
    /// In JSON, TOML and YAML, placeholders of texts stand between double quotes, and a value does not end its quotes.
    pub(in crate::cli) fn fill(&self, text: &str) -> String {
        let known = |line: &&str| self.context.is_some() || !line.contains("{context}");
        let lines: Vec<&str> = text.trim_start_matches('\n').lines().filter(known).collect();
        let (template, mut out) = (lines.join("\n"), String::new());
        let mut rest = template.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let named = after.split_once('}').and_then(|(name, after)| Some((self.value(name)?, after)));
            match &named {
                Some((value, _)) if text.contains('"') => out.push_str(&quoted(value)),
                Some((value, _)) => out.push_str(value),
                None => out.push('{'),
            }
            rest = named.map_or(after, |(_, after)| after);
        }
        out + rest
    }

    /// What a placeholder stands for.
    fn value(&self, name: &str) -> Option<String> {
        Some(match name {
            "root" => format!("http://{}", self.address),
            "v1" => format!("http://{}/v1", self.address),
            "port" => self.address.port().to_string(),
            "model" => self.model.clone(),
            "context" => self.context?.to_string(),
            // A model with a small context has no room for a long answer.
            "output" => self.context.map_or(OUTPUT, |context| OUTPUT.min(context / 4)).to_string(),
            "home" => self.home.clone(),
            "profile" => self.profile.clone(),
            _ => return None,
        })
    }

    /// The same for people to read: a word stands for a context that nobody knows.
    pub(super) fn tell(&self, text: &str) -> String {
        self.fill(&if self.context.is_none() { text.replace("{context}", "CONTEXT") } else { text.to_owned() })
    }
}

impl File {
    /// The members to merge; `None` if the whole file is toolglot's.
    pub(super) fn own(&self, place: &Place) -> Result<Option<Value>, Error> {
        let read = |text: &String| serde_json::from_str(&place.fill(text)).map_err(|error| self.broken(&error.to_string()));
        self.merge.as_ref().map(read).transpose()
    }

    /// The new content of the file. Members of a merged file that are not ours stay, in their order.
    pub(in crate::cli) fn over(&self, before: &str, place: &Place) -> Result<String, Error> {
        let Some(own) = self.own(place)? else {
            return Ok(place.fill(self.text.as_deref().unwrap_or_default()).trim_end().to_owned());
        };
        let members = if before.trim().is_empty() { Ok(Map::new()) } else { members(before) };
        let mut whole = Value::Object(members.map_err(|what| self.broken(&what))?);
        merge(&mut whole, own).map_err(|what| self.broken(&what))?;
        Ok(format!("{whole:#}"))
    }

    /// Whether it names the model.
    pub(super) fn names_the_model(&self) -> bool {
        [&self.merge, &self.text].into_iter().flatten().any(|text| text.contains("{model}"))
    }

    fn broken(&self, what: &str) -> Error {
        Error::proxy(format!("{}: {what}; mend it by hand first", self.path))
    }
}

/// The members of a JSON object that can be written again as they were: a number may be too large for that.
pub(super) fn members(text: &str) -> Result<Map<String, Value>, String> {
    fn is_kept(value: &Value) -> bool {
        match value {
            Value::Number(number) => !number.as_f64().is_some_and(|number| number.abs() >= 2f64.powi(64)),
            Value::Array(list) => list.iter().all(is_kept),
            Value::Object(members) => members.values().all(is_kept),
            _ => true,
        }
    }
    let members: Map<String, Value> = serde_json::from_str(text).map_err(|error| format!("is not a JSON object ({error})"))?;
    if members.values().all(is_kept) { Ok(members) } else { Err("has a number that could not be kept as it is".into()) }
}

/// A text as it stands between double quotes, in the escapes that JSON, TOML and YAML share.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Puts the members of an object into another one.
fn merge(into: &mut Value, own: Value) -> Result<(), String> {
    match (into, own) {
        (Value::Object(into), Value::Object(own)) => own.into_iter().try_for_each(|(key, value)| match value {
            Value::Object(_) => {
                let inner = into.entry(key.clone()).or_insert_with(|| Map::new().into());
                merge(inner, value).map_err(|what| format!("`{key}` {what}"))
            }
            value => {
                into.insert(key, value);
                Ok(())
            }
        }),
        _ => Err("is not a JSON object".into()),
    }
}
