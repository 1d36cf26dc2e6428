//! The store that several instances share: Redis or a server with its protocol (Valkey, KeyDB), alone or as a cluster.
//!
//! A request never waits for it longer than [`PATIENCE`](super::PATIENCE). After the first command that fails or takes longer,
//! the store counts as absent for every request: requests use the values of this instance, while a background task reconnects.
//! Values written during an absence are sent afterwards.

use std::{
    sync::{Arc, Mutex, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use redis::{
    Cmd, ConnectionInfo, FromRedisValue, IntoConnectionInfo, RedisError, aio::MultiplexedConnection, cluster::ClusterClient,
    cluster_async::ClusterConnection,
};
use sha2::{Digest, Sha256};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use super::{Common, Key, Kind, Link, Memory, Place, Store, Stored, VALUE_BYTES};
use crate::{error::Error, lock::Hold};

/// Connecting happens in the background and may take longer.
const CONNECTING: Duration = Duration::from_secs(2);
/// Pause between two attempts to connect.
const REST: Duration = Duration::from_millis(250);
/// Shortest time between two log lines about its absence: a server whose latency is near the limit would fill the log.
const SAYING: Duration = Duration::from_secs(10);
/// The key of the probe. The probe is a write, because a full server and a replica still answer reads.
const PROBE: &str = "toolglot:probe";

/// Counts, and says how much is left of the window, which the first count begins.
const COUNT: &str = "local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return {count, redis.call('PTTL', KEYS[1])}";

/// A store on Redis, which requests and its task share. The task runs as long as the runtime that it was opened in.
pub struct Redis {
    nodes: Vec<ConnectionInfo>,
    cluster: bool,
    patience: Duration,
    /// `None`: absent.
    connection: ArcSwapOption<Connection>,
    /// Wakes the task: the connection is lost.
    lost: Notify,
    link: Link,
    /// Copies of the values that this instance wrote to Redis: read while Redis is absent.
    copies: Memory,
    /// Values that Redis does not have yet.
    unsent: Memory,
    said: Mutex<Option<Instant>>,
}

#[derive(Clone)]
enum Connection {
    One(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl Redis {
    /// A store at this place. Connects in the background.
    ///
    /// # Errors
    /// `configuration` if this is not the address of a store.
    #[allow(clippy::disallowed_methods, reason = "the connection belongs to all requests")]
    pub fn open(place: &Place<'_>) -> Result<Arc<Redis>, Error> {
        let nodes = nodes(place).map_err(|error| Error::proxy(format!("`store`: {error}")).with_code("configuration"))?;
        let store = Arc::new(Redis {
            nodes,
            cluster: place.cluster,
            patience: place.patience,
            connection: ArcSwapOption::empty(),
            lost: Notify::new(),
            link: Link::default(),
            copies: Memory::default(),
            unsent: Memory::default(),
            said: Mutex::default(),
        });
        tokio::spawn(Arc::clone(&store).keep());
        Ok(store)
    }
}

impl Store for Redis {
    fn get<'a>(&'a self, key: &'a Key) -> Stored<'a, Option<Bytes>> {
        if is_own(key) {
            return self.copies.get(key);
        }
        Box::pin(async move { self.get_all(std::slice::from_ref(key)).await.pop().flatten() })
    }

    fn get_all<'a>(&'a self, keys: &'a [Key]) -> Stored<'a, Vec<Option<Bytes>>> {
        Box::pin(async move {
            if keys.is_empty() {
                return Vec::new();
            }
            let mut command = redis::cmd("MGET");
            keys.iter().for_each(|key| _ = command.arg(name(key)));
            let found: Vec<Option<Vec<u8>>> = self.ask(command).await.unwrap_or_default();
            let mut all = Vec::with_capacity(keys.len());
            for (at, key) in keys.iter().enumerate() {
                all.push(match found.get(at) {
                    Some(Some(value)) => Some(Bytes::copy_from_slice(value)),
                    Some(None) => self.unsent.get(key).await,
                    None => self.own(key).await,
                });
            }
            all
        })
    }

    fn put<'a>(&'a self, key: Key, value: Bytes, ttl: Duration) -> Stored<'a, bool> {
        if is_own(&key) {
            return self.copies.put(key, value, ttl);
        }
        Box::pin(async move {
            if value.len() > VALUE_BYTES {
                return false;
            }
            if self.ask::<()>(set(&key, &value, ttl)).await.is_none() {
                return self.unsent.put(key, value, ttl).await;
            }
            self.unsent.take(&key).await;
            self.copy(key, value, ttl).await;
            true
        })
    }

    fn take<'a>(&'a self, key: &'a Key) -> Stored<'a, Option<Bytes>> {
        Box::pin(async move {
            let unsent = self.unsent.take(key).await;
            self.copies.take(key).await;
            // Atomic: of two instances one gets it.
            let taken = self.ask::<Option<Vec<u8>>>(command("GETDEL", key)).await.flatten();
            taken.map(Bytes::from).or(unsent)
        })
    }
}

impl Common for Redis {
    fn count<'a>(&'a self, key: &'a Key, window: Duration) -> Stored<'a, (u64, Duration)> {
        Box::pin(async move {
            let mut counting = redis::cmd("EVAL");
            counting.arg(COUNT).arg(1).arg(name(key)).arg(milliseconds(window));
            match self.ask::<(u64, i64)>(counting).await {
                Some((count, left)) => (count, Duration::from_millis(left.try_into().unwrap_or_default())),
                None => self.copies.count(key, window).await,
            }
        })
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }

    fn held_bytes(&self) -> usize {
        self.copies.held_bytes() + self.unsent.held_bytes()
    }
}

impl Redis {
    /// Sends a command. `None`: it failed or took too long, and Redis counts as absent from now on.
    async fn ask<T: FromRedisValue>(&self, command: Cmd) -> Option<T> {
        let connection = self.connection.load_full()?;
        self.link.operations.fetch_add(1, Relaxed);
        let why = match timeout(self.patience, connection.as_ref().clone().send(&command)).await {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} ms", self.patience.as_millis()),
        };
        self.link.failures.fetch_add(1, Relaxed);
        // Of many that fail together, one says so.
        if self.connection.swap(None).is_some() {
            self.absent(&why);
            self.lost.notify_one();
        }
        None
    }

    /// This instance's own value for the key.
    async fn own(&self, key: &Key) -> Option<Bytes> {
        match self.unsent.get(key).await {
            Some(value) => Some(value),
            None => self.copies.get(key).await,
        }
    }

    /// Connects, and again whenever the connection is lost. Never ends.
    async fn keep(self: Arc<Self>) {
        loop {
            match timeout(CONNECTING, self.connect()).await {
                Ok(Ok(connection)) => {
                    self.connection.store(Some(Arc::new(connection.clone())));
                    if !self.link.present.swap(true, Relaxed) {
                        tracing::info!(store = self.place(), "the shared store answers");
                    }
                    self.hand_in(connection).await;
                    self.lost.notified().await;
                    self.link.present.store(false, Relaxed);
                }
                Ok(Err(error)) => self.absent(&error.to_string()),
                Err(_) => self.absent(&format!("no connection within {} s", CONNECTING.as_secs())),
            }
            sleep(REST).await;
        }
    }

    /// A connection over which a value can be written in time.
    async fn connect(&self) -> Result<Connection, RedisError> {
        let mut connection = if self.cluster {
            let client = ClusterClient::builder(self.nodes.clone()).retries(0).connection_timeout(CONNECTING).build()?;
            Connection::Cluster(client.get_async_connection().await?)
        } else {
            let node = self.nodes.first().cloned().ok_or((redis::ErrorKind::InvalidClientConfig, "it names no server"))?;
            let client = redis::Client::open(node)?;
            Connection::One(client.get_multiplexed_async_connection().await?)
        };
        let mut probe = redis::cmd("SET");
        probe.arg(PROBE).arg("").arg("PX").arg(milliseconds(CONNECTING));
        match timeout(self.patience, connection.send::<()>(&probe)).await {
            Ok(written) => written.map(|()| connection),
            Err(_) => Err((redis::ErrorKind::Io, "it is too slow").into()),
        }
    }

    /// Sends what was kept while it was absent.
    async fn hand_in(&self, mut connection: Connection) {
        while let Some((key, value, left)) = self.unsent.pop() {
            let command = match key.kind {
                // This instance has handed the call to its own machine; one that has arrived nevertheless must not run twice.
                Kind::SpooledCall => command("DEL", &key),
                _ => set(&key, &value, left),
            };
            if !matches!(timeout(CONNECTING, connection.send::<()>(&command)).await, Ok(Ok(()))) {
                self.unsent.put(key, value, left).await;
                return;
            }
            self.copy(key, value, left).await;
        }
    }

    /// Keeps what Redis has for the time of its absence, except for what only one may get.
    async fn copy(&self, key: Key, value: Bytes, ttl: Duration) {
        if key.kind != Kind::SpooledCall {
            self.copies.put(key, value, ttl).await;
        }
    }

    fn absent(&self, why: &str) {
        self.link.present.store(false, Relaxed);
        let mut said = self.said.hold();
        if said.is_none_or(|at| at.elapsed() > SAYING) {
            *said = Some(Instant::now());
            tracing::warn!(store = self.place(), "the shared store is absent: {why}; requests go on with what this instance has");
        }
    }

    /// Where it is, without its password.
    fn place(&self) -> String {
        self.nodes.iter().map(|node| node.addr().to_string()).collect::<Vec<_>>().join(",")
    }
}

impl Connection {
    async fn send<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, RedisError> {
        match self {
            Connection::One(connection) => command.query_async(connection).await,
            Connection::Cluster(connection) => command.query_async(connection).await,
        }
    }
}

/// `redis://[user@]host[:port][/database]`; of a cluster several hosts, separated by commas.
fn nodes(place: &Place<'_>) -> Result<Vec<ConnectionInfo>, RedisError> {
    let (scheme, rest) = place.url.split_once("://").unwrap_or(("redis", place.url));
    let (user, hosts) = rest.split_once('@').map_or(("", rest), |(user, hosts)| (user, hosts));
    let node = |host: &str| {
        let at = if user.is_empty() { "" } else { "@" };
        let node = format!("{scheme}://{user}{at}{host}").into_connection_info()?;
        let mut settings = node.redis_settings().clone();
        if let Some(password) = place.password {
            settings = settings.set_password(password);
        }
        Ok(node.set_redis_settings(settings))
    };
    hosts.split(',').map(node).collect()
}

/// The name of a key: readable for a person who looks into the server, and of bounded length.
fn name(key: &Key) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    // Braces would say which part of a cluster it belongs to, colons where the tenant ends.
    let tenant: String =
        key.tenant.chars().map(|c| if plain(c) { c.to_string() } else { format!("%{:x}", u32::from(c)) }).collect();
    format!("toolglot:{tenant}:{:?}:{:x}", key.kind, Sha256::digest(&key.id))
}

/// What is worth no command: a comparison for the log of this instance.
fn is_own(key: &Key) -> bool {
    key.kind == Kind::Prefix
}

fn command(verb: &str, key: &Key) -> Cmd {
    let mut command = redis::cmd(verb);
    command.arg(name(key));
    command
}

fn set(key: &Key, value: &Bytes, ttl: Duration) -> Cmd {
    let mut command = command("SET", key);
    command.arg(&value[..]).arg("PX").arg(milliseconds(ttl));
    command
}

/// At least one: Redis refuses a value that expires at once. At most ten years.
fn milliseconds(duration: Duration) -> u64 {
    const LONGEST: u128 = 10 * 365 * 24 * 60 * 60 * 1000;
    duration.as_millis().clamp(1, LONGEST).try_into().unwrap_or(1)
}

#[cfg(test)]
mod tests;
