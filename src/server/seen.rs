//! What the server has seen so far, apart from turns: counts of requests, and unknown paths.

use std::{
    collections::HashSet,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::lock::Hold;

/// Counts of requests. `doctor` uses them to tell whether a client has found the proxy.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// For the list of models.
    pub(super) lists: AtomicU64,
    /// For an answer.
    pub(super) chats: AtomicU64,
}

impl Seen {
    /// A request for an answer has come.
    pub(super) fn chat(&self) {
        self.chats.fetch_add(1, Ordering::Relaxed);
    }
}

/// Unknown paths that were requested.
#[derive(Debug, Default)]
pub(super) struct Missed(Mutex<HashSet<String>>);

/// Maximum number of paths that are remembered; further ones are not logged.
const PATHS: usize = 100;

impl Missed {
    /// Whether this is the first time.
    pub(super) fn is_new(&self, what: &str) -> bool {
        let mut paths = self.0.hold();
        paths.len() < PATHS && paths.insert(what.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_new_once_and_few_are_remembered() {
        let missed = Missed::default();
        assert!(missed.is_new("/a") && !missed.is_new("/a") && missed.is_new("/b"));
        assert_eq!((0..1000).filter(|at| missed.is_new(&at.to_string())).count(), PATHS - 2);
    }
}
