//! The seam behind which all state lies that an answer depends on: learned facts, spooled calls, results of mixed turns.
//! Memory or files; a fleet puts something shared behind the same three methods. Never called by a synchronous stage.

use std::{future::Future, pin::Pin, time::Duration};

use bytes::Bytes;

#[cfg(feature = "daemon")]
mod files;
#[cfg(feature = "daemon")]
mod memory;
#[cfg(feature = "daemon")]
pub use files::Files;
#[cfg(feature = "daemon")]
pub use memory::Memory;

/// What is kept under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// What was learned about a (backend, model): native tools or prompt mode, context size.
    Learned,
    /// A call of shell mode that waits for `toolglot call`.
    SpooledCall,
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
    /// Which process holds a legacy-SSE session.
    Session,
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
}
