//! Sends a request and waits for the head of the answer. Another attempt follows only if nothing has run and the fault may be
//! temporary: the connection was refused (the server restarts), or the server is not ready (503: it loads a model, or its queue
//! is full). All pauses together are shorter than `FIRST_SIGN`, so that an error keeps its HTTP status.

use std::time::Duration;

use http::{StatusCode, header};

use crate::{
    backend,
    error::Error,
    upstream::{Client, Outgoing, Response},
};

/// How long to wait before each further attempt.
const PAUSES: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(200), Duration::from_millis(400)];

/// `insists`: a server that is not ready is asked again, unless it says when it will be.
pub(super) async fn send(client: &Client, request: &Outgoing, insists: bool) -> Result<Response, Error> {
    let response = answered(client, request, insists).await?;
    backend::unusable(response.status, &response.headers).map_or(Ok(response), Err)
}

async fn answered(client: &Client, request: &Outgoing, insists: bool) -> Result<Response, Error> {
    for pause in PAUSES {
        match client.send(request).await {
            Err(error) if refused(&error) => tracing::debug!(%error, "once more"),
            Ok(response) if insists && is_not_ready(&response) => tracing::debug!("503, once more"),
            answered => return answered,
        }
        tokio::time::sleep(pause).await;
    }
    client.send(request).await
}

fn is_not_ready(response: &Response) -> bool {
    response.status == StatusCode::SERVICE_UNAVAILABLE && !response.headers.contains_key(header::RETRY_AFTER)
}

/// Whether the connection was refused at once. One that timed out is not tried again.
fn refused(error: &Error) -> bool {
    error.code.as_deref() == Some("backend_unreachable") && error.status != 504
}
