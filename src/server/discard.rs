//! Reads the rest of a refused request's body and throws it away, within limits. Many clients read the response only after
//! they have sent everything, and take a closed connection for a failure.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{body::Body, extract::Request, response::Response};
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::{sync::oneshot, time::timeout};

/// Maximum number of bytes that are discarded.
const MOST: usize = 256 * 1024 * 1024;
/// How long bytes are discarded at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves the request, and drains what is left of its body if the answer is an error.
pub(super) async fn discard<R>(request: Request, next: impl FnOnce(Request) -> R) -> Response
where
    R: Future<Output = Response>,
{
    // Whoever waits for `100 Continue` has sent nothing yet.
    if waits_for_leave(request.headers()) {
        return next(request).await;
    }
    let (back, mut left) = oneshot::channel();
    let response = next(request.map(|inner| Body::new(Lent { inner, back: Some(back) }))).await;
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

/// A body that comes back if it is dropped before its end.
struct Lent {
    inner: Body,
    back: Option<oneshot::Sender<Body>>,
}

impl http_body::Body for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(cx);
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
