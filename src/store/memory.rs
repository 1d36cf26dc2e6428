//! The store in memory: a map with expiry, bounded in bytes. What one tenant stores never takes the room of another: if it is
//! full, the tenant that holds most loses what expires first. Counters have a place of their own.

use std::{
    collections::{BTreeSet, HashMap, hash_map},
    sync::Mutex,
    time::Duration,
};

use bytes::Bytes;
use tokio::time::Instant;

use super::{Common, Key, Store, Stored, VALUE_BYTES};
use crate::lock::Hold;

const STORE_BYTES: usize = 64 * 1024 * 1024;
/// Approximate size of an entry without its value, in bytes.
const ENTRY_BYTES: usize = 512;

/// A map behind a lock. A value has at most 8 MiB, all together 64 MiB.
#[derive(Default)]
pub struct Memory {
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<Key, Entry>,
    tenants: HashMap<String, Tenant>,
    bytes: usize,
    /// The count of a window, and when that ends. Their number is bounded by those of keys and backends.
    counters: HashMap<Key, (u64, Instant)>,
}

/// What one tenant holds.
#[derive(Default)]
struct Tenant {
    by_expiry: BTreeSet<(Instant, Key)>,
    bytes: usize,
}

struct Entry {
    value: Bytes,
    expires: Instant,
}

impl Memory {
    /// Removes the value that expires first, and returns how long it would have been kept.
    #[cfg(feature = "redis")]
    pub(super) fn pop(&self) -> Option<(Key, Bytes, Duration)> {
        let (mut entries, now) = (self.entries.hold(), Instant::now());
        entries.expire(now);
        let (expires, key) = entries.tenants.values().filter_map(|tenant| tenant.by_expiry.first()).min().cloned()?;
        let value = entries.remove(&key)?;
        Some((key, value, expires.saturating_duration_since(now)))
    }
}

impl Store for Memory {
    fn get<'a>(&'a self, key: &'a Key) -> Stored<'a, Option<Bytes>> {
        let mut entries = self.entries.hold();
        entries.expire(Instant::now());
        let found = entries.by_key.get(key).map(|entry| entry.value.clone());
        Box::pin(std::future::ready(found))
    }

    fn put<'a>(&'a self, key: Key, value: Bytes, ttl: Duration) -> Stored<'a, bool> {
        let fits = value.len() <= VALUE_BYTES;
        if fits {
            self.entries.hold().put(key, value, Instant::now(), ttl);
        }
        Box::pin(std::future::ready(fits))
    }

    fn take<'a>(&'a self, key: &'a Key) -> Stored<'a, Option<Bytes>> {
        let mut entries = self.entries.hold();
        entries.expire(Instant::now());
        let taken = entries.remove(key);
        Box::pin(std::future::ready(taken))
    }
}

impl Common for Memory {
    fn count<'a>(&'a self, key: &'a Key, window: Duration) -> Stored<'a, (u64, Duration)> {
        let counted = self.entries.hold().count(key, Instant::now(), window);
        Box::pin(std::future::ready(counted))
    }

    fn held_bytes(&self) -> usize {
        self.entries.hold().bytes
    }
}

impl Entries {
    fn put(&mut self, key: Key, value: Bytes, now: Instant, ttl: Duration) {
        self.expire(now);
        self.remove(&key);
        let size = cost(&key, &value);
        while self.bytes + size > STORE_BYTES {
            let largest = self.tenants.values().max_by_key(|tenant| tenant.bytes);
            let Some((_, first)) = largest.and_then(|tenant| tenant.by_expiry.first()).cloned() else { break };
            self.remove(&first);
        }
        let expires = now + ttl;
        self.bytes += size;
        let tenant = self.tenants.entry(key.tenant.clone()).or_default();
        tenant.bytes += size;
        tenant.by_expiry.insert((expires, key.clone()));
        // A value may be a piece of something larger, which it must not keep alive.
        let value = Bytes::copy_from_slice(&value);
        self.by_key.insert(key, Entry { value, expires });
    }

    fn count(&mut self, key: &Key, now: Instant, window: Duration) -> (u64, Duration) {
        self.counters.retain(|_, (_, ends)| *ends > now);
        let (count, ends) = self.counters.entry(key.clone()).or_insert((0, now + window));
        *count += 1;
        (*count, ends.saturating_duration_since(now))
    }

    fn remove(&mut self, key: &Key) -> Option<Bytes> {
        let (key, entry) = self.by_key.remove_entry(key)?;
        let size = cost(&key, &entry.value);
        self.bytes -= size;
        if let hash_map::Entry::Occupied(mut tenant) = self.tenants.entry(key.tenant.clone()) {
            tenant.get_mut().bytes -= size;
            tenant.get_mut().by_expiry.remove(&(entry.expires, key));
            if tenant.get().by_expiry.is_empty() {
                tenant.remove();
            }
        }
        Some(entry.value)
    }

    /// Removes expired values.
    fn expire(&mut self, now: Instant) {
        let over = |tenant: &Tenant| tenant.by_expiry.first().filter(|(expires, _)| *expires <= now).map(|(_, key)| key.clone());
        while let Some(key) = self.tenants.values().find_map(over) {
            self.remove(&key);
        }
    }
}

fn cost(key: &Key, value: &Bytes) -> usize {
    ENTRY_BYTES + key.id.len() + key.tenant.len() + value.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Kind;

    const HOUR: Duration = Duration::from_secs(3600);

    fn key(id: impl ToString) -> Key {
        Key::local(Kind::TurnResults, id.to_string())
    }

    #[test]
    fn it_is_bounded_in_bytes_and_forgets_what_expires_first() {
        let (mut entries, now) = (Entries::default(), Instant::now());
        for at in 0..100u32 {
            let ttl = if at == 50 { HOUR * 9 } else { HOUR + Duration::from_secs(at.into()) };
            entries.put(key(at), Bytes::from(vec![0; 1 << 20]), now, ttl);
            assert!(entries.bytes <= STORE_BYTES);
        }
        assert!(entries.by_key.contains_key(&key(50)) && entries.by_key.contains_key(&key(99)));
        assert!(!entries.by_key.contains_key(&key(0)));
        assert_eq!(entries.by_key.len(), entries.tenants[""].by_expiry.len());
    }

    #[test]
    fn a_tenant_keeps_its_bytes_and_its_count_whatever_another_stores() {
        let (mut entries, now, minute) = (Entries::default(), Instant::now(), Duration::from_secs(60));
        let of = |tenant: &str, id: u32| Key { tenant: tenant.into(), ..key(id) };
        let (small, large) = (Bytes::from(vec![0; 1 << 10]), Bytes::from(vec![0; 1 << 20]));
        assert_eq!(entries.count(&of("ann", 0), now, minute).0, 1);
        entries.put(of("ann", 1), small, now, Duration::from_secs(1));
        (0..200).for_each(|at| entries.put(of("bob", at), large.clone(), now, HOUR));
        assert!(entries.bytes <= STORE_BYTES && entries.by_key.contains_key(&of("ann", 1)));
        assert_eq!(entries.count(&of("ann", 0), now, minute).0, 2);
        // Whoever needs room gets it from the one who holds most.
        (0..30).for_each(|at| entries.put(of("ann", at), large.clone(), now, HOUR));
        assert!((0..30).all(|at| entries.by_key.contains_key(&of("ann", at))));
        entries.expire(now + HOUR);
        assert_eq!((entries.bytes, entries.tenants.len()), (0, 0));
    }

    #[test]
    fn a_window_begins_with_its_first_request_and_ends_for_all() {
        let (mut entries, now, minute) = (Entries::default(), Instant::now(), Duration::from_secs(60));
        assert_eq!(entries.count(&key("ann"), now, minute), (1, minute));
        assert_eq!(entries.count(&key("ann"), now + minute / 2, minute), (2, minute / 2));
        assert_eq!(entries.count(&key("bob"), now + minute / 2, minute), (1, minute));
        assert_eq!(entries.count(&key("ann"), now + minute, minute), (1, minute));
    }

    #[test]
    fn what_has_expired_is_gone_at_the_next_use() {
        let (mut entries, now) = (Entries::default(), Instant::now());
        entries.put(key("a"), Bytes::from_static(b"1"), now, HOUR);
        entries.put(key("a"), Bytes::from_static(b"2"), now, HOUR * 2);
        entries.put(key("b"), Bytes::from_static(b"3"), now, HOUR);
        assert_eq!(entries.by_key.len(), 2, "a value takes the place of the one before");
        entries.expire(now + HOUR);
        assert_eq!(entries.by_key.len(), 1);
        assert_eq!(entries.remove(&key("a")), Some(Bytes::from_static(b"2")));
        assert_eq!((entries.bytes, entries.tenants.len()), (0, 0));
    }
}
