//! The model that a request is about, and its backend.

use std::sync::Arc;

use super::state::App;
use crate::{backend::Backend, config::Tenant, error::Error};

/// The model of a request.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The name that the client used, which answers repeat.
    pub(super) called: String,
    /// The backend's own name.
    pub(super) model: String,
    pub(super) backend: Arc<Backend>,
}

impl Target {
    /// The model with the name that a client used. Models that the tenant may not use do not exist for it.
    pub(super) async fn find(app: &App, tenant: &Tenant, called: String) -> Result<Target, Error> {
        let model = app.config.own_name(&called);
        let found = if tenant.may_use(&model, &called) {
            app.backend_of(&model).await
        } else {
            Err(Error::client("").with_status(404).with_code("model_not_found"))
        };
        match (found, &tenant.models) {
            (Ok(backend), _) => Ok(Target { called, model, backend }),
            // Why it is not there may name models of others.
            (Err(error), Some(own)) => {
                let what = match error.status {
                    404 => format!("there is no model `{called}` for your key, which is for: {}", own.join(", ")),
                    _ => format!("no backend that has the model `{called}` answers"),
                };
                Err(Error { message: what, ..error })
            }
            (Err(error), None) => Err(error),
        }
    }
}
