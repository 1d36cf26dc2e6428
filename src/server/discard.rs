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
use http::{HeaderMap, header};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::{
    sync::oneshot,
    time::{Instant, Sleep, sleep, timeout},
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
    let back = Some(back).filter(|_| !waits_for_leave(request.headers()));
    let response = next(request.map(|inner| Body::new(Lent { inner, back, waits: None }))).await;
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

fn waits_for_leave(headers: &HeaderMap) -> bool {
    headers.get(header::EXPECT).is_some_and(|expected| expected.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// A body that comes back if it is dropped before its end, and ends with an error if its bytes take too long.
struct Lent {
    inner: Body,
    back: Option<oneshot::Sender<Body>>,
    /// From the first time that bytes had to be waited for.
    waits: Option<Box<Waits>>,
}

struct Waits {
    piece: Pin<Box<Sleep>>,
    /// A piece has come since.
    is_old: bool,
    whole: Pin<Box<Sleep>>,
}

impl Lent {
    /// Whether the bytes that are waited for take too long.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let waits = self.waits.get_or_insert_with(|| {
            Box::new(Waits { piece: Box::pin(sleep(PIECE)), is_old: false, whole: Box::pin(sleep(WHOLE)) })
        });
        if std::mem::take(&mut waits.is_old) {
            waits.piece.as_mut().reset(Instant::now() + PIECE);
        }
        waits.piece.as_mut().poll(cx).is_ready() || waits.whole.as_mut().poll(cx).is_ready()
    }
}

impl http_body::Body for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(cx);
        if frame.is_pending() {
            return match self.is_late(cx) {
                true => Poll::Ready(Some(Err(axum::Error::new(Slow)))),
                false => Poll::Pending,
            };
        }
        if let Some(waits) = &mut self.waits {
            waits.is_old = true;
        }
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            self.back = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
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
