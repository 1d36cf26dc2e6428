//! The switch "pass everything through": for some minutes, toolglot answers requests as in mode `off`. It shows whether
//! toolglot or the model is at fault. Its state is in memory only.

use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use crate::lock::Hold;

/// Until when whose requests pass, by sender and model; the model `""` is all of them.
#[derive(Debug, Default)]
pub(in crate::server) struct Bypass(Mutex<HashMap<(String, String), Instant>>);

/// Maximum number of entries that are kept.
const ENTRIES: usize = 100;
const MOST_MINUTES: u64 = 60;

impl Bypass {
    /// Whether this sender's requests for this model pass as they are now.
    pub(in crate::server) fn covers(&self, sender: &str, model: &str) -> bool {
        self.active(sender).iter().any(|(known, _)| known.is_empty() || known == model)
    }

    /// What passes of this sender: the models, with the seconds that are left.
    pub(super) fn active(&self, sender: &str) -> Vec<(String, u64)> {
        let now = Instant::now();
        let until = self.0.hold();
        let own = until.iter().filter(|((of, _), at)| of == sender && **at > now);
        own.map(|((_, model), at)| (model.clone(), at.duration_since(now).as_secs() + 1)).collect()
    }

    pub(super) fn set(&self, sender: &str, model: &str, minutes: u64) {
        let now = Instant::now();
        let mut until = self.0.hold();
        until.retain(|_, at| *at > now);
        let key = (sender.to_owned(), model.to_owned());
        if until.len() < ENTRIES || until.contains_key(&key) {
            until.insert(key, now + Duration::from_secs(60 * minutes.min(MOST_MINUTES)));
        }
    }
}
