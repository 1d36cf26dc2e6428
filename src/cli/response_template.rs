//! Imports Hugging Face's `response_template` (vendors ship it in `tokenizer_config.json` to describe a model's answers) as
//! an adapter file. The scanner reads the imported form like any other, with streaming, forgotten markers and repair. The
//! import names each field that an adapter cannot express.
//!
//! The format is that of its documentation and of transformers 5.23: fields with `open` and `close` (literals or `_pattern`),
//! content parsers (`text`, `int`, `float`, `bool`, `json`, `xml-inline`, `kv-lines`), a `transform`.

use serde_json::{Map, Value};

use crate::{adapter::Adapter, error::Error};

mod call;
mod draft;
mod field;
mod import;
mod message;
mod pattern;
mod shape;
#[cfg(test)]
mod tests;

/// An adapter file made of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Imported {
    /// The TOML.
    pub(super) file: String,
    /// What was left out or had to be guessed, each with the field's name.
    pub(super) warnings: Vec<String>,
}

/// The adapter file for a `tokenizer_config.json`, or for a template alone. `models` are its globs; without any, the name
/// that the file may carry. Fails where the calls, or the file, cannot be expressed; the error names the field.
pub(super) fn import(text: &str, models: &[String]) -> Result<Imported, Error> {
    let config: Value = serde_json::from_str(text).map_err(|error| Error::client(format!("this is not JSON: {error}")))?;
    let Value::Object(config) = config else { return Err(Error::client("this is not a JSON object")) };
    let mut draft = draft::Draft::new(&config, models);
    template(&config)
        .ok_or_else(|| "there is none".to_owned())
        .and_then(|template| import::fill(&mut draft, &template))
        .map_err(|what| Error::client(format!("response_template: {what}")))?;
    let imported = draft.finish();
    // What cannot be read back was never expressed.
    Adapter::parse("imported", &imported.file, &[]).map_err(|error| {
        Error::client(format!("response_template: cannot be expressed as an adapter: {}", error.message.trim_end()))
    })?;
    Ok(imported)
}

fn template(config: &Map<String, Value>) -> Option<Map<String, Value>> {
    let found = config.get("response_template").or_else(|| config.get("response_format"));
    let alone = config.contains_key("fields").then_some(config);
    found.and_then(Value::as_object).or(alone).cloned()
}
