//! Detects tool definitions and server instructions that changed since they were first seen. A server that changes them may
//! want to make the model do something else, so a changed definition is not offered until a person accepts it.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::pool::Definition;
use crate::store::{self, Key, Kind, Store};

/// Pins never expire, but the store needs an expiry.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

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

/// Compares the definitions with their pins, and pins new ones. Returns those that changed.
pub(super) async fn changed(store: &dyn Store, server: &str, address: &str, said: Said<'_>) -> Changed {
    let key = key(server, address);
    let mut pins = read(store, &key).await;
    let mut changed = Changed::default();
    let before = pins.len();
    let mut differs = |name: &str, hash: String| match pins.get(name) {
        Some(pinned) => *pinned != hash,
        None => {
            pins.insert(name.to_owned(), hash);
            false
        }
    };
    changed.tools.extend(said.tools.iter().filter(|tool| differs(&tool.name, hash(tool))).map(|tool| tool.name.clone()));
    if let Some(text) = said.instructions {
        changed.instructions = differs(INSTRUCTIONS, digest(text.unwrap_or_default()));
    }
    if pins.len() != before {
        write(store, key, &pins).await;
    }
    changed
}

/// Pins the current definitions: that of one tool (`only`), or all of them and the instructions.
pub(super) async fn accept(store: &dyn Store, server: &str, address: &str, said: Said<'_>, only: Option<&str>) {
    let key = key(server, address);
    let mut pins = read(store, &key).await;
    for tool in said.tools.iter().filter(|tool| only.is_none_or(|only| only == tool.name)) {
        pins.insert(tool.name.clone(), hash(tool));
    }
    if let (Some(text), None) = (said.instructions, only) {
        pins.insert(INSTRUCTIONS.to_owned(), digest(text.unwrap_or_default()));
    }
    write(store, key, &pins).await;
}

/// The key contains the address: a server at another address is another server.
fn key(server: &str, address: &str) -> Key {
    Key::local(Kind::ToolPin, format!("{server}\n{address}"))
}

async fn read(store: &dyn Store, key: &Key) -> BTreeMap<String, String> {
    store::read(store, key).await.unwrap_or_default()
}

async fn write(store: &dyn Store, key: Key, pins: &BTreeMap<String, String>) {
    if !store::write(store, key, pins, FOREVER).await {
        tracing::warn!("the definitions of tools could not be noted");
    }
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
