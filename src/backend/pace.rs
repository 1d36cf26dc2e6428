//! Limits the requests per minute to a backend. A request beyond the limit waits, and is refused only if the wait would be too
//! long.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    error::Error,
    lock::Hold,
    store::{Common, Key, Link},
};

#[cfg(test)]
mod tests;

/// Permits a number of requests in any window of time. Clones share the count.
#[derive(Debug, Clone)]
pub struct Pace {
    requests: usize,
    window: Duration,
    patience: Duration,
    /// When requests were or will be sent, the earliest first. Covers one window.
    turns: Arc<Mutex<VecDeque<Instant>>>,
}

/// A reserved turn. Dropping it before the wait is over gives the turn back.
struct Waiting<'p> {
    pace: &'p Pace,
    at: Instant,
    taken: bool,
}

impl Pace {
    /// A limit of `requests` (at least one) per minute. A request that would wait longer than `patience` is refused.
    pub fn per_minute(requests: u32, patience: Duration) -> Pace {
        Pace::new(requests.max(1) as usize, Duration::from_secs(60), patience)
    }

    fn new(requests: usize, window: Duration, patience: Duration) -> Pace {
        Pace { requests, window, patience, turns: Arc::default() }
    }

    /// Waits for the next place among all instances that share the store, which counts the requests per window under `key`. If the
    /// store is not shared or cannot be reached, only this instance's requests count.
    ///
    /// # Errors
    /// As [`Pace::wait`].
    pub async fn wait_among_all(&self, key: &Key, store: &dyn Common) -> Result<(), Error> {
        let begun = Instant::now();
        while store.link().is_some_and(Link::is_present) {
            let (count, left) = store.count(key, self.window).await;
            if count <= self.requests as u64 {
                return Ok(());
            }
            if begun.elapsed() + left > self.patience {
                return Err(self.too_far(left));
            }
            tokio::time::sleep(left).await;
        }
        self.wait().await
    }

    /// Waits for the next place of this instance.
    ///
    /// # Errors
    /// 429 (`rate_limit_exceeded`) if the wait would exceed the patience.
    pub async fn wait(&self) -> Result<(), Error> {
        let mut waiting = Waiting { pace: self, at: self.reserve(Instant::now())?, taken: false };
        tokio::time::sleep_until(waiting.at).await;
        waiting.taken = true;
        Ok(())
    }

    /// Reserves the next turn and returns its time.
    fn reserve(&self, now: Instant) -> Result<Instant, Error> {
        let mut turns = self.turns.hold();
        while turns.front().is_some_and(|first| *first + self.window <= now) {
            turns.pop_front();
        }
        let ahead = turns.len().checked_sub(self.requests).and_then(|at| turns.get(at));
        let at = ahead.map_or(now, |earlier| (*earlier + self.window).max(now));
        let wait = at - now;
        if wait > self.patience {
            return Err(self.too_far(wait));
        }
        turns.push_back(at);
        Ok(at)
    }

    /// The error for a wait that would be too long.
    fn too_far(&self, wait: Duration) -> Error {
        Error::backend(format!(
            "the backend takes {} requests in {} s, and the next free turn is in {} s",
            self.requests,
            self.window.as_secs(),
            wait.as_secs()
        ))
        .with_status(429)
        .with_code("rate_limit_exceeded")
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.taken {
            let mut turns = self.pace.turns.hold();
            if let Some(at) = turns.iter().rposition(|turn| *turn == self.at) {
                turns.remove(at);
            }
        }
    }
}
