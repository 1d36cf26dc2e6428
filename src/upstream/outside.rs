//! Connections to servers on other machines, or with TLS, over reqwest. The proxy variables of the environment apply. Idle
//! connections are kept as long as those of this machine (`idle`).

use bytes::BytesMut;
use tokio::task::yield_now;
use url::Url;

use super::{BATCH_BYTES, Body, Fault, HttpRequest, Response, Source, Timeouts, USER_AGENT, broke_off, fell_silent, idle};
use crate::{
    dial,
    error::{Error, innermost},
};

/// The body of an answer.
pub(super) struct Answer {
    response: reqwest::Response,
    /// Bytes returned since other tasks had their turn.
    busy: usize,
}

/// HTTP clients with these timeouts.
pub(super) fn clients(timeouts: Timeouts) -> dial::Clients {
    dial::Clients::new(move |builder| {
        builder
            .connect_timeout(timeouts.connect)
            .read_timeout(timeouts.idle)
            .pool_idle_timeout(idle::KEPT)
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
        body: Body(Source::Outside(Answer { response, busy: 0 })),
    })
}

impl Answer {
    /// See [`super::Body::read`].
    pub(super) async fn read(&mut self, into: &mut BytesMut) -> Result<usize, Error> {
        if self.busy >= BATCH_BYTES {
            self.busy = 0;
            yield_now().await;
        }
        // `chunk` is cancel safe.
        let Some(bytes) = self.response.chunk().await.map_err(|error| broken(&error))? else { return Ok(0) };
        into.extend_from_slice(&bytes);
        self.busy += bytes.len();
        Ok(bytes.len())
    }
}

fn broken(error: &reqwest::Error) -> Error {
    if error.is_timeout() { fell_silent() } else { broke_off(&innermost(error)) }
}
