//! A request -> the head of its answer. Sent again only where nothing has run and the fault may pass by itself: nobody took
//! the connection (a server that is being started anew), or the server has no room yet (503: it loads a model, its queue is
//! full). All in less time than an error needs to keep its HTTP status towards the client.

use std::time::Duration;

use http::StatusCode;

use crate::{
    error::Error,
    upstream::{Client, Outgoing, Response},
};

/// How long to wait before each further attempt.
const PAUSES: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(200), Duration::from_millis(400)];

pub(super) async fn send(client: &Client, request: &Outgoing) -> Result<Response, Error> {
    for pause in PAUSES {
        match client.send(request).await {
            Err(error) if refused(&error) => tracing::debug!(%error, "once more"),
            Ok(response) if response.status == StatusCode::SERVICE_UNAVAILABLE => tracing::debug!("503, once more"),
            answered => return answered,
        }
        tokio::time::sleep(pause).await;
    }
    client.send(request).await
}

/// The connection was refused at once; one that was waited for in vain is not tried again.
fn refused(error: &Error) -> bool {
    error.code.as_deref() == Some("backend_unreachable") && error.status != 504
}
