//! The interface to all state that an answer depends on: learned facts, stored calls, results of mixed turns. It is kept in
//! memory, in files, or in Redis if several instances share it. No synchronous stage uses it.

use std::{
    future::Future,
    pin::Pin,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

#[cfg(feature = "daemon")]
mod files;
#[cfg(feature = "daemon")]
mod memory;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "redis")]
pub use self::redis::Redis;
#[cfg(feature = "daemon")]
pub use files::Files;
#[cfg(feature = "daemon")]
pub use memory::Memory;

/// The largest value.
#[cfg(feature = "daemon")]
const VALUE_BYTES: usize = 8 * 1024 * 1024;

/// A request waits no longer than this for a shared store.
pub const PATIENCE: Duration = Duration::from_millis(50);

/// What is kept under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// What was learned about a (backend, model): native tools or prompt mode, context size.
    Learned,
    /// A call of shell mode that waits for `toolglot call`.
    SpooledCall,
    /// A call that left as a shell command, to read the command in the history.
    PastCall,
    /// The results of our own tools in a turn that also called the client's.
    TurnResults,
    /// Accepted hashes of tool definitions.
    ToolPin,
    /// What a backend wants back with a call, by the call's id.
    CallExtra,
    /// How the last request of a conversation began.
    Prefix,
    /// A response of `/v1/responses`, with the items that it answered.
    Response,
    /// How a session of our MCP server began.
    Session,
    /// How many requests came in a window of time.
    Requests,
    /// What came of the last trial of a model.
    Trial,
}

/// Whose, what, which.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The tenant of the caller; `""` for the one local user.
    pub tenant: String,
    /// What is kept.
    pub kind: Kind,
    /// Which one.
    pub id: String,
}

impl Key {
    /// The key of the one local user.
    pub fn local(kind: Kind, id: impl Into<String>) -> Key {
        Key { tenant: String::new(), kind, id: id.into() }
    }
}

/// Where a store is that several instances share.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// `redis://[user@]host[:port][/database]`, or `rediss://` for TLS; of a cluster several hosts, separated by commas.
    pub url: &'a str,
    /// Its password.
    pub password: Option<&'a str>,
    /// It is a cluster.
    pub cluster: bool,
    /// How long a command may take: [`PATIENCE`] where a request waits for it.
    pub patience: Duration,
}

/// How the way to a shared store is doing.
#[derive(Debug, Default)]
pub struct Link {
    present: AtomicBool,
    operations: AtomicU64,
    failures: AtomicU64,
}

/// A future of the store: boxed, so that a store can be behind `dyn`.
pub type Stored<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Keeps bytes under keys for a while. A value that is too large is refused (`false`), never cut.
pub trait Store: Send + Sync {
    /// The value, if it is there and has not expired.
    fn get<'a>(&'a self, key: &'a Key) -> Stored<'a, Option<Bytes>>;
    /// Keeps the value for `ttl`; `false` if it exceeds the store's limits.
    fn put<'a>(&'a self, key: Key, value: Bytes, ttl: Duration) -> Stored<'a, bool>;
    /// The value, removed: two takers never get the same one.
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

/// The store of all requests of a server, and of other servers where it is shared.
pub trait Common: Store {
    /// Counts one more under this key. How many there are since the window of time began, and what is left of it; it begins
    /// with the first one.
    fn count<'a>(&'a self, key: &'a Key, window: Duration) -> Stored<'a, (u64, Duration)>;
    /// The way to what other instances see; `None`: there are none.
    fn link(&self) -> Option<&Link> {
        None
    }
}

/// What is kept under a key as JSON. What cannot be read was written by another version: as if nothing were there.
pub async fn read<T: DeserializeOwned>(store: &(impl Store + ?Sized), key: &Key) -> Option<T> {
    serde_json::from_slice(&store.get(key).await?).ok()
}

/// Keeps a value as JSON; `false` if it was not kept.
pub async fn write<T: Serialize + Sync>(store: &(impl Store + ?Sized), key: Key, value: &T, ttl: Duration) -> bool {
    match serde_json::to_vec(value) {
        Ok(bytes) => store.put(key, bytes.into(), ttl).await,
        Err(_) => false,
    }
}

// === impl Link ===

impl Link {
    /// Other instances can be reached through it now.
    pub fn is_present(&self) -> bool {
        self.present.load(Relaxed)
    }

    /// Waits until others can be reached, but no longer than this.
    #[cfg(feature = "daemon")]
    pub async fn opened(&self, patience: Duration) {
        let present = async {
            while !self.is_present() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // Without them, everything works with what this process has.
        let _ = tokio::time::timeout(patience, present).await;
    }

    /// Commands that were sent.
    pub fn operations(&self) -> u64 {
        self.operations.load(Relaxed)
    }

    /// Commands that failed or took too long.
    pub fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }
}

/// Opens the shared store; to be called inside of a runtime. Fails (code `configuration`) where this is not the address of a store.
#[cfg(feature = "redis")]
pub fn open(place: &Place<'_>) -> Result<std::sync::Arc<dyn Common>, crate::error::Error> {
    Ok(std::sync::Arc::new(Redis::open(place)?))
}

/// The same, where this program was built without it.
#[cfg(all(feature = "daemon", not(feature = "redis")))]
pub fn open(_: &Place<'_>) -> Result<std::sync::Arc<dyn Common>, crate::error::Error> {
    let what = "`store`: this toolglot was built without the feature `redis`";
    Err(crate::error::Error::proxy(what).with_code("configuration"))
}
