//! Detects tool definitions and server instructions that changed since they were first seen. A server that changes them may
//! want to make the model do something else, so a changed definition is not offered until a person accepts it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::pool::Definition;
use crate::{
    error::Error,
    store::{self, Key, Kind, Memory, Store},
};

/// Pins never expire, but the store needs an expiry.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The pins.
pub(super) struct Pins {
    store: Arc<dyn Store>,
    /// What the store did not take, for the life of this process.
    refused: Memory,
}

/// A server's tool definitions and its instructions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) tools: &'a [Definition],
    /// `None`: not to be checked; `Some(None)`: the server has none.
    pub(super) instructions: Option<Option<&'a str>>,
}

/// The definitions that differ from their pins.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// Names of tools.
    pub(super) tools: Vec<String>,
    pub(super) instructions: bool,
}

/// The name of the instructions' pin. No tool has this name, because no model could write it.
const INSTRUCTIONS: &str = "\ninstructions";

impl Pins {
    pub(super) fn new(store: Arc<dyn Store>) -> Pins {
        Pins { store, refused: Memory::default() }
    }

    /// Compares the definitions with their pins, and pins new ones. Returns those that changed, and new ones that cannot be pinned
    /// anywhere: nobody would notice that they change.
    pub(super) async fn changed(&self, server: &str, address: &str, said: Said<'_>) -> Changed {
        let key = key(server, address);
        let pins = self.read(&key).await;
        let hashes = said.tools.iter().map(|tool| (tool.name.as_str(), hash(tool)));
        let about = said.instructions.map(|text| (INSTRUCTIONS, digest(text.unwrap_or_default())));
        let hashes: Vec<(&str, String)> = hashes.chain(about).collect();
        let mut with_new = pins.clone();
        for (name, hash) in &hashes {
            with_new.entry((*name).to_owned()).or_insert_with(|| hash.clone());
        }
        let known = if with_new.len() == pins.len() || self.write(key, &with_new).await { with_new } else { pins };
        let differs = |(name, hash): &&(&str, String)| known.get(*name) != Some(hash);
        let (about, tools): (Vec<&str>, Vec<&str>) =
            hashes.iter().filter(differs).map(|(name, _)| *name).partition(|name| *name == INSTRUCTIONS);
        Changed { tools: tools.into_iter().map(str::to_owned).collect(), instructions: !about.is_empty() }
    }

    /// Pins the current definitions: that of one tool (`only`), or all of them and the instructions.
    ///
    /// # Errors
    /// They cannot be stored.
    pub(super) async fn accept(&self, server: &str, address: &str, said: Said<'_>, only: Option<&str>) -> Result<(), Error> {
        let key = key(server, address);
        let mut pins = self.read(&key).await;
        for tool in said.tools.iter().filter(|tool| only.is_none_or(|only| only == tool.name)) {
            pins.insert(tool.name.clone(), hash(tool));
        }
        if let (Some(text), None) = (said.instructions, only) {
            pins.insert(INSTRUCTIONS.to_owned(), digest(text.unwrap_or_default()));
        }
        match store::write(&*self.store, key, &pins, FOREVER).await {
            true => Ok(()),
            false => Err(Error::proxy(format!("what `{server}` offers cannot be accepted: it could not be stored"))),
        }
    }

    /// What is stored goes before what is remembered, because another process may have accepted it.
    async fn read(&self, key: &Key) -> BTreeMap<String, String> {
        let mut pins: BTreeMap<String, String> = store::read(&self.refused, key).await.unwrap_or_default();
        pins.extend(store::read::<BTreeMap<String, String>>(&*self.store, key).await.unwrap_or_default());
        pins
    }

    /// Stores the pins, or remembers them. `false`: they are too many for both.
    async fn write(&self, key: Key, pins: &BTreeMap<String, String>) -> bool {
        if store::write(&*self.store, key.clone(), pins, FOREVER).await {
            return true;
        }
        let remembers = store::write(&self.refused, key, pins, FOREVER).await;
        let until = if remembers { "a change after the next start will not be noticed" } else { "the new ones are not offered" };
        tracing::warn!("the definitions of tools could not be stored: {until}");
        remembers
    }
}

/// The key contains the address: a server at another address is another server.
fn key(server: &str, address: &str) -> Key {
    Key::local(Kind::ToolPin, format!("{server}\n{address}"))
}

/// The hash of everything that a model or a policy reads of a tool. The order of keys does not matter.
fn hash(tool: &Definition) -> String {
    let mut text = String::new();
    let parts = json!([tool.name, tool.title, tool.description, tool.schema, tool.output_schema, tool.annotations]);
    canonical(&parts, &mut text);
    digest(&text)
}

fn digest(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(object) => {
            let sorted: BTreeMap<&String, &Value> = object.iter().collect();
            out.push('{');
            for (key, value) in sorted {
                out.push_str(&Value::String(key.clone()).to_string());
                canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(list) => {
            out.push('[');
            for value in list {
                canonical(value, out);
                out.push(',');
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_can_be_pinned_nowhere_is_not_offered() {
        let tool = |at: usize| Definition {
            name: format!("t{at}{}", "x".repeat(500)),
            title: None,
            description: String::new(),
            schema: json!({}),
            output_schema: None,
            annotations: None,
        };
        let many: Vec<Definition> = (0..20_000).map(tool).collect();
        let pins = Pins::new(Arc::new(Memory::default()));
        let said = |tools| Said { tools, instructions: None };
        assert_eq!(pins.changed("s", "a", said(&many[..10])).await, Changed::default());
        let changed = pins.changed("s", "a", said(&many)).await.tools;
        assert_eq!((changed.len(), changed.contains(&many[0].name)), (many.len() - 10, false));
    }
}
