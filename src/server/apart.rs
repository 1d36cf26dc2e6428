//! Requests with large bodies are served apart, on threads of their own: reading such a body and writing it anew for the
//! backend takes as long as many pieces of other answers, which must not wait for it.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use bytes::Bytes;
use http::{HeaderMap, Method, header};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::{
    runtime::{Builder, Runtime},
    sync::{mpsc, oneshot},
};

use tracing::Instrument;

use super::reply;
use crate::{client::front::Kind, error::Error};

/// The threads of large requests. Dropping it ends what runs there.
pub(super) struct Apart(Option<Runtime>);

/// Bodies of this size and those of unknown size go apart; a smaller one is read and written anew within a few ms.
const LARGE_BYTES: u64 = 512 * 1024;
/// So many are read and written anew at once.
const THREADS: usize = 2;
/// Pieces of an answer that wait for the client.
const QUEUE: usize = 16;

type Piece = Result<Frame<Bytes>, axum::Error>;

// === impl Apart ===

impl Apart {
    pub(super) fn new() -> Result<Arc<Apart>, Error> {
        let runtime = Builder::new_multi_thread().worker_threads(THREADS).thread_name("large requests").enable_all().build();
        runtime
            .map(|runtime| Arc::new(Apart(Some(runtime))))
            .map_err(|error| Error::proxy(format!("cannot start threads: {error}")))
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Serves a request with a large body apart. Its end here ends it there: a client that leaves takes all of it along.
pub(super) async fn apart(State(apart): State<Arc<Apart>>, request: Request, next: Next) -> Response {
    let Some(runtime) = apart.0.as_ref().filter(|_| is_large(&request)) else { return next.run(request).await };
    let (head, answered) = oneshot::channel();
    let served = async move {
        let mut head = head;
        let response = tokio::select! {
            response = next.run(request) => response,
            () = head.closed() => return,
        };
        // The body is dropped before its end is told.
        let (pieces, out) = mpsc::channel::<Piece>(QUEUE);
        let (parts, mut body) = response.into_parts();
        if head.send((parts, out)).is_err() {
            return;
        }
        loop {
            let piece = tokio::select! {
                piece = body.frame() => piece,
                () = pieces.closed() => return,
            };
            let Some(piece) = piece else { return };
            if pieces.send(piece).await.is_err() {
                return;
            }
        }
    };
    runtime.spawn(served.in_current_span());
    match answered.await {
        Ok((parts, mut out)) => {
            let pieces = futures_util::stream::poll_fn(move |cx| out.poll_recv(cx));
            Response::from_parts(parts, Body::new(StreamBody::new(pieces)))
        }
        Err(_) => reply::error(Kind::OpenAi, &Error::proxy("toolglot failed inside; this is a bug")),
    }
}

fn is_large(request: &Request) -> bool {
    request.method() == Method::POST && declared(request.headers()).is_none_or(|bytes| bytes >= LARGE_BYTES)
}

fn declared(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
