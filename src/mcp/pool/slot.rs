//! The one connection to a server: opened when first needed, reopened after it broke, and left alone for a while after a
//! failed attempt.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::future::{BoxFuture, FutureExt, Shared};
use tokio::task::AbortHandle;

use super::{causes, connection::Connection};
use crate::{config::Environment, dial::Clients, error::Error, lock::Hold, mcp::registry::Server};

/// A server and its connection.
pub(super) struct Slot {
    pub(super) server: Arc<Server>,
    environment: Environment,
    clients: Clients,
    state: Mutex<Inner>,
}

struct Inner {
    state: State,
    /// Number of failed attempts in a row.
    failures: u32,
}

enum State {
    Idle,
    Connecting { since: Instant, pending: Pending, task: AbortHandle },
    Ready(Arc<Connection>),
    Failed { error: Error, until: Instant },
}

/// The state that is known without network access.
pub(super) enum Seen {
    Idle,
    Connecting,
    Ready(Arc<Connection>),
    Failed(Error),
}

type Pending = Shared<BoxFuture<'static, Result<Arc<Connection>, Error>>>;

/// How long connecting may take: a process may first have to be downloaded.
const CONNECT_PROCESS: Duration = Duration::from_secs(60);
const CONNECT_REMOTE: Duration = Duration::from_secs(20);
/// Pause after the first failed attempt, and the longest pause. The first is short, because most servers are soon back.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How long closing may take: a process may first ignore the end of its input, then the polite signal.
const SHUT_DOWN: Duration = Duration::from_secs(6);

impl Slot {
    pub(super) fn new(server: Arc<Server>, environment: Environment, clients: Clients) -> Slot {
        Slot { server, environment, clients, state: Mutex::new(Inner { state: State::Idle, failures: 0 }) }
    }

    /// The open connection, which is opened if necessary. `patience` counts from the start of connecting, so a dead server delays
    /// only the first caller.
    pub(super) async fn connection(&self, patience: Duration) -> Result<Arc<Connection>, Error> {
        let (since, pending) = {
            let mut inner = self.state.hold();
            match &inner.state {
                State::Ready(connection) if !connection.is_closed() => return Ok(Arc::clone(connection)),
                State::Failed { error, until } if *until > Instant::now() => return Err(error.clone()),
                State::Connecting { since, pending, .. } => (*since, pending.clone()),
                State::Idle | State::Ready(_) | State::Failed { .. } => {
                    let (since, (pending, task)) = (Instant::now(), self.connect());
                    inner.state = State::Connecting { since, pending: pending.clone(), task };
                    (since, pending)
                }
            }
        };
        let opened = tokio::time::timeout_at((since + patience).into(), pending).await;
        let Ok(opened) = opened else {
            return Err(Error::tool("it is still being connected to"));
        };
        self.note_end(since, &opened);
        opened
    }

    /// What is known now.
    pub(super) fn seen(&self) -> Seen {
        let settled = match &self.state.hold().state {
            State::Connecting { since, pending, .. } => pending.peek().map(|opened| (*since, opened.clone())),
            _ => None,
        };
        if let Some((since, opened)) = settled {
            self.note_end(since, &opened);
        }
        match &self.state.hold().state {
            State::Idle => Seen::Idle,
            State::Connecting { .. } => Seen::Connecting,
            State::Ready(connection) if connection.is_closed() => Seen::Idle,
            State::Ready(connection) => Seen::Ready(Arc::clone(connection)),
            State::Failed { error, .. } => Seen::Failed(error.clone()),
        }
    }

    /// Abandons the connection, because the server no longer answers on it.
    pub(super) fn give_up(&self, connection: &Arc<Connection>, error: &Error) {
        let mut inner = self.state.hold();
        if matches!(&inner.state, State::Ready(own) if Arc::ptr_eq(own, connection)) {
            connection.stop();
            inner.fail(error);
        }
    }

    /// Closes the connection, also one that is being opened.
    pub(super) fn close(&self) {
        self.end();
    }

    /// Closes the connection and waits until it is closed, within reason.
    pub(super) async fn shut_down(&self) {
        match self.end() {
            State::Ready(connection) => connection.closed(SHUT_DOWN).await,
            // A child that hangs in its greeting ends with the task.
            State::Connecting { pending, .. } => {
                if let Ok(Ok(connection)) = tokio::time::timeout(SHUT_DOWN, pending).await {
                    connection.stop();
                    connection.closed(SHUT_DOWN).await;
                }
            }
            State::Idle | State::Failed { .. } => {}
        }
    }

    fn end(&self) -> State {
        let before = std::mem::replace(&mut self.state.hold().state, State::Idle);
        match &before {
            State::Ready(connection) => connection.stop(),
            State::Connecting { task, .. } => task.abort(),
            State::Idle | State::Failed { .. } => {}
        }
        before
    }

    #[allow(clippy::disallowed_methods, reason = "a connection outlives the request that needed it first")]
    fn connect(&self) -> (Pending, AbortHandle) {
        let (server, environment, clients) = (Arc::clone(&self.server), self.environment.clone(), self.clients.clone());
        let limit = if server.is_process() { CONNECT_PROCESS } else { CONNECT_REMOTE };
        let connecting = tokio::spawn(async move {
            match tokio::time::timeout(limit, Connection::open(&server, &environment, &clients)).await {
                Ok(opened) => opened.map(Arc::new),
                Err(_) => Err(Error::tool(format!("no connection within {} s", limit.as_secs()))),
            }
        });
        let task = connecting.abort_handle();
        let joined = async { connecting.await.unwrap_or_else(|error| Err(Error::proxy(causes(&error)))) };
        (joined.boxed().shared(), task)
    }

    /// Notes how connecting ended, once.
    fn note_end(&self, since: Instant, opened: &Result<Arc<Connection>, Error>) {
        let mut inner = self.state.hold();
        if !matches!(&inner.state, State::Connecting { since: own, .. } if *own == since) {
            return;
        }
        match opened {
            Ok(connection) => {
                tracing::info!(
                    server = self.server.name,
                    dialect = connection.dialect,
                    protocol = connection.protocol(),
                    "connected"
                );
                inner.failures = 0;
                inner.state = State::Ready(Arc::clone(connection));
            }
            Err(error) => {
                tracing::warn!(server = self.server.name, %error, "cannot connect");
                inner.fail(error);
            }
        }
    }
}

impl Inner {
    fn fail(&mut self, error: &Error) {
        let pause = (PAUSE * 2_u32.saturating_pow(self.failures.min(16))).min(LONGEST_PAUSE);
        self.failures += 1;
        self.state = State::Failed { error: error.clone(), until: Instant::now() + pause };
    }
}
