//! The adapter file that an import writes. Its keys have the order of the files in `adapters/`. The tokenizer's special
//! tokens decide what a backend has to preserve and what is never content.

use serde_json::{Map, Value, json};

use super::Imported;

/// An adapter file in the making.
pub(super) struct Draft {
    name: Option<String>,
    models: Vec<String>,
    chat_template: String,
    /// The tokenizer's special tokens.
    special: Vec<String>,
    /// Control tokens that are never content.
    pub(super) drop: Vec<String>,
    pub(super) reasoning: Table,
    pub(super) answer: Table,
    pub(super) recipient: Table,
    pub(super) call: Table,
    warnings: Vec<String>,
}

/// Keys and values of a TOML table, in order.
pub(super) type Table = Vec<(&'static str, Value)>;

impl Draft {
    pub(super) fn new(config: &Map<String, Value>, models: &[String]) -> Draft {
        let name = ["name_or_path", "_name_or_path"].iter().find_map(|key| config.get(*key)?.as_str());
        let name = name.and_then(|name| name.trim_end_matches('/').rsplit('/').next()).filter(|name| !name.is_empty());
        let models = match (models, name) {
            ([], Some(name)) => vec![format!("{name}*")],
            (given, _) => given.to_vec(),
        };
        let mut special = Vec::new();
        for (key, value) in config {
            if key.ends_with("_token") || matches!(key.as_str(), "additional_special_tokens" | "extra_special_tokens") {
                special.extend(tokens(value));
            }
        }
        for token in config.get("added_tokens_decoder").and_then(Value::as_object).into_iter().flat_map(Map::values) {
            if token.get("special").and_then(Value::as_bool).unwrap_or(false) {
                special.extend(tokens(token));
            }
        }
        special.retain(|token| token.trim().len() > 2);
        special.sort();
        special.dedup();
        let chat_template = match config.get("chat_template") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(list)) => list.iter().filter_map(|entry| entry.get("template")?.as_str()).collect(),
            _ => String::new(),
        };
        let drop = config.get("eos_token").map(tokens).unwrap_or_default();
        Draft {
            name: name.map(str::to_owned),
            models,
            chat_template,
            special,
            drop: drop.into_iter().filter(|token| token.trim().len() > 2).collect(),
            reasoning: Vec::new(),
            answer: Vec::new(),
            recipient: Vec::new(),
            call: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn warn(&mut self, what: impl Into<String>) {
        self.warnings.push(what.into());
    }

    /// Whether a marker is a token that cannot be written in plain text.
    pub(super) fn is_special(&self, marker: &str) -> bool {
        self.special.iter().any(|token| token == marker.trim())
            || ["<|", "|>", "<｜", "｜>"].iter().any(|bar| marker.contains(bar))
    }

    /// The token that a text begins with, and what is left of the text.
    pub(super) fn split<'t>(&self, text: &'t str) -> (&'t str, &'t str) {
        let known = self.special.iter().filter(|token| text.starts_with(token.as_str())).map(String::len).max();
        let shaped = || match text.chars().next() {
            Some('<') => text.find('>').map(|at| at + 1),
            Some('[') => text.find(']').map(|at| at + 1),
            _ => None,
        };
        text.split_at(known.or_else(shaped).unwrap_or(text.len()))
    }

    /// The file.
    pub(super) fn finish(mut self) -> Imported {
        let markers: Vec<String> =
            [&self.call, &self.reasoning, &self.recipient].into_iter().flatten().flat_map(|(_, value)| tokens(value)).collect();
        let mut preserve: Vec<String> = self.special.iter().filter(|token| named_in(&markers, token)).cloned().collect();
        if preserve.is_empty() {
            preserve = markers.iter().filter(|marker| self.is_special(marker)).cloned().collect();
        }
        let openers = self.call.iter().filter(|(key, _)| matches!(*key, "section" | "open" | "argument"));
        let mut templates: Vec<String> = openers.flat_map(|(_, value)| tokens(value)).collect();
        templates.retain(|marker| marker.len() > 3 && self.chat_template.contains(marker.as_str()));
        for list in [&mut preserve, &mut templates, &mut self.drop] {
            let mut seen = std::collections::HashSet::new();
            list.retain(|text| !text.trim().is_empty() && seen.insert(text.clone()));
        }
        if self.models.is_empty() && templates.is_empty() {
            self.warn("no model gets this adapter: neither a name nor a chat template is in the file; give --model GLOB");
        }
        let head: Table = vec![("models", json!(self.models)), ("templates", json!(templates)), ("proof", json!("doc"))];
        let tokens: Table = vec![("preserve", json!(preserve)), ("drop", json!(self.drop))];
        let of = self.name.as_deref().map(|name| format!(" of {name}")).unwrap_or_default();
        let mut file = format!("# Imported from the response_template{of}.\n");
        for warning in &self.warnings {
            file.push_str(&format!("# {}\n", warning.replace('\n', " ")));
        }
        for (header, table) in [
            ("", head),
            ("", tokens),
            ("\n[reasoning]\n", self.reasoning),
            ("\n[answer]\n", self.answer),
            ("\n[recipient]\n", self.recipient),
            ("\n[[call]]\n", self.call),
        ] {
            let lines: Vec<String> = table
                .iter()
                .filter(|(_, value)| !value.as_array().is_some_and(Vec::is_empty))
                .map(|(key, value)| format!("{key} = {}\n", toml(value)))
                .collect();
            if !lines.is_empty() {
                file.push_str(&format!("{header}{}", lines.concat()));
            }
        }
        Imported { file, warnings: self.warnings }
    }
}

fn named_in(markers: &[String], token: &str) -> bool {
    markers.iter().any(|marker| marker.contains(token))
}

/// All texts in a value; of a token that is an object, its content.
fn tokens(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().flat_map(tokens).collect(),
        Value::Object(object) => match object.get("content") {
            Some(content) => tokens(content),
            None => object.values().flat_map(tokens).collect(),
        },
        _ => Vec::new(),
    }
}

fn toml(value: &Value) -> String {
    match value {
        Value::Array(list) if list.len() > 6 => {
            let items: Vec<String> = list.iter().map(|item| format!("    {},\n", toml(item))).collect();
            format!("[\n{}]", items.concat())
        }
        Value::Array(list) => format!("[{}]", list.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Value::Object(object) => {
            let members: Vec<String> = object.iter().map(|(key, value)| format!("{key} = {}", toml(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        // A JSON string is a TOML string, but for one character.
        other => other.to_string().replace('\u{7f}', "\\u007f"),
    }
}
