//! Limits how long a backend may send nothing before it counts as dead. (Signs of life for the client are in `turn.rs`.) Every
//! piece of a stream breaks the silence, so that must be cheap: there is one timer, and when it fires, it checks whether the
//! silence has started again since.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep};

/// A limit of silence. Its end only ever moves later.
#[derive(Debug)]
pub struct Silence {
    until: Instant,
    timer: Pin<Box<Sleep>>,
    /// Whom the timer wakes.
    waits: Option<Waker>,
}

impl Silence {
    /// A limit that begins now.
    pub fn new(most: Duration) -> Silence {
        Silence { until: Instant::now() + most, timer: Box::pin(sleep(most)), waits: None }
    }

    /// The silence was broken: a new limit begins now. It must not be shorter than the one before.
    pub fn broken(&mut self, most: Duration) {
        self.until = Instant::now() + most;
    }

    /// Whether the limit is exceeded.
    pub fn is_over(&self) -> bool {
        self.until <= Instant::now()
    }

    /// Waits until the limit is exceeded. Cancel safe.
    pub async fn over(&mut self) {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// As [`Silence::over`], for those who poll.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.timer.is_elapsed() && self.waits.as_ref().is_some_and(|waits| waits.will_wake(cx.waker())) {
            return Poll::Pending;
        }
        self.waits = Some(cx.waker().clone());
        while self.timer.as_mut().poll(cx).is_ready() {
            if self.is_over() {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(self.until);
        }
        Poll::Pending
    }
}
