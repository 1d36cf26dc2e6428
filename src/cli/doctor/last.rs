//! What came of a model's last trial (`toolglot doctor --try`), kept between runs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::trial::Trial;
use crate::{
    config::{Environment, state_directory},
    plan::now,
    store::{self, Files, Key},
};

/// What is kept of a trial.
#[derive(Serialize, Deserialize)]
struct Last {
    /// Seconds since 1970.
    at: u64,
    /// Number of requests that ended as expected.
    good: usize,
    /// Number of requests in the trial.
    of: usize,
}

/// A trial says nothing about a model for longer than this.
const KEPT: Duration = Duration::from_secs(180 * 24 * 60 * 60);

/// The last trial of this model of this backend, in words.
pub(super) async fn of(environment: &Environment, backend: &str, model: &str) -> Option<String> {
    let last: Last = store::read(&Files::new(state_directory(environment)), &key(backend, model)).await?;
    let ago = match now().saturating_sub(last.at) / (24 * 60 * 60) {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        days => format!("{days} days ago"),
    };
    Some(format!("{} of {} {ago}", last.good, last.of))
}

/// Keeps what came of this one.
pub(super) async fn keep(environment: &Environment, backend: &str, trial: &Trial) {
    let last = Last { at: now(), good: trial.good(), of: trial.attempts.len() };
    // Lost, it is only not shown.
    store::write(&Files::new(state_directory(environment)), key(backend, &trial.model), &last, KEPT).await;
}

fn key(backend: &str, model: &str) -> Key {
    Key::local(store::Kind::Trial, format!("{backend}\n{model}"))
}
