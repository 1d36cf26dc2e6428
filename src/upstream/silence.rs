//! How long a backend may send nothing before it counts as dead (keep-alives to the client are in `turn.rs`). A stream breaks
//! its silence with every piece, so that is cheap: one timer is set once and looks, when it fires, whether the silence has begun
//! anew since.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep};

/// A limit to silence, which ends at a moment that only moves on.
#[derive(Debug)]
pub struct Silence {
    until: Instant,
    timer: Pin<Box<Sleep>>,
    /// Whom the timer wakes.
    waits: Option<Waker>,
}

// === impl Silence ===

impl Silence {
    /// From now on, it may be silent for so long.
    pub fn new(most: Duration) -> Silence {
        Silence { until: Instant::now() + most, timer: Box::pin(sleep(most)), waits: None }
    }

    /// Something was heard: it may be silent for so long again, no less than before.
    pub fn broken(&mut self, most: Duration) {
        self.until = Instant::now() + most;
    }

    /// Whether it has been silent for too long by now.
    pub fn is_over(&self) -> bool {
        self.until <= Instant::now()
    }

    /// Waits until it has been silent for too long. Cancel safe.
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
