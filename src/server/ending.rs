//! Streams that end early: if the turn panics, or the server's time of grace is over, the client gets an error in its own form
//! instead of a torn answer.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, future::BoxFuture};
use tokio::sync::watch;

use crate::{
    client::front::{Front, Head},
    error::Error,
};

/// Whether the time of grace is over, and how often something panicked. Clones share both.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    over: watch::Sender<bool>,
    is_over: Arc<AtomicBool>,
    panics: Arc<AtomicU64>,
}

/// A wait for the end of the grace. A piece of an answer polls many times, so that the wait itself is polled only if its task has
/// changed or the end has come.
pub(super) struct Over {
    is_over: Arc<AtomicBool>,
    wait: BoxFuture<'static, ()>,
    waker: Option<Waker>,
}

/// A turn as the stream of its client.
struct Guarded<S> {
    /// `None`: it has ended early.
    turn: Option<Pin<Box<S>>>,
    head: Head,
    over: Over,
    ending: Ending,
}

impl Default for Ending {
    fn default() -> Ending {
        Ending { over: watch::Sender::new(false), is_over: Arc::default(), panics: Arc::default() }
    }
}

impl Ending {
    /// Ends all streams.
    pub(super) fn end(&self) {
        self.is_over.store(true, Relaxed);
        self.over.send_replace(true);
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

    pub(super) fn over(&self) -> Over {
        let mut over = self.over.subscribe();
        let wait = Box::pin(async move {
            // An error means that the sender is gone: the end has come.
            let _ = over.wait_for(|over| *over).await;
        });
        Over { is_over: Arc::clone(&self.is_over), wait, waker: None }
    }

    /// The turn, which ends with an error event if it panics or the grace is over.
    pub(super) fn guarded<S>(&self, head: Head, turn: Pin<Box<S>>) -> impl Stream<Item = Result<Bytes, Error>> + Send + use<S>
    where
        S: Stream<Item = Result<Bytes, Error>> + Send,
    {
        Guarded { turn: Some(turn), head, over: self.over(), ending: self.clone() }
    }
}

/// The error of an answer that the end of the server cuts off.
pub(super) fn cut_off() -> Error {
    Error::proxy("this toolglot ends, and the answer with it; send the request again").with_status(503).with_code("draining")
}

impl Over {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let is_known = self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if is_known && !self.is_over.load(Relaxed) {
            return Poll::Pending;
        }
        self.waker = Some(cx.waker().clone());
        self.wait.as_mut().poll(cx)
    }
}

impl<S> Guarded<S> {
    /// The last bytes of the stream. What the turn has written so far ends between two events.
    fn fault(&mut self, error: &Error) -> Poll<Option<Result<Bytes, Error>>> {
        tracing::warn!(status = error.status, code = error.code, "{error}");
        // To drop what has panicked may panic again.
        let turn = self.turn.take();
        if catch_unwind(AssertUnwindSafe(|| drop(turn))).is_err() {
            tracing::error!("what was left of a turn could not be dropped");
        }
        let mut out = BytesMut::new();
        Front::new(std::mem::take(&mut self.head)).fault(error, &mut out);
        Poll::Ready(Some(Ok(out.freeze())))
    }
}

impl<S: Stream<Item = Result<Bytes, Error>>> Stream for Guarded<S> {
    type Item = Result<Bytes, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let this = self.get_mut();
        let Some(turn) = &mut this.turn else { return Poll::Ready(None) };
        // What is ready goes out before the end.
        match catch_unwind(AssertUnwindSafe(|| turn.as_mut().poll_next(cx))) {
            Ok(Poll::Pending) => match this.over.poll(cx) {
                Poll::Ready(()) => this.fault(&cut_off()),
                Poll::Pending => Poll::Pending,
            },
            Ok(ready) => ready,
            Err(_) => {
                let error = this.ending.panicked();
                this.fault(&error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, stream};

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
    async fn at_the_end_of_the_grace_a_stream_gets_what_is_ready_and_an_error() {
        let ending = Ending::default();
        let turn = stream::iter([Ok(Bytes::from("one"))]).chain(stream::pending());
        let mut sent = Box::pin(ending.guarded(head(Kind::OpenAi), Box::pin(turn)));
        assert_eq!(sent.next().await.unwrap().unwrap(), "one");
        let (last, ()) = tokio::join!(sent.next(), async { ending.end() });
        let last = last.unwrap().unwrap();
        assert!(String::from_utf8_lossy(&last).contains("\"draining\""), "{last:?}");
        assert!(sent.next().await.is_none());
        assert!(ending.guarded(head(Kind::OpenAi), Box::pin(stream::pending())).next().await.is_some(), "also a later one");
    }
}
