//! Connections to servers on other machines, or with TLS, over reqwest. The proxy variables of the environment apply. Idle
//! connections are kept for 3 s.

use std::time::Duration;

use bytes::BytesMut;
use futures_util::FutureExt;
use tokio::task::yield_now;
use url::Url;

use super::{BATCH_BYTES, Body, Fault, HttpRequest, Response, Source, Timeouts, USER_AGENT, broke_off, fell_silent};
use crate::{
    dial,
    error::{Error, innermost},
};

/// The body of an answer, and the failure to report after the last bytes.
pub(super) struct Answer {
    response: reqwest::Response,
    /// Bytes returned since the task last waited.
    busy: usize,
    failed: Option<Error>,
}

/// How long a connection is kept. Some servers close idle connections after 5 s, and a half-closed one must not be used.
const POOL_IDLE: Duration = Duration::from_secs(3);

/// HTTP clients with these timeouts.
pub(super) fn clients(timeouts: Timeouts) -> dial::Clients {
    dial::Clients::new(move |builder| {
        builder
            .connect_timeout(timeouts.connect)
            .read_timeout(timeouts.idle)
            .pool_idle_timeout(POOL_IDLE)
            .tcp_nodelay(true)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(USER_AGENT)
    })
}

/// Sends the request and waits for the head of the answer.
pub(super) async fn send(clients: &dial::Clients, request: HttpRequest, url: Url) -> Result<Response, Error> {
    let client = clients.of(&url)?;
    let origin = url.origin().ascii_serialization();
    let sent = client.request(request.method, url).headers(request.headers).body(request.body).send().await;
    let response = sent.map_err(|error| {
        let fault = match (error.is_connect(), error.is_timeout()) {
            (true, true) => Fault::NoAnswer,
            (true, false) => Fault::Unreachable(innermost(&error)),
            (false, true) => Fault::Silent,
            (false, false) => Fault::Closed(innermost(&error)),
        };
        fault.at(&origin)
    })?;
    Ok(Response {
        status: response.status(),
        headers: response.headers().clone(),
        body: Body(Source::Outside(Answer { response, busy: 0, failed: None })),
    })
}

impl Answer {
    /// See [`super::Body::read`].
    pub(super) async fn read(&mut self, into: &mut BytesMut) -> Result<usize, Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.busy >= BATCH_BYTES {
            self.busy = 0;
            yield_now().await;
        }
        // `chunk` is cancel safe, and what was appended stays appended.
        let Some(first) = self.response.chunk().await.map_err(|error| broken(&error))? else { return Ok(0) };
        let before = into.len();
        into.extend_from_slice(&first);
        // The connection yields one piece per poll, so it is polled as long as one is ready.
        let mut asked = false;
        while into.len() - before < BATCH_BYTES {
            match self.response.chunk().now_or_never() {
                Some(Ok(Some(more))) => {
                    into.extend_from_slice(&more);
                    asked = false;
                }
                // What arrived before a failure is handed over first.
                Some(Err(error)) => {
                    self.failed = Some(broken(&error));
                    break;
                }
                None if !asked => {
                    (asked, self.busy) = (true, 0);
                    yield_now().await;
                }
                Some(Ok(None)) | None => break,
            }
        }
        let read = into.len() - before;
        self.busy += read;
        Ok(read)
    }
}

fn broken(error: &reqwest::Error) -> Error {
    if error.is_timeout() { fell_silent() } else { broke_off(&innermost(error)) }
}
