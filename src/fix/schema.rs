//! A tool's JSON Schema, compiled once: the validator, and the shape that steers the reader and the coercions.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// How many compiled schemas are kept.
const KEPT: usize = 256;

/// Compiled schemas, shared by all requests; compiled for the called tool only, when it is called.
#[derive(Debug, Default)]
pub struct Schemas {
    cache: Mutex<Cache>,
}

#[derive(Debug, Default)]
struct Cache {
    compiled: HashMap<Arc<str>, Arc<Schema>>,
    /// Texts in the order of their arrival: the oldest leaves first.
    order: VecDeque<Arc<str>>,
}

/// One compiled schema. A schema that does not compile (or points to another document) validates nothing.
#[derive(Debug)]
pub struct Schema {
    validator: Option<jsonschema::Validator>,
}

// === impl Schemas ===

impl Schemas {
    /// The compiled form of this schema text. Never fails: an invalid schema means that nothing is checked.
    pub fn get(&self, text: &Arc<str>) -> Arc<Schema> {
        if let Some(found) = self.lock().compiled.get(text) {
            return Arc::clone(found);
        }
        let schema = Arc::new(Schema::compile(text));
        let mut cache = self.lock();
        if cache.compiled.insert(Arc::clone(text), Arc::clone(&schema)).is_none() {
            cache.order.push_back(Arc::clone(text));
        }
        while cache.order.len() > KEPT {
            if let Some(oldest) = cache.order.pop_front() {
                cache.compiled.remove(&oldest);
            }
        }
        schema
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Schema ===

impl Schema {
    /// Compiles a schema text, without network and without files.
    pub fn compile(text: &str) -> Schema {
        let document: Value = serde_json::from_str(text).unwrap_or(Value::Null);
        let validator = match document {
            Value::Object(_) => jsonschema::options().offline().should_validate_formats(false).build(&document).ok(),
            _ => None,
        };
        Schema { validator }
    }

    /// What is wrong with this value, in the validator's words and without the values themselves; `None` if nothing is.
    pub(crate) fn fault(&self, value: &Value) -> Option<String> {
        let error = self.validator.as_ref()?.iter_errors(value).next()?;
        let path = error.instance_path().to_string();
        Some(format!("{} at {}", error.masked(), if path.is_empty() { "/" } else { &path }))
    }
}
