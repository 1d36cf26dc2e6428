use super::*;

#[tokio::test(start_paused = true)]
async fn whoever_comes_too_early_waits() {
    let pace = Pace::per_minute(2, Duration::from_secs(120));
    let started = Instant::now();
    let mut at = Vec::new();
    for _ in 0..5 {
        pace.wait().await.expect("within patience");
        at.push(started.elapsed().as_secs());
    }
    assert_eq!(at, [0, 0, 60, 60, 120]);
}

#[tokio::test]
async fn a_queue_that_is_too_long_is_said() {
    let pace = Pace::new(1, Duration::from_secs(60), Duration::from_secs(90));
    pace.wait().await.expect("the first");
    let second = pace.clone();
    assert!(tokio::time::timeout(Duration::from_millis(10), second.wait()).await.is_err(), "the second waits a minute");
    // The second has gone: its turn is free again.
    assert!(tokio::time::timeout(Duration::from_millis(10), pace.wait()).await.is_err());
    // After one that is still waiting nobody gets in.
    let mut waiting = Box::pin(pace.wait());
    assert!(futures_util::FutureExt::now_or_never(&mut waiting).is_none());
    let error = pace.wait().await.expect_err("too far away");
    assert_eq!((error.status, error.code.as_deref()), (429, Some("rate_limit_exceeded")));
}
