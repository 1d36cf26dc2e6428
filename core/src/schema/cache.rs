//! A cache of compiled schemas, shared by all requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Schema;

/// Maximum memory of the cache, in bytes as estimated by [`weight`].
const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// Compiled schemas, shared by all requests. A schema is compiled when its tool is called for the first time.
#[derive(Debug, Default)]
pub struct Schemas {
    cache: Mutex<Cache>,
}

#[derive(Debug, Default)]
struct Cache {
    compiled: HashMap<Arc<str>, Arc<Schema>>,
    bytes: usize,
}

impl Schemas {
    /// The compiled form of a schema. Never fails: nothing is checked against an invalid schema.
    pub fn get(&self, text: &Arc<str>) -> Arc<Schema> {
        if let Some(found) = self.lock().compiled.get(text) {
            return Arc::clone(found);
        }
        let schema = Arc::new(Schema::compile(text));
        let mut cache = self.lock();
        if cache.bytes + weight(text) > KEPT_BYTES {
            // Those in use are compiled again.
            *cache = Cache::default();
        }
        if cache.compiled.insert(Arc::clone(text), Arc::clone(&schema)).is_none() {
            cache.bytes += weight(text);
        }
        schema
    }

    /// The estimated memory of all of them, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The estimated memory of a compiled schema, in bytes. A validator takes about 25 times its text.
fn weight(text: &str) -> usize {
    4096 + 25 * text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_bounded_in_bytes() {
        let schemas = Schemas::default();
        for at in 0..40 {
            let text = format!(r#"{{"type":"object","description":"{at}{}"}}"#, "x".repeat(200_000));
            schemas.get(&Arc::from(text));
        }
        let cache = schemas.lock();
        assert!(cache.bytes <= KEPT_BYTES && cache.compiled.len() < 40, "{} in {} bytes", cache.compiled.len(), cache.bytes);
        assert_eq!(cache.bytes, cache.compiled.keys().map(|text| weight(text)).sum::<usize>());
    }
}
