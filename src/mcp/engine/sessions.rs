//! The sessions over HTTP. Their number is limited: of the sender that has most of them, the one that was silent longest makes room.
//! Those of streamable HTTP are the SDK's, but every item of content gets its `serviceInfo`; one that is silent for [`IDLE`] ends.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::{Stream, StreamExt};
use http::request::Parts;
use rmcp::{
    model::{ClientJsonRpcMessage, CustomResult, GetExtensions, ServerJsonRpcMessage, ServerResult},
    transport::{
        common::server_side_http::ServerSseMessage,
        streamable_http_server::session::{
            RestoreOutcome, SessionId, SessionManager, SessionState, SessionStore, SessionStoreError,
            local::{LocalSessionManager, LocalSessionManagerError},
        },
    },
};
use serde_json::Value;
use tokio::sync::mpsc;

use super::Caller;
use crate::{
    lock::Hold,
    mcp::response::ServiceInfo,
    store::{self, Common, Key, Kind},
};

/// How sessions began, in a store that instances share: another instance begins such a session again in the same way. What
/// streams still owe of it stays with the instance that they are open at.
pub(super) struct Begun(pub(super) Arc<dyn Common>);

pub(super) struct Sessions {
    inner: LocalSessionManager,
    limit: usize,
    pub(super) used: Mutex<HashMap<SessionId, Used>>,
}

/// When a session was last used, and whose it is. The SDK opens a session without telling for whom: until its first message, it has
/// no owner.
pub(super) struct Used {
    pub(super) at: Instant,
    pub(super) owner: Option<Arc<str>>,
    /// The input queue, if it is one of the legacy transport. Without it the session ends.
    pub(super) input: Option<mpsc::Sender<ClientJsonRpcMessage>>,
}

/// After this time without a message a session is closed.
pub(super) const IDLE: Duration = Duration::from_secs(5 * 60);

impl Sessions {
    pub(super) fn new(limit: usize) -> Sessions {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(IDLE);
        Sessions { inner, limit: limit.max(1), used: Mutex::default() }
    }

    /// Notes that a session of streamable HTTP is used, and whose it is, if it is by a request.
    fn touch(&self, id: &SessionId, message: Option<&ClientJsonRpcMessage>) {
        let parts = message.and_then(|message| match message {
            ClientJsonRpcMessage::Request(request) => request.request.extensions().get::<Parts>(),
            _ => None,
        });
        let caller = parts.and_then(|parts| parts.extensions.get::<Caller>());
        let mut used = self.used.hold();
        let before = used.remove(id).and_then(|used| used.owner);
        let owner = caller.map(|caller| Arc::clone(&caller.name)).or(before);
        used.insert(Arc::clone(id), Used { at: Instant::now(), owner, input: None });
    }

    /// Closes a session, if another one would be too many. Forgets those that have ended by themselves.
    pub(super) async fn make_room(&self) {
        let oldest = {
            let open = self.inner.sessions.read().await;
            let mut used = self.used.hold();
            used.retain(|id, used| used.input.is_some() || open.contains_key(id));
            if used.len() < self.limit { None } else { oldest_of_most(&used) }
        };
        if let Some(oldest) = oldest {
            tracing::info!("too many MCP sessions; the one that was silent longest is closed");
            // Closed is also what cannot be told so any more.
            let _ = self.close_session(&oldest).await;
        }
    }
}

/// Of the owner that has most sessions, the one that was silent longest.
fn oldest_of_most(open: &HashMap<SessionId, Used>) -> Option<SessionId> {
    let mut counts: HashMap<&Option<Arc<str>>, usize> = HashMap::new();
    open.values().for_each(|used| *counts.entry(&used.owner).or_default() += 1);
    let (most, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let own = open.iter().filter(|(_, used)| used.owner == *most);
    own.min_by_key(|(_, used)| used.at).map(|(id, _)| Arc::clone(id))
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.make_room().await;
        let created = self.inner.create_session().await?;
        self.touch(&created.0, None);
        Ok(created)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.touch(id, Some(&message));
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.used.hold().remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.touch(id, Some(&message));
        Ok(self.inner.create_stream(id, message).await?.map(|mut event| {
            event.message = event.message.map(|message| match Arc::try_unwrap(message) {
                Ok(message) => Arc::new(with_service_info(message)),
                Err(shared) => Arc::new(with_service_info(shared.as_ref().clone())),
            });
            event
        }))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.touch(id, Some(&message));
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.resume(id, last_event_id).await
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        self.make_room().await;
        self.touch(&id, None);
        self.inner.restore_session(id).await
    }
}

impl Begun {
    /// The id is a random secret of its session.
    fn key(id: &str) -> Key {
        Key::local(Kind::Session, id)
    }
}

/// What the SDK's macro would write: a future in a box.
type Boxed<'f, T> = Pin<Box<dyn Future<Output = Result<T, SessionStoreError>> + Send + 'f>>;

impl SessionStore for Begun {
    fn load<'a: 'f, 'b: 'f, 'f>(&'a self, id: &'b str) -> Boxed<'f, Option<SessionState>> {
        Box::pin(async move { Ok(store::read(&*self.0, &Begun::key(id)).await) })
    }

    fn store<'a: 'f, 'b: 'f, 'c: 'f, 'f>(&'a self, id: &'b str, state: &'c SessionState) -> Boxed<'f, ()> {
        Box::pin(async move {
            let state = serde_json::to_vec(state)?;
            self.0.put(Begun::key(id), state.into(), store::DAY).await;
            Ok(())
        })
    }

    fn delete<'a: 'f, 'b: 'f, 'f>(&'a self, id: &'b str) -> Boxed<'f, ()> {
        Box::pin(async move {
            self.0.take(&Begun::key(id)).await;
            Ok(())
        })
    }
}

/// The SDK's content has room for `_meta` only: what that says of a tool's origin is written beside the item's own fields,
/// too, where clients of the older transports look for it.
pub(super) fn with_service_info(message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
    let ServerJsonRpcMessage::Response(mut response) = message else { return message };
    if let ServerResult::CallToolResult(result) = &response.result
        && let Ok(mut value) = serde_json::to_value(result)
    {
        for item in value.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
            ServiceInfo::show(item);
        }
        response.result = ServerResult::CustomResult(CustomResult::new(value));
    }
    ServerJsonRpcMessage::Response(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ping(owner: &str) -> ClientJsonRpcMessage {
        let (mut parts, ()) = http::Request::new(()).into_parts();
        parts.extensions.insert(Caller { name: owner.into(), servers: None });
        let mut message: ClientJsonRpcMessage =
            serde_json::from_value(serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).unwrap();
        message.insert_extension(parts);
        message
    }

    #[tokio::test]
    async fn whoever_has_most_sessions_makes_room() {
        let sessions = Sessions::new(3);
        let mut ids = Vec::new();
        for owner in ["ann", "bob", "bob", "bob", "ann"] {
            let (id, _transport) = sessions.create_session().await.unwrap();
            sessions.touch(&id, Some(&ping(owner)));
            ids.push(id);
        }
        let open = futures_util::future::join_all(ids.iter().map(|id| sessions.has_session(id))).await;
        let open: Vec<bool> = open.into_iter().map(Result::unwrap).collect();
        assert_eq!(open, [true, false, false, true, true], "ann's first is older than all of bob's");
    }
}
