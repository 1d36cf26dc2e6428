//! The body of every request: how long its bytes may take, whoever reads it. The rest of a refused request's body is read and
//! thrown away, within limits: many clients read the response only after they have sent everything, and take a closed connection
//! for a failure.

use std::{
    iter,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{body::Body, extract::Request, response::Response};
use bytes::Bytes;
use http::header;
use http_body::{Body as _, Frame};
use http_body_util::BodyExt;
use tokio::{
    sync::oneshot,
    time::{Instant, Sleep, sleep_until, timeout},
};

/// Maximum number of bytes that are discarded.
const MOST: usize = 256 * 1024 * 1024;
/// How long bytes are discarded at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time limits for the next piece of a body, and for all of it.
const PIECE: Duration = Duration::from_secs(30);
const WHOLE: Duration = Duration::from_secs(5 * 60);

/// The error of a body that takes too long.
#[derive(Debug, thiserror::Error)]
#[error("the request body did not arrive in time")]
pub(super) struct Slow;

impl Slow {
    pub(super) fn is_cause_of(error: &(dyn std::error::Error + 'static)) -> bool {
        iter::successors(Some(error), |error| error.source()).any(|error| error.is::<Slow>())
    }
}

/// Serves the request, and drains what is left of its body if the answer is an error.
pub(super) async fn discard<R>(request: Request, next: impl FnOnce(Request) -> R) -> Response
where
    R: Future<Output = Response>,
{
    // Whoever waits for `100 Continue` has sent nothing yet.
    let (back, mut left) = oneshot::channel();
    let expected = request.headers().get(header::EXPECT);
    let waits_for_leave = expected.is_some_and(|expected| expected.as_bytes().eq_ignore_ascii_case(b"100-continue"));
    let back = (!waits_for_leave).then_some(back);
    let response = next(request.map(|inner| Body::new(Lent { inner, back, late: None, last: None }))).await;
    if !response.status().is_success()
        && let Ok(mut body) = left.try_recv()
    {
        // What cannot be read in time is cut off with the connection.
        let _ = timeout(PATIENCE, async {
            let mut read = 0;
            while let Some(Ok(frame)) = body.frame().await {
                read += frame.data_ref().map_or(0, Bytes::len);
                if read > MOST {
                    break;
                }
            }
        })
        .await;
    }
    response
}

/// A body that comes back if it is dropped before its end, and ends with an error if its bytes take too long.
struct Lent {
    inner: Body,
    back: Option<oneshot::Sender<Body>>,
    /// Runs while bytes are waited for.
    late: Option<Pin<Box<Sleep>>>,
    /// From the first such time: when all of it is too late.
    last: Option<Instant>,
}

impl http_body::Body for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let frame = Pin::new(&mut this.inner).poll_frame(cx);
        if frame.is_pending() {
            let now = Instant::now();
            let last = *this.last.get_or_insert(now + WHOLE);
            let late = this.late.get_or_insert_with(|| Box::pin(sleep_until(last.min(now + PIECE))));
            return late.as_mut().poll(cx).map(|()| Some(Err(axum::Error::new(Slow))));
        }
        this.late = None;
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            this.back = None;
        }
        frame
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(back) = self.back.take().filter(|_| !self.inner.is_end_stream()) {
            // Nobody wants it back once the response is on its way.
            let _ = back.send(std::mem::take(&mut self.inner));
        }
    }
}
