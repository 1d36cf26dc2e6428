use super::*;
use crate::store::{Kind, Memory};

fn key() -> Key {
    Key::local(Kind::Requests, "backend")
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_too_early_waits() {
    let (store, started) = (Memory::default(), Instant::now());
    let mut at = Vec::new();
    for _ in 0..5 {
        wait(&store, &key(), 2).await.expect("within patience");
        at.push(started.elapsed().as_secs());
    }
    assert_eq!(at, [0, 0, 60, 60, 120]);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_too_long_is_said() {
    let (store, key, started) = (Memory::default(), key(), Instant::now());
    let turn = || wait(&store, &key, 1);
    turn().await.expect("the first");
    // A minute and two; there is no place before the third.
    let (mut second, mut third) = (Box::pin(turn()), Box::pin(turn()));
    for waiting in [&mut second, &mut third] {
        assert!(futures_util::FutureExt::now_or_never(waiting).is_none());
    }
    let error = turn().await.expect_err("too far away");
    assert_eq!((error.status, error.code.as_deref()), (429, Some("rate_limit_exceeded")));
    assert_eq!(started.elapsed(), Duration::ZERO, "that is said at once");
    second.await.expect("its turn");
    assert_eq!(started.elapsed().as_secs(), 60);
    third.await.expect("its turn");
    assert_eq!(started.elapsed().as_secs(), 120);
}
