//! The result of a model's last trial (`toolglot doctor --try`), kept between runs.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    config::{Environment, state_directory},
    plan::now,
    store::{self, Files, Key, Kind},
};

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastTrial {
    /// Seconds since 1970.
    at: u64,
    /// Number of requests that ended as expected.
    good: usize,
    /// Number of requests in the trial.
    of: usize,
}

/// A trial says nothing about a model for longer than this.
const KEPT: Duration = Duration::from_secs(180 * 24 * 60 * 60);

impl LastTrial {
    /// The last trial of this model of this backend.
    pub async fn of(environment: &Environment, backend: &str, model: &str) -> Option<LastTrial> {
        store::read(&Files::new(state_directory(environment)), &key(backend, model)).await
    }

    /// Keeps what came of this one: `good` of `of` requests ended as expected.
    pub async fn keep(environment: &Environment, backend: &str, model: &str, good: usize, of: usize) {
        let last = LastTrial { at: now(), good, of };
        // Lost, it is only not shown.
        store::write(&Files::new(state_directory(environment)), key(backend, model), &last, KEPT).await;
    }
}

impl fmt::Display for LastTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ago = match now().saturating_sub(self.at) / (24 * 60 * 60) {
            0 => "today".to_owned(),
            1 => "yesterday".to_owned(),
            days => format!("{days} days ago"),
        };
        write!(f, "{} of {} {ago}", self.good, self.of)
    }
}

fn key(backend: &str, model: &str) -> Key {
    Key::local(Kind::Trial, format!("{backend}\n{model}"))
}
