//! Detects tool definitions and server instructions that changed since they were first seen. A server that changes them may
//! want to make the model do something else, so a changed definition is not offered until a person accepts it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rmcp::model::Tool;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::registry::Server;
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

/// The name of a tool, and the hash of its definition.
pub(super) type Pin<'a> = (&'a str, String);

/// The name of the pin of a server's instructions. No tool has this name, because no model could write it.
pub(super) const INSTRUCTIONS: &str = "\ninstructions";

/// The pins of these definitions.
pub(super) fn of(tools: &[Tool]) -> Vec<Pin<'_>> {
    tools.iter().map(|tool| (tool.name.as_ref(), hash(tool))).collect()
}

/// The pins of everything that a server says.
pub(super) fn of_all<'a>(tools: &'a [Tool], instructions: Option<&str>) -> Vec<Pin<'a>> {
    of(tools).into_iter().chain([(INSTRUCTIONS, digest(instructions.unwrap_or_default()))]).collect()
}

impl Pins {
    pub(super) fn new(store: Arc<dyn Store>) -> Pins {
        Pins { store, refused: Memory::default() }
    }

    /// Compares what a server says with its pins, and pins what is new. Returns the names of what changed, and of what is new and
    /// cannot be pinned anywhere: nobody would notice that it changes.
    pub(super) async fn changed(&self, server: &Server, said: &[Pin<'_>]) -> Vec<String> {
        let key = key(server);
        let pins = self.read(&key).await;
        let mut with_new = pins.clone();
        for (name, hash) in said {
            with_new.entry((*name).to_owned()).or_insert_with(|| hash.clone());
        }
        let known = if with_new.len() == pins.len() || self.write(key, &with_new).await { with_new } else { pins };
        said.iter().filter(|(name, hash)| known.get(*name) != Some(hash)).map(|(name, _)| (*name).to_owned()).collect()
    }

    /// Pins what a server says now.
    ///
    /// # Errors
    /// It cannot be stored.
    pub(super) async fn accept(&self, server: &Server, said: Vec<Pin<'_>>) -> Result<(), Error> {
        let key = key(server);
        let mut pins = self.read(&key).await;
        pins.extend(said.into_iter().map(|(name, hash)| (name.to_owned(), hash)));
        match store::write(&*self.store, key, &pins, FOREVER).await {
            true => Ok(()),
            false => Err(Error::proxy(format!("what `{}` offers cannot be accepted: it could not be stored", server.name))),
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
fn key(server: &Server) -> Key {
    Key::local(Kind::ToolPin, format!("{}\n{}", server.name, server.address))
}

/// The hash of everything that a model or a policy reads of a tool. The order of keys does not matter.
fn hash(tool: &Tool) -> String {
    let description = tool.description.as_deref().unwrap_or_default();
    let (schema, output) = (tool.input_schema.as_ref(), tool.output_schema.as_deref());
    let mut parts = json!([tool.name, tool.title, description, schema, output, tool.annotations]);
    parts.sort_all_objects();
    digest(&parts.to_string())
}

fn digest(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Environment;

    #[tokio::test]
    async fn what_can_be_pinned_nowhere_is_not_offered() {
        let tool = |at: usize| Tool::new(format!("t{at}{}", "x".repeat(500)), "", serde_json::Map::new());
        let many: Vec<Tool> = (0..20_000).map(tool).collect();
        let pins = Pins::new(Arc::new(Memory::default()));
        let entry = serde_json::Map::from_iter([("url".to_owned(), json!("http://a/"))]);
        let server = Server::parse("s", &entry, &Environment::default()).unwrap().unwrap();
        assert!(pins.changed(&server, &of(&many[..10])).await.is_empty());
        let changed = pins.changed(&server, &of(&many)).await;
        assert_eq!((changed.len(), changed.contains(&many[0].name.to_string())), (many.len() - 10, false));
    }
}
