//! The interface to all state that an answer depends on: learned facts, stored calls, results of mixed turns. The state is in
//! memory, in files, or in Redis if several instances share it. No synchronous stage uses it.

use std::{
    future::Future,
    pin::Pin,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

mod files;
mod memory;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "redis")]
pub use self::redis::Redis;
pub use files::Files;
pub use memory::Memory;

/// The largest value, in bytes.
const VALUE_BYTES: usize = 8 * 1024 * 1024;

/// A request waits no longer than this for a shared store.
pub const PATIENCE: Duration = Duration::from_millis(50);

/// The kind of a stored value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// What was learned about a model at a backend: how it is asked, its context.
    Learned,
    /// A call of shell mode that waits for `toolglot call`.
    SpooledCall,
    /// A call that left as a shell command, to read the command in the history.
    PastCall,
    /// The results of the registry's tools in a turn that also called the client's.
    TurnResults,
    /// Pins: accepted hashes of tool definitions.
    ToolPin,
    /// Opaque data that a backend wants back with a call, by the call's place and id.
    CallExtra,
    /// The reasoning before a call, by the call's place and id.
    CallReasoning,
    /// Digests of the last request of a conversation.
    Prefix,
    /// A response of `/v1/responses`, with the items of its request.
    Response,
    /// The first message of a session of toolglot's MCP server.
    Session,
    /// Number of requests in a window of time.
    Requests,
    /// The result of a model's last trial (`doctor --try`).
    Trial,
}

/// How long most values are kept. docs/fleet.md lists all of them.
pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The key of a stored value: whose it is, its kind, and which one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The tenant of the caller; `""` for the one local user.
    pub tenant: String,
    /// The kind of value.
    pub kind: Kind,
    /// The id within the kind.
    pub id: String,
}

impl Key {
    /// A key of the one local user.
    pub fn local(kind: Kind, id: impl Into<String>) -> Key {
        Key { tenant: String::new(), kind, id: id.into() }
    }
}

/// The address of a store that several instances share.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// `redis://[user@]host[:port][/database]`, or `rediss://` for TLS. For a cluster: several hosts, separated by commas.
    pub url: &'a str,
    /// Its password.
    pub password: Option<&'a str>,
    /// Whether it is a cluster.
    pub cluster: bool,
    /// How long a command may take before it counts as failed: [`PATIENCE`] if a request waits for it.
    pub patience: Duration,
}

/// The state of the connection to a shared store.
#[derive(Debug, Default)]
pub struct Link {
    present: AtomicBool,
    operations: AtomicU64,
    failures: AtomicU64,
}

/// A future of the store. Boxed, so that [`Store`] can be a trait object.
pub type Stored<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Keeps bytes under keys for a while. A value that is too large is refused, never truncated.
pub trait Store: Send + Sync {
    /// The value; `None` if there is none or it has expired.
    fn get<'a>(&'a self, key: &'a Key) -> Stored<'a, Option<Bytes>>;
    /// Keeps the value for `ttl`; `false` if it exceeds the store's limits.
    fn put<'a>(&'a self, key: Key, value: Bytes, ttl: Duration) -> Stored<'a, bool>;
    /// Removes the value and returns it. Two callers never get the same one.
    fn take<'a>(&'a self, key: &'a Key) -> Stored<'a, Option<Bytes>>;
    /// The values of these keys, in their order.
    fn get_all<'a>(&'a self, keys: &'a [Key]) -> Stored<'a, Vec<Option<Bytes>>> {
        Box::pin(async move {
            let mut all = Vec::with_capacity(keys.len());
            for key in keys {
                all.push(self.get(key).await);
            }
            all
        })
    }
}

/// The store for all requests of a server, and of the other servers that share it.
pub trait Common: Store {
    /// Adds one to the counter of this key. Returns the count in the current window, and the rest of the window, which begins
    /// with the first count. If the shared store is absent, this process counts alone.
    fn count<'a>(&'a self, key: &'a Key, window: Duration) -> Stored<'a, (u64, Duration)>;
    /// The bytes that are held in this process.
    fn held_bytes(&self) -> usize;
    /// The state of the connection to the shared store; `None` if the store is not shared.
    fn link(&self) -> Option<&Link> {
        None
    }
}

/// Reads a JSON value. `None` also for a value that cannot be read, because another version wrote it.
pub async fn read<T: DeserializeOwned>(store: &(impl Store + ?Sized), key: &Key) -> Option<T> {
    serde_json::from_slice(&store.get(key).await?).ok()
}

/// Stores a value as JSON. `false`: it was not stored.
pub async fn write<T: Serialize + Sync>(store: &(impl Store + ?Sized), key: Key, value: &T, ttl: Duration) -> bool {
    match serde_json::to_vec(value) {
        Ok(bytes) => store.put(key, bytes.into(), ttl).await,
        Err(_) => false,
    }
}

impl Link {
    /// Whether the shared store can be reached now.
    pub fn is_present(&self) -> bool {
        self.present.load(Relaxed)
    }

    /// Waits until the shared store can be reached, at most this long. Does not say whether it can ([`Link::is_present`]).
    pub async fn opened(&self, patience: Duration) {
        let present = async {
            while !self.is_present() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // Without them, everything works with what this process has.
        let _ = tokio::time::timeout(patience, present).await;
    }

    /// Number of commands sent.
    pub fn operations(&self) -> u64 {
        self.operations.load(Relaxed)
    }

    /// Number of commands that failed or took too long.
    pub fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }
}

/// Opens the shared store. Must be called inside a Tokio runtime.
///
/// # Errors
/// `configuration` if `place` is not a valid address.
#[cfg(feature = "redis")]
pub fn open(place: &Place<'_>) -> Result<std::sync::Arc<dyn Common>, crate::error::Error> {
    Ok(Redis::open(place)?)
}

/// Always fails: this program was built without the feature `redis`.
///
/// # Errors
/// `configuration`.
#[cfg(not(feature = "redis"))]
pub fn open(_: &Place<'_>) -> Result<std::sync::Arc<dyn Common>, crate::error::Error> {
    let what = "`store`: this toolglot was built without the feature `redis`";
    Err(crate::error::Error::proxy(what).with_code("configuration"))
}
