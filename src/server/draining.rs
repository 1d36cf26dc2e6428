//! The time between the first signal and the end: running answers continue, and new requests go elsewhere. A load balancer sees it
//! at `/readyz`, and what it still sends after the announced time is refused.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use axum::response::Response;
use http::{HeaderValue, header};

use super::reply;
use crate::error::Error;

/// How far the end has come.
#[derive(Debug, Default)]
pub(super) struct Draining {
    announced: AtomicBool,
    refuses: AtomicBool,
}

/// Paths that are served until the end: load balancers and metrics look at a draining server.
const OPEN: &[&str] = &["/healthz", "/readyz", "/metrics"];

impl Draining {
    /// From now on the server is not ready; requests are served still.
    pub(super) fn announce(&self) {
        self.announced.store(true, Relaxed);
    }

    /// From now on new requests are refused.
    pub(super) fn refuse(&self) {
        self.refuses.store(true, Relaxed);
    }

    pub(super) fn is_announced(&self) -> bool {
        self.announced.load(Relaxed)
    }

    /// Refuses what comes too late. Nothing of such a request has been done: it may be sent again at once.
    pub(super) fn refusal(&self, path: &str) -> Option<Response> {
        if !self.refuses.load(Relaxed) || OPEN.contains(&path) {
            return None;
        }
        let mut error =
            Error::proxy("this toolglot is about to end; send the request again").with_status(503).with_code("draining");
        error.headers.push((header::RETRY_AFTER.to_string(), "1".into()));
        let mut response = reply::error_at(path, &error);
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        Some(response)
    }
}
