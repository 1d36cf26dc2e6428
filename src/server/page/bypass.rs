//! The switch "pass everything through": for some minutes, toolglot answers requests as in mode `off`. It shows whether
//! toolglot or the model is at fault. Its state is in memory only.

use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use axum::{extract::Request, response::Response};
use serde::Deserialize;
use serde_json::json;

use crate::{
    config::Mode,
    error::Error,
    lock::Hold,
    server::{received::Received, reply, state::App},
};

/// Until when whose requests pass, by sender and model; the model `""` is all of them.
#[derive(Debug, Default)]
pub(in crate::server) struct Bypass(Mutex<HashMap<(String, String), Instant>>);

/// Maximum number of entries that are kept.
const ENTRIES: usize = 100;
const MOST_MINUTES: u64 = 60;

#[derive(Deserialize)]
struct Asked {
    /// 0 ends it.
    minutes: u64,
    #[serde(default)]
    model: String,
}

impl Bypass {
    /// Whether this sender's requests for this model pass as they are now.
    pub(in crate::server) fn covers(&self, sender: &str, model: &str) -> bool {
        let until = self.0.hold();
        let now = Instant::now();
        !until.is_empty()
            && ["", model].into_iter().any(|model| until.get(&(sender.to_owned(), model.to_owned())).is_some_and(|at| *at > now))
    }

    /// What passes of this sender: the models, with the seconds that are left.
    pub(super) fn active(&self, sender: &str) -> Vec<(String, u64)> {
        let now = Instant::now();
        let until = self.0.hold();
        let own = until.iter().filter(|((of, _), at)| of == sender && **at > now);
        own.map(|((_, model), at)| (model.clone(), at.duration_since(now).as_secs() + 1)).collect()
    }

    fn set(&self, sender: &str, model: &str, minutes: u64) {
        let now = Instant::now();
        let mut until = self.0.hold();
        until.retain(|_, at| *at > now);
        let key = (sender.to_owned(), model.to_owned());
        match minutes {
            0 => _ = until.remove(&key),
            _ if until.len() < ENTRIES => {
                until.insert(key, now + Duration::from_secs(60 * minutes.min(MOST_MINUTES)));
            }
            _ => {}
        }
    }
}

/// `POST /ui/bypass` `{"minutes": 10, "model": "..."}`: without a model, all of them.
pub(super) async fn set(app: App, request: Request) -> Result<Response, Error> {
    let expected = "{\"minutes\": 10}, with a `model` or without";
    let (Received { sender, .. }, asked) = Received::json::<Asked>(&app, request, expected).await?;
    sender.check(&app.config, Some(Mode::Off), Mode::Off)?;
    app.process.bypass.set(&sender.tenant.name, &asked.model, asked.minutes);
    tracing::warn!(minutes = asked.minutes, model = asked.model, "everything passes as it is: the page asked for it");
    Ok(reply::json(&json!({"bypass": app.process.bypass.active(&sender.tenant.name)})))
}
