//! Reads and edits the text of a registry file in every form that clients write: a list of `{name, url}`, or an object under
//! `mcpServers` or `servers`, with comments and trailing commas. An edit changes only the entry concerned.

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode},
};
use serde_json::{Map, Value};

/// A parsed registry file.
pub(super) struct Document {
    root: CstRootNode,
}

/// How the file holds its entries.
enum Entries {
    /// `[{"name": .., ..}]`
    List(Vec<CstObject>),
    /// `{"name": {..}}`
    Object(CstObject),
}

/// The keys of the object forms. The first one that exists holds the entries. A new file of this form gets the first key.
const KEYS: &[&str] = &["mcpServers", "servers"];

impl Document {
    /// Parses a text. An empty one is an empty list. An error names line and column.
    pub(super) fn parse(text: &str) -> Result<Document, String> {
        let text = if text.trim().is_empty() { "[]\n" } else { text.trim_start_matches('\u{feff}') };
        let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())?;
        let document = Document { root };
        if document.root.array_value().is_none() && document.root.object_value().is_none() {
            return Err("it must be a list of servers or an object with `mcpServers` or `servers`".into());
        }
        Ok(document)
    }

    /// Names and entries in the order of the file. One that is not an object, or has no name, is empty there: its fault is told.
    pub(super) fn entries(&self) -> Vec<(String, Map<String, Value>)> {
        let object = |value: Option<Value>| match value {
            Some(Value::Object(object)) => object,
            _ => Map::new(),
        };
        match self.find() {
            None => Vec::new(),
            Some(Entries::List(list)) => list
                .iter()
                .map(|entry| {
                    let mut entry = object(entry.to_serde_value());
                    let name = entry.shift_remove("name").and_then(|name| Some(name.as_str()?.to_owned()));
                    (name.unwrap_or_default(), entry)
                })
                .collect(),
            Some(Entries::Object(all)) => all
                .properties()
                .iter()
                .filter_map(|property| Some((property.decoded_name()?, object(property.value()?.to_serde_value()))))
                .collect(),
        }
    }

    /// Writes an entry. Replaces the one of this name, if any.
    pub(super) fn put(&self, name: &str, entry: &Map<String, Value>) {
        let new_file = || Entries::Object(self.root.object_value_or_set().object_value_or_set(KEYS[0]));
        match self.find().unwrap_or_else(new_file) {
            Entries::List(list) => {
                let mut named = vec![("name".to_owned(), CstInputValue::String(name.to_owned()))];
                named.extend(entry.iter().map(|(key, value)| (key.clone(), input(value))));
                let value = CstInputValue::Object(named);
                match named_in(list, name) {
                    Some(own) => drop(own.replace_with(value)),
                    None => {
                        let array = self.root.array_value_or_set();
                        array.ensure_multiline();
                        array.append(value);
                    }
                }
            }
            Entries::Object(all) => put_property(&all, name, input(&Value::Object(entry.clone()))),
        }
    }

    /// Writes one value of an entry, if there is such an entry.
    pub(super) fn set(&self, name: &str, key: &str, value: &Value) {
        let entry = match self.find() {
            Some(Entries::List(list)) => named_in(list, name),
            Some(Entries::Object(all)) => all.object_value(name),
            None => None,
        };
        if let Some(entry) = entry {
            put_property(&entry, key, input(value));
        }
    }

    /// Removes an entry; `false` if there is none.
    pub(super) fn remove(&self, name: &str) -> bool {
        let removed = match self.find() {
            Some(Entries::List(list)) => named_in(list, name).map(CstObject::remove),
            Some(Entries::Object(all)) => all.get(name).map(CstObjectProp::remove),
            None => None,
        };
        removed.is_some()
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = self.root.to_string();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    fn find(&self) -> Option<Entries> {
        if let Some(list) = self.root.array_value() {
            return Some(Entries::List(list.elements().iter().filter_map(CstNode::as_object).collect()));
        }
        let root = self.root.object_value()?;
        let inside = |object: &CstObject| KEYS.iter().find_map(|key| object.object_value(key));
        // Settings files of editors nest it once more.
        inside(&root).or_else(|| inside(&root.object_value("mcp")?)).map(Entries::Object)
    }
}

fn put_property(object: &CstObject, key: &str, value: CstInputValue) {
    match object.get(key) {
        Some(own) => own.set_value(value),
        None => {
            object.ensure_multiline();
            object.append(key, value);
        }
    }
}

fn named_in(list: Vec<CstObject>, name: &str) -> Option<CstObject> {
    let name_of = |entry: &CstObject| entry.get("name")?.value()?.as_string_lit()?.decoded_value().ok();
    list.into_iter().find(|entry| name_of(entry).as_deref() == Some(name))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(object) => CstInputValue::Object(object.iter().map(|(key, value)| (key.clone(), input(value))).collect()),
    }
}
