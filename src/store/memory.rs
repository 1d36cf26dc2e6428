//! The store of a single process: a map with expiry and limits.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;

use super::{Key, Store, Stored};

const VALUE_BYTES: usize = 8 * 1024 * 1024;
const ENTRIES: usize = 10_000;

/// A map behind a lock. Holds at most 10,000 values of at most 8 MiB; where it is full, the one that expires first goes.
#[derive(Default)]
pub struct Memory {
    entries: Mutex<HashMap<Key, Entry>>,
}

struct Entry {
    value: Bytes,
    expires: Instant,
}

// === impl Memory ===

impl Memory {
    fn entries(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        // A poisoned map is still a map of whole entries: nothing is changed in more than one step.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    fn get<'a>(&'a self, key: &'a Key) -> Stored<'a, Option<Bytes>> {
        let found = self.entries().get(key).filter(|entry| entry.expires > Instant::now()).map(|entry| entry.value.clone());
        Box::pin(std::future::ready(found))
    }

    fn put<'a>(&'a self, key: Key, value: Bytes, ttl: Duration) -> Stored<'a, bool> {
        if value.len() > VALUE_BYTES {
            return Box::pin(std::future::ready(false));
        }
        let now = Instant::now();
        let mut entries = self.entries();
        if entries.len() >= ENTRIES && !entries.contains_key(&key) {
            entries.retain(|_, entry| entry.expires > now);
            if entries.len() >= ENTRIES {
                let first = entries.iter().min_by_key(|(_, entry)| entry.expires).map(|(key, _)| key.clone());
                first.and_then(|key| entries.remove(&key));
            }
        }
        entries.insert(key, Entry { value, expires: now + ttl });
        Box::pin(std::future::ready(true))
    }

    fn take<'a>(&'a self, key: &'a Key) -> Stored<'a, Option<Bytes>> {
        let taken = self.entries().remove(key).filter(|entry| entry.expires > Instant::now()).map(|entry| entry.value);
        Box::pin(std::future::ready(taken))
    }
}
