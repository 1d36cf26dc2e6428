//! Polls a body only if it was woken since it had nothing to give. For each piece of an answer, hyper asks for the next one until
//! there is none, and once more after it has written the piece. The way down through all layers of the body is most of what a
//! piece costs there.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::task::AtomicWaker;

/// What was polled in vain, and is not polled again until it is woken.
pub(super) struct Woken {
    bell: Arc<Bell>,
    /// Rings the bell.
    waker: Waker,
    waits: bool,
}

#[derive(Default)]
struct Bell {
    rang: AtomicBool,
    /// The task that polls.
    task: AtomicWaker,
}

impl Default for Woken {
    fn default() -> Woken {
        let bell = Arc::new(Bell::default());
        Woken { waker: Waker::from(Arc::clone(&bell)), bell, waits: false }
    }
}

impl Woken {
    /// What `poll` gives, which must be polled by nobody else. It also says whether it has nothing more until it is woken.
    pub(super) fn poll<T>(&mut self, cx: &mut Context<'_>, poll: impl FnOnce(&mut Context<'_>) -> (Poll<T>, bool)) -> Poll<T> {
        // In this order: what rings after the look at the bell wakes the task.
        self.bell.task.register(cx.waker());
        if self.waits && !self.bell.rang.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let (polled, waits) = poll(&mut Context::from_waker(&self.waker));
        self.waits = waits;
        polled
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Bell>) {
        self.rang.store(true, Ordering::Release);
        self.task.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn what_has_nothing_is_asked_once_and_again_when_it_is_woken() {
        let (send, mut receive) = mpsc::channel(1);
        let (mut woken, mut asked) = (Woken::default(), 0);
        let mut poll = |cx: &mut Context<'_>| {
            woken.poll(cx, |cx| {
                asked += 1;
                let polled = receive.poll_recv(cx);
                let waits = polled.is_pending();
                (polled, waits)
            })
        };
        for _ in 0..3 {
            let polled = poll_fn(|cx| Poll::Ready(poll(cx))).await;
            assert!(polled.is_pending());
        }
        let (sent, received) = tokio::join!(send.send(7), poll_fn(&mut poll));
        assert_eq!((sent.is_ok(), received), (true, Some(7)));
        drop(send);
        assert_eq!(poll_fn(&mut poll).await, None);
        assert_eq!(asked, 3);
    }
}
