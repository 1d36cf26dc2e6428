//! The one connection to a server: opened when first needed, reopened after it broke, and left alone for a while after a
//! failed attempt.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{sync::watch, task::AbortHandle, time::sleep};

use super::connection::Connection;
use crate::{config::Environment, dial::Clients, error::Error, mcp::registry::Server};

/// A server and its connection.
pub(super) struct Slot {
    pub(super) server: Arc<Server>,
    environment: Environment,
    clients: Clients,
    inner: watch::Sender<Inner>,
}

struct Inner {
    state: State,
    /// Number of failed attempts in a row.
    failures: u32,
}

#[derive(Clone)]
pub(super) enum State {
    Idle,
    Connecting { since: Instant, task: AbortHandle },
    Ready(Arc<Connection>),
    Failed { error: Error, until: Instant },
}

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
        let inner = watch::Sender::new(Inner { state: State::Idle, failures: 0 });
        Slot { server, environment, clients, inner }
    }

    /// The open connection, which is opened if necessary. `patience` counts from the start of connecting, so a dead server delays
    /// only the first caller.
    pub(super) async fn connection(self: &Arc<Self>, patience: Duration) -> Result<Arc<Connection>, Error> {
        let mut begun = Instant::now();
        self.inner.send_modify(|inner| {
            if inner.needs_opening() {
                inner.state = State::Connecting { since: begun, task: self.connect() };
            } else if let State::Connecting { since, .. } = &inner.state {
                begun = *since;
            }
        });
        let mut states = self.inner.subscribe();
        let settled = states.wait_for(|inner| !matches!(inner.state, State::Connecting { .. }));
        match tokio::time::timeout_at((begun + patience).into(), settled).await.ok().and_then(Result::ok).as_deref() {
            Some(Inner { state: State::Ready(connection), .. }) => Ok(Arc::clone(connection)),
            Some(Inner { state: State::Failed { error, .. }, .. }) => Err(error.clone()),
            Some(_) => Err(Error::tool("it was closed")),
            None => Err(Error::tool("it is still being connected to")),
        }
    }

    /// What is known now, without network access.
    pub(super) fn seen(&self) -> State {
        match &self.inner.borrow().state {
            State::Ready(connection) if connection.is_closed() => State::Idle,
            state => state.clone(),
        }
    }

    /// Abandons the connection, because the server no longer answers on it.
    pub(super) fn give_up(&self, connection: &Arc<Connection>, error: &Error) {
        self.inner.send_modify(|inner| {
            if matches!(&inner.state, State::Ready(own) if Arc::ptr_eq(own, connection)) {
                connection.stop();
                inner.fail(error);
            }
        });
    }

    /// Closes the connection and waits until it is closed, within reason.
    pub(super) async fn shut_down(&self) {
        let before = self.close();
        let has_ended = || match &before {
            State::Ready(connection) => connection.has_ended(),
            // A child that hangs in its greeting ends with the task.
            State::Connecting { task, .. } => task.is_finished(),
            State::Idle | State::Failed { .. } => true,
        };
        let ended = async {
            while !has_ended() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        // A process that outlasts even this is killed with the transport.
        let _ = tokio::time::timeout(SHUT_DOWN, ended).await;
    }

    /// Closes the connection, also one that is being opened. Returns the state before.
    pub(super) fn close(&self) -> State {
        let mut before = State::Idle;
        self.inner.send_modify(|inner| std::mem::swap(&mut inner.state, &mut before));
        match &before {
            State::Ready(connection) => connection.stop(),
            State::Connecting { task, .. } => task.abort(),
            State::Idle | State::Failed { .. } => {}
        }
        before
    }

    #[allow(clippy::disallowed_methods, reason = "a connection outlives the request that needed it first")]
    fn connect(self: &Arc<Self>) -> AbortHandle {
        let slot = Arc::clone(self);
        let limit = if self.server.is_process() { CONNECT_PROCESS } else { CONNECT_REMOTE };
        let connecting = tokio::spawn(async move {
            let opening = Connection::open(&slot.server, &slot.environment, &slot.clients);
            let opened = match tokio::time::timeout(limit, opening).await {
                Ok(opened) => opened,
                Err(_) => Err(Error::tool(format!("no connection within {} s", limit.as_secs()))),
            };
            slot.inner.send_modify(|inner| inner.opened(&slot.server.name, opened));
        });
        connecting.abort_handle()
    }
}

impl Inner {
    /// Whether a connection has to be opened. A task that ended without a word has failed inside.
    fn needs_opening(&self) -> bool {
        match &self.state {
            State::Idle => true,
            State::Connecting { task, .. } => task.is_finished(),
            State::Ready(connection) => connection.is_closed(),
            State::Failed { until, .. } => *until <= Instant::now(),
        }
    }

    fn opened(&mut self, server: &str, opened: Result<Connection, Error>) {
        match opened {
            // It was closed meanwhile.
            Ok(connection) if !matches!(self.state, State::Connecting { .. }) => connection.stop(),
            Ok(connection) => {
                tracing::info!(server, dialect = connection.dialect, protocol = connection.protocol(), "connected");
                self.failures = 0;
                self.state = State::Ready(Arc::new(connection));
            }
            Err(error) => {
                tracing::warn!(server, %error, "cannot connect");
                self.fail(&error);
            }
        }
    }

    fn fail(&mut self, error: &Error) {
        let pause = (PAUSE * 2_u32.saturating_pow(self.failures.min(16))).min(LONGEST_PAUSE);
        self.failures += 1;
        self.state = State::Failed { error: error.clone(), until: Instant::now() + pause };
    }
}
