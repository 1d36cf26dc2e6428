//! Definitions of tools -> which of them are not what they were when they were first seen. A server that changes what a tool
//! says of itself may want a model to do something else with it: the tool is not offered until a person accepts the change.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::pool::Definition;
use crate::store::{Key, Kind, Store};

/// Pins have no end; the store wants one.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Names of the tools whose definition has changed. New ones are noted.
pub(super) async fn changed(store: &dyn Store, server: &str, address: &str, tools: &[Definition]) -> Vec<String> {
    let key = key(server, address);
    let mut pins = read(store, &key).await;
    let mut changed = Vec::new();
    let before = pins.len();
    for tool in tools {
        let hash = hash(tool);
        match pins.get(&tool.name) {
            None => drop(pins.insert(tool.name.clone(), hash)),
            Some(pinned) if *pinned != hash => changed.push(tool.name.clone()),
            Some(_) => {}
        }
    }
    if pins.len() != before {
        write(store, key, &pins).await;
    }
    changed
}

/// Accepts the definitions as they are now: of one tool, or of all.
pub(super) async fn accept(store: &dyn Store, server: &str, address: &str, tools: &[Definition], only: Option<&str>) {
    let key = key(server, address);
    let mut pins = read(store, &key).await;
    for tool in tools.iter().filter(|tool| only.is_none_or(|only| only == tool.name)) {
        pins.insert(tool.name.clone(), hash(tool));
    }
    write(store, key, &pins).await;
}

/// The address is part of the key: a server that moved is another server.
fn key(server: &str, address: &str) -> Key {
    Key::local(Kind::ToolPin, format!("{server}\n{address}"))
}

async fn read(store: &dyn Store, key: &Key) -> BTreeMap<String, String> {
    store.get(key).await.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

async fn write(store: &dyn Store, key: Key, pins: &BTreeMap<String, String>) {
    let kept = match serde_json::to_vec(pins) {
        Ok(bytes) => store.put(key, Bytes::from(bytes), FOREVER).await,
        Err(_) => false,
    };
    if !kept {
        tracing::warn!("the definitions of tools could not be noted");
    }
}

/// Over what a model or a policy reads of a tool; the order of keys does not count.
fn hash(tool: &Definition) -> String {
    let mut text = String::new();
    let parts = json!([tool.name, tool.title, tool.description, tool.schema, tool.output_schema, tool.annotations]);
    canonical(&parts, &mut text);
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
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
