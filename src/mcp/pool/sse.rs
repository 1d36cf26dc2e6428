//! The client side of HTTP with server-sent events as of 2024-11-05: a GET stream whose first event names the address for
//! posts and which carries the answers. The SDK no longer has this transport, but many servers use it.

use std::{borrow::Cow, time::Duration};

use bytes::Bytes;
use http::HeaderMap;
use reqwest::{StatusCode, header};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use url::Url;

use super::{MESSAGE_BYTES, fault::Fault};
use crate::{
    error::Error,
    wire::{Frames, Framing},
};

/// A stream that is open and has told where to post.
pub(super) struct Sse {
    client: reqwest::Client,
    headers: HeaderMap,
    stream: reqwest::Response,
    events: Frames,
    post: Url,
    fault: Fault,
}

/// How long the server may take to name the address for messages.
const ENDPOINT: Duration = Duration::from_secs(10);
/// How long a message may take to be accepted.
const ACCEPT: Duration = Duration::from_secs(30);

impl Sse {
    /// Opens the stream and waits for its first event.
    pub(super) async fn connect(client: reqwest::Client, url: &Url, headers: HeaderMap, fault: Fault) -> Result<Sse, Error> {
        let opening = client.get(url.clone()).headers(headers.clone()).header(header::ACCEPT, "text/event-stream");
        let response = opening.send().await.map_err(|error| Error::tool(super::causes(&error)))?;
        if response.status() != StatusCode::OK {
            return Err(Error::tool(format!("GET answered {}", response.status())));
        }
        let content = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !content.starts_with("text/event-stream") {
            return Err(Error::tool(format!("GET answered with `{content}`, not with an event stream")));
        }
        let events = Frames::new(Framing::Sse, MESSAGE_BYTES);
        let mut sse = Sse { client, headers, stream: response, events, post: url.clone(), fault };
        let endpoint = tokio::time::timeout(ENDPOINT, sse.event()).await;
        let endpoint = endpoint.ok().flatten().ok_or_else(|| Error::tool("the event stream did not name its endpoint"))?;
        let endpoint = String::from_utf8_lossy(&endpoint);
        let post = url
            .join(endpoint.trim())
            .map_err(|error| Error::tool(format!("the endpoint `{endpoint}` is not an address: {error}")))?;
        if post.origin() != url.origin() {
            // Whoever can write into the stream must not choose whom we talk to.
            return Err(Error::tool(format!("the endpoint `{post}` is on another server")));
        }
        sse.post = post;
        Ok(sse)
    }

    /// The data of the next event; `None` at the end of the stream.
    async fn event(&mut self) -> Option<Bytes> {
        loop {
            match self.events.next() {
                Ok(Some(event)) => return Some(Bytes::copy_from_slice(event)),
                Ok(None) => {}
                Err(_) => {
                    self.fault.set(format!("it sent an event of more than {MESSAGE_BYTES} bytes"));
                    return None;
                }
            }
            match self.stream.chunk().await {
                Ok(Some(bytes)) => self.events.push(&bytes),
                Ok(None) => {
                    self.fault.set("the server closed the event stream");
                    return None;
                }
                Err(error) => {
                    self.fault.set(format!("the event stream broke: {}", super::causes(&error)));
                    return None;
                }
            }
        }
    }
}

impl Transport<RoleClient> for Sse {
    type Error = Error;

    fn name() -> Cow<'static, str> {
        "sse".into()
    }

    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = Result<(), Error>> + Send + 'static {
        let request = self.client.post(self.post.clone()).headers(self.headers.clone()).timeout(ACCEPT).json(&message);
        async move {
            let response = request.send().await.map_err(|error| Error::tool(super::causes(&error)))?;
            match response.status() {
                status if status.is_success() => Ok(()),
                status => Err(Error::tool(format!("the message was answered with {status}"))),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let event = self.event().await?;
            if let Some(message) = self.fault.message(&event) {
                return Some(message);
            }
        }
    }

    /// Its owner drops it, and with it the stream.
    async fn close(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
