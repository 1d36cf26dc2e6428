//! Serves requests with large bodies, and answers with much held-back text, on threads of their own. Reading and rewriting
//! such a body, or deciding about a long text at once, takes as long as many pieces of other answers, which must not wait for
//! it.

use std::{
    future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{body::Body, extract::Request, response::Response};
use bytes::Bytes;
use http::{Method, header};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::{mpsc, oneshot},
};
use tracing::Instrument;

use super::{account::Account, received::text, reply};
use crate::{client::front::Kind, error::Error};

/// The threads for large requests. Dropping this ends the requests on them.
pub(super) struct Apart(Option<Runtime>);

/// Bodies of at least this size, and of unknown size, are served apart. A smaller one is processed within a few ms. In bytes.
const LARGE_BYTES: u64 = 512 * 1024;
/// Number of threads.
const THREADS: usize = 2;
/// Maximum number of pieces of an answer that wait for the client.
const QUEUE: usize = 16;

type Piece = Result<Frame<Bytes>, axum::Error>;

/// The body of a response, which is made here until its turn becomes heavy.
pub(super) struct Moving {
    place: Place,
    /// `None`: it stays.
    leave: Option<Leave>,
}

enum Place {
    Here(Body),
    There(mpsc::Receiver<Piece>),
}

/// Where the body of a response may move, and the account that says when.
#[derive(Clone)]
struct Leave {
    threads: Handle,
    account: Account,
}

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

/// Serves a request with a large body apart from the start, and any other one once its turn becomes heavy.
pub(super) async fn apart<R>(apart: Arc<Apart>, request: Request, next: impl FnOnce(Request) -> R) -> Response
where
    R: Future<Output = Response> + Send + 'static,
{
    let Some(threads) = apart.0.as_ref().map(Runtime::handle) else { return next(request).await };
    let account = request.extensions().get::<Account>().cloned().unwrap_or_default();
    let is_large = is_large(&request);
    let mut response = Box::pin(next(request));
    let here = future::poll_fn(|cx| match response.as_mut().poll(cx) {
        Poll::Ready(response) => Poll::Ready(Some(response)),
        Poll::Pending if account.is_heavy() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    let served = if is_large { None } else { here.await };
    match served {
        Some(mut response) => {
            response.extensions_mut().insert(Leave { threads: threads.clone(), account });
            response
        }
        None => moved(threads, response).await,
    }
}

/// Serves the request on one of these threads. Its end here ends it there: a client that leaves takes all of it along.
async fn moved(threads: &Handle, response: impl Future<Output = Response> + Send + 'static) -> Response {
    let (mut head, answered) = oneshot::channel();
    let served = async move {
        let response = tokio::select! {
            response = response => response,
            () = head.closed() => return,
        };
        let (pieces, out) = mpsc::channel(QUEUE);
        let (parts, body) = response.into_parts();
        if head.send((parts, out)).is_ok() {
            pass(body, pieces).await;
        }
    };
    threads.spawn(served.in_current_span());
    match answered.await {
        Ok((parts, out)) => Response::from_parts(parts, Body::new(Moving { place: Place::There(out), leave: None })),
        Err(_) => reply::error(Kind::OpenAi, &Error::proxy("toolglot failed inside; this is a bug")),
    }
}

/// Passes the body on until it ends or its receiver is gone. The body is dropped before its end is reported.
async fn pass(mut body: Body, pieces: mpsc::Sender<Piece>) {
    loop {
        let piece = tokio::select! {
            piece = body.frame() => piece,
            () = pieces.closed() => return,
        };
        let Some(piece) = piece else { return drop(body) };
        if pieces.send(piece).await.is_err() {
            return;
        }
    }
}

impl Moving {
    /// The response with its body, which may move if [`apart`] says so.
    pub(super) fn of(mut response: Response) -> Response<Moving> {
        let leave = response.extensions_mut().remove();
        response.map(|body| Moving { place: Place::Here(body), leave })
    }
}

impl http_body::Body for Moving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        let Moving { place, leave } = self.get_mut();
        if let Place::Here(body) = place {
            let polled = Pin::new(&mut *body).poll_frame(cx);
            let moves = |leave: &&Leave| polled.is_pending() && leave.account.is_heavy();
            let Some(Leave { threads, .. }) = leave.as_ref().filter(moves) else { return polled };
            let (pieces, out) = mpsc::channel(QUEUE);
            threads.spawn(pass(std::mem::take(body), pieces).in_current_span());
            *place = Place::There(out);
        }
        match place {
            Place::Here(_) => Poll::Pending,
            Place::There(out) => out.poll_recv(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.place, Place::Here(body) if body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.place {
            Place::Here(body) => body.size_hint(),
            Place::There(_) => SizeHint::default(),
        }
    }
}

fn is_large(request: &Request) -> bool {
    let declared = text(request.headers(), header::CONTENT_LENGTH).and_then(|bytes| bytes.parse::<u64>().ok());
    request.method() == Method::POST && declared.is_none_or(|bytes| bytes >= LARGE_BYTES)
}
