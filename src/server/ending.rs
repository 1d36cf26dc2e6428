//! The end of a server, in stages, and streams that end early: if a turn panics, or the server's time of grace is over, the
//! client gets an error in its own form instead of a torn answer.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker, ready},
};

use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, Stream, StreamExt, future::BoxFuture, stream};
use http::{HeaderValue, header};
use tokio::sync::{
    broadcast::{Receiver, error::RecvError},
    watch,
};

use super::reply;
use crate::{
    client::front::{Front, Head},
    error::Error,
};

/// How far the end has come. A stage includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Stage {
    #[default]
    Serving,
    /// The server is not ready any more, and requests are still served: a load balancer sees it at `/readyz`.
    Announced,
    /// New requests are refused.
    Refusing,
    /// Nothing runs any more, or time is up: idle connections are closed, and no new ones are accepted.
    Closing,
    /// Answers that still run are cut off.
    CutOff,
    /// Nothing waits any more.
    Ended,
}

/// The stage that has been reached, and how often something panicked. Clones share it all.
#[derive(Debug, Clone, Default)]
pub(super) struct Ending {
    stage: watch::Sender<Stage>,
    followers: watch::Sender<()>,
    panics: Arc<AtomicU64>,
}

/// A wait for a stage beside something else, which is polled often. Once its waker is registered, a poll only looks whether there is
/// a new stage.
pub(super) struct Reached {
    stages: watch::Receiver<Stage>,
    wait: BoxFuture<'static, ()>,
    /// Whom a new stage wakes. `None`: nobody has asked yet.
    waker: Option<Waker>,
}

/// Paths that are served until the end: load balancers and metrics look at a server that ends.
const OPEN: &[&str] = &["/healthz", "/readyz", "/metrics"];

impl Ending {
    /// Enters the stage.
    pub(super) fn reach(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    /// Whether this stage has been reached.
    pub(super) fn has_reached(&self, stage: Stage) -> bool {
        *self.stage.borrow() >= stage
    }

    /// Waits for the stage.
    pub(super) fn reached(&self, stage: Stage) -> Reached {
        let stages = self.stage.subscribe();
        let mut waited = stages.clone();
        // An error means that nobody is left to enter a stage: the end has come.
        let wait = async move { _ = waited.wait_for(|now| *now >= stage).await }.boxed();
        Reached { stages, wait, waker: None }
    }

    /// Lets all go who follow the turns or the log, because the server ends, or other keys open it.
    pub(super) fn dismiss(&self) {
        self.followers.send_replace(());
    }

    /// What a follower gets until then; an error is the number of those that were missed.
    pub(super) fn followed<T: Clone + Send + 'static>(
        &self,
        told: Receiver<T>,
    ) -> impl Stream<Item = Result<T, u64>> + Send + use<T> {
        let told = stream::unfold(told, async |mut told| match told.recv().await {
            Ok(next) => Some((Ok(next), told)),
            Err(RecvError::Lagged(missed)) => Some((Err(missed), told)),
            Err(RecvError::Closed) => None,
        });
        let mut followers = self.followers.subscribe();
        told.take_until(async move { followers.changed().await })
    }

    /// Refuses a request that comes too late. Nothing of it has been done: it may be sent again at once.
    pub(super) fn refusal(&self, path: &str) -> Option<Response> {
        if !self.has_reached(Stage::Refusing) || OPEN.contains(&path) {
            return None;
        }
        let mut error = draining("this toolglot is about to end; send the request again");
        error.headers.push((header::RETRY_AFTER.to_string(), "1".into()));
        let mut response = reply::error_at(path, &error);
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        Some(response)
    }

    /// How often something panicked.
    pub(super) fn panics(&self) -> u64 {
        self.panics.load(Relaxed)
    }

    /// Counts a panic; its error.
    pub(super) fn panicked(&self) -> Error {
        self.panics.fetch_add(1, Relaxed);
        Error::proxy("toolglot failed inside; this is a bug").with_code("internal_error")
    }

    /// The turn, which ends with an error event if it panics or answers are cut off.
    pub(super) fn guarded<S>(&self, head: Head, turn: Pin<Box<S>>) -> impl Stream<Item = Result<Bytes, Error>> + Send + use<S>
    where
        S: Stream<Item = Result<Bytes, Error>> + Send,
    {
        let (ending, mut over, mut turn) = (self.clone(), self.reached(Stage::CutOff), Some(turn));
        stream::poll_fn(move |cx| {
            let Some(running) = &mut turn else { return Poll::Ready(None) };
            // What is ready goes out before the end.
            let error = match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll_next(cx))) {
                Ok(Poll::Ready(piece)) => return Poll::Ready(piece),
                Ok(Poll::Pending) => {
                    ready!(over.poll_unpin(cx));
                    cut_off()
                }
                Err(_) => ending.panicked(),
            };
            tracing::warn!(status = error.status, code = error.code, "{error}");
            // To drop what has panicked may panic again.
            let turn = turn.take();
            if catch_unwind(AssertUnwindSafe(|| drop(turn))).is_err() {
                tracing::error!("what was left of a turn could not be dropped");
            }
            // What the turn has written so far ends between two events.
            let mut out = BytesMut::new();
            Front::new(head.clone()).fault(&error, &mut out);
            Poll::Ready(Some(Ok(out.freeze())))
        })
    }
}

impl Future for Reached {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let is_registered = self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if is_registered && matches!(self.stages.has_changed(), Ok(false)) {
            return Poll::Pending;
        }
        self.stages.mark_unchanged();
        self.waker = Some(cx.waker().clone());
        self.wait.poll_unpin(cx)
    }
}

/// The error of an answer that the end of the server cuts off.
pub(super) fn cut_off() -> Error {
    draining("this toolglot ends, and the answer with it; send the request again")
}

fn draining(what: &str) -> Error {
    Error::proxy(what).with_status(503).with_code("draining")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::front::Kind;

    fn head(kind: Kind) -> Head {
        Head { kind, ..Head::default() }
    }

    #[tokio::test]
    async fn a_panic_in_a_turn_is_an_error_in_the_form_of_its_client_and_is_counted() {
        let ending = Ending::default();
        for (kind, expected) in [
            (Kind::OpenAi, "data: {\"error\""),
            (Kind::Ollama, "{\"error\""),
            (Kind::Messages, "event: error"),
            (Kind::Responses, "response.failed"),
        ] {
            let turn = stream::iter(["one", "two"]).map(|piece| {
                assert_eq!(piece, "one");
                Ok(Bytes::from(piece))
            });
            let sent: Vec<Bytes> = ending.guarded(head(kind), Box::pin(turn)).map(Result::unwrap).collect().await;
            let [first, last] = sent.as_slice() else { panic!("{sent:?}") };
            let last = String::from_utf8_lossy(last);
            assert!(*first == "one" && last.contains(expected) && last.contains("this is a bug"), "{kind:?}: {last}");
        }
        assert_eq!(ending.panics(), 4);
    }

    #[tokio::test]
    async fn who_follows_hears_what_was_missed_and_is_let_go() {
        let (ending, told) = (Ending::default(), tokio::sync::broadcast::Sender::new(1));
        let mut followed = Box::pin(ending.followed(told.subscribe()));
        for line in ["one", "two"] {
            told.send(line).unwrap();
        }
        assert_eq!((followed.next().await, followed.next().await), (Some(Err(1)), Some(Ok("two"))));
        ending.dismiss();
        assert_eq!(followed.next().await, None);
    }

    #[tokio::test]
    async fn at_the_end_of_the_grace_a_stream_gets_what_is_ready_and_an_error() {
        let ending = Ending::default();
        let turn = stream::iter([Ok(Bytes::from("one"))]).chain(stream::pending());
        let mut sent = Box::pin(ending.guarded(head(Kind::OpenAi), Box::pin(turn)));
        assert_eq!(sent.next().await.unwrap().unwrap(), "one");
        let (last, ()) = tokio::join!(sent.next(), async { ending.reach(Stage::CutOff) });
        let last = last.unwrap().unwrap();
        assert!(String::from_utf8_lossy(&last).contains("\"draining\""), "{last:?}");
        assert!(sent.next().await.is_none());
        assert!(ending.guarded(head(Kind::OpenAi), Box::pin(stream::pending())).next().await.is_some(), "also a later one");
    }
}
