//! The SDK's client of streamable HTTP. This wrapper also remembers why an event stream broke, because the SDK only reports
//! that the connection is gone.

use std::{collections::HashMap, sync::Arc};

use futures_util::StreamExt;
use http::{HeaderName, HeaderValue};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::{
        common::client_side_sse::BoxedSseResponse,
        streamable_http_client::{StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse},
    },
};
use serde::de::IgnoredAny;

use super::{
    MESSAGE_BYTES, causes,
    fault::{self, Fault, beginning},
};

/// An HTTP client for one connection.
#[derive(Clone)]
pub(super) struct Http {
    client: reqwest::Client,
    fault: Fault,
}

type Headers = HashMap<HeaderName, HeaderValue>;
type Answer<T> = Result<T, StreamableHttpError<reqwest::Error>>;

impl Http {
    pub(super) fn new(client: reqwest::Client, fault: Fault) -> Http {
        Http { client, fault }
    }

    fn watched(&self, events: BoxedSseResponse) -> BoxedSseResponse {
        let fault = self.fault.clone();
        let watched = events.map(move |mut event| {
            match &mut event {
                Err(error) => fault.replace(format!("the event stream broke: {}", causes(error))),
                // An event without data only says where a stream can be taken up again.
                Ok(event) => match event.data.as_mut().filter(|data| !data.is_empty()) {
                    Some(data) if fault::too_many_values(data.as_bytes()) => {
                        *data = String::from_utf8_lossy(&fault::refusal(data.as_bytes())).into_owned();
                    }
                    Some(data) if serde_json::from_str::<IgnoredAny>(data).is_err() => {
                        fault.replace(format!("it sent an event that is not a message: {}", beginning(data)));
                    }
                    _ => {}
                },
            }
            event
        });
        watched.boxed()
    }
}

impl StreamableHttpClient for Http {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Answer<StreamableHttpPostResponse> {
        let sent = self.client.post_message_with_max_sse_event_size(uri, message, session, token, headers, MESSAGE_BYTES);
        Ok(match sent.await? {
            StreamableHttpPostResponse::Sse(events, session) => StreamableHttpPostResponse::Sse(self.watched(events), session),
            other => other,
        })
    }

    async fn delete_session(&self, uri: Arc<str>, session: Arc<str>, token: Option<String>, headers: Headers) -> Answer<()> {
        self.client.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Answer<BoxedSseResponse> {
        let opened = self.client.get_stream_with_max_sse_event_size(uri, session, last, token, headers, MESSAGE_BYTES);
        Ok(self.watched(opened.await?))
    }
}
