//! The model that a request is about, and its backend.

use std::sync::Arc;

use crate::backend::Backend;

/// The model of a request.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The name that the client used, which answers repeat.
    pub(super) called: String,
    /// The backend's own name.
    pub(super) model: String,
    pub(super) backend: Arc<Backend>,
}
