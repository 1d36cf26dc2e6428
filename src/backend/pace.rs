//! Limits the requests per minute to a backend. A request beyond the limit waits, and is refused only if the wait would be too
//! long.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::{
    error::Error,
    store::{Common, Key},
};

#[cfg(test)]
mod tests;

const WINDOW: Duration = Duration::from_secs(60);
/// How long a request may wait.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for a place among the `most` requests (at least one) of a minute that begins with its first request. All instances that
/// share the store are counted under `key`.
///
/// # Errors
/// 429 (`rate_limit_exceeded`) if the wait would exceed two minutes.
pub(super) async fn wait(store: &dyn Common, key: &Key, most: u32) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        let (count, left) = store.count(key, WINDOW).await;
        let Some(before) = count.checked_sub(u64::from(most) + 1) else { return Ok(()) };
        // Those that were counted before fill the next minutes.
        let further = u32::try_from(before / u64::from(most)).unwrap_or(u32::MAX);
        let free = WINDOW.saturating_mul(further).saturating_add(left);
        if begun.elapsed().saturating_add(free) > PATIENCE {
            let (seconds, free) = (WINDOW.as_secs(), free.as_secs());
            let what = format!("the backend takes {most} requests in {seconds} s, and the next free turn is in {free} s");
            return Err(Error::backend(what).with_status(429).with_code("rate_limit_exceeded"));
        }
        sleep(left).await;
    }
}
